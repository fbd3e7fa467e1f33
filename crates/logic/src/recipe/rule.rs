//! Rules of binary cells: the next state for each of the 512 neighborhoods.
//!
//! A rule is written in one of four ways. `B3/S23` says with how many living neighbors a cell is born, and with
//! how many it survives. The number of an elementary rule applies to each row of the grid by itself. 128
//! hexadecimal digits, or a file, list the neighborhoods. [`Rule::read`] accepts all of them; configurations
//! store [`Rule::text`].

use std::path::Path;

use crate::error::{Error, Result};

/// Neighborhoods of 3×3 cells.
const ALL: usize = 512;
/// The bit of the cell itself; the others are numbered row by row.
const CENTER: usize = 4;

/// The next state of a cell, by its neighborhood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    text: String,
    /// One bit per neighborhood.
    next: [u64; ALL / 64],
}

impl Rule {
    /// Conway's Game of Life.
    pub fn life() -> Rule {
        Rule::counted("B3/S23", 1 << 3, 1 << 2 | 1 << 3)
    }

    /// From user input: a rule as text, or the path of a file with one.
    pub fn read(text: &str) -> Result<Rule> {
        match Rule::parse(text) {
            Err(_) if Path::new(text).is_file() => {
                let fail = |source| farad::Error::File { op: "rule", path: text.into(), source };
                Rule::of_lines(text, &std::fs::read_to_string(text).map_err(fail)?)
            }
            parsed => parsed,
        }
    }

    /// From text: `B3/S23`, `30`, or the digits of a table.
    pub fn parse(text: &str) -> Result<Rule> {
        let wrong = |what: String| Error::Rule { text: text.into(), what };
        if text.len() == ALL / 4 {
            return Rule::of_digits(text).ok_or_else(|| wrong("a table has hexadecimal digits only".into()));
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            let number = text.parse::<u8>();
            return number
                .map(Rule::elementary)
                .map_err(|_| wrong("elementary rules go from 0 to 255".into()));
        }
        let upper = text.to_ascii_uppercase();
        let (born, stays) = upper.split_once('/').ok_or_else(|| wrong("it has no `/`".into()))?;
        let counts = |part: &str, letter: char| {
            let digits =
                part.strip_prefix(letter).ok_or_else(|| wrong(format!("`{part}` has no {letter}")))?;
            digits.chars().try_fold(0u16, |all, digit| match digit.to_digit(10) {
                Some(count @ 0..=8) => Ok(all | 1 << count),
                _ => Err(wrong(format!("a cell has 0 to 8 living neighbors, not `{digit}`"))),
            })
        };
        Ok(Rule::counted(&upper, counts(born, 'B')?, counts(stays, 'S')?))
    }

    /// By the numbers of living neighbors, as bit masks.
    fn counted(text: &str, born: u16, stays: u16) -> Rule {
        Rule::of(text.into(), |patch| {
            let alive = patch >> CENTER & 1;
            let around = patch.count_ones() as usize - alive;
            (if alive == 1 { stays } else { born }) >> around & 1 == 1
        })
    }

    /// The cell and its left and right neighbors form a number from 0 to 7: the index of a bit of the rule's
    /// number.
    fn elementary(number: u8) -> Rule {
        Rule::of(number.to_string(), |patch| {
            let [left, center, right] = [3, 4, 5].map(|n| patch >> n & 1);
            number >> (left * 4 + center * 2 + right) & 1 == 1
        })
    }

    fn of(text: String, lives: impl Fn(usize) -> bool) -> Rule {
        let mut next = [0; ALL / 64];
        (0..ALL).filter(|&patch| lives(patch)).for_each(|patch| next[patch / 64] |= 1 << (patch % 64));
        Rule { text, next }
    }

    /// Four neighborhoods per digit, the first in its lowest bit.
    fn of_digits(text: &str) -> Option<Rule> {
        let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<_>>()?;
        Some(Rule::of(text.to_ascii_lowercase(), |patch| digits[patch / 4] >> (patch % 4) & 1 == 1))
    }

    /// From the lines of a file: nine cells, row by row, and the next state of the one in the middle. `.`
    /// matches both; a line `else` applies to all other neighborhoods.
    fn of_lines(path: &str, lines: &str) -> Result<Rule> {
        let mut next: Vec<Option<(bool, usize)>> = vec![None; ALL];
        let mut other = None;
        for (n, line) in lines.lines().enumerate() {
            let wrong = |what: String| Error::RuleFile { path: path.into(), line: n + 1, what };
            let line = line.split('#').next().unwrap_or_default().replace("->", " ");
            let words: Vec<&str> = line.split_whitespace().collect();
            let (cells, becomes) = match words[..] {
                [] => continue,
                [cells, "0"] => (cells, false),
                [cells, "1"] => (cells, true),
                _ => return Err(wrong("expected nine cells and the next state, 0 or 1".into())),
            };
            if cells == "else" {
                other = Some((becomes, n));
                continue;
            }
            for patch in
                patches(cells).ok_or_else(|| wrong(format!("`{cells}` is not nine of 0, 1 and .")))?
            {
                match next[patch] {
                    Some((before, line)) if before != becomes => {
                        let what = format!("line {} has another result for {}", line + 1, shown(patch));
                        return Err(wrong(what));
                    }
                    _ => next[patch] = Some((becomes, n)),
                }
            }
        }
        if let (None, Some(patch)) = (other, next.iter().position(Option::is_none)) {
            let missing = next.iter().filter(|next| next.is_none()).count();
            return Err(Error::RuleGap { path: path.into(), patch: shown(patch), missing });
        }
        let rule = Rule::of(String::new(), |patch| next[patch].or(other).is_some_and(|(becomes, _)| becomes));
        Ok(Rule { text: rule.digits(), ..rule })
    }

