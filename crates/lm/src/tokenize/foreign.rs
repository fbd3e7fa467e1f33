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
        if new.ends_with(char::REPLACEMENT_CHARACTER) {
            return String::new();
        }
        let added = rest(&new, &old);
        waiting.drain(..*before);
        *before = waiting.len();
        added
    }

    /// What is left of tokens that wait.
    pub(super) fn last_text(&self, (waiting, before): &mut (Vec<u32>, usize)) -> String {
        let (old, new) = (self.text(&waiting[..*before]), self.text(waiting));
        waiting.clear();
        *before = 0;
        rest(&new, &old)
    }

    fn text(&self, tokens: &[u32]) -> String {
        self.tokenizer.decode(tokens, false).unwrap_or_default()
    }
}

/// What a text has beyond what was told of it. Bytes that are no text after all turn those before them into replacements,
/// one for each, and what was told stays.
fn rest(new: &str, old: &str) -> String {
    match new.strip_prefix(old) {
        Some(rest) => rest.into(),
        None => new.chars().skip(old.chars().count()).collect(),
    }
}

fn wrong(error: tokenizers::Error) -> Error {
    Error::ForeignTokenizer { message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::{Tokenizer, TokenizerKind};
    use super::Foreign;

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

    /// Tokens that are single bytes, as Llama's tokenizers have them.
    const BYTES: &str = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
        "pre_tokenizer":null,"post_processor":null,"decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"}]},
        "model":{"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,
        "byte_fallback":true,"ignore_merges":false,"merges":[],
        "vocab":{"<unk>":0,"<0x0A>":1,"<0xF0>":2,"<0x9F>":3,"<0x98>":4,"<0x80>":5,"x":6}}}"#;

    #[test]
    fn bytes_that_are_no_text_do_not_silence_what_follows() {
        let tokenizer = Foreign::new(BYTES.into()).expect("reads");
        let told = |tokens: &[u32]| {
            let mut state = (vec![], 0);
            let mut told: Vec<String> =
                tokens.iter().map(|&token| tokenizer.next_text(&mut state, token)).collect();
            told.push(tokenizer.last_text(&mut state));
            told
        };
        // A line, then a character of four bytes.
        assert_eq!(told(&[1, 2, 3, 4, 5, 6]), ["\n", "", "", "", "😀", "x", ""]);
        // The first byte of a character, and none of the others.
        assert_eq!(told(&[1, 2, 6, 6]), ["\n", "", "\u{fffd}x", "x", ""]);
        assert_eq!(told(&[1, 2]), ["\n", "", "\u{fffd}"]);
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
