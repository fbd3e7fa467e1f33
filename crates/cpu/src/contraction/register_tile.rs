//! Register tiles of products: some rows times some vectors of a result, which stay in registers over all
//! terms.
//!
//! Operands are read in place, through tables of offsets. So overlapping reads (the windows of a convolution)
//! need no copies. There are two forms: [`RowsTile`] runs along the columns of the result, [`DotsTile`] along
//! the terms. A result element adds its terms in an order that no tile size changes.

use std::sync::OnceLock;

use crate::simd::vector::Vector;
#[cfg(target_arch = "x86_64")]
use crate::simd::vector::x86;

/// A run of adjacent elements that fits a vector: its offsets in two operands (or in an operand and the
/// result).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub first: isize,
    pub second: isize,
    /// At most [`Tiles::lanes`].
    pub len: usize,
}

/// `out[r, piece] = Σ_k lhs[k, r] · rhs[terms[k] + piece]` for the rows of one panel.
pub struct RowsTile<'a> {
    /// A panel: for every term, one element per row of the tile.
    pub lhs: *const f32,
    pub rhs: *const f32,
    /// The offset of every term in `rhs`.
    pub terms: &'a [isize],
    pub out: *mut f32,
    /// The offset of every row in `out`.
    pub rows: &'a [isize],
}

/// `out[r, c] += Σ_piece lhs[rows[r] + piece] · rhs[columns[c] + piece]`.
pub struct DotsTile<'a> {
    pub lhs: *const f32,
    pub rows: &'a [isize],
    pub rhs: *const f32,
    pub columns: &'a [isize],
    pub pieces: &'a [Piece],
    pub out: *mut f32,
    /// Elements between the rows of `out`.
    pub pitch: usize,
}

/// A tile of [`RowsTile`].
#[derive(Debug)]
pub struct RowTile {
    pub rows: usize,
    /// Pieces per call.
    pub vectors: usize,
    /// From few vectors to many: what takes at most so many pieces.
    forms: &'static [(usize, RunRows)],
}

type RunRows = unsafe fn(&RowsTile, &[Piece]);

impl RowTile {
    /// Takes at most `vectors` pieces: `first` is the offset in `rhs`, `second` in `out`.
    ///
    /// # Safety
    /// The machine must have the table's instructions, and all addresses must be valid.
    pub unsafe fn run(&self, job: &RowsTile, pieces: &[Piece]) {
        let form =
            self.forms.iter().find(|(vectors, _)| *vectors >= pieces.len()).expect("not too many pieces");
        // SAFETY: promised by the caller.
        unsafe { form.1(job, pieces) }
    }
}

/// A tile of [`DotsTile`].
#[derive(Debug)]
pub struct DotTile {
    pub rows: usize,
    pub columns: usize,
    /// `first` is a piece's offset in `lhs`, `second` in `rhs`. All addresses must be valid.
    pub run: unsafe fn(&DotsTile),
}

/// The tiles of an instruction set, largest first; the last tile has a single row (and column).
pub struct Tiles {
    /// Elements of a vector.
    pub lanes: usize,
    pub rows: &'static [RowTile],
    pub dots: &'static [DotTile],
}

#[inline(always)]
unsafe fn rows<V: Vector, const M: usize, const N: usize>(job: &RowsTile, pieces: &[Piece]) {
    debug_assert!(pieces.len() <= N && job.rows.len() == M);
    // SAFETY: the caller guarantees that all addresses are valid; the missing pieces have no active lanes.
    unsafe {
        let mut sums = [[V::zero(); N]; M];
        let piece = |n: usize| pieces.get(n).copied().unwrap_or(Piece { len: 0, ..pieces[0] });
        let starts: [*const f32; N] = std::array::from_fn(|n| job.rhs.offset(piece(n).first));
        let whole = pieces.len() == N && pieces.iter().all(|piece| piece.len == V::LANES);
        if whole {
            accumulate::<V, M, N>(job, |n, at| V::load(starts[n].offset(at)), &mut sums);
        } else {
            let masks: [V::Mask; N] = std::array::from_fn(|n| V::mask(piece(n).len));
            accumulate::<V, M, N>(job, |n, at| V::load_some(starts[n].offset(at), masks[n]), &mut sums);
        }
        for (row, sums) in job.rows.iter().zip(&sums) {
            for (piece, sum) in pieces.iter().zip(sums) {
                sum.store_some(job.out.offset(row + piece.second), V::mask(piece.len));
            }
        }
    }
}