    /// The rule as text that [`Rule::parse`] reads.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The rule for a title: long tables are not shown.
    pub fn title(&self) -> &str {
        if self.text.len() == ALL / 4 { "of a table" } else { &self.text }
    }

    fn digits(&self) -> String {
        (0..ALL / 4).map(|digit| format!("{:x}", self.next[digit / 16] >> (digit % 16 * 4) & 15)).collect()
    }

    /// The next state of a cell, by the index of its neighborhood: one bit per cell, row by row.
    pub fn next(&self, patch: usize) -> bool {
        self.next[patch / 64] >> (patch % 64) & 1 == 1
    }

    /// The same by its cells.
    pub fn lives(&self, patch: [bool; 9]) -> bool {
        self.next(patch.iter().enumerate().map(|(n, &cell)| usize::from(cell) << n).sum())
    }

    /// All 512 boards of 3×3 cells, `[512, 9]`, and their next states on a torus.
    pub fn boards(&self) -> (Vec<bool>, Vec<bool>) {
        let board = |number: usize| std::array::from_fn::<bool, 9, _>(|cell| number >> cell & 1 == 1);
        let next = |board: [bool; 9]| {
            std::array::from_fn::<bool, 9, _>(|cell| {
                let at = |n: usize| board[(cell / 3 + n / 3 + 2) % 3 * 3 + (cell % 3 + n % 3 + 2) % 3];
                self.lives(std::array::from_fn(at))
            })
        };
        let boards: Vec<[bool; 9]> = (0..ALL).map(board).collect();
        let after = boards.iter().flat_map(|&board| next(board)).collect();
        (boards.into_iter().flatten().collect(), after)
    }
}

/// The neighborhoods that nine characters match.
fn patches(cells: &str) -> Option<Vec<usize>> {
    if cells.chars().count() != 9 {
        return None;
    }
    cells.chars().enumerate().try_fold(vec![0], |all, (n, cell)| match cell {
        '0' => Some(all),
        '1' => Some(all.into_iter().map(|patch| patch | 1 << n).collect()),
        '.' => Some(all.into_iter().flat_map(|patch| [patch, patch | 1 << n]).collect()),
        _ => None,
    })
}

fn shown(patch: usize) -> String {
    (0..9).map(|n| if patch >> n & 1 == 1 { '1' } else { '0' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_what_their_words_say() {
        let life = Rule::life();
        assert_eq!(life, Rule::parse("b3/s23").unwrap());
        let patch = |cells: &str| patches(cells).unwrap()[0];
        assert!(life.next(patch("111000000")) && !life.next(patch("111010001")));
        assert!(life.next(patch("110010000")) && !life.next(patch("100010000")));
        let seeds = Rule::parse("B2/S").unwrap();
        assert!(seeds.next(patch("100000001")) && !seeds.next(patch("100010001")));
        // The left neighbor is the highest bit: 30 is 00011110.
        let thirty = Rule::parse("30").unwrap();
        let row = |left, cell, right| thirty.lives([true, false, true, left, cell, right, true, true, false]);
        assert!(row(true, false, false) && row(false, true, true) && row(false, true, false));
        assert!(row(false, false, true) && !row(true, true, true) && !row(true, true, false));
        assert!(!row(true, false, true) && !row(false, false, false));
    }

    #[test]
    fn words_that_are_no_rule_are_refused() {
        let refused = |text: &str| Rule::parse(text).unwrap_err().to_string();
        assert!(refused("B9/S").contains("a cell has 0 to 8 living neighbors, not `9`"));
        assert!(refused("256").contains("elementary rules go from 0 to 255"));
        assert!(refused("S23/B3").contains("`S23` has no B"));
        assert!(refused("").contains("it has no `/`"));
        assert!(Rule::read("no-such-file").unwrap_err().to_string().contains("help:"));
    }

    #[test]
    fn files_say_it_neighborhood_by_neighborhood() {
        let of = |lines: &str| Rule::of_lines("rule.txt", lines);
        let right = of("# the left neighbor\n...1..... -> 1\nelse 0\n").unwrap();
        assert_eq!((0..512).filter(|patch| right.next(*patch)).count(), 256);
        assert_eq!(Rule::parse(right.text()).unwrap(), right, "what is stored is the rule");
        let refused = |lines: &str| of(lines).unwrap_err().to_string();
        assert!(refused("...1..... 1\n").contains("256"), "{}", refused("...1..... 1\n"));
        assert!(refused("......... 1\n000000000 0\n").contains("line 1 has another result for 000000000"));
        assert!(refused("01 1\n").contains("rule.txt") && refused("01 1\n").contains("line 1"));
        assert!(refused("......... 2\n").contains("0 or 1"));
    }

    #[test]
    fn boards_are_on_a_torus() {
        let (before, after) = Rule::life().boards();
        // Three cells in a column on a torus of size three: they have two neighbors each, all others three.
        let column = 0b001_001_001;
        assert_eq!(before[column * 9..][..9], [true, false, false, true, false, false, true, false, false]);
        assert!(after[column * 9..][..9].iter().all(|&cell| cell));
    }
}
