//! Truth tables: the outputs of a Boolean function for its inputs, row by row.
//!
//! Invariant: no two rows have the same inputs.

use std::collections::HashMap;
use std::path::Path;

use farad::data::Random;

use crate::error::{Error, Result};

/// Most inputs: a row is a 64-bit word.
const MOST_INPUTS: usize = 64;
/// The random stream of the order that selects the test rows.
const TEST: u32 = 0x7472_7574;

/// A Boolean function by its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruthTable {
    /// The names of the inputs.
    pub inputs: Vec<String>,
    /// The names of the outputs.
    pub outputs: Vec<String>,
    /// The known rows.
    pub rows: BitRows,
}

/// Rows of bits, column by column: 64 rows per word.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BitRows {
    /// How many there are.
    pub count: usize,
    /// The inputs, a plane each.
    pub inputs: Vec<Vec<u64>>,
    /// The outputs, one plane each.
    pub outputs: Vec<Vec<u64>>,
}

impl BitRows {
    /// From inputs and outputs as words.
    fn of(rows: &[(u64, u64)], inputs: usize, outputs: usize) -> BitRows {
        let plane = |bit: &dyn Fn(&(u64, u64)) -> u64| {
            let mut words = vec![0; rows.len().div_ceil(64)];
            rows.iter().enumerate().for_each(|(n, row)| words[n / 64] |= bit(row) << (n % 64));
            words
        };
        BitRows {
            count: rows.len(),
            inputs: (0..inputs).map(|n| plane(&|row: &(u64, u64)| row.0 >> n & 1)).collect(),
            outputs: (0..outputs).map(|n| plane(&|row: &(u64, u64)| row.1 >> n & 1)).collect(),
        }
    }

    /// The bits of a plane, row by row.
    pub fn bits(plane: &[u64], count: usize) -> impl Iterator<Item = bool> + '_ {
        (0..count).map(move |row| plane[row / 64] >> (row % 64) & 1 == 1)
    }

    /// Slices of the input planes, for a simulator.
    pub fn slices(&self) -> Vec<&[u64]> {
        self.inputs.iter().map(Vec::as_slice).collect()
    }

    /// The bits of a word that are rows.
    pub fn mask(&self, word: usize) -> u64 {
        match self.count - word * 64 {
            rest @ 0..64 => (1 << rest) - 1,
            _ => u64::MAX,
        }
    }

    /// Bits that differ from the outputs, and rows with such a bit.
    pub fn wrong(&self, seen: &[Vec<u64>]) -> (usize, usize) {
        let (mut bits, mut rows) = (0, 0);
        for word in 0..self.count.div_ceil(64) {
            let differ =
                |(seen, wanted): (&Vec<u64>, &Vec<u64>)| (seen[word] ^ wanted[word]) & self.mask(word);
            let each: Vec<u64> = seen.iter().zip(&self.outputs).map(differ).collect();
            bits += each.iter().map(|bits| bits.count_ones() as usize).sum::<usize>();
            rows += each.iter().fold(0, |any, bits| any | bits).count_ones() as usize;
        }
        (bits, rows)
    }
}

