//! The candidates of learned wires, on a device.

use farad::{Device, Tensor};

use crate::error::{Error, Result};
use crate::wires::Shuffler;

/// The candidates of rows: `k` different inputs each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// Inputs to choose among.
    pub inputs: usize,
    /// Candidates per row.
    pub count: usize,
    /// Row by row.
    pub wires: Vec<u32>,
}

impl Candidates {
    /// Draws different candidates for every row, so that every input is a candidate about equally often.
    pub fn random(inputs: usize, rows: usize, count: usize, seed: u64, stream: u64) -> Result<Candidates> {
        if count == 0 || count > inputs {
            let what = "a wire cannot choose among more candidates than inputs";
            let outputs = rows / 2;
            return Err(Error::Wiring { what, inputs, outputs, found: count, wanted: inputs });
        }
        let mut shuffler = Shuffler::new(seed, stream);
        let mut deck: Vec<u32> = vec![];
        let mut wires = Vec::with_capacity(rows * count);
        for _ in 0..rows {
            let start = wires.len();
            while wires.len() < start + count {
                if deck.is_empty() {
                    deck = (0..inputs as u32).collect();
                    shuffler.shuffle(&mut deck);
                }
                // A candidate that the row already has goes back into the deck, or waits for the next row if no
                // other is left.
                let wire = deck.pop().expect("it was filled");
                match wires[start..].contains(&wire) {
                    false => wires.push(wire),
                    true if deck.iter().all(|other| wires[start..].contains(other)) => {
                        let mut fresh: Vec<u32> = (0..inputs as u32).collect();
                        shuffler.shuffle(&mut fresh);
                        deck.splice(0..0, fresh);
                        deck.insert(0, wire);
                    }
                    true => {
                        let place = shuffler.below(deck.len() as u32 + 1) as usize;
                        deck.insert(place, wire);
                    }
                }
            }
        }
        Ok(Candidates { inputs, count, wires })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.wires.len() / self.count
    }

    /// The readers of each input: the offsets of the lists and the end of the last, then all lists, ascending;
    /// an entry is the index of a candidate. `[inputs + 1 + rows · count]`
    fn readers(&self) -> Vec<u32> {
        let mut starts = vec![0u32; self.inputs + 1];
        self.wires.iter().for_each(|&wire| starts[wire as usize + 1] += 1);
        for input in 0..self.inputs {
            starts[input + 1] += starts[input];
        }
        let mut next = starts.clone();
        let mut entries = vec![0u32; self.wires.len()];
        for (place, &wire) in self.wires.iter().enumerate() {
            entries[next[wire as usize] as usize] = place as u32;
            next[wire as usize] += 1;
        }
        starts.into_iter().chain(entries).collect()
    }

    /// Both arrays on a device: `[rows, count]` and the readers.
    pub fn on(&self, device: &Device) -> [Tensor; 2] {
        let readers = self.readers();
        let length = readers.len();
        [
            Tensor::from_vec(self.wires.clone(), [self.rows(), self.count], device),
            Tensor::from_vec(readers, [length], device),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_differ_and_come_equally_often() {
        for (inputs, rows, count) in [(10, 40, 4), (5, 3, 5), (7, 20, 6), (784, 100, 8)] {
            let candidates = Candidates::random(inputs, rows, count, 3, 1).unwrap();
            assert_eq!(candidates.rows(), rows);
            let mut counts = vec![0; inputs];
            for row in candidates.wires.chunks(count) {
                let mut sorted = row.to_vec();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), count, "{row:?}");
                row.iter().for_each(|&wire| counts[wire as usize] += 1);
            }
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 2, "{inputs} inputs: {least} to {most} times");
        }
        let error = Candidates::random(4, 6, 5, 0, 0).unwrap_err().to_string();
        assert_eq!(
            error,
            "wiring: a wire cannot choose among more candidates than inputs: 4 inputs, 3 gates (5 vs 4)"
        );
    }

    #[test]
    fn readers_list_every_place() {
        let candidates = Candidates { inputs: 3, count: 2, wires: vec![2, 0, 2, 1] };
        assert_eq!(candidates.readers(), [0, 1, 2, 4, 1, 3, 0, 2]);
    }
}
