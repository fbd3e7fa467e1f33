//! Which weights are dropped: a word per query and key, from four words of a seed.
//!
//! The kernels on tensor cores compute the word again wherever they need it, so no mask is ever stored. Philox would
//! take longer there than everything else. The graph of the second order (`second`) writes the same formula.

use farad_ir::Exact;

/// Weights are dropped with this probability, below 1.
#[derive(Clone, Copy, Debug, Hash)]
pub struct AttentionDropout(pub Exact);

impl AttentionDropout {
    /// Words from here on are kept.
    pub fn threshold(&self) -> u32 {
        (self.0.0 * (1u64 << 32) as f64) as u32
    }

    /// What is kept is multiplied with this.
    pub fn factor(&self) -> f32 {
        (1.0 / (1.0 - self.0.0)) as f32
    }

    /// Whether a weight is kept; `query` counts over all heads.
    pub fn keeps(&self, seed: [u32; 4], query: usize, key: usize) -> bool {
        let words = [0, 1].map(|n| mix(mix((query as u32).wrapping_add(seed[n])) ^ seed[n + 2]));
        mix((key as u32).wrapping_mul(words[1] | 1).wrapping_add(words[0])) >= self.threshold()
    }
}

/// Factors and shifts of [`mix`], after which every bit depends on all bits.
pub const ROUNDS: [(u32, Option<u32>); 3] = [(16, Some(0x21f0_aaad)), (15, Some(0x735a_2d97)), (15, None)];

/// A word that looks random.
pub fn mix(x: u32) -> u32 {
    ROUNDS.into_iter().fold(x, |x, (shift, factor)| {
        let x = x ^ (x >> shift);
        factor.map_or(x, |factor| x.wrapping_mul(factor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_kept_as_should_be_whatever_the_row() {
        let dropout = AttentionDropout(Exact(0.3));
        let seed = [1, 2, 3, 4];
        let kept = |query: usize| (0..4096).filter(|&key| dropout.keeps(seed, query, key)).count() as f64;
        let rows: Vec<f64> = (0..256).map(kept).collect();
        let mean = rows.iter().sum::<f64>() / (256.0 * 4096.0);
        assert!((mean - 0.7).abs() < 0.002, "{mean}");
        // Rows are as uneven as chance makes them: a standard deviation of 29.3.
        let variance = rows.iter().map(|kept| (kept - mean * 4096.0).powi(2)).sum::<f64>() / 256.0;
        assert!((24.0..35.0).contains(&variance.sqrt()), "{variance}");
        // Neighboring rows and other seeds have nothing to do with each other.
        let same = |a: ([u32; 4], usize), b: ([u32; 4], usize)| {
            let keeps = |(seed, query), key| dropout.keeps(seed, query, key);
            (0..4096).filter(|&key| keeps(a, key) == keeps(b, key)).count() as f64 / 4096.0
        };
        for other in [(seed, 8), ([2, 2, 3, 4], 7), ([1, 2, 3, 5], 7)] {
            let alike = same((seed, 7), other);
            assert!((alike - 0.58).abs() < 0.04, "{other:?}: {alike}");
        }
    }
}
