//! Products of a few rows with weights as they are stored, on the CPU.
//!
//! Threads share the columns. Weights are widened a block at a time, in the first cache, and every block serves all rows.
//! Sums are made term by term (or, where weights lie by terms, in [`LANES`] parts), so results depend neither on the number of threads nor on
//! the processor's vectors.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use pulp::Arch;
use rayon::prelude::*;

use farad::DType;

use super::rows_product::{ProductSizes, RowActivation, RowsProduct};

/// Columns that a thread takes at once at most. Not measured.
const CHUNK: usize = 1024;
/// Partial sums of a row.
const LANES: usize = 16;

/// Weights as they are stored.
#[derive(Clone, Copy)]
enum StoredWeights<'a> {
    Single(&'a [f32]),
    Half(&'a [f16]),
    Brain(&'a [bf16]),
    Whole(&'a [i8]),
}

impl<'a> StoredWeights<'a> {
    fn of(bytes: &'a [u8], stored: DType) -> StoredWeights<'a> {
        match stored {
            DType::F16 => StoredWeights::Half(bytemuck::cast_slice(bytes)),
            DType::BF16 => StoredWeights::Brain(bytemuck::cast_slice(bytes)),
            DType::I8 => StoredWeights::Whole(bytemuck::cast_slice(bytes)),
            _ => StoredWeights::Single(bytemuck::cast_slice(bytes)),
        }
    }

    /// Some of them, widened into `room` unless they are wide.
    #[inline(always)]
    fn wide<'b>(self, from: usize, len: usize, room: &'b mut [f32]) -> &'b [f32]
    where
        'a: 'b,
    {
        let room = &mut room[..len];
        match self {
            StoredWeights::Single(all) => return &all[from..from + len],
            StoredWeights::Half(all) => all[from..from + len].convert_to_f32_slice(room),
            StoredWeights::Brain(all) => {
                for (to, from) in room.iter_mut().zip(&all[from..from + len]) {
                    *to = f32::from_bits(u32::from(from.to_bits()) << 16);
                }
            }
            StoredWeights::Whole(all) => {
                for (to, &from) in room.iter_mut().zip(&all[from..from + len]) {
                    *to = f32::from(from);
                }
            }
        }
        room
    }
}

/// Operands in f32 and the sizes, for all threads.
struct CpuProduct<'a> {
    op: &'a RowsProduct,
    sizes: &'a ProductSizes,
    x: &'a [f32],
    weights: StoredWeights<'a>,
    extras: [&'a [f32]; 3],
}

/// The result of a product, from bytes to bytes.
pub fn run(op: &RowsProduct, sizes: &ProductSizes, operands: &[&[u8]], y: &mut [u8]) {
    let extras = op.extras().map(|number| number.map_or(&[][..], |n| bytemuck::cast_slice(operands[n])));
    let weights = StoredWeights::of(operands[1], op.stored);
    let product = CpuProduct { op, sizes, x: bytemuck::cast_slice(operands[0]), weights, extras };
    let y: &mut [f32] = bytemuck::cast_slice_mut(y);
    let ProductSizes { rows, columns, .. } = *sizes;
    // Enough chunks for all threads, of whole vectors.
    let share = columns.div_ceil(2 * rayon::current_num_threads()).next_multiple_of(64);
    let chunk = share.min(CHUNK);
    let starts: Vec<usize> = (0..columns).step_by(chunk).collect();
    let parts: Vec<Vec<f32>> = starts
        .par_iter()
        .map(|&start| {
            let len = chunk.min(columns - start);
            Arch::new().dispatch(|| product.columns(start, len))
        })
        .collect();
    for (&start, part) in starts.iter().zip(&parts) {
        let len = part.len() / rows;
        for (row, part) in part.chunks_exact(len).enumerate() {
            y[row * columns + start..][..len].copy_from_slice(part);
        }
    }
}

impl CpuProduct<'_> {
    /// `[rows, len]`: some columns of the result.
    #[inline(always)]
    fn columns(&self, start: usize, len: usize) -> Vec<f32> {
        let ProductSizes { rows, columns, parts, .. } = *self.sizes;
        let mut sums: Vec<Vec<f32>> = (0..parts)
            .map(|part| match self.op.transposed {
                true => self.by_terms(start, len),
                false => self.by_columns(part * columns + start, len),
            })
            .collect();
        let mut y = sums.pop().expect("at least one part");
        let first = (parts - 1) * columns + start;
        self.settle(&mut y, first, len);
        if let Some(gates) = sums.first_mut() {
            self.settle(gates, start, len);
            for (y, &gate) in y.iter_mut().zip(gates.iter()) {
                *y *= gate / (1.0 + (-gate).exp());
            }
        }
        match self.op.activation {
            RowActivation::Gelu => y.iter_mut().for_each(|y| *y = gelu(*y)),
            RowActivation::GeluTanh => y.iter_mut().for_each(|y| *y = gelu_tanh(*y)),
            RowActivation::None | RowActivation::Swiglu => {}
        }
        if self.op.added {
            for row in 0..rows {
                let added = &self.extras[2][row * columns + start..][..len];
                y[row * len..][..len].iter_mut().zip(added).for_each(|(y, added)| *y += added);
            }
        }
        y
    }

    /// Scales and bias.
    #[inline(always)]
    fn settle(&self, y: &mut [f32], first: usize, len: usize) {
        for y in y.chunks_exact_mut(len) {
            if self.op.scaled {
                y.iter_mut().zip(&self.extras[0][first..]).for_each(|(y, scale)| *y *= scale);
            }
            if self.op.biased {
                y.iter_mut().zip(&self.extras[1][first..]).for_each(|(y, bias)| *y += bias);
            }
        }
    }

    /// Sums where weights lie as `[terms, columns]`: four terms at a time are added to all columns.
    #[inline(always)]
    fn by_columns(&self, first: usize, len: usize) -> Vec<f32> {
        let ProductSizes { rows, terms, columns, parts } = *self.sizes;
        let all = columns * parts;
        let mut y = vec![0f32; rows * len];
        let mut rooms: [Vec<f32>; 4] = std::array::from_fn(|_| vec![0f32; len]);
        for term in (0..terms).step_by(4) {
            let [r0, r1, r2, r3] = &mut rooms;
            let w0 = self.weights.wide(term * all + first, len, r0);
            let w1 = self.weights.wide((term + 1) * all + first, len, r1);
            let w2 = self.weights.wide((term + 2) * all + first, len, r2);
            let w3 = self.weights.wide((term + 3) * all + first, len, r3);
            for (row, y) in y.chunks_exact_mut(len).enumerate() {
                let x = &self.x[row * terms + term..][..4];
                let weights = w0.iter().zip(w1).zip(w2.iter().zip(w3));
                for (y, ((w0, w1), (w2, w3))) in y.iter_mut().zip(weights) {
                    *y += (x[0] * w0 + x[1] * w1) + (x[2] * w2 + x[3] * w3);
                }
            }
        }
        y
    }

    /// Sums where weights lie as `[columns, terms]`.
    #[inline(always)]
    fn by_terms(&self, first: usize, len: usize) -> Vec<f32> {
        let ProductSizes { rows, terms, .. } = *self.sizes;
        let mut y = vec![0f32; rows * len];
        let mut room = vec![0f32; terms];
        for column in 0..len {
            let weights = self.weights.wide((first + column) * terms, terms, &mut room);
            for row in 0..rows {
                y[row * len + column] = dot(weights, &self.x[row * terms..][..terms]);
            }
        }
        y
    }
}

#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; LANES];
    let (many_a, rest_a) = a.as_chunks::<LANES>();
    let (many_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in many_a.iter().zip(many_b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    let rest: f32 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

fn gelu_tanh(x: f32) -> f32 {
    let z = 1.595_769 * (x + 0.044_715 * x * x * x);
    x / (1.0 + (-z).exp())
}

/// By the error function, to 2e-7 (Abramowitz and Stegun 7.1.26).
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series =
        t * (0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152 + t * 1.061_405_4))));
    0.5 * x * (1.0 + (1.0 - series * (-z * z).exp()).copysign(x))
}

