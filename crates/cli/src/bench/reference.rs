//! What results are compared with: plain f64 on the host, on a sample.

use farad::{Device, Tensor};

/// A norm-wise difference, gathered value by value.
#[derive(Clone, Copy, Debug, Default)]
pub struct NormDifference {
    difference: f64,
    norm: f64,
}

impl NormDifference {
    /// Adds a value and what it should be.
    pub fn add(&mut self, got: f32, wanted: f64) {
        self.difference += (got as f64 - wanted).powi(2);
        self.norm += wanted.powi(2);
    }

    /// The norm of the difference by the norm of what it should be.
    pub fn relative(&self) -> f64 {
        if self.difference == 0.0 { 0.0 } else { (self.difference / self.norm).sqrt() }
    }
}

/// `count` indices spread over `0..size`, the first and the last among them.
pub fn spread(size: usize, count: usize) -> Vec<usize> {
    let count = count.min(size);
    (0..count).map(|n| if count == 1 { 0 } else { n * (size - 1) / (count - 1) }).collect()
}

/// The slices of a tensor at some indices of an axis, on the host.
pub fn pick(tensor: &Tensor, axis: isize, indices: &[usize]) -> farad::Result<Vec<f32>> {
    select(tensor, axis, indices, tensor.device()).to_vec()
}

/// The slices of a tensor at some indices of an axis.
pub fn select(tensor: &Tensor, axis: isize, indices: &[usize], device: &Device) -> Tensor {
    let numbers: Vec<i32> = indices.iter().map(|&index| index as i32).collect();
    let count = numbers.len();
    tensor.index_select(axis, &Tensor::from_vec(numbers, [count], device))
}

/// The error function by its power series: exact to f64 for small arguments.
pub fn erf(x: f64) -> f64 {
    debug_assert!(x.abs() < 3.0, "the series loses digits beyond 3");
    let (mut power, mut sum) = (x, x);
    for n in 1..80 {
        power *= -x * x / n as f64;
        sum += power / (2 * n + 1) as f64;
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_relative() {
        let mut difference = NormDifference::default();
        difference.add(3.0, 3.0);
        difference.add(5.0, 4.0);
        assert_eq!(difference.relative(), 0.2);
        difference.add(f32::NAN, 1.0);
        assert!(difference.relative().is_nan());
    }

    #[test]
    fn samples_reach_both_ends() {
        assert_eq!(spread(8192, 4), [0, 2730, 5460, 8191]);
        assert_eq!(spread(2, 4), [0, 1]);
        assert_eq!(spread(1, 4), [0]);
    }

    #[test]
    fn erf_has_known_values() {
        assert!((erf(1.0) - 0.842_700_792_949_714_9).abs() < 1e-15);
        assert!((erf(-2.0) + 0.995_322_265_018_952_7).abs() < 1e-14);
    }
}
