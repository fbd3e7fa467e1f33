//! Text as tokens and back: bytes, characters, words, byte pairs learned here, or a `tokenizer.json`.
//!
//! Invariant: a [`Tokenizer`] is a value that serializes whole, vocabulary included, so that a checkpoint needs no other
//! file to read and write text; and the same text gives the same tokens everywhere. Start at [`Tokenizer::learn`].
//!
//! ```
//! use farad_lm::tokenize::{TokenizerKind, Tokenizer};
//! let tokenizer = Tokenizer::learn(&TokenizerKind::Characters, b"hello", 0)?;
//! let tokens = tokenizer.encode(b"hole")?;
//! assert_eq!((tokenizer.size(), tokens.as_slice()), (4, &[1, 3, 2, 0][..]));
//! assert_eq!(tokenizer.decode(&tokens), "hole");
//! # Ok::<(), farad_lm::Error>(())
//! ```

mod characters;
mod decoder;
#[cfg(feature = "tokenizers")]
mod foreign;
mod learn;
mod pairs;
mod pieces;
mod stored;
mod words;

use std::fmt;
use std::path::PathBuf;

pub use characters::Characters;
pub use decoder::Decoder;
#[cfg(feature = "tokenizers")]
pub use foreign::Foreign;
pub use pairs::BytePairs;
use serde::{Deserialize, Serialize};
use stored::Stored;
pub use words::WordTokenizer;

use crate::error::{Error, Result};

/// Entries of byte pairs if nobody says how many.
const USUAL_PAIRS: usize = 1024;

/// Which tokenizer a user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenizerKind {
    /// Every byte is a token.
    Bytes,
    /// Every character is a token.
    Characters,
    /// What stands between spaces is a token, and so is the end of a line.
    Words,
    /// Pairs of bytes that are often side by side become tokens, again and again.
    BytePairs,
    /// A `tokenizer.json` of Hugging Face.
    File(PathBuf),
}

impl TokenizerKind {
    /// `bytes`, `chars`, `words`, `bpe`, or the path of a `.json` file.
    ///
    /// ```
    /// use farad_lm::tokenize::TokenizerKind;
    /// assert_eq!(TokenizerKind::named("bpe")?, TokenizerKind::BytePairs);
    /// let text = TokenizerKind::named("wrds").unwrap_err().to_string();
    /// assert!(text.starts_with("tokenizer: there is no `wrds`; did you mean `words`?"));
    /// # Ok::<(), farad_lm::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<TokenizerKind> {
        Ok(match name {
            "bytes" => TokenizerKind::Bytes,
            "chars" | "characters" => TokenizerKind::Characters,
            "words" => TokenizerKind::Words,
            "bpe" => TokenizerKind::BytePairs,
            path if path.ends_with(".json") => TokenizerKind::File(path.into()),
            _ => {
                let nearest = farad::nearest(name, ["bytes", "chars", "words", "bpe"]).map(str::to_string);
                return Err(Error::UnknownTokenizer { name: name.into(), nearest });
            }
        })
    }

    /// Whether it needs text in UTF-8; the others take any bytes.
    pub fn needs_text(&self) -> bool {
        !matches!(self, TokenizerKind::Bytes | TokenizerKind::BytePairs)
    }
}

impl fmt::Display for TokenizerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenizerKind::Bytes => f.write_str("bytes"),
            TokenizerKind::Characters => f.write_str("chars"),
            TokenizerKind::Words => f.write_str("words"),
            TokenizerKind::BytePairs => f.write_str("bpe"),
            TokenizerKind::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Turns text into tokens and tokens into text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
#[non_exhaustive]
pub enum Tokenizer {
    /// Every byte is a token.
    Bytes,
    /// Every character is a token.
    Characters(Characters),
    /// Words and ends of lines.
    Words(WordTokenizer),
    /// Bytes and what was merged from them.
    BytePairs(BytePairs),
    /// A `tokenizer.json`.
    #[cfg(feature = "tokenizers")]
    Foreign(Box<Foreign>),
}

impl Tokenizer {
    /// Learns a tokenizer from text. `vocabulary` is as many entries as words and byte pairs may have; 0: all words, and
    /// 1,024 byte pairs.
    pub fn learn(kind: &TokenizerKind, text: &[u8], vocabulary: usize) -> Result<Tokenizer> {
        Ok(match kind {
            TokenizerKind::Bytes => Tokenizer::Bytes,
            TokenizerKind::Characters => Tokenizer::Characters(Characters::of(checked(text)?)),
            TokenizerKind::Words => Tokenizer::Words(WordTokenizer::of(checked(text)?, vocabulary)?),
            TokenizerKind::BytePairs => {
                let entries = if vocabulary == 0 { USUAL_PAIRS } else { vocabulary };
                Tokenizer::BytePairs(learn::byte_pairs(text, entries)?)
            }
            #[cfg(feature = "tokenizers")]
            TokenizerKind::File(path) => Tokenizer::Foreign(Box::new(Foreign::read(path)?)),
            #[cfg(not(feature = "tokenizers"))]
            TokenizerKind::File(_) => return Err(Error::NoForeignTokenizers),
        })
    }

