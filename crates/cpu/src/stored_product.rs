//! Rows times a matrix that is stored in f32, f16, bf16 or 8-bit integers, as weights of language models are.
//!
//! Weights are widened in registers and never written wide. Where they lie as `[terms, columns]`, eight terms of a
//! vector of columns are widened and added to the sums of all rows. Where they lie as `[columns, terms]`, the sums of a
//! few rows and columns stay in registers.
//!
//! Invariant: an element adds its terms in an order that depends on the layout and the number of terms alone. So it has the
//! same bits whatever rows and columns are computed with it, and with vectors of any width that multiply and add at once. Start at
//! [`multiply_stored`].

use std::ops::Range;
use std::sync::OnceLock;

use half::{bf16, f16};

use crate::simd::vector::Vector;
#[cfg(target_arch = "x86_64")]
use crate::simd::vector::x86;

/// Partial sums of an element where weights lie as `[columns, terms]`.
const PARTS: usize = 16;
/// Terms that are widened together. Of 4, 8 and 16 the quickest in GPT-2's products with 1 and 8 rows.
const TERMS: usize = 8;
/// Rows of a block. Not measured.
const ROWS: usize = 32;
/// Sums of a block: they stay in the first cache. Not measured.
const SUMS: usize = 4096;
/// Columns whose sums are made at once where weights lie as `[columns, terms]`. Not measured.
const TOGETHER: usize = 4;
/// Bytes that memory gives at once.
const LINE: usize = 64;