// Loops over indices are fully unrolled, so that sums stay in registers; iterators are not.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
unsafe fn accumulate<V: Vector, const M: usize, const N: usize>(
    job: &RowsTile,
    load: impl Fn(usize, isize) -> V,
    sums: &mut [[V; N]; M],
) {
    let mut lhs = job.lhs;
    for &at in job.terms {
        // SAFETY: see `rows`.
        unsafe {
            let columns: [V; N] = std::array::from_fn(|n| load(n, at));
            for m in 0..M {
                let x = V::splat(*lhs.add(m));
                for n in 0..N {
                    sums[m][n] = x.multiply_add(columns[n], sums[m][n]);
                }
            }
            lhs = lhs.add(M);
        }
    }
}

#[inline(always)]
unsafe fn dots<V: Vector, const M: usize, const N: usize>(job: &DotsTile) {
    debug_assert!(job.rows.len() == M && job.columns.len() == N);
    // SAFETY: the caller guarantees that all addresses are valid.
    unsafe {
        let left: [*const f32; M] = std::array::from_fn(|m| job.lhs.offset(job.rows[m]));
        let right: [*const f32; N] = std::array::from_fn(|n| job.rhs.offset(job.columns[n]));
        let mut sums = [[V::zero(); N]; M];
        for piece in job.pieces {
            if piece.len == V::LANES {
                let load = |from: *const f32| V::load(from);
                add_products::<V, M, N>(piece, &left, &right, load, &mut sums);
            } else {
                let mask = V::mask(piece.len);
                let load = |from: *const f32| V::load_some(from, mask);
                add_products::<V, M, N>(piece, &left, &right, load, &mut sums);
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            for (n, sum) in sums.iter().enumerate() {
                *job.out.add(m * job.pitch + n) += sum.sum();
            }
        }
    }
}

#[allow(clippy::needless_range_loop)] // see `accumulate`
#[inline(always)]
unsafe fn add_products<V: Vector, const M: usize, const N: usize>(
    piece: &Piece,
    left: &[*const f32; M],
    right: &[*const f32; N],
    load: impl Fn(*const f32) -> V,
    sums: &mut [[V; N]; M],
) {
    // SAFETY: see `dots`.
    unsafe {
        let rows: [V; M] = std::array::from_fn(|m| load(left[m].offset(piece.first)));
        for n in 0..N {
            let column = load(right[n].offset(piece.second));
            for m in 0..M {
                sums[m][n] = rows[m].multiply_add(column, sums[m][n]);
            }
        }
    }
}

macro_rules! tiles {
    ($table:ident, $vector:ty $(, $feature:literal)?; rows $($m:literal x [$($few:literal)+]),+; dots $($r:literal x $c:literal),+) => {
        mod $table {
            use super::*;

            $(#[target_feature(enable = $feature)])?
            unsafe fn rows<const M: usize, const N: usize>(job: &RowsTile, pieces: &[Piece]) {
                // SAFETY: the caller keeps the conditions.
                unsafe { super::rows::<$vector, M, N>(job, pieces) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn dots<const M: usize, const N: usize>(job: &DotsTile) {
                // SAFETY: the caller keeps the conditions.
                unsafe { super::dots::<$vector, M, N>(job) }
            }

            pub static TABLE: Tiles = Tiles {
                lanes: <$vector as Vector>::LANES,
                rows: &[$(RowTile {
                    rows: $m,
                    vectors: [$($few),+][const { [$($few),+].len() - 1 }],
                    forms: &[$(($few, rows::<$m, $few>)),+],
                }),+],
                dots: &[$(DotTile { rows: $r, columns: $c, run: dots::<$r, $c> }),+],
            };
        }
    };
}

#[cfg(target_arch = "x86_64")]
tiles!(wide, x86::Wide, "avx512f,avx512dq,avx512vl,avx2,fma"; rows 8 x [1 2 3], 4 x [2 4 6], 2 x [4 8], 1 x [4 8]; dots 4 x 6, 4 x 3, 4 x 1, 1 x 6, 1 x 3, 1 x 1);
#[cfg(target_arch = "x86_64")]
tiles!(middle, x86::Middle, "avx2,fma"; rows 4 x [1 2 3], 2 x [2 4], 1 x [4 8]; dots 3 x 3, 3 x 1, 1 x 3, 1 x 1);
tiles!(plain, [f32; 4]; rows 4 x [2 4], 1 x [4 8]; dots 4 x 4, 4 x 1, 1 x 4, 1 x 1);

/// Every table that this machine can run, widest first.
fn available() -> Vec<&'static Tiles> {
    let mut tables = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if avx2 && avx512 {
            tables.push(&wide::TABLE);
        }
        if avx2 {
            tables.push(&middle::TABLE);
        }
    }
    tables.push(&plain::TABLE);
    tables
}

/// The widest tiles that this machine can run.
pub fn tiles() -> &'static Tiles {
    static CHOSEN: OnceLock<&'static Tiles> = OnceLock::new();
    CHOSEN.get_or_init(|| available()[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(len: usize, step: usize) -> Vec<f32> {
        (0..len).map(|i| (i * step % 101) as f32 / 50.0 - 1.0).collect()
    }

    #[test]
    fn rows_of_every_tile() {
        for table in available() {
            for tile in table.rows {
                let (terms, pitch) = (5, 40 * table.lanes);
                let (lhs, rhs) = (wave(terms * tile.rows, 37), wave(pitch + 100, 53));
                // Terms overlap, and pieces have every length.
                let at: Vec<isize> = (0..terms as isize).map(|k| 7 * k).collect();
                let out_rows: Vec<isize> = (0..tile.rows).map(|r| (r * pitch) as isize).collect();
                let piece = |n: usize| {
                    let len = table.lanes - n % table.lanes;
                    Piece { first: (3 * n) as isize, second: (n * table.lanes) as isize, len }
                };
                for count in 1..=tile.vectors {
                    let pieces: Vec<Piece> = (0..count).map(piece).collect();
                    let mut out = vec![9f32; tile.rows * pitch];
                    let job = RowsTile {
                        lhs: lhs.as_ptr(),
                        rhs: rhs.as_ptr(),
                        terms: &at,
                        out: out.as_mut_ptr(),
                        rows: &out_rows,
                    };
                    // SAFETY: the table is available, and all addresses are in these vectors.
                    unsafe { tile.run(&job, &pieces) };
                    for r in 0..tile.rows {
                        for (n, i) in (0..count).flat_map(|n| (0..table.lanes).map(move |i| (n, i))) {
                            let want = (0..terms).map(|k| lhs[k * tile.rows + r] * rhs[7 * k + 3 * n + i]);
                            let want = if i < pieces[n].len { want.sum::<f32>() } else { 9.0 };
                            let got = out[r * pitch + n * table.lanes + i];
                            assert!((got - want).abs() < 1e-5, "{got} is not {want}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn dots_of_every_tile() {
        for table in available() {
            for tile in table.dots {
                let (lhs, rhs) = (wave(600, 37), wave(600, 53));
                let rows: Vec<isize> = (0..tile.rows).map(|r| (60 * r) as isize).collect();
                let columns: Vec<isize> = (0..tile.columns).map(|c| (5 * c) as isize).collect();
                let pieces = [(0, table.lanes), (20, table.lanes), (40, 3)].map(|(at, len)| Piece {
                    first: at,
                    second: at + 2,
                    len,
                });
                let mut out = vec![1f32; tile.rows * 10];
                let job = DotsTile {
                    lhs: lhs.as_ptr(),
                    rows: &rows,
                    rhs: rhs.as_ptr(),
                    columns: &columns,
                    pieces: &pieces,
                    out: out.as_mut_ptr(),
                    pitch: 10,
                };
                // SAFETY: the table is available, and all addresses are in these vectors.
                unsafe { (tile.run)(&job) };
                for (r, c) in (0..tile.rows).flat_map(|r| (0..tile.columns).map(move |c| (r, c))) {
                    let of = |piece: &Piece| -> f32 {
                        let (l, r) = (60 * r + piece.first as usize, 5 * c + piece.second as usize);
                        (0..piece.len).map(|i| lhs[l + i] * rhs[r + i]).sum()
                    };
                    let want = 1.0 + pieces.iter().map(of).sum::<f32>();
                    let got = out[r * 10 + c];
                    assert!((got - want).abs() < 1e-5, "{got} is not {want}");
                }
            }
        }
    }
}
