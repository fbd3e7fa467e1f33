//! Random numbers for a search: fast, and the same everywhere.

/// A stream of random words (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    /// The stream of a seed and a number: streams with different numbers are independent.
    pub(crate) fn new(seed: u64, number: u64) -> SplitMix {
        let mut random = SplitMix(seed);
        let place = random.word() ^ number.wrapping_mul(0xD134_2543_DE82_EF95);
        let mut random = SplitMix(place);
        random.word();
        random
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((self.word() as u128 * limit as u128) >> 64) as usize
    }

    /// True with probability `1 / times`.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Uniform, above 0 and up to 1.
    pub(crate) fn share(&mut self) -> f64 {
        ((self.word() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// 64 bits, each set with probability `rate / 65536`.
    pub(crate) fn bits(&mut self, rate: u32) -> u64 {
        // From the lowest digit of the rate to the highest: for a one, OR with random bits; for a zero, AND.
        let mut bits = 0u64;
        for digit in rate.trailing_zeros().min(16)..16 {
            let word = self.word();
            bits = if rate >> digit & 1 == 1 { bits | word } else { bits & word };
        }
        if rate >= 65536 { !0 } else { bits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_as_often_as_asked() {
        let mut random = SplitMix::new(3, 4);
        for rate in [0, 1 << 15, 39_322, 60_000, 65_536] {
            let ones: u32 = (0..4096).map(|_| random.bits(rate).count_ones()).sum();
            let (found, wanted) = (f64::from(ones) / 262_144.0, f64::from(rate) / 65_536.0);
            assert!((found - wanted).abs() < 0.005, "{found} vs {wanted}");
        }
    }
}
