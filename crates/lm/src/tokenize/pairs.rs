//! Byte pairs: tokens are bytes, and what was merged from two tokens before it.

use std::collections::HashMap;

use super::pieces::pieces;
use crate::error::{Error, Result};

/// Tokens that are bytes.
pub(super) const BYTES: u32 = 256;

/// A list of merges, in the order in which they were learned; the first is token 256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BytePairs {
    merges: Vec<[u32; 2]>,
    /// The token that two become.
    merged: HashMap<[u32; 2], u32>,
    /// The bytes of every token.
    bytes: Vec<Vec<u8>>,
}

impl BytePairs {
    /// From merges, each of tokens that are there before it.
    pub fn new(merges: Vec<[u32; 2]>) -> Result<BytePairs> {
        let mut bytes: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        let mut merged = HashMap::with_capacity(merges.len());
        for (pair, token) in merges.iter().zip(BYTES..) {
            let parts = pair.map(|part| bytes.get(part as usize).cloned());
            let [Some(mut first), Some(second)] = parts else {
                return Err(Error::Vocabulary { what: "a merge of byte pairs is of tokens that come later" });
            };
            first.extend(second);
            bytes.push(first);
            merged.insert(*pair, token);
        }
        Ok(BytePairs { merges, merged, bytes })
    }

    /// What was merged, in order.
    pub fn merges(&self) -> &[[u32; 2]] {
        &self.merges
    }

    /// How many tokens there are.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The tokens of any bytes.
    pub fn encode(&self, text: &[u8]) -> Vec<u32> {
        let mut known: HashMap<&[u8], Vec<u32>> = HashMap::new();
        let mut tokens = Vec::with_capacity(text.len() / 3);
        for piece in pieces(text) {
            tokens.extend_from_slice(known.entry(piece).or_insert_with(|| self.encode_piece(piece)));
        }
        tokens
    }

    /// Merges in the order in which they were learned.
    fn encode_piece(&self, piece: &[u8]) -> Vec<u32> {
        let mut tokens: Vec<u32> = piece.iter().map(|&byte| byte.into()).collect();
        let first = |tokens: &[u32]| {
            let pairs = tokens.windows(2).filter_map(|pair| self.merged.get(&[pair[0], pair[1]]));
            pairs.min().copied()
        };
        while let Some(token) = first(&tokens) {
            merge(&mut tokens, self.merges[(token - BYTES) as usize], token);
        }
        tokens
    }

    /// The bytes of a token.
    pub(super) fn bytes(&self, token: u32) -> &[u8] {
        self.bytes.get(token as usize).map_or(&[], Vec::as_slice)
    }
}

/// Puts `token` in the place of every pair, from the left.
pub(super) fn merge(tokens: &mut Vec<u32>, pair: [u32; 2], token: u32) {
    let (mut read, mut write) = (0, 0);
    while read < tokens.len() {
        let found = tokens.get(read..read + 2) == Some(&pair[..]);
        tokens[write] = if found { token } else { tokens[read] };
        read += 1 + usize::from(found);
        write += 1;
    }
    tokens.truncate(write);
}
