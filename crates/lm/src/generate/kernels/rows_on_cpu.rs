//! Products of a few rows with weights as they are stored, on the CPU.
//!
//! Threads share the columns. Weights are widened a block at a time, in the first cache, and every block serves all rows; for one row
//! they are widened in registers.
//! Sums are made term by term (or, where weights lie by terms, in [`LANES`] parts), so results depend neither on the number of threads nor on
//! the processor's vectors.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use farad::DType;

use super::rows_product::{ProductSizes, RowActivation, RowsProduct};

/// Columns that a thread takes at once at most. Not measured.
const CHUNK: usize = 1024;
/// Partial sums of a row.
const LANES: usize = 16;
/// Rows whose sums are made at once, where there are so many: one addition need not wait for the one before.
const TOGETHER: usize = 4;

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

/// A weight as it is stored.
trait Stored: Copy {
    fn single(self) -> f32;
}

impl Stored for f32 {
    #[inline(always)]
    fn single(self) -> f32 {
        self
    }
}

impl Stored for bf16 {
    #[inline(always)]
    fn single(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
}

impl Stored for i8 {
    #[inline(always)]
    fn single(self) -> f32 {
        f32::from(self)
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
            Arch::new().dispatch(Columns { product: &product, start, len })
        })
        .collect();
    for (&start, part) in starts.iter().zip(&parts) {
        let len = part.len() / rows;
        for (row, part) in part.chunks_exact(len).enumerate() {
            y[row * columns + start..][..len].copy_from_slice(part);
        }
    }
}

/// Some columns of a product, for one thread.
struct Columns<'a> {
    product: &'a CpuProduct<'a>,
    start: usize,
    len: usize,
}

impl WithSimd for Columns<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        self.product.columns(simd, self.start, self.len)
    }
}

impl CpuProduct<'_> {
    /// `[rows, len]`: some columns of the result.
    #[inline(always)]
    fn columns<S: Simd>(&self, simd: S, start: usize, len: usize) -> Vec<f32> {
        let ProductSizes { rows, columns, parts, .. } = *self.sizes;
        let mut sums: Vec<Vec<f32>> = Vec::with_capacity(parts);
        // No closure: it would be compiled without the processor's vectors.
        for part in 0..parts {
            sums.push(match self.op.transposed {
                true => self.by_terms(simd, start, len),
                false => self.by_columns(part * columns + start, len),
            });
        }
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
        let ProductSizes { rows, columns, parts, .. } = *self.sizes;
        let all = columns * parts;
        let mut y = vec![0f32; rows * len];
        match self.weights {
            StoredWeights::Single(weights) if rows == 1 => add_terms(&mut y, weights, all, first, self.x),
            StoredWeights::Brain(weights) if rows == 1 => add_terms(&mut y, weights, all, first, self.x),
            StoredWeights::Whole(weights) if rows == 1 => add_terms(&mut y, weights, all, first, self.x),
            // f16 is widened by instructions that a loop does not find.
            _ => self.by_blocks(&mut y, all, first),
        }
        y
    }

    /// The same for several rows: every block of weights is widened once.
    #[inline(always)]
    fn by_blocks(&self, y: &mut [f32], all: usize, first: usize) {
        let ProductSizes { rows, terms, .. } = *self.sizes;
        let len = y.len() / rows;
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
    }

    /// Sums where weights lie as `[columns, terms]`.
    #[inline(always)]
    fn by_terms<S: Simd>(&self, simd: S, first: usize, len: usize) -> Vec<f32> {
        let ProductSizes { rows, terms, .. } = *self.sizes;
        let mut y = vec![0f32; rows * len];
        let mut room = vec![0f32; terms];
        for column in 0..len {
            let weights = self.weights.wide((first + column) * terms, terms, &mut room);
            let whole = rows - rows % TOGETHER;
            for row in (0..whole).step_by(TOGETHER) {
                let x = std::array::from_fn(|n| &self.x[(row + n) * terms..][..terms]);
                let found = dots::<S, TOGETHER>(simd, weights, x);
                found.iter().enumerate().for_each(|(n, found)| y[(row + n) * len + column] = *found);
            }
            for row in whole..rows {
                let [found] = dots::<S, 1>(simd, weights, [&self.x[row * terms..][..terms]]);
                y[row * len + column] = found;
            }
        }
        y
    }
}

