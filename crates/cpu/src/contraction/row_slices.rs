//! Products that run along the columns of their results: forward convolutions and gradients with respect to
//! their inputs.
//!
//! The left operand is packed once into panels of a few rows. Columns are cut into slices. A task reads one
//! slice of the right operand, multiplies it with every panel, and runs the epilogue while the result is in
//! cache.

use farad_compile::program::{BufferId, Code, Fused, Instr, Level, Product, Store, View};
use farad_ir::DType;
use rayon::prelude::*;

use crate::contraction::matrix_product::{self, Temporaries};
use crate::contraction::register_tile::{self, Piece, RowTile, tiles};
use crate::contraction::slice_cuts::{AxisCut, offsets, pieces, use_of_lanes};
use crate::contraction::slice_operand::{Load, Slice, SliceOperand, SliceRead, Way};
use crate::error::Error;
use crate::heuristics::products::{
    IMAGE_ROWS, LARGE, LEAST_COLUMN_SLICE, MANY_SLICES, PARALLEL_PACKING, USED_LANES, VECTORS_TOGETHER,
};
use crate::interpreter::nest::Nest;
use crate::interpreter::tile_machine::KernelContext;
use crate::memory::element_runs::Binding;
use crate::memory::thread_scratch;
use crate::memory::view_access;

/// A planned product.
#[derive(Debug)]
pub struct Rows {
    prepare: Vec<Nest>,
    lhs: Panels,
    batch: Vec<usize>,
    terms_axes: Vec<usize>,
    columns: AxisCut,
    rhs: SliceOperand,
    terms: Vec<isize>,
    out: RowTarget,
    out_rows: Vec<isize>,
    /// The vectors of a slice, for every extent.
    pieces: Vec<(Vec<usize>, Vec<Piece>)>,
    epilogue: Epilogue,
    work: usize,
}

/// The left operand, and the buffer that it is packed into.
#[derive(Debug)]
struct Panels {
    buffer: usize,
    view: View,
    rows: Vec<isize>,
    terms: Vec<isize>,
    packed: usize,
    /// Whether all batches share the same panels.
    shared: bool,
    /// First row and tile.
    list: Vec<(usize, &'static RowTile)>,
}

/// Where sums are written: strides over `[batch.., m.., n..]`.
#[derive(Debug)]
struct RowTarget {
    buffer: usize,
    view: View,
    /// Floats of scratch memory, if every task has its own copy.
    own: Option<usize>,
}

#[derive(Debug)]
enum Epilogue {
    /// No epilogue: the sums are the result.
    Nothing,
    /// Slice by slice, with shifted buffers: elements to shift by, per axis of `[batch.., n..]`.
    Slices { nests: Vec<(Vec<usize>, Nest)>, moves: Vec<(usize, Vec<i64>)> },
    /// Over the whole result, at the end.
    Whole(Box<Nest>),
}

impl Rows {
    /// Plans a product; `None` if its right operand is not a plain load. Slices have at most `most` floats.
    pub fn new(
        product: &Product,
        most: usize,
        temporaries: &mut Temporaries,
        label: &str,
    ) -> Result<Option<Rows>, Error> {
        let Some(load) = Load::of(&product.rhs) else { return Ok(None) };
        let [left, right, whole] = product.axes();
        let (b, m, k) = (product.batch.len(), product.m.len(), product.k.len());
        let order: Vec<usize> = (b..right.len()).collect();
        let read = SliceRead { load: &load, axes: &right, order: &order, tables: b..b + k };
        let (way, columns) = cut(product, &read, most, temporaries);
        let extent = [&vec![1; b][..], &product.k, columns.steps()].concat();
        let copy = temporaries.reserve(0);
        let rhs = SliceOperand::new(&read, way, &extent, temporaries.specs, copy, label)?;
        let terms = rhs.offsets(b, &product.k);
        let mut prepare = Vec::new();
        let lhs = Panels::new(product, &left, temporaries, &mut prepare, label)?;
        let (out, epilogue) = result(product, &whole, &columns, temporaries, label)?;
        let out_rows = offsets(&product.m, &out.view.strides[b..b + m]);
        let pieces = |extent: Vec<usize>| {
            let all = pieces(&extent, &rhs.strides[b + k..], &out.view.strides[b + m..], tiles().lanes);
            (extent, all)
        };
        let pieces = columns.extents().into_iter().map(pieces).collect();
        let work = product.batches() * product.rows() * product.columns() * product.terms();
        let (batch, terms_axes) = (product.batch.clone(), product.k.clone());
        Ok(Some(Rows {
            prepare,
            lhs,
            batch,
            terms_axes,
            columns,
            rhs,
            terms,
            out,
            out_rows,
            pieces,
            epilogue,
            work,
        }))
    }

