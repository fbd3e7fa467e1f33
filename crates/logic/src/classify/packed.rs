//! Samples as bit planes, for circuits on the CPU.

use farad_circuit::{Line, WIDE_SAMPLES};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::data::{HostSamples, Levels};

/// The encoded bits of some samples: one plane per bit, sample `s` in bit `s % 64` of word `s / 64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planes {
    /// One plane per input of the circuit.
    pub planes: Vec<Vec<u64>>,
    /// How many samples there are.
    pub samples: usize,
}

impl Planes {
    /// The planes as slices.
    pub fn slices(&self) -> Vec<&[u64]> {
        self.planes.iter().map(Vec::as_slice).collect()
    }
}

/// Compares the numbers of samples with the thresholds of their features, row by row: see
/// [`crate::Thermometer::levels`].
pub fn pack(part: &HostSamples, thresholds: &[f32]) -> Planes {
    let (features, samples) = (part.features(), part.len());
    let count = thresholds.len() / features;
    let plane = |bit: usize| {
        let (feature, threshold) = (bit / count, thresholds[bit]);
        let mut words = vec![0u64; samples.div_ceil(64)];
        let mut set = |sample: usize, is: bool| words[sample / 64] |= u64::from(is) << (sample % 64);
        match &part.levels {
            Levels::Bytes(bytes) => {
                let column = bytes[feature..].iter().step_by(features);
                column.enumerate().for_each(|(n, &byte)| set(n, f32::from(byte) >= threshold));
            }
            Levels::Numbers(numbers) => {
                let column = numbers[feature..].iter().step_by(features);
                column.enumerate().for_each(|(n, &number)| set(n, number >= threshold));
            }
        }
        words
    };
    Planes { planes: (0..thresholds.len()).into_par_iter().map(plane).collect(), samples }
}

/// Thresholds prepared for packing bytes fast, 512 samples at a time.
#[derive(Clone, Debug)]
pub struct Packer {
    features: usize,
    /// By feature, for each of its thresholds, the lowest byte that reaches it.
    bounds: Vec<Vec<u8>>,
    /// 0 if no byte reaches the threshold, otherwise 255.
    reachable: Vec<Vec<u8>>,
    arch: Arch,
}

impl Packer {
    /// For the thresholds of all features, row by row: see [`crate::Thermometer::levels`].
    pub fn new(features: usize, thresholds: &[f32]) -> Packer {
        let count = thresholds.len() / features;
        let of = |n: usize| (0..features).map(move |feature| thresholds[feature * count + n]);
        let bound = |level: f32| level.ceil().clamp(0.0, 255.0) as u8;
        Packer {
            features,
            bounds: (0..count).map(|n| of(n).map(bound).collect()).collect(),
            reachable: (0..count)
                .map(|n| of(n).map(|level| if level > 255.0 { 0 } else { 255 }).collect())
                .collect(),
            arch: Arch::new(),
        }
    }

    /// Packs up to 512 samples of bytes into one line per bit; missing samples are zero.
    ///
    /// # Panics
    /// If there are too many samples or too few lines.
    #[track_caller]
    pub fn pack(&self, bytes: &[u8], lines: &mut [Line]) {
        let (features, count) = (self.features, self.bounds.len());
        let samples = bytes.len() / features;
        assert!(samples <= WIDE_SAMPLES, "pack: too many samples ({samples} vs {WIDE_SAMPLES})");
        assert!(
            lines.len() >= features * count,
            "pack: too few lines ({} vs {})",
            lines.len(),
            features * count
        );
        if samples < WIDE_SAMPLES {
            lines.fill(Line::default());
        }
        let (mut eight, mut words) = (vec![0u8; features], vec![0u64; features]);
        for (block, samples) in bytes.chunks(64 * features).enumerate() {
            for n in 0..count {
                let (bounds, reachable) = (&self.bounds[n][..], &self.reachable[n][..]);
                let (eight, words) = (&mut eight[..], &mut words[..]);
                self.arch.dispatch(CompareBits { samples, bounds, reachable, eight, words });
                for (line, &word) in lines[n..].iter_mut().step_by(count).zip(&*words) {
                    line.0[block] = word;
                }
            }
        }
    }
}

/// The bits of up to 64 samples for every feature, computed from eight at a time.
struct CompareBits<'a> {
    samples: &'a [u8],
    bounds: &'a [u8],
    reachable: &'a [u8],
    eight: &'a mut [u8],
    words: &'a mut [u64],
}

impl WithSimd for CompareBits<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let CompareBits { samples, bounds, reachable, eight, words } = self;
        words.fill(0);
        for (part, samples) in samples.chunks(8 * bounds.len()).enumerate() {
            eight.fill(0);
            for (n, sample) in samples.chunks_exact(bounds.len()).enumerate() {
                let bit = 1u8 << n;
                for ((eight, &byte), &bound) in eight.iter_mut().zip(sample).zip(bounds) {
                    *eight |= if byte >= bound { bit } else { 0 };
                }
            }
            for ((word, &eight), &reachable) in words.iter_mut().zip(&*eight).zip(reachable) {
                *word |= u64::from(eight & reachable) << (8 * part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_packing_is_packing() {
        let (features, samples) = (13, 600);
        let mut random = farad::data::Random::at(3, 1, 0);
        let bytes: Vec<u8> = (0..features * samples).map(|_| random.below(256) as u8).collect();
        let part = HostSamples {
            levels: Levels::Bytes(bytes.clone()),
            labels: vec![0; samples],
            shape: [features, 1, 1],
        };
        let thresholds: Vec<f32> = (0..features * 3)
            .map(|n| [-4.0, 0.0, 0.5, 127.0, 127.5, 255.0, 255.5, 300.0, random.between(0.0, 255.0)][n % 9])
            .collect();
        let wanted = pack(&part, &thresholds);
        let packer = Packer::new(features, &thresholds);
        let mut lines = vec![Line([!0; 8]); thresholds.len()];
        for (tile, bytes) in bytes.chunks(WIDE_SAMPLES * features).enumerate() {
            packer.pack(bytes, &mut lines);
            for (line, plane) in lines.iter().zip(&wanted.planes) {
                let words = plane.len().min(8 * tile + 8) - 8 * tile;
                assert_eq!(line.0[..words], plane[8 * tile..][..words]);
            }
        }
    }
}
