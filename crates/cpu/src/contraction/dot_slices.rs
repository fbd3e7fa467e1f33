//! Products that run along their terms: gradients with respect to convolution weights, which have long sums and
//! small results.
//!
//! Terms are cut into slices, and slices into parts, whose number depends only on sizes. A part sums its slices
//! in order; parts are added in order at the end.

use farad_compile::program::{Code, Fused, Instr, Level, Product, View};
use farad_ir::DType;
use rayon::prelude::*;

use crate::contraction::matrix_product::Temporaries;
use crate::contraction::register_tile::{self, DotTile, Piece, tiles};
use crate::contraction::row_slices::coordinates;
use crate::contraction::slice_cuts::{AxisCut, pieces, use_of_lanes};
use crate::contraction::slice_operand::{Load, Slice, SliceOperand, SliceRead, Way};
use crate::error::Error;
use crate::heuristics::products::{
    ADDED_AT_ONCE, LARGE, LEAST_PART_ROWS, LEAST_TERM_SLICE, MOST_PARTS, PARTIAL_FLOATS, TERM_VECTORS,
    USED_LANES,
};
use crate::interpreter::nest::Nest;
use crate::interpreter::tile_machine::KernelContext;
use crate::memory::thread_scratch;
use crate::simd::lanes::lanes;

/// A planned product.
#[derive(Debug)]
pub struct Dots {
    batch: Vec<usize>,
    m: Vec<usize>,
    n: Vec<usize>,
    terms: AxisCut,
    lhs: SliceOperand,
    rhs: SliceOperand,
    rows: Vec<isize>,
    columns: Vec<isize>,
    parts: usize,
    /// `[parts, batch.., m.., n..]`
    partial: usize,
    epilogue: Nest,
    work: usize,
}

impl Dots {
    /// Plans a product; `None` if an operand is not a plain load. Slices have about `most` floats.
    pub fn new(
        product: &Product,
        most: usize,
        temporaries: &mut Temporaries,
        label: &str,
    ) -> Result<Option<Dots>, Error> {
        let (Some(left), Some(right)) = (Load::of(&product.lhs), Load::of(&product.rhs)) else {
            return Ok(None);
        };
        let (b, m, k) = (product.batch.len(), product.m.len(), product.k.len());
        let [left_axes, right_axes, whole] = product.axes();
        let left_order: Vec<usize> = (b..left_axes.len()).collect();
        let right_order: Vec<usize> = (b + k..right_axes.len()).chain(b..b + k).collect();
        // Rows and columns are read by tables, terms by strides.
        let columns = b + k..right_axes.len();
        let reads = [
            SliceRead { load: &left, axes: &left_axes, order: &left_order, tables: b..b + m },
            SliceRead { load: &right, axes: &right_axes, order: &right_order, tables: columns },
        ];
        let ways =
            [way(&reads[0], product.columns(), temporaries), way(&reads[1], product.rows(), temporaries)];
        let terms = cut(product, &reads, ways, most);
        let extents = extents(product, terms.steps());
        let copies = [temporaries.reserve(0), temporaries.reserve(0)];
        let specs = &mut *temporaries.specs;
        let lhs = SliceOperand::new(&reads[0], ways[0], &extents[0], specs, copies[0], label)?;
        let rhs = SliceOperand::new(&reads[1], ways[1], &extents[1], specs, copies[1], label)?;
        let rows = lhs.offsets(b, &product.m);
        let columns = rhs.offsets(b + k, &product.n);
        let sums = product.batches() * rows.len() * columns.len();
        let parts = terms.len().clamp(1, MOST_PARTS).min((PARTIAL_FLOATS / sums.max(1)).max(2));
        let partial = temporaries.add(parts * sums);
        let epilogue = epilogue(product, &whole, partial.0, temporaries, label)?;
        Ok(Some(Dots {
            batch: product.batch.clone(),
            m: product.m.clone(),
            n: product.n.clone(),
            terms,
            lhs,
            rhs,
            rows,
            columns,
            parts,
            partial: partial.0 as usize,
            epilogue,
            work: sums * product.terms(),
        }))
    }

