//! Words as tokens, by the protocol of wikitext-2: what stands between spaces, and `<eos>` after every line.

use std::collections::HashMap;

use crate::error::{Error, Result};

/// What a word is that the vocabulary lacks.
pub const UNKNOWN: &str = "<unk>";
/// The end of a line.
pub const END: &str = "<eos>";
/// Their numbers.
const UNKNOWN_TOKEN: u32 = 0;
pub(super) const END_TOKEN: u32 = 1;

/// A number for every word: `<unk>`, `<eos>`, then the most frequent first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordTokenizer {
    words: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl WordTokenizer {
    /// The words of a text; of more than `most` entries the rarest are left out (0: none are).
    pub fn of(text: &str, most: usize) -> Result<WordTokenizer> {
        if (1..2).contains(&most) {
            return Err(Error::SmallVocabulary { entries: most, least: 2, why: "`<unk>` and `<eos>`" });
        }
        let mut counts: HashMap<&str, u64> = HashMap::new();
        text.split_whitespace().for_each(|word| *counts.entry(word).or_default() += 1);
        counts.retain(|word, _| *word != UNKNOWN && *word != END);
        let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
        // Words of one count stand in the order of letters, so that chance has no say.
        counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let all = [UNKNOWN, END].into_iter().chain(counts.into_iter().map(|(word, _)| word));
        let most = if most == 0 { usize::MAX } else { most };
        Ok(WordTokenizer::new(all.take(most).map(str::to_string).collect()))
    }

    fn new(words: Vec<String>) -> WordTokenizer {
        let numbers = words.iter().enumerate().map(|(n, word)| (word.clone(), n as u32)).collect();
        WordTokenizer { words, numbers }
    }

    /// What [`WordTokenizer::words`] gave.
    pub(super) fn from_words(words: Vec<String>) -> Result<WordTokenizer> {
        let words = WordTokenizer::new(words);
        let begins = words.words.get(..2).is_some_and(|first| first == [UNKNOWN, END]);
        match begins && words.numbers.len() == words.words.len() {
            true => Ok(words),
            false => {
                Err(Error::Vocabulary { what: "words do not begin with <unk> and <eos>, or are there twice" })
            }
        }
    }

    /// All of them.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.words.len()
    }

    /// The words of every line and its end.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        for line in text.lines() {
            let number = |word: &str| self.numbers.get(word).copied().unwrap_or(UNKNOWN_TOKEN);
            tokens.extend(line.split_whitespace().map(number));
            tokens.push(END_TOKEN);
        }
        tokens
    }

    /// The word of a number.
    pub(super) fn word(&self, token: u32) -> Option<&str> {
        self.words.get(token as usize).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_and_rare_words_are_unknown() {
        let words = WordTokenizer::of("b a b\n\n a b <unk> c\n", 4).expect("large enough");
        assert_eq!(words.words(), ["<unk>", "<eos>", "b", "a"]);
        assert_eq!(words.encode(" b a\n\nc <unk>"), [2, 3, 1, 1, 0, 0, 1]);
        let text = WordTokenizer::of("a", 1).unwrap_err().to_string();
        assert!(
            text.starts_with("tokenizer: vocabulary is too small: `<unk>` and `<eos>` (1 vs at least 2)"),
            "{text}"
        );
    }
}
