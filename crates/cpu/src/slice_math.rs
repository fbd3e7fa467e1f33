//! Math for custom ops on the CPU, in safe code: matrix products on slices, and the exponential.
//!
//! Invariant: a product runs on the calling thread. So a multi-threaded op decides itself which thread computes
//! what, and results depend only on sizes. Start at [`multiply`].

use gemm::Parallelism;

/// A matrix in a slice, row by row.
#[derive(Clone, Copy, Debug)]
pub struct MatrixSlice<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row: usize,
    column: usize,
}

impl<'a> MatrixSlice<'a> {
    /// `[rows, columns]` with rows `stride` elements apart.
    ///
    /// # Panics
    /// If the slice is too short or rows overlap.
    pub fn new(values: &'a [f32], rows: usize, columns: usize, stride: usize) -> MatrixSlice<'a> {
        check("matrix", values.len(), rows, columns, stride);
        MatrixSlice { values, rows, columns, row: stride, column: 1 }
    }

    /// The same elements as `[columns, rows]`.
    pub fn transposed(self) -> MatrixSlice<'a> {
        MatrixSlice { rows: self.columns, columns: self.rows, row: self.column, column: self.row, ..self }
    }
}

/// `out = lhs · rhs`, or with `add` `out += lhs · rhs`; rows of `out` are `stride` elements apart.
///
/// # Panics
/// If the sizes do not match.
pub fn multiply(out: &mut [f32], stride: usize, lhs: MatrixSlice, rhs: MatrixSlice, add: bool) {
    assert_eq!(lhs.columns, rhs.rows, "multiply: inner sizes differ ({} vs {})", lhs.columns, rhs.rows);
    let (m, n, k) = (lhs.rows, rhs.columns, lhs.columns);
    check("multiply", out.len(), m, n, stride);
    // SAFETY: all three matrices lie inside their slices, as checked here and when they were made, and the
    // result is borrowed mutably, so it does not overlap the operands.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            stride as isize,
            add,
            lhs.values.as_ptr(),
            lhs.column as isize,
            lhs.row as isize,
            rhs.values.as_ptr(),
            rhs.column as isize,
            rhs.row as isize,
            1f32,
            1f32,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// `e^x` by a polynomial, for loops over slices that the compiler vectorizes.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    crate::simd::math::exp::<false>(x)
}

fn check(op: &str, len: usize, rows: usize, columns: usize, stride: usize) {
    assert!(columns <= stride || rows <= 1, "{op}: rows overlap ({columns} vs {stride})");
    let needed = if rows * columns == 0 { 0 } else { (rows - 1) * stride + columns };
    assert!(needed <= len, "{op}: too few elements ({len} vs {needed})");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_parts_and_transposes() {
        let a: Vec<f32> = (0..12).map(|x| x as f32).collect();
        // [[0, 1], [4, 5], [8, 9]] · [[0, 4, 8], [1, 5, 9]]
        let part = MatrixSlice::new(&a, 3, 2, 4);
        let mut out = vec![1.0; 12];
        multiply(&mut out, 4, part, part.transposed(), false);
        assert_eq!(out, [1.0, 5.0, 9.0, 1.0, 5.0, 41.0, 77.0, 1.0, 9.0, 77.0, 145.0, 1.0]);
        multiply(&mut out, 4, part, part.transposed(), true);
        assert_eq!(out[..3], [2.0, 10.0, 18.0]);
    }

    #[test]
    #[should_panic(expected = "matrix: too few elements (5 vs 6)")]
    fn a_matrix_is_inside_its_slice() {
        MatrixSlice::new(&[0.0; 5], 2, 3, 3);
    }
}
