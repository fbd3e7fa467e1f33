//! Samples as bit planes, for circuits on the CPU.

use rayon::prelude::*;

use super::data::{Levels, Part};

/// The encoded bits of some samples: one plane a bit, sample `s` in bit `s % 64` of word `s / 64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planes {
    /// One plane an input of the circuit.
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
pub fn pack(part: &Part, thresholds: &[f32]) -> Planes {
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
