//! What of a tokeniser is stored: the vocabulary, and nothing that follows from it.

use serde::{Deserialize, Serialize};

use super::{BytePairs, Characters, Tokeniser, Words};
use crate::error::Error;

/// A tokeniser as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Stored {
    Bytes,
    Characters { letters: String },
    Words { words: Vec<String> },
    BytePairs { merges: Vec<[u32; 2]> },
    Foreign { json: String },
}

impl From<Tokeniser> for Stored {
    fn from(tokeniser: Tokeniser) -> Stored {
        match tokeniser {
            Tokeniser::Bytes => Stored::Bytes,
            Tokeniser::Characters(characters) => Stored::Characters { letters: characters.letters() },
            Tokeniser::Words(words) => Stored::Words { words: words.words().to_vec() },
            Tokeniser::BytePairs(pairs) => Stored::BytePairs { merges: pairs.merges().to_vec() },
            #[cfg(feature = "tokenizers")]
            Tokeniser::Foreign(foreign) => Stored::Foreign { json: foreign.json().to_string() },
        }
    }
}

impl TryFrom<Stored> for Tokeniser {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Tokeniser, Error> {
        Ok(match stored {
            Stored::Bytes => Tokeniser::Bytes,
            Stored::Characters { letters } => Tokeniser::Characters(Characters::from_letters(&letters)?),
            Stored::Words { words } => Tokeniser::Words(Words::from_words(words)?),
            Stored::BytePairs { merges } => Tokeniser::BytePairs(BytePairs::new(merges)?),
            #[cfg(feature = "tokenizers")]
            Stored::Foreign { json } => Tokeniser::Foreign(Box::new(super::Foreign::new(json)?)),
            #[cfg(not(feature = "tokenizers"))]
            Stored::Foreign { .. } => return Err(Error::NoForeignTokenisers),
        })
    }
}