/// Adds the terms of one row to its sums, eight at a time: two groups of four, as those of several rows are grouped.
/// Weights are widened in registers, because nobody else needs them.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // nine slices at once
fn add_terms<W: Stored>(y: &mut [f32], all: &[W], stride: usize, first: usize, x: &[f32]) {
    let len = y.len();
    let term = |term: usize| &all[term * stride + first..][..len];
    let four = |[a, b, c, d]: [W; 4], x: &[f32; 4]| {
        (x[0] * a.single() + x[1] * b.single()) + (x[2] * c.single() + x[3] * d.single())
    };
    let (fours, _) = x.as_chunks::<4>();
    let (pairs, last) = fours.as_chunks::<2>();
    for (n, [x, z]) in pairs.iter().enumerate() {
        let [a, b, c, d, e, f, g, h]: [&[W]; 8] = std::array::from_fn(|k| term(8 * n + k));
        for i in 0..len {
            let sum = y[i] + four([a[i], b[i], c[i], d[i]], x);
            y[i] = sum + four([e[i], f[i], g[i], h[i]], z);
        }
    }
    for x in last {
        let [a, b, c, d]: [&[W]; 4] = std::array::from_fn(|k| term(8 * pairs.len() + k));
        for i in 0..len {
            y[i] += four([a[i], b[i], c[i], d[i]], x);
        }
    }
}

/// The products of a vector with others. Written in vectors: rustc makes scalars of sixteen sums in an array.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // three arrays at once
fn dots<S: Simd, const N: usize>(simd: S, a: &[f32], others: [&[f32]; N]) -> [f32; N] {
    let vectors = LANES / S::F32_LANES;
    let mut sums = [[simd.splat_f32s(0.0); LANES]; N];
    let (many, rest) = a.as_chunks::<LANES>();
    let pairs = others.map(|other| other.as_chunks::<LANES>());
    for (at, a) in many.iter().enumerate() {
        let (a, _) = S::as_simd_f32s(a);
        for (sums, (other, _)) in sums.iter_mut().zip(&pairs) {
            let (b, _) = S::as_simd_f32s(&other[at]);
            for n in 0..vectors {
                sums[n] = simd.add_f32s(sums[n], simd.mul_f32s(a[n], b[n]));
            }
        }
    }
    std::array::from_fn(|n| {
        let mut single = [0f32; LANES];
        let (room, _) = S::as_mut_simd_f32s(&mut single);
        room.copy_from_slice(&sums[n][..vectors]);
        let last: f32 = rest.iter().zip(pairs[n].1).map(|(a, b)| a * b).sum();
        single.iter().sum::<f32>() + last
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gets_the_same_bits_alone_and_among_others() {
        let drawn = |n: usize| ((n * 7919 % 1009) as f32 - 504.0) / 512.0;
        for stored in [DType::F32, DType::F16, DType::BF16, DType::I8] {
            for (transposed, terms, columns) in
                [(false, 12, 70), (false, 24, 130), (true, 20, 33), (true, 768, 5)]
            {
                let weights: Vec<u8> = (0..terms * columns)
                    .flat_map(|n| match stored {
                        DType::F16 => f16::from_f32(drawn(n)).to_le_bytes().to_vec(),
                        DType::BF16 => bf16::from_f32(drawn(n)).to_le_bytes().to_vec(),
                        DType::I8 => vec![(n % 251) as u8],
                        _ => drawn(n).to_le_bytes().to_vec(),
                    })
                    .collect();
                let op = RowsProduct {
                    stored,
                    transposed,
                    scaled: false,
                    biased: false,
                    added: false,
                    activation: RowActivation::None,
                };
                let mut words = vec![0f32; weights.len().div_ceil(4)]; // aligned
                bytemuck::cast_slice_mut(&mut words)[..weights.len()].copy_from_slice(&weights);
                let weights = &bytemuck::cast_slice(&words)[..weights.len()];
                let x: Vec<f32> = (0..7 * terms).map(|n| drawn(n + 5)).collect();
                let products = |rows: usize, x: &[f32]| {
                    let sizes = ProductSizes { rows, terms, columns, parts: 1 };
                    let mut y = vec![0f32; rows * columns];
                    run(&op, &sizes, &[bytemuck::cast_slice(x), weights], bytemuck::cast_slice_mut(&mut y));
                    y
                };
                let all = products(7, &x);
                for row in 0..7 {
                    let alone = products(1, &x[row * terms..][..terms]);
                    assert_eq!(alone, all[row * columns..][..columns], "{stored} {transposed} row {row}");
                }
            }
        }
    }
}