    /// How many slices there are.
    #[cfg(test)]
    pub fn slices(&self) -> usize {
        self.terms.len()
    }

    /// Runs the product.
    pub fn run(&self, context: KernelContext) {
        let batches: usize = self.batch.iter().product();
        let parallel = self.work >= LARGE && rayon::current_num_threads() > 1;
        // If there are few parts with many rows, rows are divided among threads as well.
        let groups = match parallel {
            true => (MOST_PARTS / (batches * self.parts).max(1))
                .clamp(1, self.rows.len().div_ceil(LEAST_PART_ROWS).max(1)),
            false => 1,
        };
        let step = self.rows.len().div_ceil(groups).next_multiple_of(4).max(1);
        let groups = self.rows.len().div_ceil(step);
        let tasks = batches * self.parts * groups;
        let one = |task: usize| {
            let first = task % groups * step;
            let rows = first..self.rows.len().min(first + step);
            self.task(context, task / groups / self.parts, task / groups % self.parts, rows);
        };
        if parallel && tasks > 1 {
            (0..tasks).into_par_iter().for_each(one);
        } else {
            (0..tasks).for_each(one);
        }
        self.add_parts(context, batches * self.rows.len() * self.columns.len(), parallel);
        self.epilogue.run(context);
    }

    /// Some rows of one part of one batch.
    fn task(&self, context: KernelContext, batch: usize, part: usize, rows: std::ops::Range<usize>) {
        let at = coordinates(&self.batch, batch);
        let columns = self.columns.len();
        let batches: usize = self.batch.iter().product();
        let first = ((part * batches + batch) * self.rows.len() + rows.start) * columns;
        // SAFETY: every part of every batch has its own range in the temporary.
        let out = unsafe { context.bindings[self.partial].start.cast::<f32>().add(first) };
        // SAFETY: as above; no other task has these rows.
        unsafe { std::slice::from_raw_parts_mut(out, rows.len() * columns) }.fill(0.0);
        let slices = self.terms.len();
        for slice in part * slices / self.parts..(part + 1) * slices / self.parts {
            let (origin, extent) = self.terms.slice(slice);
            let (zeros, one) = ([vec![0; self.m.len()], vec![0; self.n.len()]], vec![1; at.len()]);
            let left = [&at[..], &zeros[0], &origin].concat();
            let left_reach = [&one[..], &self.m, &extent].concat();
            let right = [&at[..], &origin, &zeros[1]].concat();
            let right_reach = [&one[..], &extent, &self.n].concat();
            thread_scratch::with(|scratch| {
                let own = self.lhs.floats.next_multiple_of(16);
                let floats = scratch.words(own + self.rhs.floats).cast::<f32>();
                let left = Slice { origin: &left, extent: &left_reach };
                let right = Slice { origin: &right, extent: &right_reach };
                // SAFETY: scratch memory has this room.
                let (lhs, rhs) = unsafe {
                    (self.lhs.read(left, context, floats), self.rhs.read(right, context, floats.add(own)))
                };
                self.multiply(lhs, rhs, out, &extent, rows.clone());
            });
        }
    }

    fn multiply(
        &self,
        lhs: *const f32,
        rhs: *const f32,
        out: *mut f32,
        extent: &[usize],
        rows: std::ops::Range<usize>,
    ) {
        let (b, m, k) = (self.batch.len(), self.m.len(), extent.len());
        let table = tiles();
        let pieces: Vec<Piece> =
            pieces(extent, &self.lhs.strides[b + m..], &self.rhs.strides[b..b + k], table.lanes);
        let rows = &self.rows[rows];
        let mut column = 0;
        while column < self.columns.len() {
            let fits = |tile: &&DotTile| tile.columns <= self.columns.len() - column;
            let wide = table.dots.iter().find(fits).expect("a tile of one column").columns;
            let mut row = 0;
            while row < rows.len() {
                let fits = |tile: &&DotTile| tile.columns == wide && tile.rows <= rows.len() - row;
                let tile = table.dots.iter().find(fits).expect("a tile of one row");
                let job = register_tile::DotsTile {
                    lhs,
                    rows: &rows[row..row + tile.rows],
                    rhs,
                    columns: &self.columns[column..column + wide],
                    pieces: &pieces,
                    // SAFETY: the tile is in the part's rows.
                    out: unsafe { out.add(row * self.columns.len() + column) },
                    pitch: self.columns.len(),
                };
                // SAFETY: operands are valid over the whole slice, and the result does not overlap them.
                unsafe { (tile.run)(&job) };
                row += tile.rows;
            }
            column += wide;
        }
    }

