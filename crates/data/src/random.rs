//! Random numbers on the host, by counter: a seed, a stream and a place give the same numbers everywhere.

use farad_ir::philox;

/// A stream of random numbers. Streams of different seeds, numbers or places have nothing in common.
///
/// ```
/// use farad::data::Random;
/// let mut random = Random::at(7, 0, 3);
/// let first = random.below(10);
/// assert!(first < 10);
/// assert_eq!(Random::at(7, 0, 3).below(10), first);
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    key: [u32; 2],
    counter: [u32; 4],
    words: [u32; 4],
    used: usize,
}

impl Random {
    /// The numbers of a place in a stream.
    pub fn at(seed: u64, stream: u32, place: u64) -> Random {
        Random {
            key: [seed as u32, (seed >> 32) as u32],
            counter: [0, stream, place as u32, (place >> 32) as u32],
            words: [0; 4],
            used: 4,
        }
    }

    /// The next 32 bits.
    pub fn bits(&mut self) -> u32 {
        if self.used == 4 {
            self.words = philox::block(self.counter, self.key);
            self.counter[0] = self.counter[0].wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.words[self.used - 1]
    }

    /// An integer from 0 to below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let wide = (u64::from(self.bits()) << 32) | u64::from(self.bits());
        ((u128::from(wide) * n as u128) >> 64) as usize
    }

    /// A number from 0 (included) to 1 (excluded).
    pub fn uniform(&mut self) -> f32 {
        (self.bits() >> 8) as f32 / (1u32 << 24) as f32
    }

    /// A number between two.
    pub fn between(&mut self, from: f32, to: f32) -> f32 {
        from + (to - from) * self.uniform()
    }

    /// A normal number with mean 0 and variance 1.
    pub fn normal(&mut self) -> f32 {
        // Box and Muller: 1 - u is never zero, so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f32::consts::TAU * self.uniform()).cos()
    }

    /// The numbers below `n` in random order (Fisher and Yates).
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}
