//! Products too small or too thin for a blocked algorithm: sums of rows, dot products, or many rows with few
//! columns.

use crate::heuristics::small_products::{
    COLUMNS, NARROW, NARROW_APART, NARROW_ROWS, NARROW_SCATTERED, PARTIALS, ROWS, WIDTH,
};
use crate::simd::math::fma;

/// A matrix in memory, with its row and column strides.
#[derive(Clone, Copy, Debug)]
pub struct StridedMatrix {
    pub start: *mut f32,
    pub row: isize,
    pub column: isize,
}

// SAFETY: a block is an address; products divide what they write among threads.
unsafe impl Send for StridedMatrix {}
// SAFETY: as above.
unsafe impl Sync for StridedMatrix {}

impl StridedMatrix {
    fn transposed(self) -> StridedMatrix {
        StridedMatrix { start: self.start, row: self.column, column: self.row }
    }

    /// The submatrix that starts at `(row, column)`.
    ///
    /// # Safety
    /// The element must be in the matrix.
    pub unsafe fn from(self, row: usize, column: usize) -> StridedMatrix {
        // SAFETY: promised by the caller.
        let start = unsafe { self.start.offset(row as isize * self.row + column as isize * self.column) };
        StridedMatrix { start, ..self }
    }
}

/// `out[m, n] = lhs[m, k] · rhs[k, n]`
#[derive(Clone, Copy, Debug)]
pub struct Multiply {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub lhs: StridedMatrix,
    pub rhs: StridedMatrix,
    pub out: StridedMatrix,
}

/// How a thin product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SmallForm {
    /// Rows of `rhs` are contiguous: rows of the result are sums of them.
    Rows,
    /// Rows of `lhs` and columns of `rhs` are contiguous: elements are dot products.
    Dots,
}

impl Multiply {
    /// The same product with all three matrices transposed.
    pub fn transposed(self) -> Multiply {
        Multiply {
            m: self.n,
            n: self.m,
            k: self.k,
            lhs: self.rhs.transposed(),
            rhs: self.lhs.transposed(),
            out: self.out.transposed(),
        }
    }

    /// The product, or its transpose, if it has many rows that are so short that blocks would be mostly empty.
    pub fn narrow(self) -> Option<Multiply> {
        let narrow = |p: &Multiply| {
            let near = p.lhs.column == 1 || p.k <= NARROW_APART;
            let together = p.out.column == 1 || p.k >= NARROW_SCATTERED;
            (2..=NARROW).contains(&p.n) && near && p.m >= NARROW_ROWS && together
        };
        [self, self.transposed()].into_iter().find(narrow)
    }

    /// Splits the product into `parts` groups of rows.
    pub fn rows(self, parts: usize) -> Vec<Multiply> {
        let step = self.m.div_ceil(parts.max(1)).max(1).next_multiple_of(ROWS);
        let part = |first: usize| {
            let m = step.min(self.m - first);
            // SAFETY: `first` is inside the size that is split.
            unsafe { Multiply { m, lhs: self.lhs.from(first, 0), out: self.out.from(first, 0), ..self } }
        };
        (0..self.m).step_by(step).map(part).collect()
    }

    fn form(&self) -> Option<(SmallForm, usize)> {
        let unit = |size: usize, stride: isize| size == 1 || stride == 1;
        let rows = unit(self.n, self.rhs.column) && unit(self.n, self.out.column);
        let dots = unit(self.k, self.lhs.column) && unit(self.k, self.rhs.row);
        let rows = rows.then_some((SmallForm::Rows, self.n));
        let dots = dots.then_some((SmallForm::Dots, self.k));
        if rows.map_or(0, |r| r.1) >= dots.map_or(0, |d| d.1) { rows } else { dots }
    }

    /// The orientation and form with the longest vectors; `None` if nothing is contiguous.
    fn oriented(self) -> Option<(Multiply, SmallForm, usize)> {
        let both = [self, self.transposed()];
        both.into_iter()
            .filter_map(|p| p.form().map(|(form, len)| (p, form, len)))
            .max_by_key(|(_, _, len)| *len)
    }

    /// Splits the product into `parts` that write different rows or columns of the result, if it can be
    /// computed here.
    pub fn parts(self, parts: usize) -> Option<Vec<Multiply>> {
        let (whole, _, _) = self.oriented().filter(|(_, _, len)| *len >= 4)?;
        let along_n = whole.n > whole.m;
        let size = if along_n { whole.n } else { whole.m };
        let step = size.div_ceil(parts.max(1)).max(1).next_multiple_of(16);
        let part = |first: usize| {
            let len = step.min(size - first);
            // SAFETY: `first` is inside the size that is split.
            unsafe {
                if along_n {
                    Multiply { n: len, rhs: whole.rhs.from(0, first), out: whole.out.from(0, first), ..whole }
                } else {
                    Multiply { m: len, lhs: whole.lhs.from(first, 0), out: whole.out.from(first, 0), ..whole }
                }
            }
        };
        Some((0..size).step_by(step).map(part).collect())
    }
}

/// Computes a product returned by [`Multiply::parts`].
///
/// # Safety
/// All three matrices must be valid, and the result must not overlap the operands.
#[inline(always)]
pub unsafe fn multiply<const F: bool>(what: &Multiply) {
    // SAFETY: promised by the caller.
    unsafe {
        match what.form() {
            Some((SmallForm::Rows, _)) => rows::<F>(what),
            Some((SmallForm::Dots, _)) => dots::<F>(what),
            None => unreachable!("parts only gives products with contiguous vectors"),
        }
    }
}

