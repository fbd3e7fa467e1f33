//! What of a tokenizer is stored: the vocabulary, and nothing that follows from it.

use serde::{Deserialize, Serialize};

use super::{BytePairs, Characters, Tokenizer, WordTokenizer};
use crate::error::Error;

/// A tokenizer as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Stored {
    Bytes,
    Characters { letters: String },
    Words { words: Vec<String> },
    BytePairs { merges: Vec<[u32; 2]> },
    Foreign { json: String },
}

impl From<Tokenizer> for Stored {
    fn from(tokenizer: Tokenizer) -> Stored {
        match tokenizer {
            Tokenizer::Bytes => Stored::Bytes,
            Tokenizer::Characters(characters) => Stored::Characters { letters: characters.letters() },
            Tokenizer::Words(words) => Stored::Words { words: words.words().to_vec() },
            Tokenizer::BytePairs(pairs) => Stored::BytePairs { merges: pairs.merges().to_vec() },
            #[cfg(feature = "tokenizers")]
            Tokenizer::Foreign(foreign) => Stored::Foreign { json: foreign.json().to_string() },
        }
    }
}

impl TryFrom<Stored> for Tokenizer {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Tokenizer, Error> {
        Ok(match stored {
            Stored::Bytes => Tokenizer::Bytes,
            Stored::Characters { letters } => Tokenizer::Characters(Characters::from_letters(&letters)?),
            Stored::Words { words } => Tokenizer::Words(WordTokenizer::from_words(words)?),
            Stored::BytePairs { merges } => Tokenizer::BytePairs(BytePairs::new(merges)?),
            #[cfg(feature = "tokenizers")]
            Stored::Foreign { json } => Tokenizer::Foreign(Box::new(super::Foreign::new(json)?)),
            #[cfg(not(feature = "tokenizers"))]
            Stored::Foreign { .. } => return Err(Error::NoForeignTokenizers),
        })
    }
}