    /// How many slices there are.
    #[cfg(test)]
    pub fn slices(&self) -> usize {
        self.columns.len()
    }

    /// Runs the product.
    pub fn run(&self, context: KernelContext) {
        self.prepare.iter().for_each(|nest| nest.run(context));
        let batches: usize = self.batch.iter().product();
        let parallel = self.work >= LARGE && rayon::current_num_threads() > 1;
        self.lhs.pack(context, &self.batch, parallel);
        let tasks = batches * self.columns.len();
        if parallel && tasks > 1 {
            (0..tasks).into_par_iter().for_each(|task| self.task(context, task));
        } else {
            (0..tasks).for_each(|task| self.task(context, task));
        }
        if let Epilogue::Whole(nest) = &self.epilogue {
            nest.run(context);
        }
    }

    /// One slice of one batch.
    fn task(&self, context: KernelContext, task: usize) {
        let (batch, slice) = (task / self.columns.len(), task % self.columns.len());
        let at = coordinates(&self.batch, batch);
        let (origin, extent) = self.columns.slice(slice);
        let whole = [&at[..], &vec![0; self.terms_axes.len()], &origin].concat();
        let reach = [&vec![1; at.len()][..], &self.terms_axes, &extent].concat();
        thread_scratch::with(|scratch| {
            let own = self.rhs.floats.next_multiple_of(16);
            let floats = scratch.words(own + self.out.own.unwrap_or(0)).cast::<f32>();
            let slice = Slice { origin: &whole, extent: &reach };
            // SAFETY: scratch memory has this room.
            let (rhs, sums) = unsafe { (self.rhs.read(slice, context, floats), floats.add(own)) };
            let out = self.out.start(context, &at, &origin, sums);
            self.multiply(context, batch, rhs, out, &extent);
            if let Epilogue::Slices { nests, moves } = &self.epilogue {
                let mut bindings = context.bindings.to_vec();
                let place = [&at[..], &origin].concat();
                for (buffer, strides) in moves {
                    let moved: i64 = strides.iter().zip(&place).map(|(&s, &c)| s * c as i64).sum();
                    bindings[*buffer] = bindings[*buffer].moved(moved as usize);
                }
                if let Some(len) = self.out.own {
                    bindings[self.out.buffer] = Binding { start: sums.cast(), len, dtype: DType::F32 };
                }
                let (_, nest) = nests.iter().find(|(e, _)| *e == extent).expect("every extent has a nest");
                nest.run_alone(KernelContext { bindings: &bindings, ..context });
            }
        });
    }