#[inline(always)]
unsafe fn slice<'a>(start: *mut f32, row: isize, i: usize, from: usize, len: usize) -> &'a [f32] {
    // SAFETY: the caller's matrix has this piece of a row.
    unsafe { std::slice::from_raw_parts(start.offset(row * i as isize).add(from), len) }
}

#[inline(always)]
unsafe fn rows<const F: bool>(p: &Multiply) {
    // SAFETY: see `multiply`; rows of `rhs` and `out` are contiguous.
    unsafe {
        for i in 0..p.m {
            for from in (0..p.n).step_by(WIDTH) {
                let len = WIDTH.min(p.n - from);
                let out = p.out.start.offset(p.out.row * i as isize).add(from);
                let out = std::slice::from_raw_parts_mut(out, len);
                let a = |k: usize| *p.lhs.start.offset(p.lhs.row * i as isize + p.lhs.column * k as isize);
                let b = |k: usize| slice(p.rhs.start, p.rhs.row, k, from, len);
                out.fill(0.0);
                let mut k = 0;
                while k + 4 <= p.k {
                    let (a0, a1, a2, a3) = (a(k), a(k + 1), a(k + 2), a(k + 3));
                    let pairs = b(k).iter().zip(b(k + 1)).zip(b(k + 2).iter().zip(b(k + 3)));
                    for (out, ((&b0, &b1), (&b2, &b3))) in out.iter_mut().zip(pairs) {
                        let sum = fma::<F>(a0, b0, fma::<F>(a1, b1, *out));
                        *out = fma::<F>(a2, b2, fma::<F>(a3, b3, sum));
                    }
                    k += 4;
                }
                while k < p.k {
                    let a0 = a(k);
                    for (out, &b0) in out.iter_mut().zip(b(k)) {
                        *out = fma::<F>(a0, b0, *out);
                    }
                    k += 1;
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn dots<const F: bool>(p: &Multiply) {
    // SAFETY: see `multiply`; rows of `lhs` and columns of `rhs` are contiguous.
    unsafe {
        for i in 0..p.m {
            let a = slice(p.lhs.start, p.lhs.row, i, 0, p.k);
            for j in 0..p.n {
                let b = slice(p.rhs.start, p.rhs.column, j, 0, p.k);
                let out = p.out.start.offset(p.out.row * i as isize + p.out.column * j as isize);
                *out = dot::<F>(a, b);
            }
        }
    }
}

#[inline(always)]
fn dot<const F: bool>(a: &[f32], b: &[f32]) -> f32 {
    let mut partial = [0f32; PARTIALS];
    let (chunks_a, chunks_b) = (a.chunks_exact(PARTIALS), b.chunks_exact(PARTIALS));
    let (rest_a, rest_b) = (chunks_a.remainder(), chunks_b.remainder());
    for (a, b) in chunks_a.zip(chunks_b) {
        for ((sum, &a), &b) in partial.iter_mut().zip(a).zip(b) {
            *sum = fma::<F>(a, b, *sum);
        }
    }
    for ((sum, &a), &b) in partial.iter_mut().zip(rest_a).zip(rest_b) {
        *sum = fma::<F>(a, b, *sum);
    }
    let mut width = PARTIALS / 2;
    while width > 0 {
        for lane in 0..width {
            partial[lane] += partial[lane + width];
        }
        width /= 2;
    }
    partial[0]
}

/// Computes a product returned by [`Multiply::narrow`], or a part of it. The right operand is copied and its
/// columns padded with zeros, so that a row of the result is a few vectors.
///
/// # Safety
/// All three matrices must be valid, and the result must not overlap the operands.
#[inline(always)]
pub unsafe fn narrow<const F: bool>(p: &Multiply) {
    let mut rhs = vec![[0f32; COLUMNS]; p.k];
    // SAFETY: see above; rows and columns are in the matrices.
    unsafe {
        for (k, row) in rhs.iter_mut().enumerate() {
            for (j, x) in row.iter_mut().take(p.n).enumerate() {
                *x = *p.rhs.from(k, j).start;
            }
        }
        let whole = p.m / ROWS * ROWS;
        for row in (0..whole).step_by(ROWS) {
            narrow_rows::<F, ROWS>(p, &rhs, row);
        }
        for row in whole..p.m {
            narrow_rows::<F, 1>(p, &rhs, row);
        }
    }
}

// Loops over indices are fully unrolled, so that sums stay in registers; iterators are not.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn narrow_rows<const F: bool, const R: usize>(p: &Multiply, rhs: &[[f32; COLUMNS]], row: usize) {
    let mut sums = [[0f32; COLUMNS]; R];
    // SAFETY: see `narrow`.
    unsafe {
        let mut lhs = p.lhs.from(row, 0).start.cast_const();
        for b in rhs {
            for r in 0..R {
                let a = *lhs.offset(p.lhs.row * r as isize);
                for j in 0..COLUMNS {
                    sums[r][j] = fma::<F>(a, b[j], sums[r][j]);
                }
            }
            lhs = lhs.wrapping_offset(p.lhs.column);
        }
        for (r, sums) in sums.iter().enumerate() {
            let out = p.out.from(row + r, 0).start;
            if p.out.column == 1 {
                out.copy_from_nonoverlapping(sums.as_ptr(), p.n);
            } else {
                (0..p.n).for_each(|j| *out.offset(p.out.column * j as isize) = sums[j]);
            }
        }
    }
}
