//! Tokenizers of Hugging Face, from a `tokenizer.json`. The file's text travels in the checkpoint.

use std::cell::Cell;
use std::panic::UnwindSafe;
use std::path::Path;
use std::sync::Once;

use tokenizers::Tokenizer;

use crate::error::{Error, Result};

/// A `tokenizer.json`.
#[derive(Clone, Debug)]
pub struct Foreign {
    json: String,
    tokenizer: Tokenizer,
}

impl Foreign {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Foreign> {
        let fail = |source| farad::Error::File { op: "tokenizer", path: path.into(), source };
        Foreign::new(std::fs::read_to_string(path).map_err(fail)?)
    }

    /// From the text of such a file.
    pub fn new(json: String) -> Result<Foreign> {
        // The library panics at some damaged files.
        let parsed = quietly(|| json.parse::<Tokenizer>());
        let tokenizer = parsed.map_err(|_| wrong("its parts do not fit together".into()))?.map_err(wrong)?;
        Ok(Foreign { json, tokenizer })
    }

    /// The text of the file.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// How many tokens there are, special ones included.
    pub fn size(&self) -> usize {
        // Numbers may have gaps, so the largest one counts.
        let largest = self.tokenizer.get_vocab(true).into_values().max();
        largest.map_or(0, |largest| largest as usize + 1)
    }

    /// The tokens of a text, without special ones around it.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.tokenizer.encode_fast(text, false).map_err(wrong)?.get_ids().to_vec())
    }

    /// The tokens of a text, with the special ones that the file puts around it.
    pub fn encode_whole(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.tokenizer.encode_fast(text, true).map_err(wrong)?.get_ids().to_vec())
    }

    /// The text that a token adds to those before it.
    pub(super) fn next_text(&self, (waiting, before): &mut (Vec<u32>, usize), token: u32) -> String {
        let old = self.text(&waiting[..*before]);
        waiting.push(token);
        let new = self.text(waiting);
        // A character in the making shows as a replacement.
        if new.ends_with(char::REPLACEMENT_CHARACTER) || !new.starts_with(&old) {
            return String::new();
        }
        let added = new[old.len()..].to_string();
        waiting.drain(..*before);
        *before = waiting.len();
        added
    }

    /// What is left of tokens that wait.
    pub(super) fn last_text(&self, (waiting, before): &mut (Vec<u32>, usize)) -> String {
        let (old, new) = (self.text(&waiting[..*before]), self.text(waiting));
        waiting.clear();
        *before = 0;
        new.strip_prefix(&old).unwrap_or_default().to_string()
    }

    fn text(&self, tokens: &[u32]) -> String {
        self.tokenizer.decode(tokens, false).unwrap_or_default()
    }
}

fn wrong(error: tokenizers::Error) -> Error {
    Error::ForeignTokenizer { message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::{Tokenizer, TokenizerKind};

    /// A tokenizer of a few words, as the library writes it.
    const FILE: &str = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
        "pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,
        "model":{"type":"WordLevel","vocab":{"<unk>":0,"the":1,"cat":2,"sat":5},"unk_token":"<unk>"}}"#;

    #[test]
    fn a_file_is_read_used_and_stored() {
        let path = std::env::temp_dir().join(format!("farad-foreign-{}.json", std::process::id()));
        std::fs::write(&path, FILE).expect("writes");
        let kind = TokenizerKind::named(path.to_str().expect("a path")).expect("a path");
        let tokenizer = Tokenizer::learn(&kind, b"", 0).expect("reads");
        std::fs::remove_file(&path).expect("removes");
        assert_eq!((tokenizer.size(), tokenizer.name()), (6, "tokenizer.json"));
        let tokens = tokenizer.encode(b"the cat sat down").expect("encodes");
        assert_eq!(tokens, [1, 2, 5, 0]);
        assert_eq!(tokenizer.decode(&tokens), "the cat sat <unk>");
        let text = serde_json::to_string(&tokenizer).expect("writes");
        let back: Tokenizer = serde_json::from_str(&text).expect("reads");
        assert_eq!(back.encode(b"cat").expect("encodes"), [2]);
        assert!(Tokenizer::learn(&TokenizerKind::File("/nowhere.json".into()), b"", 0).is_err());
    }
}

thread_local! {
    /// Whether panics of this thread are caught and become errors.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Catches a panic, whose text nobody sees. Other threads' panics are told as ever.
fn quietly<T>(body: impl FnOnce() -> T + UnwindSafe) -> std::thread::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                usual(panic);
            }
        }));
    });
    QUIET.set(true);
    let result = std::panic::catch_unwind(body);
    QUIET.set(false);
    result
}