impl TruthTable {
    /// Reads a file of separated values with names in its first line. Targets are columns by name; the last one
    /// if none is named.
    pub fn read(path: &Path, targets: &[String]) -> Result<TruthTable> {
        let fail = |what: String| Error::TruthFile { path: path.display().to_string(), what };
        let text = std::fs::read_to_string(path).map_err(|source| farad::Error::File {
            op: "table",
            path: path.into(),
            source,
        })?;
        let first = text.lines().next().unwrap_or_default();
        let separator = [b',', b';', b'\t'].into_iter().find(|&c| first.contains(c as char)).unwrap_or(b',');
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let names: Vec<String> =
            reader.headers().map_err(|e| fail(e.to_string()))?.iter().map(str::to_string).collect();
        let targets = columns(&names, targets).map_err(fail)?;
        let inputs: Vec<usize> = (0..names.len()).filter(|column| !targets.contains(column)).collect();
        let fail = |what: String| Error::TruthFile { path: path.display().to_string(), what };
        if inputs.is_empty() || inputs.len() > MOST_INPUTS || targets.len() > MOST_INPUTS {
            let what = format!("it has {} inputs and {} outputs", inputs.len(), targets.len());
            return Err(fail(format!("{what} (vs 1 to {MOST_INPUTS} of each)")));
        }
        let mut known: HashMap<u64, (u64, u64)> = HashMap::new();
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| fail(error.to_string()))?;
            let line = record.position().map_or(0, |position| position.line());
            let word = |columns: &[usize]| {
                columns.iter().enumerate().try_fold(0u64, |word, (n, &column)| {
                    let text = record.get(column).unwrap_or_default();
                    let bit = bit(text).ok_or_else(|| {
                        fail(format!("line {line}: `{text}` in column `{}` is not 0 or 1", names[column]))
                    })?;
                    Ok::<u64, Error>(word | u64::from(bit) << n)
                })
            };
            let (from, to) = (word(&inputs)?, word(&targets)?);
            match known.insert(from, (to, line)) {
                None => rows.push((from, to)),
                Some((other, before)) if other != to => {
                    return Err(fail(format!(
                        "lines {before} and {line} have the same inputs but different outputs"
                    )));
                }
                Some(_) => {}
            }
        }
        if rows.len() < 2 {
            return Err(fail(format!("it has {} rows (vs at least 2)", rows.len())));
        }
        let named = |columns: &[usize]| columns.iter().map(|&column| names[column].clone()).collect();
        Ok(TruthTable {
            rows: BitRows::of(&rows, inputs.len(), targets.len()),
            inputs: named(&inputs),
            outputs: named(&targets),
        })
    }

    /// Whether every combination of inputs has a row.
    pub fn is_complete(&self) -> bool {
        self.inputs.len() < usize::BITS as usize && self.rows.count == 1 << self.inputs.len()
    }

    /// The rows to learn, and the fraction that is held out for the test, in an order from the seed. Nothing is
    /// held out of a complete table, because there is nothing to predict.
    pub fn parts(&self, share: f64, seed: u64) -> (BitRows, Option<BitRows>) {
        if self.is_complete() || share == 0.0 {
            return (self.rows.clone(), None);
        }
        let count = self.rows.count;
        let order = Random::at(seed, TEST, 0).permutation(count);
        let test = ((share * count as f64).round() as usize).clamp(1, count - 1);
        let (kept, held) = order.split_at(count - test);
        (self.picked(kept), Some(self.picked(held)))
    }

    fn picked(&self, places: &[usize]) -> BitRows {
        let word = |planes: &[Vec<u64>], row: usize| {
            planes.iter().enumerate().map(|(n, plane)| (plane[row / 64] >> (row % 64) & 1) << n).sum::<u64>()
        };
        let rows: Vec<(u64, u64)> =
            places.iter().map(|&row| (word(&self.rows.inputs, row), word(&self.rows.outputs, row))).collect();
        BitRows::of(&rows, self.inputs.len(), self.outputs.len())
    }
}

/// The columns with these names, or the last one.
fn columns(names: &[String], wanted: &[String]) -> std::result::Result<Vec<usize>, String> {
    if wanted.is_empty() {
        return names.len().checked_sub(1).map(|last| vec![last]).ok_or_else(|| "it is empty".into());
    }
    let find = |name: &String| {
        names.iter().position(|known| known == name).ok_or_else(|| {
            let nearest = farad::nearest(name, names.iter().map(String::as_str));
            let nearest = nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            format!("it has no column `{name}`{nearest}")
        })
    };
    wanted.iter().map(find).collect()
}

fn bit(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "0" | "false" | "no" => Some(false),
        "1" | "true" | "yes" => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str, targets: &[&str]) -> Result<TruthTable> {
        let path = std::env::temp_dir().join(format!("farad-truth-{name}-{}.csv", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let targets: Vec<String> = targets.iter().map(|name| name.to_string()).collect();
        let table = TruthTable::read(&path, &targets);
        std::fs::remove_file(path).unwrap();
        table
    }

    #[test]
    fn tables_are_read_by_their_columns() {
        let table =
            read("adder", "a;b;sum;carry\n0;0;0;0\n0;1;1;0\n1;0;1;0\n1;1;0;1\n", &["sum", "carry"]).unwrap();
        assert!(table.is_complete());
        assert_eq!((table.inputs.join(" "), table.outputs.join(" ")), ("a b".into(), "sum carry".into()));
        assert_eq!(table.rows.outputs, [[0b0110], [0b1000]]);
        assert_eq!(table.rows.wrong(&[vec![0b0111], vec![0b1001]]), (2, 1));
        assert_eq!(table.parts(0.5, 1).1, None, "nothing is held back of a complete table");
        let last = read("last", "a,b,y\n1,0,yes\n1,0,1\n0,0,no\n", &[]).unwrap();
        assert_eq!((last.rows.count, last.is_complete()), (2, false));
        let (kept, held) = last.parts(0.5, 1);
        assert_eq!((kept.count, held.unwrap().count), (1, 1));
    }

    #[test]
    fn what_is_no_table_of_bits_is_refused() {
        let refused = |text: &str, targets: &[&str]| read("refused", text, targets).unwrap_err().to_string();
        assert!(refused("a,y\n0,1\n2,1\n", &[]).contains("line 3: `2` in column `a` is not 0 or 1"));
        assert!(refused("a,y\n0,1\n0,0\n", &[]).contains("lines 2 and 3 have the same inputs"));
        assert!(refused("a,sum\n0,1\n1,0\n", &["sun"]).contains("did you mean `sum`?"));
        assert!(refused("a,y\n0,1\n", &[]).contains("1 rows (vs at least 2)"));
        let wide: Vec<String> = (0..66).map(|n| format!("x{n}")).collect();
        assert!(refused(&(wide.join(",") + "\n"), &[]).contains("65 inputs"));
    }
}