    fn multiply(
        &self,
        context: KernelContext,
        batch: usize,
        rhs: *const f32,
        out: *mut f32,
        extent: &[usize],
    ) {
        let pieces = self.pieces.iter().find(|(e, _)| e == extent);
        let pieces = &pieces.expect("every extent has its vectors").1;
        let lhs = self.lhs.start(context, batch);
        // Columns stay in the L1 cache while all rows are computed, if all tiles process the same number of
        // columns.
        let sizes = self.lhs.list.iter().map(|(_, tile)| tile.vectors);
        let together = if sizes.clone().min() == sizes.clone().max() {
            sizes.max().unwrap_or(1)
        } else {
            VECTORS_TOGETHER
        };
        for pieces in pieces.chunks(together) {
            for &(first, tile) in &self.lhs.list {
                let job = register_tile::RowsTile {
                    // SAFETY: panels are adjacent, in the order of their rows.
                    lhs: unsafe { lhs.add(first * self.terms.len()) },
                    rhs,
                    terms: &self.terms,
                    out,
                    rows: &self.out_rows[first..first + tile.rows],
                };
                for pieces in pieces.chunks(tile.vectors) {
                    // SAFETY: the operand and the result are valid over the whole slice, and do not overlap.
                    unsafe { tile.run(&job, pieces) };
                }
            }
        }
    }
}

/// The coordinates of a linear position.
pub fn coordinates(sizes: &[usize], position: usize) -> Vec<usize> {
    let mut rest = position;
    let mut at = vec![0; sizes.len()];
    for (at, &size) in at.iter_mut().zip(sizes).rev() {
        *at = rest % size;
        rest /= size;
    }
    at
}

/// How the right operand is read, and how columns are cut.
fn cut(product: &Product, read: &SliceRead, most: usize, temporaries: &Temporaries) -> (Way, AxisCut) {
    let one = vec![1; product.batch.len()];
    let window = |columns: &[usize]| read.window(&[&one[..], &product.k, columns].concat());
    let used = use_of_lanes(read.axes[read.vector()], tiles().lanes);
    let way = if product.terms() == 0 {
        Way::Nothing
    } else if read.is_direct(temporaries.specs) {
        Way::Memory
    } else if window(&product.n).is_some() && (used >= USED_LANES || product.rows() < tiles().lanes) {
        Way::Window
    } else {
        Way::Spread
    };
    let cost = |columns: &[usize]| {
        let count: usize = columns.iter().product();
        let copied = match way {
            Way::Memory | Way::Nothing => 0,
            Way::Window => window(columns).map_or(0, |window| window.floats()),
            Way::Spread => product.terms() * count,
        };
        copied + product.rows() * count
    };
    let share = cost(&product.n) * product.batches() / MANY_SLICES;
    // Neighboring slices both copy the part that their windows share, so a slice should have several whole rows
    // of an image.
    let mut few = vec![1; product.n.len()];
    for (axis, rows) in (0..few.len()).rev().zip([usize::MAX, IMAGE_ROWS]) {
        few[axis] = product.n[axis].min(rows);
    }
    // A tile with fewer columns than it has room for would be half idle.
    let tile = tiles().lanes * tiles().rows[0].vectors;
    let least = match way {
        Way::Window => cost(&few),
        Way::Spread => (product.terms() + product.rows()) * tile,
        Way::Memory | Way::Nothing => 0,
    };
    let least = LEAST_COLUMN_SLICE.max(least);
    (way, AxisCut::new(&product.n, most.min(share.max(least)), cost))
}

impl Panels {
    fn new(
        product: &Product,
        axes: &[usize],
        temporaries: &mut Temporaries,
        prepare: &mut Vec<Nest>,
        label: &str,
    ) -> Result<Panels, Error> {
        let (b, m) = (product.batch.len(), product.m.len());
        let plain = |load: &Load| load.is_plain(temporaries.specs);
        let (buffer, view) = match Load::of(&product.lhs).filter(plain) {
            Some(load) => {
                let len = temporaries.specs[load.buffer.0 as usize].len;
                view_access::check(load.view, axes, len, label)?;
                (load.buffer, load.view.clone())
            }
            None => matrix_product::evaluated(&product.lhs, axes, b, temporaries, prepare, label)?,
        };
        let rows = offsets(&product.m, &view.strides[b..b + m]);
        let terms = offsets(&product.k, &view.strides[b + m..]);
        let shared = view.strides[..b].iter().all(|&stride| stride == 0);
        let batches = if shared { 1 } else { product.batches() };
        let packed = temporaries.add(batches * rows.len() * terms.len()).0 as usize;
        let mut list = Vec::new();
        let mut first = 0;
        for tile in tiles().rows {
            while first + tile.rows <= rows.len() {
                list.push((first, tile));
                first += tile.rows;
            }
        }
        Ok(Panels { buffer: buffer.0 as usize, view, rows, terms, packed, shared, list })
    }

