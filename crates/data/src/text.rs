//! A text as sequences of characters, each to be followed by the next.

use std::path::Path;

use super::file::read_bounded;
use super::{Array, Dataset, Sample};
use crate::error::{DataError, Error, Result};

const OP: &str = "text";
/// A larger file is not read into memory.
const MOST_BYTES: u64 = 1 << 31;

/// A text cut into windows: inputs are `[length]` characters as numbers, targets the characters that follow each.
///
/// ```
/// use farad::data::{Dataset, Text};
/// let text = Text::new("abcabc", 2)?;
/// assert_eq!((text.len(), text.classes().len()), (2, 3));
/// assert_eq!(text.decode(&[0, 2]), "ac");
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Text {
    tokens: Vec<i32>,
    letters: Vec<char>,
    names: Vec<String>,
    length: usize,
}

impl Text {
    /// From a text. Its letters, sorted, are the classes. The length is at least 1.
    pub fn new(text: &str, length: usize) -> Result<Text> {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters.dedup();
        Text::with_letters(text, &letters, length)
    }

    /// From a text over known letters, e.g. those of the text that a model was trained on.
    pub fn with_letters(text: &str, letters: &[char], length: usize) -> Result<Text> {
        let number: std::collections::HashMap<char, i32> =
            letters.iter().enumerate().map(|(n, letter)| (*letter, n as i32)).collect();
        let mut tokens = Vec::with_capacity(text.len());
        for (place, letter) in text.chars().enumerate() {
            tokens.push(*number.get(&letter).ok_or(DataError::UnknownLetter { letter, place })?);
        }
        if length == 0 || tokens.len() <= length {
            return Err(DataError::TextTooShort { letters: tokens.len(), length }.into());
        }
        let names = letters.iter().map(|letter| letter.to_string()).collect();
        Ok(Text { tokens, letters: letters.to_vec(), names, length })
    }

    /// Reads a UTF-8 file.
    pub fn read(path: impl AsRef<Path>, length: usize) -> Result<Text> {
        let path = path.as_ref();
        let text =
            String::from_utf8(read_bounded(OP, path, MOST_BYTES)?).map_err(|error| Error::Damaged {
                op: OP,
                path: path.into(),
                place: format!(": byte {}", error.utf8_error().valid_up_to()),
                what: "it is not UTF-8".into(),
            })?;
        Text::new(&text, length)
    }

    /// The letters, by number.
    pub fn letters(&self) -> &[char] {
        &self.letters
    }

    /// The text of numbers; those of no letter are left out.
    pub fn decode(&self, tokens: &[i32]) -> String {
        tokens.iter().filter_map(|&token| self.letters.get(usize::try_from(token).ok()?)).collect()
    }
}

impl Dataset for Text {
    fn len(&self) -> usize {
        (self.tokens.len() - 1) / self.length
    }

    fn get(&self, index: usize) -> Result<Sample> {
        let (len, length) = (self.len(), self.length);
        if index >= len {
            return Err(DataError::NoSample { index, len }.into());
        }
        let at = index * length;
        let part = |from: usize| Array::new(self.tokens[from..from + length].to_vec(), [length]);
        Ok(Sample { input: part(at), target: part(at + 1) })
    }

    fn classes(&self) -> &[String] {
        &self.names
    }
}
