//! Pictures moved and bent: every pixel of the result looks somewhere else in the picture.
//!
//! A [`Warp`] is a list of [`Motion`]s, one row each. All of them together give one field of places, and the picture is
//! sampled once, so that several motions blur no more than one. Invariant: what chance decides comes from the [`Random`]
//! that is given.

use super::transform::image;
use super::{Array, Elements, Random, Transform};
use crate::error::Result;

/// One way in which pictures are moved, by a random amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion {
    /// Around the middle, by up to so many degrees either way.
    Rotate(f32),
    /// Rows against each other, by up to so many degrees either way.
    Shear(f32),
    /// Larger or smaller by up to this share.
    Scale(f32),
    /// Down or up, right or left, by up to this share of the size.
    Shift(f32),
    /// Every pixel by its own random move between -1 and 1, smoothed over `sigma` pixels and multiplied by `alpha`
    /// (Simard, Steinkraus and Platt 2003).
    Elastic {
        /// How strong moves are.
        alpha: f32,
        /// Over how many pixels they are alike.
        sigma: f32,
    },
}

/// Moves and bends images `[channels, height, width]`; what comes in from outside is zero. Bytes stay bytes.
///
/// ```
/// use farad::data::{Array, Motion, Random, Transform, Warp};
/// let warp = Warp::new([Motion::Rotate(10.0), Motion::Elastic { alpha: 64.0, sigma: 6.0 }]);
/// let picture = Array::new(vec![255u8; 28 * 28], [1, 28, 28]);
/// let bent = warp.apply(picture, &mut Random::at(1, 0, 0))?;
/// assert_eq!(bent.shape()[..], [1, 28, 28]);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Warp {
    motions: Vec<Motion>,
}

impl Warp {
    /// By these motions, each with an amount of its own.
    pub fn new(motions: impl Into<Vec<Motion>>) -> Warp {
        Warp { motions: motions.into() }
    }

    /// Whether it leaves pictures as they are.
    pub fn is_empty(&self) -> bool {
        self.motions.is_empty()
    }
}

impl Transform for Warp {
    fn apply(&self, input: Array, random: &mut Random) -> Result<Array> {
        let (_, height, width) = image("warp", input.shape())?;
        let mut field = WarpField::new(height, width);
        self.motions.iter().for_each(|motion| field.take(*motion, random));
        let elements = match input.elements() {
            Elements::U8(old) => {
                let old: Vec<f32> = old.iter().map(|&byte| f32::from(byte)).collect();
                // Weights of four neighbors add up to one, so that the result is a byte after rounding.
                Elements::U8(field.sample(&old).into_iter().map(|level| level.round() as u8).collect())
            }
            Elements::F32(old) => Elements::F32(field.sample(old)),
            Elements::I32(_) => Elements::F32(field.sample(&input.to_f32())),
        };
        Ok(Array::new(elements, input.shape()))
    }
}

/// For every pixel the place that it looks at, from the middle of the picture: down and right.
struct WarpField {
    height: usize,
    width: usize,
    down: Vec<f32>,
    right: Vec<f32>,
}

impl WarpField {
    /// Every pixel looks at itself.
    fn new(height: usize, width: usize) -> WarpField {
        let middle = |size: usize| (size as f32 - 1.0) / 2.0;
        let down = |n: usize| (n / width) as f32 - middle(height);
        let right = |n: usize| (n % width) as f32 - middle(width);
        let pixels = 0..height * width;
        WarpField {
            height,
            width,
            down: pixels.clone().map(down).collect(),
            right: pixels.map(right).collect(),
        }
    }

