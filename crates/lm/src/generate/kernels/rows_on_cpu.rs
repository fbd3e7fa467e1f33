//! Products of a few rows with weights as they are stored, on the CPU.
//!
//! Threads share the columns. [`multiply_stored`] makes the sums; what comes after them happens while they are in the cache.
//!
//! Invariant: results do not depend on the number of threads, and a row gets the same bits alone and among others.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use farad::DType;
use farad::host::{StoredMatrix, StoredNumbers, exp, multiply_stored};

use super::rows_product::{ProductSizes, RowActivation, RowsProduct};

/// Columns that a thread takes at once at most. Not measured.
const CHUNK: usize = 2048;
/// Numbers of a result beyond which threads share putting it together. Not measured.
const SHARED: usize = 1 << 16;

/// Operands in f32 and the sizes, for all threads.
struct CpuProduct<'a> {
    op: &'a RowsProduct,
    sizes: &'a ProductSizes,
    x: &'a [f32],
    weights: StoredMatrix<'a>,
    extras: [&'a [f32]; 3],
}

/// The result of a product, from bytes to bytes.
pub fn run(op: &RowsProduct, sizes: &ProductSizes, operands: &[&[u8]], y: &mut [u8]) {
    let ProductSizes { rows, terms, columns, parts } = *sizes;
    let extras = op.extras().map(|number| number.map_or(&[][..], |n| bytemuck::cast_slice(operands[n])));
    let numbers = stored(operands[1], op.stored);
    let weights = match op.transposed {
        true => StoredMatrix::transposed(numbers, terms, columns * parts),
        false => StoredMatrix::new(numbers, terms, columns * parts),
    };
    let product = CpuProduct { op, sizes, x: bytemuck::cast_slice(operands[0]), weights, extras };
    // Enough chunks for all threads, of whole vectors.
    let share = columns.div_ceil(2 * rayon::current_num_threads()).next_multiple_of(64);
    let chunk = share.min(CHUNK);
    let starts: Vec<usize> = (0..columns).step_by(chunk).collect();
    let pieces: Vec<Vec<f32>> =
        starts.par_iter().map(|&start| product.columns(start, chunk.min(columns - start))).collect();
    let put = |(row, y): (usize, &mut [f32])| {
        for (&start, piece) in starts.iter().zip(&pieces) {
            let len = piece.len() / rows;
            y[start..][..len].copy_from_slice(&piece[row * len..][..len]);
        }
    };
    let y: &mut [f32] = bytemuck::cast_slice_mut(y);
    match rows * columns > SHARED {
        true => y.par_chunks_exact_mut(columns).enumerate().for_each(put),
        false => y.chunks_exact_mut(columns).enumerate().for_each(put),
    }
}

/// Weights as they are stored.
fn stored(bytes: &[u8], stored: DType) -> StoredNumbers<'_> {
    match stored {
        DType::F16 => StoredNumbers::F16(bytemuck::cast_slice(bytes)),
        DType::BF16 => StoredNumbers::BF16(bytemuck::cast_slice(bytes)),
        DType::I8 => StoredNumbers::I8(bytemuck::cast_slice(bytes)),
        _ => StoredNumbers::F32(bytemuck::cast_slice(bytes)),
    }
}

impl CpuProduct<'_> {
    /// `[rows, len]`: some columns of the result.
    fn columns(&self, start: usize, len: usize) -> Vec<f32> {
        let ProductSizes { rows, columns, parts, .. } = *self.sizes;
        let sums = |first: usize| {
            let mut sums = vec![0f32; rows * len];
            multiply_stored(&mut sums, self.x, &self.weights, first..first + len);
            sums
        };
        let gates = if parts == 2 { sums(start) } else { vec![] };
        let mut y = sums((parts - 1) * columns + start);
        Arch::new().dispatch(Finish { product: self, start, len, gates, y: &mut y });
        y
    }
}

/// What becomes of the sums of some columns, `[rows, len]`.
struct Finish<'a> {
    product: &'a CpuProduct<'a>,
    start: usize,
    len: usize,
    gates: Vec<f32>,
    y: &'a mut [f32],
}

impl WithSimd for Finish<'_> {
    type Output = ();

    // Loops, no closures: those would be compiled without the processor's vectors.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        let (columns, op) = (self.product.sizes.columns, self.product.op);
        settle(self.product, self.y, (self.product.sizes.parts - 1) * columns + self.start, self.len);
        settle(self.product, &mut self.gates, self.start, self.len);
        match op.activation {
            RowActivation::Gelu => {
                for y in self.y.iter_mut() {
                    *y = gelu(*y);
                }
            }
            RowActivation::GeluTanh => {
                for y in self.y.iter_mut() {
                    *y = gelu_tanh(*y);
                }
            }
            RowActivation::Swiglu => {
                for (y, &gate) in self.y.iter_mut().zip(&self.gates) {
                    *y *= gate / (1.0 + exp(-gate));
                }
            }
            RowActivation::None => {}
        }
        if op.added {
            for (row, y) in self.y.chunks_exact_mut(self.len).enumerate() {
                let added = &self.product.extras[2][row * columns + self.start..][..self.len];
                for (y, added) in y.iter_mut().zip(added) {
                    *y += added;
                }
            }
        }
    }
}

/// Scales and bias of rows, from a column on.
#[inline(always)]
fn settle(product: &CpuProduct, rows: &mut [f32], first: usize, len: usize) {
    for y in rows.chunks_exact_mut(len) {
        if product.op.scaled {
            for (y, scale) in y.iter_mut().zip(&product.extras[0][first..]) {
                *y *= scale;
            }
        }
        if product.op.biased {
            for (y, bias) in y.iter_mut().zip(&product.extras[1][first..]) {
                *y += bias;
            }
        }
    }
}

#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    let z = 1.595_769 * (x + 0.044_715 * x * x * x);
    x / (1.0 + exp(-z))
}

/// By the error function, to 2e-7 (Abramowitz and Stegun 7.1.26).
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series =
        t * (0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152 + t * 1.061_405_4))));
    0.5 * x * (1.0 + (1.0 - series * exp(-z * z)).copysign(x))
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
    use half::{bf16, f16};

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