    /// What kind it is, in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Tokenizer::Bytes => "bytes",
            Tokenizer::Characters(_) => "chars",
            Tokenizer::Words(_) => "words",
            Tokenizer::BytePairs(_) => "bpe",
            #[cfg(feature = "tokenizers")]
            Tokenizer::Foreign(_) => "tokenizer.json",
        }
    }

    /// How many tokens there are: they are the numbers below.
    pub fn size(&self) -> usize {
        match self {
            Tokenizer::Bytes => 256,
            Tokenizer::Characters(characters) => characters.size(),
            Tokenizer::Words(words) => words.size(),
            Tokenizer::BytePairs(pairs) => pairs.size(),
            #[cfg(feature = "tokenizers")]
            Tokenizer::Foreign(foreign) => foreign.size(),
        }
    }

    /// The tokens of a whole text.
    pub fn encode(&self, text: &[u8]) -> Result<Vec<u32>> {
        match self {
            Tokenizer::Bytes => Ok(text.iter().map(|&byte| byte.into()).collect()),
            Tokenizer::Characters(characters) => characters.encode(checked(text)?),
            Tokenizer::Words(words) => Ok(words.encode(checked(text)?)),
            Tokenizer::BytePairs(pairs) => Ok(pairs.encode(text)),
            #[cfg(feature = "tokenizers")]
            Tokenizer::Foreign(foreign) => foreign.encode(checked(text)?),
        }
    }

    /// The tokens of a whole text, with what a `tokenizer.json` puts before and after it (`<s>`).
    pub fn encode_whole(&self, text: &[u8]) -> Result<Vec<u32>> {
        #[cfg(feature = "tokenizers")]
        if let Tokenizer::Foreign(foreign) = self {
            return foreign.encode_whole(checked(text)?);
        }
        self.encode(text)
    }

    /// The tokens of a text that goes on: a line of words that is not ended has no end.
    pub fn encode_prompt(&self, text: &str) -> Result<Vec<u32>> {
        let mut tokens = self.encode(text.as_bytes())?;
        if matches!(self, Tokenizer::Words(_)) && !text.is_empty() && !text.ends_with('\n') {
            tokens.pop();
        }
        Ok(tokens)
    }

    /// The text of tokens; those that there are not are left out, and bytes that are no text are `�`.
    pub fn decode(&self, tokens: &[u32]) -> String {
        let mut decoder = self.decoder();
        let mut text: String = tokens.iter().map(|&token| decoder.push(token)).collect();
        text += &decoder.finish();
        text
    }

    /// For text that comes token by token.
    pub fn decoder(&self) -> Decoder<'_> {
        Decoder::new(self)
    }
}

/// Bytes as text.
fn checked(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text).map_err(|error| Error::NotText { at: error.valid_up_to() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tokenizer through JSON and back.
    fn stored(tokenizer: &Tokenizer) -> Tokenizer {
        serde_json::from_str(&serde_json::to_string(tokenizer).expect("writes")).expect("reads")
    }

    #[test]
    fn every_kind_gives_text_back_and_survives_storage() {
        let text = "Naïve cats sat — 12 of them.\nThe end.\n";
        for name in ["bytes", "chars", "words", "bpe"] {
            let kind = TokenizerKind::named(name).expect("known");
            assert_eq!(kind.to_string(), name);
            let tokenizer = Tokenizer::learn(&kind, text.as_bytes(), 0).expect("learns");
            let tokens = tokenizer.encode(text.as_bytes()).expect("encodes");
            assert!(tokens.iter().all(|&token| (token as usize) < tokenizer.size()));
            let back = stored(&tokenizer);
            assert_eq!((back.name(), back.size()), (name, tokenizer.size()));
            assert_eq!(back.encode(text.as_bytes()).expect("encodes"), tokens);
            assert_eq!(back.decode(&tokens), text, "{name}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error_where_text_is_needed() {
        for name in ["chars", "words"] {
            let kind = TokenizerKind::named(name).expect("known");
            let text = Tokenizer::learn(&kind, b"ab\xff", 0).unwrap_err().to_string();
            assert!(text.starts_with("tokenizer: not UTF-8: byte 2\nhelp:"), "{text}");
        }
        assert_eq!(Tokenizer::Bytes.encode(b"a\xff").expect("any bytes"), [97, 255]);
    }

    #[test]
    fn damaged_vocabularies_are_refused() {
        for text in [
            r#"{"kind":"byte-pairs","merges":[[256,1]]}"#,
            r#"{"kind":"characters","letters":"ba"}"#,
            r#"{"kind":"words","words":["a","b"]}"#,
            r#"{"kind":"words","words":["<unk>","<eos>","a","a"]}"#,
            r#"{"kind":"nothing"}"#,
        ] {
            assert!(serde_json::from_str::<Tokenizer>(text).is_err(), "{text}");
        }
    }

    #[cfg(not(feature = "tokenizers"))]
    #[test]
    fn a_foreign_file_needs_the_feature() {
        let kind = TokenizerKind::named("tokenizer.json").expect("a path");
        let text = Tokenizer::learn(&kind, b"", 0).unwrap_err().to_string();
        assert!(text.contains("--features tokenizers"), "{text}");
    }
}