/// The same in double precision, which defines the op.
pub fn reference(op: &RowsProduct, sizes: &ProductSizes, operands: &[Vec<f64>]) -> Vec<f64> {
    let ProductSizes { rows, terms, columns, parts } = *sizes;
    let extras = op.extras();
    let extra = |n: usize, at: usize, none: f64| extras[n].map_or(none, |number| operands[number][at]);
    let settled = |row: usize, column: usize| {
        let weight = |term: usize| match op.transposed {
            true => operands[1][column * terms + term],
            false => operands[1][term * columns * parts + column],
        };
        let sum: f64 = (0..terms).map(|term| operands[0][row * terms + term] * weight(term)).sum();
        sum * extra(0, column, 1.0) + extra(1, column, 0.0)
    };
    let value = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        let x = settled(row, (parts - 1) * columns + column);
        let y = match op.activation {
            RowActivation::None => x,
            RowActivation::Gelu => f64::from(gelu(x as f32)),
            RowActivation::GeluTanh => {
                x / (1.0 + (-1.595_769_121_605_730_8 * (x + 0.044_715 * x * x * x)).exp())
            }
            RowActivation::Swiglu => {
                let gate = settled(row, column);
                gate / (1.0 + (-gate).exp()) * x
            }
        };
        y + extra(2, at, 0.0)
    };
    (0..rows * columns).map(value).collect()
}
