//! What is done to inputs on the host, sample by sample, before they are put into a batch.
//!
//! Invariant: all random choices use the given [`Random`], so a sample of an epoch is the same on every
//! thread. Images are `[channels, height, width]`.

use farad_ir::Shape;

use super::{Array, Elements, Random};
use crate::error::{DataError, Result};

/// A change of inputs.
pub trait Transform: Send + Sync {
    /// The changed input. Random numbers are this sample's own in this epoch.
    fn apply(&self, input: Array, random: &mut Random) -> Result<Array>;
}

impl<F: Fn(Array, &mut Random) -> Result<Array> + Send + Sync> Transform for F {
    fn apply(&self, input: Array, random: &mut Random) -> Result<Array> {
        self(input, random)
    }
}

/// Numbers instead of bytes: 0 to 255 become 0 to 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToFloat;

impl Transform for ToFloat {
    fn apply(&self, input: Array, _: &mut Random) -> Result<Array> {
        Ok(Array::new(input.to_f32(), input.shape()))
    }
}

/// All axes in one: `[..] -> [n]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flatten;

impl Transform for Flatten {
    fn apply(&self, input: Array, _: &mut Random) -> Result<Array> {
        let size = input.shape().numel();
        Ok(input.reshaped([size]))
    }
}

/// `(x - mean) / deviation`, one pair for all or one for each place of the first axis (channels, columns).
///
/// ```
/// use farad::data::{Array, Normalize, Random, Transform};
/// let x = Array::new(vec![0u8, 255], [2]);
/// let y = Normalize::new([0.5], [0.25]).apply(x, &mut Random::at(0, 0, 0))?;
/// assert_eq!(y.to_f32(), [-2.0, 2.0]);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Normalize {
    means: Vec<f32>,
    deviations: Vec<f32>,
}

impl Normalize {
    /// By these means and deviations; a deviation of 0 counts as 1. Panics if there are not as many of both.
    #[track_caller]
    pub fn new(means: impl Into<Vec<f32>>, deviations: impl Into<Vec<f32>>) -> Normalize {
        let (means, deviations): (Vec<f32>, Vec<f32>) = (means.into(), deviations.into());
        let (a, b) = (means.len(), deviations.len());
        assert!(a == b && a > 0, "normalize: one deviation a mean: ({a} vs {b})");
        let deviations = deviations.into_iter().map(|d| if d > 0.0 { d } else { 1.0 }).collect();
        Normalize { means, deviations }
    }
}

impl Transform for Normalize {
    fn apply(&self, input: Array, _: &mut Random) -> Result<Array> {
        let (shape, count) = (input.shape(), self.means.len());
        let first = shape.first().copied().unwrap_or(1);
        if count != 1 && count != first {
            return Err(DataError::TransformShape {
                op: "normalize",
                found: shape,
                wanted: format!("[{count}, ..]"),
            }
            .into());
        }
        let mut values = input.to_f32();
        let size = (values.len() / count).max(1);
        for (at, part) in values.chunks_mut(size).enumerate() {
            let (mean, scale) = (self.means[at], 1.0 / self.deviations[at]);
            part.iter_mut().for_each(|value| *value = (*value - mean) * scale);
        }
        Ok(Array::new(values, shape))
    }
}

/// Puts zeros around an image and cuts a window of its old size out, anywhere.
#[derive(Clone, Copy, Debug)]
pub struct RandomCrop {
    /// Zeros on every side.
    pub padding: usize,
}

impl Transform for RandomCrop {
    fn apply(&self, input: Array, random: &mut Random) -> Result<Array> {
        let (channels, height, width) = image("random crop", input.shape())?;
        let offset =
            |random: &mut Random| random.below(2 * self.padding + 1) as isize - self.padding as isize;
        let (down, right) = (offset(random), offset(random));
        let from = |at: usize, by: isize, size: usize| at.checked_add_signed(by).filter(|&at| at < size);
        pick(
            input,
            |channel, y, x| {
                let (y, x) = (from(y, down, height)?, from(x, right, width)?);
                Some((channel * height + y) * width + x)
            },
            [channels, height, width],
        )
    }
}

