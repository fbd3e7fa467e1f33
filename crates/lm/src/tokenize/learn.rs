//! Learning byte pairs: the most frequent pair becomes a token, again and again.
//!
//! Pairs are counted within pieces of text, and the counts are kept up to date merge by merge. A pair whose
//! count fell stays in the heap under its old count and is put back when it comes up. Pairs with equal counts
//! are merged in the order of their tokens, so the same text gives the same merges everywhere.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::pairs::{BYTES, BytePairs, merge};
use super::pieces::pieces;
use crate::error::{Error, Result};

/// A pair that is there once is no habit of the text.
const LEAST_COUNT: u64 = 2;

/// Learns until there are so many entries, bytes included, or nothing is left that is there twice.
pub(super) fn byte_pairs(text: &[u8], entries: usize) -> Result<BytePairs> {
    if entries < BYTES as usize {
        return Err(Error::SmallVocabulary { entries, least: BYTES as usize, why: "every byte is an entry" });
    }
    let mut state = Learning::new(text);
    let mut merges = Vec::new();
    for token in BYTES..entries as u32 {
        let Some(pair) = state.most_frequent() else { break };
        state.merge(pair, token);
        merges.push(pair);
    }
    BytePairs::new(merges)
}

/// A pair in the heap, under the count that it had.
type QueuedPair = (u64, Reverse<[u32; 2]>);

struct Learning {
    /// Different pieces as tokens, and how often they are there.
    pieces: Vec<(Vec<u32>, u64)>,
    counts: HashMap<[u32; 2], u64>,
    /// The pieces that have, or had, a pair.
    places: HashMap<[u32; 2], Vec<u32>>,
    heap: BinaryHeap<QueuedPair>,
}

impl Learning {
    fn new(text: &[u8]) -> Learning {
        let mut counted: HashMap<&[u8], u64> = HashMap::new();
        pieces(text).for_each(|piece| *counted.entry(piece).or_default() += 1);
        let tokens = |piece: &[u8]| piece.iter().map(|&byte| byte.into()).collect();
        let pieces = counted.into_iter().map(|(piece, count)| (tokens(piece), count)).collect();
        let mut state =
            Learning { pieces, counts: HashMap::new(), places: HashMap::new(), heap: BinaryHeap::new() };
        for number in 0..state.pieces.len() {
            let (tokens, count) = &state.pieces[number];
            for pair in tokens.windows(2) {
                let pair = [pair[0], pair[1]];
                *state.counts.entry(pair).or_default() += count;
                place(&mut state.places, pair, number as u32);
            }
        }
        state.heap = state.counts.iter().map(|(pair, count)| (*count, Reverse(*pair))).collect();
        state
    }

    /// The pair that is there most often, if one is there often enough.
    fn most_frequent(&mut self) -> Option<[u32; 2]> {
        while let Some((count, Reverse(pair))) = self.heap.pop() {
            let now = self.counts.get(&pair).copied().unwrap_or(0);
            match now {
                _ if now == count && now >= LEAST_COUNT => return Some(pair),
                _ if now == count || now < LEAST_COUNT => {}
                _ => self.heap.push((now, Reverse(pair))),
            }
        }
        None
    }

    /// Merges a pair wherever it is.
    fn merge(&mut self, pair: [u32; 2], token: u32) {
        let mut grown: Vec<[u32; 2]> = Vec::new();
        for number in self.places.remove(&pair).unwrap_or_default() {
            let (tokens, count) = &mut self.pieces[number as usize];
            for old in tokens.windows(2) {
                // A piece may have lost the pair to another merge, and is then listed in vain.
                let counted = self.counts.entry([old[0], old[1]]).or_default();
                *counted -= *count;
            }
            merge(tokens, pair, token);
            for new in tokens.windows(2) {
                let new = [new[0], new[1]];
                *self.counts.entry(new).or_default() += *count;
                if new.contains(&token) {
                    place(&mut self.places, new, number);
                    grown.push(new);
                }
            }
        }
        self.counts.remove(&pair);
        grown.sort_unstable();
        grown.dedup();
        self.heap.extend(grown.into_iter().map(|pair| (self.counts[&pair], Reverse(pair))));
    }
}

/// Notes that a piece has a pair; pieces come one after another, so the last note tells whether it is new.
fn place(places: &mut HashMap<[u32; 2], Vec<u32>>, pair: [u32; 2], number: u32) {
    let list = places.entry(pair).or_default();
    if list.last() != Some(&number) {
        list.push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by counting everything again for every merge.
    fn slowly(text: &[u8], entries: usize) -> Vec<[u32; 2]> {
        let mut all: Vec<Vec<u32>> = pieces(text).map(|p| p.iter().map(|&b| b.into()).collect()).collect();
        let mut merges = Vec::new();
        for token in BYTES..entries as u32 {
            let mut counts: HashMap<[u32; 2], u64> = HashMap::new();
            all.iter().flat_map(|p| p.windows(2)).for_each(|w| *counts.entry([w[0], w[1]]).or_default() += 1);
            let best = counts.into_iter().max_by_key(|&(pair, count)| (count, Reverse(pair)));
            let Some((pair, _)) = best.filter(|(_, count)| *count >= LEAST_COUNT) else { break };
            all.iter_mut().for_each(|piece| merge(piece, pair, token));
            merges.push(pair);
        }
        merges
    }

    #[test]
    fn merges_are_those_of_counting_again() {
        let mut random = farad::data::Random::at(5, 0, 0);
        let letter = |random: &mut farad::data::Random| b"aabbc d.1\n"[random.below(10)];
        for length in [0, 1, 7, 60, 900] {
            let text: Vec<u8> = (0..length).map(|_| letter(&mut random)).collect();
            let learned = byte_pairs(&text, 320).expect("large enough");
            assert_eq!(learned.merges(), slowly(&text, 320), "{}", String::from_utf8_lossy(&text));
        }
        let repeated = "aaaaa aaaa aaa banana bananas ".repeat(3);
        assert_eq!(
            byte_pairs(repeated.as_bytes(), 300).expect("large enough").merges(),
            slowly(repeated.as_bytes(), 300)
        );
    }

    #[test]
    fn fewer_entries_than_bytes_are_refused() {
        let text = byte_pairs(b"abc", 100).unwrap_err().to_string();
        assert!(text.contains("every byte is an entry (100 vs at least 256)"), "{text}");
    }
}