    /// Adds all parts to the first, in order.
    fn add_parts(&self, context: KernelContext, sums: usize, parallel: bool) {
        let all = context.bindings[self.partial];
        let one = |chunk: usize| {
            let len = ADDED_AT_ONCE.min(sums - chunk * ADDED_AT_ONCE);
            // SAFETY: every part has its own range in the temporary, and one task writes each chunk.
            unsafe {
                let part = |n: usize| all.words((n * sums + chunk * ADDED_AT_ONCE) as i64, len).cast::<f32>();
                let to = std::slice::from_raw_parts_mut(part(0), len);
                for n in 1..self.parts {
                    (lanes().add)(to, std::slice::from_raw_parts(part(n), len));
                }
            }
        };
        let chunks = sums.div_ceil(ADDED_AT_ONCE);
        if parallel && chunks > 1 {
            (0..chunks).into_par_iter().for_each(one);
        } else {
            (0..chunks).for_each(one);
        }
    }
}

/// How an operand is read whose elements are used `uses` times each.
fn way(read: &SliceRead, uses: usize, temporaries: &Temporaries) -> Way {
    let used = use_of_lanes(read.axes[read.vector()], tiles().lanes);
    if read.is_direct(temporaries.specs) {
        Way::Memory
    } else if (used >= USED_LANES || uses < tiles().lanes) && read.window(read.axes).is_some() {
        Way::Window
    } else {
        Way::Spread
    }
}

/// How far slices of both operands go that have so many terms.
fn extents(product: &Product, terms: &[usize]) -> [Vec<usize>; 2] {
    let one = vec![1; product.batch.len()];
    [[&one[..], &product.m, terms].concat(), [&one[..], terms, &product.n].concat()]
}

/// How terms are cut into slices of about `most` floats.
fn cut(product: &Product, reads: &[SliceRead; 2], ways: [Way; 2], most: usize) -> AxisCut {
    let floats = |n: usize, extent: &[usize]| match ways[n] {
        Way::Window => reads[n].window(extent).map_or(0, |window| window.floats()),
        _ => extent.iter().product(),
    };
    let cost = |terms: &[usize]| {
        let [left, right] = extents(product, terms);
        floats(0, &left) + floats(1, &right)
    };
    // Every slice adds the lanes of every sum, which takes as long as some vectors of terms.
    let (last, outer) = product.k.split_last().expect("terms");
    let vectors = outer.iter().product::<usize>() * last.div_ceil(tiles().lanes);
    let share = cost(&product.k) / (vectors / TERM_VECTORS).clamp(1, MOST_PARTS);
    AxisCut::new(&product.k, most.min(share.max(LEAST_TERM_SLICE)), cost)
}

/// The epilogue over the sums of all parts, which are the first part's.
fn epilogue(
    product: &Product,
    axes: &[usize],
    partial: u32,
    temporaries: &Temporaries,
    label: &str,
) -> Result<Nest, Error> {
    let sum = Code::Load(farad_compile::program::BufferId(partial), View::contiguous(axes));
    let replace = |instr: &Instr| match instr.code {
        Code::Accumulator => Instr { code: sum.clone(), dtype: DType::F32, level: Level::Full },
        _ => instr.clone(),
    };
    let tape = product.epilogue.iter().map(replace).collect();
    let fused = Fused { axes: axes.to_vec(), outer: axes.len(), tape, stores: product.stores.clone() };
    Nest::new(&fused, temporaries.specs, label)
}