    /// Adds a motion by an amount of chance.
    fn take(&mut self, motion: Motion, random: &mut Random) {
        let mut amount = |most: f32| random.between(-most, most);
        match motion {
            Motion::Rotate(most) => {
                let (sine, cosine) = amount(most).to_radians().sin_cos();
                self.turn([[cosine, -sine], [sine, cosine]]);
            }
            Motion::Shear(most) => {
                let slope = amount(most).to_radians().tan();
                self.turn([[1.0, 0.0], [slope, 1.0]]);
            }
            Motion::Scale(most) => {
                let factor = 1.0 / (1.0 + amount(most));
                self.turn([[factor, 0.0], [0.0, factor]]);
            }
            Motion::Shift(most) => {
                let (down, right) = (amount(most) * self.height as f32, amount(most) * self.width as f32);
                self.down.iter_mut().for_each(|place| *place += down);
                self.right.iter_mut().for_each(|place| *place += right);
            }
            Motion::Elastic { alpha, sigma } => {
                for axis in 0..2 {
                    let moves = smooth_noise(self.height, self.width, sigma, random);
                    let places = if axis == 0 { &mut self.down } else { &mut self.right };
                    places.iter_mut().zip(moves).for_each(|(place, by)| *place += alpha * by);
                }
            }
        }
    }

    /// Multiplies all places by a matrix.
    fn turn(&mut self, [down, right]: [[f32; 2]; 2]) {
        for (y, x) in self.down.iter_mut().zip(&mut self.right) {
            (*y, *x) = (down[0] * *y + down[1] * *x, right[0] * *y + right[1] * *x);
        }
    }

    /// What the pixels see, from the four neighbors of their places.
    fn sample(&self, planes: &[f32]) -> Vec<f32> {
        let (height, width) = (self.height, self.width);
        let middle = [(height as f32 - 1.0) / 2.0, (width as f32 - 1.0) / 2.0];
        let mut result = Vec::with_capacity(planes.len());
        for plane in planes.chunks_exact(height * width) {
            let at = |y: isize, x: isize| {
                let inside = (0..height as isize).contains(&y) && (0..width as isize).contains(&x);
                if inside { plane[y as usize * width + x as usize] } else { 0.0 }
            };
            for (down, right) in self.down.iter().zip(&self.right) {
                let (y, x) = (down + middle[0], right + middle[1]);
                let (top, left) = (y.floor(), x.floor());
                let (below, beside) = (y - top, x - left);
                let (top, left) = (top as isize, left as isize);
                let row = |y: isize| at(y, left) * (1.0 - beside) + at(y, left.saturating_add(1)) * beside;
                result.push(row(top) * (1.0 - below) + row(top.saturating_add(1)) * below);
            }
        }
        result
    }
}

/// Uniform noise between -1 and 1 for every pixel, smoothed by a Gaussian; beyond the edges it is zero.
fn smooth_noise(height: usize, width: usize, sigma: f32, random: &mut Random) -> Vec<f32> {
    let noise: Vec<f32> = (0..height * width).map(|_| random.between(-1.0, 1.0)).collect();
    let weights = gaussian(height.max(width), sigma);
    let mut columns = vec![0f32; height * width];
    for (y, row) in columns.chunks_exact_mut(width).enumerate() {
        for (other, noise) in noise.chunks_exact(width).enumerate() {
            let weight = weights[y.abs_diff(other)];
            row.iter_mut().zip(noise).for_each(|(sum, noise)| *sum += weight * noise);
        }
    }
    // By rows of weights again: what each pixel gives to all others of its row.
    let mut result = vec![0f32; height * width];
    for (row, values) in result.chunks_exact_mut(width).zip(columns.chunks_exact(width)) {
        for (other, &value) in values.iter().enumerate() {
            let (before, after) = row.split_at_mut(other);
            before.iter_mut().rev().zip(&weights[1..]).for_each(|(sum, weight)| *sum += weight * value);
            after.iter_mut().zip(&weights).for_each(|(sum, weight)| *sum += weight * value);
        }
    }
    result
}

/// Weights of a Gaussian by distance, which add up to one over both sides.
fn gaussian(size: usize, sigma: f32) -> Vec<f32> {
    let weight = |distance: usize| (-0.5 * (distance as f32 / sigma).powi(2)).exp();
    let reach = (4.0 * sigma).ceil().min(1e6) as usize;
    let total: f32 = weight(0) + 2.0 * (1..=reach).map(weight).sum::<f32>();
    (0..size).map(|distance| weight(distance) / total).collect()
}
