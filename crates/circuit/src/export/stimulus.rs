//! The stimulus of test benches: pseudorandom numbers that a few lines of any language can reproduce.

/// Words of the xorshift generator with shifts 13, 7, 17.
pub(super) struct Xorshift(pub u64);

/// The seed in test benches.
pub(super) const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

impl Xorshift {
    pub(super) fn word(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// `count` bits, 64 per word, lowest first.
    pub(super) fn bits(&mut self, count: usize) -> Vec<bool> {
        let words: Vec<u64> = (0..count.div_ceil(64)).map(|_| self.word()).collect();
        (0..count).map(|n| words[n / 64] >> (n % 64) & 1 == 1).collect()
    }
}

/// Bits as a hexadecimal number, lowest first.
pub(super) fn hexadecimal(bits: &[bool]) -> String {
    let digit = |four: &[bool]| four.iter().rev().fold(0, |digit, &bit| digit * 2 + bit as u32);
    bits.chunks(4).rev().map(|four| char::from_digit(digit(four), 16).expect("below 16")).collect()
}
