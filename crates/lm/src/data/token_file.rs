//! Tokens in a file: a head of 32 bytes, then two or four bytes per token, least byte first.
//!
//! The head is `FARADTOK`, the version and the bytes of a token (four bytes each), the number of tokens and that of the
//! vocabulary (eight bytes each). The file is memory-mapped, not read; it is written whole
//! ([`farad::run::Run::write_file`]).

use std::path::Path;

use farad::data::MappedFile;

use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"FARADTOK";
const VERSION: u32 = 1;
const HEAD: usize = 32;

/// The tokens of a text, mapped from a file.
///
/// ```
/// use farad_lm::data::TokenFile;
/// let path = std::env::temp_dir().join(format!("farad-doc-tokens-{}", std::process::id()));
/// std::fs::write(&path, TokenFile::encoded(&[3, 1, 2], 4))?;
/// let file = TokenFile::open(&path, 4)?;
/// assert_eq!((file.len(), file.tokens(1, 2)), (3, vec![1, 2]));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TokenFile {
    bytes: TokenBytes,
    /// Bytes of a token.
    width: usize,
}

/// Where the bytes are.
#[derive(Debug)]
enum TokenBytes {
    Mapped(MappedFile),
    Here(Vec<u8>),
}

impl TokenFile {
    /// Tokens that are in no file.
    #[track_caller]
    pub fn in_memory(tokens: &[u32], vocabulary: usize) -> TokenFile {
        let outside = tokens.iter().find(|&&token| token as usize >= vocabulary);
        assert!(outside.is_none(), "tokens: outside of the vocabulary: ({outside:?} vs below {vocabulary})");
        TokenFile {
            bytes: TokenBytes::Here(TokenFile::encoded(tokens, vocabulary)),
            width: width(vocabulary),
        }
    }

    /// The bytes of such a file.
    pub fn encoded(tokens: &[u32], vocabulary: usize) -> Vec<u8> {
        let width = width(vocabulary);
        let mut bytes = Vec::with_capacity(HEAD + width * tokens.len());
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((width as u32).to_le_bytes());
        bytes.extend((tokens.len() as u64).to_le_bytes());
        bytes.extend((vocabulary as u64).to_le_bytes());
        tokens.iter().for_each(|token| bytes.extend(&token.to_le_bytes()[..width]));
        bytes
    }

    /// Maps a file of tokens below `vocabulary`.
    pub fn open(path: &Path, vocabulary: usize) -> Result<TokenFile> {
        let fail = |source| farad::Error::File { op: "tokens", path: path.into(), source };
        let file = MappedFile::open(path).map_err(fail)?;
        let wrong = |what: String| Error::TokenFile { path: path.into(), what };
        let bytes = file.bytes();
        if bytes.len() < HEAD || &bytes[..8] != MAGIC {
            return Err(wrong("it is no file of tokens".into()));
        }
        let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let (version, width, count, entries) = (short(8), short(12) as usize, long(16), long(24));
        if version != VERSION {
            return Err(wrong(format!("another version (version {version} vs {VERSION})")));
        }
        if entries != vocabulary as u64 {
            return Err(wrong(format!("another vocabulary ({entries} entries vs {vocabulary})")));
        }
        let wanted = count.checked_mul(width as u64).and_then(|bytes| bytes.checked_add(HEAD as u64));
        if !matches!(width, 2 | 4) || wanted != Some(bytes.len() as u64) {
            return Err(wrong(format!("it is cut or damaged ({} bytes vs {} tokens)", bytes.len(), count)));
        }
        let tokens = TokenFile { bytes: TokenBytes::Mapped(file), width };
        let outside = tokens.iter(0, tokens.len()).find(|&token| token as usize >= vocabulary);
        match outside {
            Some(token) => {
                Err(wrong(format!("a token outside of the vocabulary ({token} vs below {vocabulary})")))
            }
            None => Ok(tokens),
        }
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        (self.all().len() - HEAD) / self.width
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `count` tokens from a place on. Panics if there are not so many.
    #[track_caller]
    pub fn tokens(&self, from: usize, count: usize) -> Vec<u32> {
        assert!(
            from + count <= self.len(),
            "tokens: outside of the file: ({} vs {})",
            from + count,
            self.len()
        );
        self.iter(from, count).collect()
    }

    fn all(&self) -> &[u8] {
        match &self.bytes {
            TokenBytes::Mapped(file) => file.bytes(),
            TokenBytes::Here(bytes) => bytes,
        }
    }

    fn iter(&self, from: usize, count: usize) -> impl Iterator<Item = u32> {
        let bytes = &self.all()[HEAD + from * self.width..][..count * self.width];
        bytes.chunks_exact(self.width).map(|token| {
            let mut word = [0; 4];
            word[..token.len()].copy_from_slice(token);
            u32::from_le_bytes(word)
        })
    }
}

/// Bytes of a token.
fn width(vocabulary: usize) -> usize {
    if vocabulary <= 1 << 16 { 2 } else { 4 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(name: &str, bytes: &[u8], vocabulary: usize) -> Result<TokenFile> {
        let path = std::env::temp_dir().join(format!("farad-tokens-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).expect("writes");
        let file = TokenFile::open(&path, vocabulary);
        std::fs::remove_file(&path).expect("removes");
        file
    }

    #[test]
    fn both_widths_give_the_tokens_back() {
        for vocabulary in [1 << 16, (1 << 16) + 1] {
            let tokens = [0, 1, 65535, 7];
            let file = opened(&format!("{vocabulary}"), &TokenFile::encoded(&tokens, vocabulary), vocabulary);
            assert_eq!(file.expect("opens").tokens(0, 4), tokens);
        }
        assert!(opened("none", &TokenFile::encoded(&[], 5), 5).expect("opens").is_empty());
    }

    #[test]
    fn damaged_files_are_refused() {
        let good = TokenFile::encoded(&[1, 2, 3], 4);
        let refused =
            |name: &str, bytes: &[u8], vocabulary| opened(name, bytes, vocabulary).unwrap_err().to_string();
        assert!(
            refused("cut", &good[..good.len() - 1], 4)
                .contains("it is cut or damaged (37 bytes vs 3 tokens)")
        );
        assert!(refused("other", &good, 5).contains("another vocabulary (4 entries vs 5)"));
        assert!(refused("text", b"no tokens", 4).contains("it is no file of tokens"));
        assert!(refused("outside", &TokenFile::encoded(&[9], 4), 4).contains("(9 vs below 4)"));
        let mut newer = good.clone();
        newer[8] = 2;
        assert!(refused("newer", &newer, 4).contains("another version (version 2 vs 1)"));
    }
}
