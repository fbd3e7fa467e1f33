//! Samples on a device, gathered there by number.
//!
//! Samples and their changed copies are on the device as bytes, four per word. The program of a step gathers a
//! batch, shifts it and compares it with thresholds.
//!
//! Invariant: after the first upload no picture is uploaded again. A step uploads only the indices of its
//! samples and their shifts. Start at [`DeviceSamples::batch`].

use farad::{DType, Device, Tensor};

use super::data::{HostSamples, Levels};

/// How a batch differs from the stored samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Augment {
    /// A seed and an offset in its stream.
    pub seed: (u64, u64),
    /// Most pixels by which samples are shifted.
    pub shift: usize,
    /// Whether half of them are mirrored.
    pub mirror: bool,
}

/// The margin around pictures, for shifts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margin {
    /// How many pixels.
    pub pixels: usize,
    /// Whether the margin repeats the picture's edge; otherwise it is zero.
    pub edge: bool,
}

impl From<usize> for Margin {
    fn from(pixels: usize) -> Margin {
        Margin { pixels, edge: false }
    }
}

/// Samples of a set on a device.
#[derive(Clone, Debug)]
pub struct DeviceSamples {
    /// Bytes in words, or numbers, sample by sample.
    stored: Tensor,
    bytes: bool,
    /// `[samples]`
    labels: Tensor,
    /// The offset of each number within a sample, `[features, 1]`, and the offsets in a mirrored picture.
    places: [Tensor; 2],
    /// Numbers per sample, and per row.
    pitch: [usize; 2],
    /// Pixels around each picture.
    margin: usize,
    count: usize,
    device: Device,
}

impl DeviceSamples {
    /// Uploads samples to a device, with a margin for shifts.
    pub fn new(
        part: &HostSamples,
        margin: impl Into<Margin>,
        device: &Device,
    ) -> farad::Result<DeviceSamples> {
        let [channels, height, width] = part.shape;
        let around = margin.into();
        let margin = around.pixels;
        let (row, rows) = (width + 2 * margin, height + 2 * margin);
        let sample = channels * rows * row;
        let (stored, bytes) = match &part.levels {
            Levels::Bytes(bytes) => {
                let mut padded = padded(bytes, part.shape, around);
                padded.resize(padded.len().next_multiple_of(4), 0);
                let words: Vec<u32> = padded
                    .chunks_exact(4)
                    .map(|four| u32::from_le_bytes(four.try_into().expect("four")))
                    .collect();
                let count = words.len();
                (Tensor::try_from_vec(&words, [count], device)?, true)
            }
            Levels::Numbers(numbers) => {
                let padded = padded(numbers, part.shape, around);
                let count = padded.len();
                (Tensor::try_from_vec(&padded, [count], device)?, false)
            }
        };
        let place = |mirrored: bool| {
            let at = |n: usize| {
                let (channel, y, x) = (n / width / height, n / width % height, n % width);
                let x = if mirrored { width - 1 - x } else { x };
                ((channel * rows + y) * row + x) as u32
            };
            Tensor::from_vec((0..part.features()).map(at).collect::<Vec<u32>>(), [part.features(), 1], device)
        };
        let labels = Tensor::try_from_vec(&part.labels, [part.len()], device)?;
        let (places, device) = ([place(false), place(true)], device.clone());
        Ok(DeviceSamples {
            stored,
            bytes,
            labels,
            places,
            pitch: [sample, row],
            margin,
            count: part.len(),
            device,
        })
    }

    /// How many samples there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The numbers and classes of the samples with these indices (`u32`).
    /// `[batch] -> [features, batch], [batch]`
    pub fn batch(&self, rows: &Tensor, augment: Augment) -> (Tensor, Tensor) {
        let batch = rows.numel();
        let start = self.shifted(rows.reshape([1, batch]) * self.pitch[0] as f64, augment);
        let place = match augment.mirror {
            false => self.places[0].clone(),
            true => {
                let (seed, at) = augment.seed;
                let mirrored = Tensor::rand_at(seed, at + 1, [1, batch], &self.device).less(0.5);
                let [plain, turned] = &self.places;
                mirrored.select(turned, plain)
            }
        };
        let at = start + place;
        let (features, flat) = (at.shape()[0], at.numel());
        let levels = match self.bytes {
            true => {
                let words = self.stored.index_select(0, &(&at >> 2).reshape([flat]));
                let words = words.reshape([features, batch]);
                ((words >> ((at & 3) * 8)) & 255).cast(DType::F32)
            }
            false => self.stored.index_select(0, &at.reshape([flat])).reshape([features, batch]),
        };
        (levels, self.labels.index_select(0, rows))
    }

    /// The offsets of shifted pictures, from the offsets of their margins. `[1, batch]`
    fn shifted(&self, start: Tensor, augment: Augment) -> Tensor {
        let (row, margin) = (self.pitch[1], self.margin);
        if augment.shift == 0 {
            return start + (margin * row + margin) as f64;
        }
        let (seed, at) = augment.seed;
        let batch = start.numel();
        let drawn = Tensor::rand_at(seed, at, [2, batch], &self.device) * (2 * augment.shift + 1) as f64;
        let steps = drawn.floor().cast(DType::U32) + (margin - augment.shift) as f64;
        start + steps.narrow(0, 0, 1) * row as f64 + steps.narrow(0, 1, 1)
    }
}

/// Pictures with a margin around them.
fn padded<T: Copy + Default>(all: &[T], [_, height, width]: [usize; 3], around: Margin) -> Vec<T> {
    let margin = around.pixels;
    let (row, rows) = (width + 2 * margin, height + 2 * margin);
    let mut result = vec![T::default(); all.len() / (height * width) * rows * row];
    for (picture, whole) in all.chunks_exact(height * width).zip(result.chunks_exact_mut(rows * row)) {
        for (y, line) in whole.chunks_exact_mut(row).enumerate() {
            let inside = (margin..margin + height).contains(&y);
            if !inside && !around.edge {
                continue;
            }
            let old = &picture[y.saturating_sub(margin).min(height - 1) * width..][..width];
            line[margin..margin + width].copy_from_slice(old);
            if around.edge {
                line[..margin].fill(old[0]);
                line[margin + width..].fill(old[width - 1]);
            }
        }
    }
    result
}
