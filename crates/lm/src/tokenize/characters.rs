//! Characters as tokens: the sorted set of those that a text has.

use std::collections::HashMap;

use crate::error::{Error, Result};

/// A number for every character, in the order of Unicode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Characters {
    letters: Vec<char>,
    numbers: HashMap<char, u32>,
}

impl Characters {
    /// The characters of a text.
    pub fn of(text: &str) -> Characters {
        let mut seen = std::collections::BTreeSet::new();
        seen.extend(text.chars());
        Characters::new(seen.into_iter().collect())
    }

    fn new(letters: Vec<char>) -> Characters {
        let numbers = letters.iter().enumerate().map(|(n, &letter)| (letter, n as u32)).collect();
        Characters { letters, numbers }
    }

    /// What [`Characters::letters`] gave; sorted, each once.
    pub(super) fn from_letters(letters: &str) -> Result<Characters> {
        let letters: Vec<char> = letters.chars().collect();
        match letters.is_sorted_by(|a, b| a < b) {
            true => Ok(Characters::new(letters)),
            false => Err(Error::Vocabulary { what: "characters are not sorted" }),
        }
    }

    /// All of them.
    pub fn letters(&self) -> String {
        self.letters.iter().collect()
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.letters.len()
    }

    /// Their numbers; a character that the vocabulary lacks is an error.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let mut tokens = Vec::with_capacity(text.len());
        for (place, letter) in text.chars().enumerate() {
            let number = self.numbers.get(&letter);
            tokens.push(*number.ok_or(Error::UnknownCharacter { letter, place, known: self.size() })?);
        }
        Ok(tokens)
    }

    /// The character of a number.
    pub(super) fn letter(&self, token: u32) -> Option<char> {
        self.letters.get(token as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_character_is_named() {
        let characters = Characters::of("abc");
        let text = characters.encode("abx").unwrap_err().to_string();
        assert!(text.starts_with("tokenizer: a character that the model does not know: 'x' at 2"), "{text}");
    }
}