/// Numbers as they are stored.
#[derive(Clone, Copy, Debug)]
pub enum StoredNumbers<'a> {
    /// Four bytes each.
    F32(&'a [f32]),
    /// Two bytes each, with 11 bits of precision.
    F16(&'a [f16]),
    /// Two bytes each, with 8 bits of precision.
    BF16(&'a [bf16]),
    /// One byte each, without a scale.
    I8(&'a [i8]),
}

impl StoredNumbers<'_> {
    fn len(&self) -> usize {
        match self {
            StoredNumbers::F32(all) => all.len(),
            StoredNumbers::F16(all) => all.len(),
            StoredNumbers::BF16(all) => all.len(),
            StoredNumbers::I8(all) => all.len(),
        }
    }
}

/// A matrix of stored numbers.
#[derive(Clone, Copy, Debug)]
pub struct StoredMatrix<'a> {
    numbers: StoredNumbers<'a>,
    terms: usize,
    columns: usize,
    by_terms: bool,
}

impl<'a> StoredMatrix<'a> {
    /// `[terms, columns]`.
    ///
    /// # Panics
    /// If there are more or fewer numbers.
    pub fn new(numbers: StoredNumbers<'a>, terms: usize, columns: usize) -> StoredMatrix<'a> {
        let (found, wanted) = (numbers.len(), terms.saturating_mul(columns));
        assert!(found == wanted, "stored matrix: another size ({found} vs {wanted})");
        StoredMatrix { numbers, terms, columns, by_terms: false }
    }

    /// `[terms, columns]` that lies as `[columns, terms]`.
    pub fn transposed(numbers: StoredNumbers<'a>, terms: usize, columns: usize) -> StoredMatrix<'a> {
        StoredMatrix { by_terms: true, ..StoredMatrix::new(numbers, terms, columns) }
    }
}

/// `out = x · weights` for some columns of the weights: `[rows, terms] · [terms, columns] -> [rows, columns]`, on the
/// calling thread. Sums are f32.
///
/// # Panics
/// If the sizes do not match.
pub fn multiply_stored(out: &mut [f32], x: &[f32], weights: &StoredMatrix, columns: Range<usize>) {
    let (all, terms, len) = (weights.columns, weights.terms, columns.len());
    assert!(columns.end <= all, "multiply_stored: too few columns ({all} vs {})", columns.end);
    let rows = out.len().checked_div(len).unwrap_or(0);
    assert_eq!([out.len(), x.len()], [rows * len, rows * terms], "multiply_stored: other sizes");
    if rows > 0 {
        multiply_with(loops(), out, x, weights, columns);
    }
}

/// The same by the loops of an instruction set, with sizes that are checked.
fn multiply_with(
    loops: &StoredLoops,
    out: &mut [f32],
    x: &[f32],
    weights: &StoredMatrix,
    columns: Range<usize>,
) {
    let (terms, len) = (weights.terms, columns.len());
    let (rows, x, out) = (out.len() / len, x.as_ptr(), out.as_mut_ptr());
    let pitch = if weights.by_terms { terms } else { weights.columns };
    let first = if weights.by_terms { columns.start * terms } else { columns.start };
    macro_rules! run {
        ($numbers:expr, $field:ident) => {{
            let job = StoredJob { x, rows, terms, weights: $numbers.as_ptr().wrapping_add(first), pitch, out, len };
            // SAFETY: sizes were checked by the caller and when the matrix was made; the machine has the instructions.
            unsafe { (loops.$field[usize::from(weights.by_terms)])(&job) }
        }};
    }
    match weights.numbers {
        StoredNumbers::F32(all) => run!(all, f32),
        StoredNumbers::F16(all) => run!(all, f16),
        StoredNumbers::BF16(all) => run!(all, bf16),
        StoredNumbers::I8(all) => run!(all, i8),
    }
}

/// A product whose addresses are checked.
struct StoredJob<W> {
    x: *const f32,
    rows: usize,
    terms: usize,
    /// From the first column on.
    weights: *const W,
    /// Elements between rows of weights as they lie.
    pitch: usize,
    out: *mut f32,
    /// Columns.
    len: usize,
}

/// A number as it is stored.
trait Stored: Copy {
    const ZERO: Self;
    /// A vector of them, widened.
    unsafe fn load<V: Vector>(from: *const Self) -> V;
    /// Fewer than a vector has.
    #[inline(always)]
    unsafe fn load_some<V: Vector>(from: *const Self, len: usize) -> V {
        let mut room = [Self::ZERO; PARTS];
        // SAFETY: promised by the caller.
        unsafe {
            std::ptr::copy_nonoverlapping(from, room.as_mut_ptr(), len);
            Self::load(room.as_ptr())
        }
    }
}

macro_rules! stored {
    ($($type:ident $zero:expr, $load:ident;)+) => {$(
        impl Stored for $type {
            const ZERO: Self = $zero;
            #[inline(always)]
            unsafe fn load<V: Vector>(from: *const Self) -> V {
                // SAFETY: promised by the caller.
                unsafe { V::$load(from) }
            }
        }
    )+};
}

stored! {
    f32 0.0, load;
    f16 f16::ZERO, load_f16;
    bf16 bf16::ZERO, load_bf16;
    i8 0, load_i8;
}

/// Weights lie as `[terms, columns]`.
#[inline(always)]
unsafe fn by_columns<V: Vector, W: Stored>(job: &StoredJob<W>) {
    // SAFETY: rows, columns and terms are those of the job.
    unsafe {
        std::ptr::write_bytes(job.out, 0, job.rows * job.len);
        for first_row in (0..job.rows).step_by(ROWS) {
            let rows = first_row..job.rows.min(first_row + ROWS);
            let width = SUMS / rows.len() / LINE * LINE;
            for first in (0..job.len).step_by(width) {
                let columns = first..job.len.min(first + width);
                let mut term = 0;
                while term + TERMS <= job.terms {
                    add_terms::<V, W, TERMS>(job, term, &rows, &columns);
                    term += TERMS;
                }
                while term < job.terms {
                    add_terms::<V, W, 1>(job, term, &rows, &columns);
                    term += 1;
                }
            }
        }
    }
}

/// Adds `T` terms to the sums of some rows and columns. The next terms are asked for on the way, because they lie
/// where no processor expects them.
#[allow(clippy::needless_range_loop)] // fully unrolled, so that vectors stay in registers
#[inline(always)]
unsafe fn add_terms<V: Vector, W: Stored, const T: usize>(
    job: &StoredJob<W>,
    term: usize,
    rows: &Range<usize>,
    columns: &Range<usize>,
) {
    // SAFETY: promised by the caller.
    unsafe {
        let weights = job.weights.add(term * job.pitch);
        let mut at = columns.start;
        while at + V::LANES <= columns.end {
            if at.is_multiple_of(LINE / size_of::<W>()) {
                for k in 0..T {
                    V::prefetch(weights.wrapping_add((T + k) * job.pitch + at).cast());
                }
            }
            let mut wide = [V::zero(); T];
            for k in 0..T {
                wide[k] = W::load::<V>(weights.add(k * job.pitch + at));
            }
            for row in rows.clone() {
                let y = job.out.add(row * job.len + at);
                with_terms(V::load(y), &wide, job.x.add(row * job.terms + term)).store(y);
            }
            at += V::LANES;
        }
        if at < columns.end {
            let len = columns.end - at;
            let mask = V::mask(len);
            let mut wide = [V::zero(); T];
            for k in 0..T {
                wide[k] = W::load_some::<V>(weights.add(k * job.pitch + at), len);
            }
            for row in rows.clone() {
                let y = job.out.add(row * job.len + at);
                with_terms(V::load_some(y, mask), &wide, job.x.add(row * job.terms + term))
                    .store_some(y, mask);
            }
        }
    }
}

/// A sum with `T` more terms. There are two chains, so that an addition need not wait for the one before.
#[inline(always)]
unsafe fn with_terms<V: Vector, const T: usize>(sum: V, weights: &[V; T], x: *const f32) -> V {
    // SAFETY: promised by the caller.
    unsafe {
        let mut chains = [sum, V::zero()];
        for k in 0..T {
            chains[k % 2] = V::splat(*x.add(k)).multiply_add(weights[k], chains[k % 2]);
        }
        if T == 1 { chains[0] } else { chains[0].add(chains[1]) }
    }
}

/// Weights lie as `[columns, terms]`.
#[inline(always)]
unsafe fn by_terms<V: Vector, W: Stored, const R: usize>(job: &StoredJob<W>) {
    const C: usize = TOGETHER;
    // SAFETY: rows, columns and terms are those of the job.
    unsafe {
        let mut column = 0;
        while column + C <= job.len {
            sum_rows::<V, W, C, R>(job, column);
            column += C;
        }
        while column < job.len {
            sum_rows::<V, W, 1, R>(job, column);
            column += 1;
        }
    }
}

#[inline(always)]
unsafe fn sum_rows<V: Vector, W: Stored, const C: usize, const R: usize>(job: &StoredJob<W>, column: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        let mut row = 0;
        while row + R <= job.rows {
            sum_terms::<V, W, C, R>(job, column, row);
            row += R;
        }
        while row < job.rows {
            sum_terms::<V, W, C, 1>(job, column, row);
            row += 1;
        }
    }
}

/// The sums of `R` rows and `C` columns.
#[allow(clippy::needless_range_loop)] // as above
#[inline(always)]
unsafe fn sum_terms<V: Vector, W: Stored, const C: usize, const R: usize>(
    job: &StoredJob<W>,
    column: usize,
    row: usize,
) {
    // SAFETY: promised by the caller.
    unsafe {
        let (x, w) = (job.x.add(row * job.terms), job.weights.add(column * job.pitch));
        let vectors = PARTS / V::LANES;
        let mut sums = [[[V::zero(); 4]; C]; R];
        let mut term = 0;
        while term + PARTS <= job.terms {
            if term.is_multiple_of(LINE / size_of::<W>()) {
                for c in 0..C {
                    V::prefetch(w.wrapping_add((C + c) * job.pitch + term).cast());
                }
            }
            for v in 0..vectors {
                let at = term + v * V::LANES;
                let mut wide = [V::zero(); C];
                for c in 0..C {
                    wide[c] = W::load::<V>(w.add(c * job.pitch + at));
                }
                for r in 0..R {
                    let x = V::load(x.add(r * job.terms + at));
                    for c in 0..C {
                        sums[r][c][v] = x.multiply_add(wide[c], sums[r][c][v]);
                    }
                }
            }
            term += PARTS;
        }
        for v in 0..vectors {
            let at = term + v * V::LANES;
            if at >= job.terms {
                break;
            }
            let len = (job.terms - at).min(V::LANES);
            let mask = V::mask(len);
            for c in 0..C {
                let wide = W::load_some::<V>(w.add(c * job.pitch + at), len);
                for r in 0..R {
                    let x = V::load_some(x.add(r * job.terms + at), mask);
                    sums[r][c][v] = x.multiply_add(wide, sums[r][c][v]);
                }
            }
        }
        for r in 0..R {
            for c in 0..C {
                let [s0, s1, s2, s3] = sums[r][c];
                let sum = match vectors {
                    1 => s0,
                    2 => s0.add(s1),
                    _ => s0.add(s2).add(s1.add(s3)),
                };
                *job.out.add((row + r) * job.len + column + c) = sum.sum();
            }
        }
    }
}

/// The loops for an instruction set: by columns, and by terms.
struct StoredLoops {
    /// The instruction set.
    #[cfg(test)]
    name: &'static str,
    f32: [unsafe fn(&StoredJob<f32>); 2],
    f16: [unsafe fn(&StoredJob<f16>); 2],
    bf16: [unsafe fn(&StoredJob<bf16>); 2],
    i8: [unsafe fn(&StoredJob<i8>); 2],
}

macro_rules! loops {
    ($table:ident, $name:literal, $vector:ty, $rows:literal $(, $feature:literal)?) => {
        mod $table {
            use super::*;

            $(#[target_feature(enable = $feature)])?
            unsafe fn columns<W: Stored>(job: &StoredJob<W>) {
                // SAFETY: the caller keeps the conditions.
                unsafe { by_columns::<$vector, W>(job) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn terms<W: Stored>(job: &StoredJob<W>) {
                // SAFETY: the caller keeps the conditions.
                unsafe { by_terms::<$vector, W, $rows>(job) }
            }

            pub static TABLE: StoredLoops = StoredLoops {
                #[cfg(test)]
                name: $name,
                f32: [columns, terms],
                f16: [columns, terms],
                bf16: [columns, terms],
                i8: [columns, terms],
            };
        }
    };
}

#[cfg(target_arch = "x86_64")]
loops!(wide, "avx512", x86::Wide, 4, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,f16c");
#[cfg(target_arch = "x86_64")]
loops!(middle, "avx2", x86::Middle, 1, "avx2,fma,f16c");
loops!(plain, "plain", [f32; 4], 1);

/// Every table that this machine can run, widest first.
fn available() -> Vec<&'static StoredLoops> {
    let mut tables = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let middle = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        if middle && wide {
            tables.push(&wide::TABLE);
        }
        if middle {
            tables.push(&middle::TABLE);
        }
    }
    tables.push(&plain::TABLE);
    tables
}

fn loops() -> &'static StoredLoops {
    static CHOSEN: OnceLock<&'static StoredLoops> = OnceLock::new();
    CHOSEN.get_or_init(|| available()[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: usize) -> f32 {
        (n * 7919 % 1009) as f32 / 512.0 - 0.984
    }

    /// All numbers of a product in every format.
    struct Drawn {
        f32: Vec<f32>,
        f16: Vec<f16>,
        bf16: Vec<bf16>,
        i8: Vec<i8>,
    }

    impl Drawn {
        fn new(count: usize) -> Drawn {
            let f32: Vec<f32> = (0..count).map(wave).collect();
            Drawn {
                f16: f32.iter().map(|&x| f16::from_f32(x)).collect(),
                bf16: f32.iter().map(|&x| bf16::from_f32(x)).collect(),
                i8: f32.iter().map(|&x| (x * 127.0) as i8).collect(),
                f32,
            }
        }

        fn formats(&self) -> [StoredNumbers<'_>; 4] {
            use StoredNumbers::{BF16, F16, F32, I8};
            [F32(&self.f32), F16(&self.f16), BF16(&self.bf16), I8(&self.i8)]
        }
    }

    fn wide(numbers: StoredNumbers, n: usize) -> f64 {
        match numbers {
            StoredNumbers::F32(all) => all[n].into(),
            StoredNumbers::F16(all) => all[n].into(),
            StoredNumbers::BF16(all) => all[n].into(),
            StoredNumbers::I8(all) => all[n].into(),
        }
    }

    /// Every table, format and layout, with sizes that fill no block, beside sums in f64. Rows and columns have the same bits
    /// alone and among others, and tables that multiply and add at once agree to the bit.
    #[test]
    fn products_are_right_and_depend_on_nothing_else() {
        for (rows, terms, columns) in [(1, 37, 70), (5, 24, 130), (33, 11, 65), (7, 203, 9)] {
            let (drawn, x) = (Drawn::new(terms * columns), (0..rows * terms).map(|n| wave(n + 5)));
            let x: Vec<f32> = x.collect();
            for (numbers, by_terms) in drawn.formats().into_iter().flat_map(|n| [(n, false), (n, true)]) {
                let matrix = StoredMatrix { by_terms, ..StoredMatrix::new(numbers, terms, columns) };
                let mut known: Option<Vec<f32>> = None;
                for table in available() {
                    let what = format!("{} {numbers:.0?}, {by_terms}", table.name);
                    let what = &what[..what.len().min(40)];
                    let product = |x: &[f32], columns: Range<usize>| {
                        let mut y = vec![9f32; x.len() / terms * columns.len()];
                        multiply_with(table, &mut y, x, &matrix, columns);
                        y
                    };
                    let all = product(&x, 0..columns);
                    for (n, &y) in all.iter().enumerate() {
                        let (row, column) = (n / columns, n % columns);
                        let at = |term: usize| {
                            if by_terms { column * terms + term } else { term * columns + column }
                        };
                        let product =
                            |term: usize| f64::from(x[row * terms + term]) * wide(numbers, at(term));
                        let (sum, size) = (0..terms)
                            .map(product)
                            .fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
                        assert!((f64::from(y) - sum).abs() <= 1e-6 * size, "{what}: {y} is not {sum}");
                    }
                    for row in 0..rows {
                        let alone = product(&x[row * terms..][..terms], 0..columns);
                        assert_eq!(alone, all[row * columns..][..columns], "{what}: row {row}");
                    }
                    let part = product(&x[..terms], 3..columns - 2);
                    assert_eq!(part, all[3..columns - 2], "{what}: some columns");
                    let fused = table.name != "plain" || cfg!(target_arch = "aarch64");
                    assert!(!fused || known.get_or_insert_with(|| all.clone()) == &all, "{what}: other bits");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "stored matrix: another size (5 vs 6)")]
    fn a_matrix_has_its_size() {
        StoredMatrix::new(StoredNumbers::F32(&[0.0; 5]), 2, 3);
    }

    #[test]
    #[should_panic(expected = "multiply_stored: too few columns (3 vs 4)")]
    fn columns_are_inside_the_matrix() {
        let matrix = StoredMatrix::new(StoredNumbers::F32(&[0.0; 6]), 2, 3);
        multiply_stored(&mut [0.0; 2], &[0.0; 2], &matrix, 2..4);
    }
}