    fn pack(&self, context: KernelContext, batch: &[usize], parallel: bool) {
        let batches = if self.shared { 1 } else { batch.iter().product() };
        let one = |task: usize| {
            let (number, (first, tile)) = (task / self.list.len(), self.list[task % self.list.len()]);
            let at = coordinates(batch, number);
            let index =
                self.view.offset + at.iter().zip(&self.view.strides).map(|(&c, s)| c as i64 * s).sum::<i64>();
            // SAFETY: the view was checked; panels are adjacent in a temporary of their size.
            unsafe {
                let from = context.bindings[self.buffer].start.cast::<f32>().offset(index as isize);
                let to = context.bindings[self.packed].start.cast::<f32>();
                let mut to = to.add((number * self.rows.len() + first) * self.terms.len());
                for term in &self.terms {
                    for row in &self.rows[first..first + tile.rows] {
                        *to = *from.offset(row + term);
                        to = to.add(1);
                    }
                }
            }
        };
        let tasks = batches * self.list.len();
        if parallel && self.rows.len() * self.terms.len() * batches > PARALLEL_PACKING {
            (0..tasks).into_par_iter().for_each(one);
        } else {
            (0..tasks).for_each(one);
        }
    }

    /// The panels of a batch.
    fn start(&self, context: KernelContext, batch: usize) -> *const f32 {
        let batch = if self.shared { 0 } else { batch };
        let start = context.bindings[self.packed].start.cast::<f32>();
        // SAFETY: every batch has its own panels, unless all share the same ones.
        unsafe { start.add(batch * self.rows.len() * self.terms.len()) }
    }
}

impl RowTarget {
    /// The address of a slice's first sum.
    fn start(&self, context: KernelContext, batch: &[usize], origin: &[usize], own: *mut f32) -> *mut f32 {
        if self.own.is_some() {
            return own;
        }
        let columns = self.view.strides.len() - origin.len();
        let index = self.view.offset
            + batch.iter().zip(&self.view.strides).map(|(&c, s)| c as i64 * s).sum::<i64>()
            + origin.iter().zip(&self.view.strides[columns..]).map(|(&c, s)| c as i64 * s).sum::<i64>();
        // SAFETY: views of stores were checked when the program was loaded.
        unsafe { context.bindings[self.buffer].start.cast::<f32>().offset(index as isize) }
    }
}

/// Where sums are written, and the epilogue that is left to run.
fn result(
    product: &Product,
    axes: &[usize],
    columns: &AxisCut,
    temporaries: &mut Temporaries,
    label: &str,
) -> Result<(RowTarget, Epilogue), Error> {
    for store in &product.stores {
        view_access::check(&store.view, axes, temporaries.specs[store.buffer.0 as usize].len, label)?;
    }
    let loaded = |buffer: BufferId| {
        let loads =
            |i: &Instr| matches!(&i.code, Code::Load(b, _) | Code::Take { buffer: b, .. } if *b == buffer);
        product.epilogue.iter().any(loads)
    };
    let last = axes.len() - 1;
    let fits = |store: &&Store| {
        let along = axes[last] == 1 || store.view.strides[last] == 1;
        along && temporaries.specs[store.buffer.0 as usize].dtype == DType::F32 && !loaded(store.buffer)
    };
    let target = product.stores.iter().find(fits);
    let is_sum = |store: &Store| matches!(product.epilogue[store.value.0 as usize].code, Code::Accumulator);
    let moves = moves(product, columns);
    let (b, m) = (product.batch.len(), product.m.len());
    let target = match (target, &moves) {
        (Some(store), _) => {
            RowTarget { buffer: store.buffer.0 as usize, view: store.view.clone(), own: None }
        }
        (None, Some(_)) => {
            let slice = [&vec![1; b][..], &product.m, columns.steps()].concat();
            let len = slice.iter().product();
            let buffer = temporaries.reserve(len).0 as usize;
            RowTarget { buffer, view: View::contiguous(&slice), own: Some(len) }
        }
        (None, None) => {
            let buffer = temporaries.add(axes.iter().product()).0 as usize;
            RowTarget { buffer, view: View::contiguous(axes), own: None }
        }
    };
    if target.own.is_none() && product.stores.len() == 1 && is_sum(&product.stores[0]) {
        return Ok((target, Epilogue::Nothing));
    }
    let nest = |axes: &[usize]| {
        let sum = Code::Load(BufferId(target.buffer as u32), target.view.clone());
        let replace = |instr: &Instr| match instr.code {
            Code::Accumulator => Instr { code: sum.clone(), dtype: DType::F32, level: Level::Full },
            _ => instr.clone(),
        };
        let tape = product.epilogue.iter().map(replace).collect();
        let fused = Fused { axes: axes.to_vec(), outer: axes.len(), tape, stores: product.stores.clone() };
        Nest::new(&fused, temporaries.specs, label)
    };
    let epilogue = match moves {
        Some(moves) => {
            let of = |extent: Vec<usize>| {
                let axes = [&vec![1; b][..], &product.m, &extent].concat();
                nest(&axes).map(|nest| (extent, nest))
            };
            let nests = columns.extents().into_iter().map(of).collect::<Result<_, Error>>()?;
            Epilogue::Slices { nests, moves }
        }
        None => Epilogue::Whole(Box::new(nest(axes)?)),
    };
    debug_assert_eq!(axes.len(), b + m + product.n.len());
    Ok((target, epilogue))
}

/// How far every buffer of the epilogue shifts per batch axis and column axis; `None` if shifting buffers does
/// not select a slice.
fn moves(product: &Product, columns: &AxisCut) -> Option<Vec<(usize, Vec<i64>)>> {
    let (b, m) = (product.batch.len(), product.m.len());
    let cut = |axis: usize| if axis < b { product.batch[axis] > 1 } else { columns.cuts(axis - b - m) };
    let axes: Vec<usize> = (0..b).chain(b + m..b + m + product.n.len()).collect();
    let mut all: Vec<(usize, Vec<i64>)> = Vec::new();
    let loads = product.epilogue.iter().filter_map(|instr| match &instr.code {
        Code::Load(buffer, view) => Some(Some((*buffer, view))),
        Code::Take { .. } | Code::Position(_) | Code::Random(..) => Some(None),
        _ => None,
    });
    for touch in loads.chain(product.stores.iter().map(|store| Some((store.buffer, &store.view)))) {
        let (buffer, view) = touch?;
        let moved = |axis: usize| if cut(axis) { view.strides[axis] } else { 0 };
        let strides: Vec<i64> = axes.iter().map(|&axis| moved(axis)).collect();
        let guarded = |axis: usize| cut(axis) && view.guards.iter().any(|g| g.coefficients[axis] != 0);
        if strides.iter().any(|&stride| stride < 0) || axes.iter().any(|&axis| guarded(axis)) {
            return None;
        }
        match all.iter().find(|known| known.0 == buffer.0 as usize) {
            Some((_, known)) if *known != strides => return None,
            Some(_) => {}
            None => all.push((buffer.0 as usize, strides)),
        }
    }
    Some(all)
}
