//! Pseudorandom numbers that are the same every time.

/// A stream of numbers from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct NumberStream(u64);

impl NumberStream {
    /// The stream of a seed.
    pub fn new(seed: u64) -> NumberStream {
        NumberStream(seed)
    }

    /// The stream of a name.
    pub fn named(name: &str) -> NumberStream {
        // FNV-1a: stable between versions of Rust, unlike the standard hasher.
        NumberStream(
            name.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ b as u64).wrapping_mul(0x0100_0000_01b3)),
        )
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from `low` up to, not including, `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number from 0 up to, not including, `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// True with probability `1 / n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of the choices.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
