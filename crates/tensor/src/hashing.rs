//! A fast 128-bit hash for plan keys, and the same mixing for maps keyed by addresses.
//!
//! Not for untrusted input: keys come from the program's own graphs, and debug builds compare the
//! structures behind equal keys.

use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Two lanes that every word is mixed into.
#[derive(Clone, Copy)]
pub struct Mixer {
    a: u64,
    b: u64,
}

impl Default for Mixer {
    fn default() -> Mixer {
        Mixer { a: 0x243f_6a88_85a3_08d3, b: 0x1319_8a2e_0370_7344 }
    }
}

const K1: u64 = 0x9e37_79b9_7f4a_7c15;
const K2: u64 = 0xd6e8_feb8_6659_fd93;

/// Both halves of the full product, folded.
fn fold(x: u64, y: u64) -> u64 {
    let product = x as u128 * y as u128;
    product as u64 ^ (product >> 64) as u64
}

impl Mixer {
    fn word(&mut self, word: u64) {
        self.a = fold(self.a ^ word, K1);
        self.b = fold(self.b.rotate_left(23) ^ word, K2) ^ self.a.rotate_left(41);
    }

    fn full(&self) -> u128 {
        let (a, b) = (fold(self.a ^ K2, self.b | 1), fold(self.b ^ K1, self.a | 1));
        (a as u128) << 64 | b as u128
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
    }

    fn write_u8(&mut self, x: u8) {
        self.word(x as u64);
    }
    fn write_u32(&mut self, x: u32) {
        self.word(x as u64);
    }
    fn write_u64(&mut self, x: u64) {
        self.word(x);
    }
    fn write_usize(&mut self, x: usize) {
        self.word(x as u64);
    }
    fn write_isize(&mut self, x: isize) {
        self.word(x as u64);
    }

    fn finish(&self) -> u64 {
        self.full() as u64
    }
}

/// Maps with the fast hash.
pub type QuickMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Mixer>>;

/// A 128-bit hash of whatever decides what a program does.
pub fn key(of: &impl Hash) -> u128 {
    let mut mixer = Mixer::default();
    of.hash(&mut mixer);
    mixer.full()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_changes_change_both_halves() {
        let mut seen = std::collections::HashSet::new();
        for i in 0..1000u64 {
            for j in 0..20u32 {
                let k = key(&(i, vec![j, 7], "text"));
                assert!(seen.insert(k as u64) && seen.insert((k >> 64) as u64), "{i} {j}");
            }
        }
        assert_ne!(key(&[1u8, 2]), key(&[1u8, 2, 0]));
        assert_ne!(key(&(1, 2)), key(&(2, 1)));
    }
}