/// Goes on with an image's edges on every side and cuts a window of its old size out, anywhere.
#[derive(Clone, Copy, Debug)]
pub struct EdgeCrop {
    /// Pixels on every side.
    pub padding: usize,
}

impl Transform for EdgeCrop {
    fn apply(&self, input: Array, random: &mut Random) -> Result<Array> {
        let (channels, height, width) = image("edge crop", input.shape())?;
        let (down, right) = (random.below(2 * self.padding + 1), random.below(2 * self.padding + 1));
        let from = |at: usize, by: usize, size: usize| (at + by).saturating_sub(self.padding).min(size - 1);
        pick(
            input,
            |channel, y, x| {
                let (y, x) = (from(y, down, height), from(x, right, width));
                Some((channel * height + y) * width + x)
            },
            [channels, height, width],
        )
    }
}

/// Mirrors an image left to right, half of the time.
#[derive(Clone, Copy, Debug, Default)]
pub struct HorizontalFlip;

impl Transform for HorizontalFlip {
    fn apply(&self, input: Array, random: &mut Random) -> Result<Array> {
        let (channels, height, width) = image("horizontal flip", input.shape())?;
        if random.bits() & 1 == 0 {
            return Ok(input);
        }
        let mirrored = |channel, y, x: usize| Some((channel * height + y) * width + width - 1 - x);
        pick(input, mirrored, [channels, height, width])
    }
}

/// An image of another size, by the four nearest pixels of the old one.
#[derive(Clone, Copy, Debug)]
pub struct Resize {
    /// Pixels down.
    pub height: usize,
    /// Pixels across.
    pub width: usize,
}

impl Transform for Resize {
    fn apply(&self, input: Array, _: &mut Random) -> Result<Array> {
        let (channels, height, width) = image("resize", input.shape())?;
        if (height, width) == (self.height, self.width) {
            return Ok(input);
        }
        let old = input.to_f32();
        // The two neighbors of a place, and how much of the second.
        let neighbors = |at: usize, new: usize, size: usize| {
            let place = ((at as f32 + 0.5) * size as f32 / new as f32 - 0.5).clamp(0.0, (size - 1) as f32);
            let low = place as usize;
            (low, (low + 1).min(size - 1), place - low as f32)
        };
        let mut new = Vec::with_capacity(channels * self.height * self.width);
        for plane in old.chunks_exact(height * width) {
            for y in 0..self.height {
                let (top, bottom, down) = neighbors(y, self.height, height);
                for x in 0..self.width {
                    let (left, right, across) = neighbors(x, self.width, width);
                    let row = |y: usize| {
                        plane[y * width + left] * (1.0 - across) + plane[y * width + right] * across
                    };
                    new.push(row(top) * (1.0 - down) + row(bottom) * down);
                }
            }
        }
        Ok(Array::new(new, [channels, self.height, self.width]))
    }
}

/// Channels, height and width of an image with at least one pixel.
pub(crate) fn image(op: &'static str, shape: Shape) -> Result<(usize, usize, usize)> {
    match shape[..] {
        [channels, height, width] if shape.numel() > 0 => Ok((channels, height, width)),
        _ => {
            Err(DataError::TransformShape { op, found: shape, wanted: "[channels, height, width]".into() }
                .into())
        }
    }
}

/// An image whose pixels come from places of another, or are zero.
fn pick(
    input: Array,
    from: impl Fn(usize, usize, usize) -> Option<usize>,
    [channels, height, width]: [usize; 3],
) -> Result<Array> {
    fn picked<T: Copy + Default>(old: &[T], places: impl Iterator<Item = Option<usize>>) -> Vec<T> {
        places.map(|place| place.map_or(T::default(), |at| old[at])).collect()
    }
    let pixels =
        (0..channels).flat_map(|c| (0..height).flat_map(move |y| (0..width).map(move |x| (c, y, x))));
    let places = pixels.map(|(c, y, x)| from(c, y, x));
    let elements = match input.elements() {
        Elements::U8(old) => Elements::U8(picked(old, places)),
        Elements::I32(old) => Elements::I32(picked(old, places)),
        Elements::F32(old) => Elements::F32(picked(old, places)),
    };
    Ok(Array::new(elements, input.shape()))
}
