//! Tokens into text, one by one: what is printed is never taken back.

use super::Tokenizer;
use super::words::END_TOKEN;

/// Text from tokens as they come. Bytes of a character that is not whole yet are kept until it is.
///
/// ```
/// use farad_lm::tokenize::Tokenizer;
/// let mut decoder = Tokenizer::Bytes.decoder();
/// assert_eq!(decoder.push(0xc3), "");
/// assert_eq!(decoder.push(0xa4), "ä");
/// ```
pub struct Decoder<'a> {
    tokenizer: &'a Tokenizer,
    /// Bytes that are no text yet.
    bytes: Vec<u8>,
    /// Whether a word needs a space before it.
    after_word: bool,
    /// Tokens of a `tokenizer.json` whose text is not all out yet, and how many of them are only there for what
    /// follows.
    #[cfg(feature = "tokenizers")]
    waiting: (Vec<u32>, usize),
}

impl<'a> Decoder<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer) -> Decoder<'a> {
        Decoder {
            tokenizer,
            bytes: vec![],
            after_word: false,
            #[cfg(feature = "tokenizers")]
            waiting: (vec![], 0),
        }
    }

    /// The text that a token adds.
    pub fn push(&mut self, token: u32) -> String {
        match self.tokenizer {
            Tokenizer::Bytes => self.push_bytes(u8::try_from(token).ok().as_slice()),
            Tokenizer::Characters(characters) => {
                characters.letter(token).map(String::from).unwrap_or_default()
            }
            Tokenizer::Words(words) => self.push_word(token, words.word(token)),
            Tokenizer::BytePairs(pairs) => self.push_bytes(pairs.bytes(token)),
            #[cfg(feature = "tokenizers")]
            Tokenizer::Foreign(foreign) => foreign.next_text(&mut self.waiting, token),
        }
    }

    /// What is left when no token follows.
    pub fn finish(&mut self) -> String {
        #[cfg(feature = "tokenizers")]
        if let Tokenizer::Foreign(foreign) = self.tokenizer {
            return foreign.last_text(&mut self.waiting);
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.bytes)).into_owned()
    }

    fn push_word(&mut self, token: u32, word: Option<&str>) -> String {
        let Some(word) = word else { return String::new() };
        if token == END_TOKEN {
            self.after_word = false;
            return "\n".into();
        }
        match std::mem::replace(&mut self.after_word, true) {
            true => format!(" {word}"),
            false => word.into(),
        }
    }

    fn push_bytes(&mut self, bytes: &[u8]) -> String {
        self.bytes.extend(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.bytes) {
                Ok(rest) => {
                    text += rest;
                    self.bytes.clear();
                    return text;
                }
                Err(error) => {
                    let (whole, wrong) = (error.valid_up_to(), error.error_len());
                    text += std::str::from_utf8(&self.bytes[..whole]).unwrap_or_default();
                    self.bytes.drain(..whole + wrong.unwrap_or(0));
                    // Without a length the rest may still become a character.
                    if wrong.is_none() {
                        return text;
                    }
                    text.push(char::REPLACEMENT_CHARACTER);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_characters_are_marked_once_it_is_certain() {
        let mut decoder = Tokenizer::Bytes.decoder();
        let text: String =
            [0xff, b'a'.into(), 0xe2, 0x82, b'b'.into(), 300, 0xe2].map(|t| decoder.push(t)).concat();
        assert_eq!(text, "\u{fffd}a\u{fffd}b");
        assert_eq!(decoder.finish(), "\u{fffd}");
    }
}
