//! Random numbers that are the same on every machine, and the distance between lists of numbers.
#![allow(dead_code)] // each test file uses a part of it

/// A stream of random numbers from a seed.
pub struct Draw(pub u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0
    }

    /// Between 0 and 1.
    pub fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    pub fn uniforms(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.uniform()).collect()
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound
    }

    pub fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| (self.below(1 << 16) << 16 | self.below(1 << 16)) as u32).collect()
    }

    pub fn bits(&mut self, count: usize) -> Vec<bool> {
        (0..count).map(|_| self.below(2) == 1).collect()
    }
}

/// The norm of the difference, relative to the norm of the expected numbers.
pub fn distance(found: &[f32], wanted: &[f64]) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let square = |sum: f64, x: f64| sum + x * x;
    let difference = found.iter().zip(wanted).map(|(&found, wanted)| found as f64 - wanted);
    let norm = wanted.iter().copied().fold(0.0, square).sqrt();
    let error = difference.fold(0.0, square).sqrt();
    if error == 0.0 { 0.0 } else { error / norm.max(1e-30) }
}
