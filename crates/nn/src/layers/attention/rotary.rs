//! Places as rotations of queries and keys.

use farad_ir::OpError;
use farad_tensor::engine::inside;

use super::angles::Angles;
use crate::layers::{Layer, Module};
use farad_tensor::{Tensor, engine::raise};

/// Turns pairs of columns of queries or keys by angles that grow with their place, so that their products depend on
/// how far apart they are: `[.., time, width] -> [.., time, width]`.
///
/// Column `n` is paired with `n + width / 2`, or with its neighbor if [`Rotary::interleaved`]; pair `n` turns by
/// `base^(-2n / width)` a place.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::Rotary;
/// let x = Tensor::from_vec(vec![1.0, 0.0, 1.0, 0.0], [2, 2], &Device::cpu());
/// let y = Rotary::new(2).forward(&x).to_vec::<f32>()?;
/// assert_eq!(y[..2], [1.0, 0.0]);
/// assert!((y[2] - 1f32.cos()).abs() < 1e-6 && (y[3] - 1f32.sin()).abs() < 1e-6);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Rotary {
    width: usize,
    interleaved: bool,
    #[module(skip)]
    angles: Angles,
}

impl Rotary {
    /// For heads of this width, which is even, with base 10000.
    #[track_caller]
    pub fn new(width: usize) -> Rotary {
        if !width.is_multiple_of(2) {
            let what = format!("columns are turned in pairs: width {width}");
            raise(OpError::Sizes { op: "rotary", what, a: width, b: width + 1 });
        }
        Rotary { width, interleaved: false, angles: Angles::new(10_000.0, width) }
    }

    /// With another base.
    pub fn base(self, base: f64) -> Rotary {
        Rotary { angles: Angles::new(base, self.width), ..self }
    }

    /// With a frequency for every pair, in radians per place, instead of powers of the base. Results are multiplied with
    /// `magnitude`. Long contexts are reached this way.
    ///
    /// ```
    /// use farad::prelude::*;
    /// use farad::nn::Rotary;
    /// let x = Tensor::from_vec(vec![1.0, 0.0, 1.0, 0.0], [2, 2], &Device::cpu());
    /// let y = Rotary::new(2).frequencies(&[0.5], 2.0).forward(&x).to_vec::<f32>()?;
    /// assert!((y[0] - 2.0).abs() < 1e-6 && (y[2] - 2.0 * 0.5f32.cos()).abs() < 1e-6);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn frequencies(self, frequencies: &[f64], magnitude: f64) -> Rotary {
        if frequencies.len() != self.width / 2 {
            let what = format!("one frequency per pair: width {}", self.width);
            raise(OpError::Sizes { op: "rotary", what, a: frequencies.len(), b: self.width / 2 });
        }
        Rotary { angles: Angles::of(frequencies.into(), magnitude), ..self }
    }

    /// Whether neighboring columns are paired, instead of column `i` with `i + width / 2`.
    pub fn interleaved(self, interleaved: bool) -> Rotary {
        Rotary { interleaved, ..self }
    }

    /// As [`Layer::forward`], with the first row at place `offset`.
    #[track_caller]
    pub fn forward_from(&self, x: &Tensor, offset: usize) -> Tensor {
        let (sin, cos) = self.angles.range(offset, x.size(-2), x.device());
        self.turn(x, &sin, &cos)
    }

    /// As [`Layer::forward`], with places given as integers less than `most` that broadcast to `[.., time]`: they
    /// may change from step to step without another plan.
    #[track_caller]
    pub fn forward_at(&self, x: &Tensor, places: &Tensor, most: usize) -> Tensor {
        let (sin, cos) = self.angles.at(places, most);
        self.turn(x, &sin, &cos)
    }

    #[track_caller]
    fn turn(&self, x: &Tensor, sin: &Tensor, cos: &Tensor) -> Tensor {
        let half = self.width / 2;
        if x.size(-1) != self.width {
            let what = format!("made for another width: {}", x.shape());
            raise(OpError::Sizes { op: "rotary", what, a: x.size(-1), b: self.width });
        }
        let mut sizes = x.shape()[..x.rank() - 1].to_vec();
        let (pairs, axis) = if self.interleaved { ([half, 2], -1) } else { ([2, half], -2) };
        sizes.extend(pairs);
        let x_pairs = x.reshape(sizes);
        let [a, b] = [0, 1].map(|n| x_pairs.narrow(axis, n, 1).squeeze(axis));
        let (first, second) = (&a * cos - &b * sin, &b * cos + &a * sin);
        Tensor::stack(&[&first, &second], axis).reshape(x.shape())
    }
}

impl Layer for Rotary {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("Rotary");
        self.forward_from(x, 0)
    }
}
