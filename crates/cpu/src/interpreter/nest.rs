//! The plan of a fused kernel: how its space is divided into tiles and what runs on each.
//!
//! The space is *outer* positions times *inner* positions. The inner ones are those that are reduced; in
//! pointwise kernels they are a part chosen here. A tile is some outer positions times some inner ones. With
//! [`TileShape::Rows`], inner positions are innermost, with one row per outer position. With the other shapes,
//! outer positions are innermost, and reductions go down columns. Work is divided into *passes* over the inner
//! positions. A reduction that needs another's result is in a later pass, which recomputes what it needs of the
//! full space. If rows are *resident*, whole rows fit in a tile and are computed once.

use farad_compile::program::{self, Fused, Instr, Level, Store, View};

use crate::error::Error;
use crate::heuristics::fused::{
    LEAST_REDUCED, LONG_AXIS, LONG_ROW_TILE, MANY_TILES, PATCH_COLUMNS, PATCH_ROWS, REDUCED_TILE,
    RESIDENT_ROW, SHORT_AXIS, TILE,
};
use crate::interpreter::bytecode::{BytecodeOp, ReductionAccumulator, RegisterId, SourceWords};
use crate::interpreter::dependence;
use crate::interpreter::emit_nest;
use crate::interpreter::register_slots::RegisterPlace;
use crate::memory::view_access::{self, MAX_AXES, ViewAccess};

/// How a tile's elements are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileShape {
    /// Row after row of inner positions.
    Rows,
    /// Outer positions at one inner position.
    Columns,
    /// All outer positions, one inner position after another.
    Block,
}

pub use farad_compile::program::Spec;

/// A view of a buffer.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Which buffer.
    pub buffer: usize,
    /// Where in it.
    pub access: ViewAccess,
    /// In patches: the access with the last two axes swapped, if it should be read that way.
    pub turned: Option<ViewAccess>,
}

/// A read at positions known only at run time.
#[derive(Clone, Debug)]
pub struct Take {
    /// What is read, apart from the position.
    pub touch: Touch,
    /// Whether there is one position per row of the tile, not one per element.
    pub by_row: bool,
    /// Whether positions are `i32`.
    pub signed: bool,
    /// Elements between positions.
    pub stride: i64,
    /// How many positions there are.
    pub size: usize,
    /// The op to report.
    pub site: usize,
}

/// Random bits: seed, then counter, low words first.
#[derive(Clone, Debug)]
pub struct RandomBits {
    /// The elements' indices.
    pub access: ViewAccess,
    /// The four words of seed and counter.
    pub key: [SourceWords; 4],
    /// The stream, if it is not 0; scalar if one word applies to the whole tile.
    pub stream: Option<SourceWords>,
}

/// One sweep over the inner positions.
#[derive(Clone, Debug, Default)]
pub struct InnerSweep {
    /// What runs on every tile.
    pub ops: Vec<BytecodeOp>,
    /// The reductions that it completes.
    pub reductions: std::ops::Range<usize>,
}

/// How a kernel's space is divided.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The order of a tile's elements.
    pub shape: TileShape,
    /// Sizes of all axes, outer ones first.
    pub sizes: Vec<usize>,
    /// How many axes are outer.
    pub outer: usize,
    /// Outer positions.
    pub outer_len: usize,
    /// Inner positions.
    pub inner_len: usize,
    /// Outer positions in a tile.
    pub rows: usize,
    /// Inner positions in a tile.
    pub columns: usize,
    /// Whether a tile has all inner positions.
    pub resident: bool,
    /// In pointwise kernels whose loads are contiguous along another axis than their stores: the size of that
    /// axis, which is the last outer one. Tiles are then patches of some of its positions times some inner
    /// ones.
    pub patch: Option<usize>,
}

/// A planned kernel.
#[derive(Clone, Debug)]
pub struct Nest {
    /// How its space is divided.
    pub layout: Layout,
    /// Instructions whose results are the same everywhere.
    pub prelude: Vec<BytecodeOp>,
    /// Instructions on a whole tile whose results are the same for every tile.
    pub steady: Vec<BytecodeOp>,
    /// Instructions that run once per outer position, before the pass of the same number (the last list: after
    /// all passes).
    pub outer: Vec<Vec<BytecodeOp>>,
    /// Sweeps over the inner positions.
    pub passes: Vec<InnerSweep>,
    /// Stores of outer values, at the end.
    pub finish: Vec<BytecodeOp>,
    /// Views that instructions name.
    pub touches: Vec<Touch>,
    /// Takes that instructions name.
    pub takes: Vec<Take>,
    /// Random draws that instructions name.
    pub randoms: Vec<RandomBits>,
    /// Reductions, in order of passes.
    pub accumulators: Vec<ReductionAccumulator>,
    /// Where each register lives.
    pub places: Vec<RegisterPlace>,
    /// Words of scratch, at its start, that are kept from tile to tile.
    pub kept: usize,
    /// Words of scratch.
    pub words: usize,
    /// Rough cost per element, in simple instructions.
    pub cost: usize,
    /// In recurrences: for every carry, its register and that of its next value, which are swapped after each
    /// position.
    pub carries: Vec<(RegisterId, RegisterId)>,
}

impl Nest {
    /// Plans a kernel over buffers of these specs.
    pub fn new(fused: &Fused, specs: &[Spec], label: &str) -> Result<Nest, Error> {
        let mut fused = fused.clone();
        check_views(&fused, specs, label)?;
        let reduces = fused.outer < fused.axes.len();
        if reduces {
            order_reduced(&mut fused);
        } else {
            order_by_store(&mut fused);
        }
        let (sizes, outer) = {
            let mut views = views_mut(&mut fused.tape, &mut fused.stores);
            view_access::collapse(&fused.axes, fused.outer, &mut views)
        };
        (fused.axes, fused.outer) = (sizes, outer);
        if fused.axes.len() > MAX_AXES {
            return Err(Error::Axes { label: label.into(), axes: fused.axes.len(), most: MAX_AXES });
        }
        let layout = match reduces {
            true => reducing(&fused),
            false => patch(&mut fused).unwrap_or_else(|| pointwise(&fused)),
        };
        emit_nest::emit(&fused, layout, reduces, specs)
    }
}

/// Every view of a tape and its stores.
fn views_mut<'a>(tape: &'a mut [Instr], stores: &'a mut [Store]) -> Vec<&'a mut View> {
    let of = |instr: &'a mut Instr| match &mut instr.code {
        program::Code::Load(_, view) | program::Code::Take { view, .. } => Some(view),
        program::Code::Position(view) | program::Code::Random(.., view) => Some(view),
        _ => None,
    };
    tape.iter_mut().filter_map(of).chain(stores.iter_mut().map(|store| &mut store.view)).collect()
}

pub fn check_views(fused: &Fused, specs: &[Spec], label: &str) -> Result<(), Error> {
    let loads = fused.tape.iter().filter_map(|instr| match &instr.code {
        program::Code::Load(buffer, view) => Some((*buffer, view)),
        _ => None,
    });
    let mut touches = loads.chain(fused.stores.iter().map(|s| (s.buffer, &s.view)));
    touches.try_for_each(|(buffer, view)| {
        view_access::check(view, &fused.axes, specs[buffer.0 as usize].len, label)
    })
}

/// Reorders the axes of a pointwise kernel so that its first store is as contiguous as possible, unless that
/// would make all reads short runs.
fn order_by_store(fused: &mut Fused) {
    let Some(store) = fused.stores.first() else { return };
    let mut order: Vec<usize> = (0..fused.axes.len()).collect();
    order.sort_by_key(|&axis| std::cmp::Reverse(store.view.strides[axis].abs()));
    order.retain(|&axis| fused.axes[axis] != 1);
    let short = order.iter().rev().take_while(|&&axis| fused.axes[axis] <= SHORT_AXIS).count();
    if short > 0 && short < order.len() {
        // The next longer axis is swapped with the short ones after it.
        let mut longer = order.clone();
        let axis = longer.remove(order.len() - short - 1);
        longer.push(axis);
        if 1.5 * run_cost(fused, &longer) < run_cost(fused, &order) {
            order = longer;
        }
    }
    order.extend((0..fused.axes.len()).filter(|&axis| fused.axes[axis] == 1));
    reorder(fused, &order);
}

/// Moves short reduced axes before longer ones, if all reads would be short runs otherwise.
fn order_reduced(fused: &mut Fused) {
    let positions = |instr: &Instr| match &instr.code {
        program::Code::Reduce(reduce, _) => reduce.is_index(),
        _ => false,
    };
    let reduced: Vec<usize> = (fused.outer..fused.axes.len()).filter(|&axis| fused.axes[axis] != 1).collect();
    let is_short = |axis: &usize| fused.axes[*axis] <= SHORT_AXIS;
    if !reduced.last().is_some_and(is_short) || fused.tape.iter().any(positions) {
        return;
    }
    let (short, longer): (Vec<usize>, Vec<usize>) = reduced.iter().partition(|axis| is_short(axis));
    let outer: Vec<usize> = (0..fused.outer).collect();
    let ones = (fused.outer..fused.axes.len()).filter(|&axis| fused.axes[axis] == 1);
    let order: Vec<usize> = [&outer[..], &short, &longer].concat().into_iter().chain(ones).collect();
    let before: Vec<usize> = (0..fused.axes.len()).collect();
    if !longer.is_empty() && 1.5 * run_cost(fused, &order) < run_cost(fused, &before) {
        reorder(fused, &order);
    }
}

fn reorder(fused: &mut Fused, order: &[usize]) {
    if order.is_sorted() {
        return;
    }
    fused.axes = order.iter().map(|&axis| fused.axes[axis]).collect();
    for view in views_mut(&mut fused.tape, &mut fused.stores) {
        view.strides = order.iter().map(|&axis| view.strides[axis]).collect();
        for guard in &mut view.guards {
            guard.coefficients = order.iter().map(|&axis| guard.coefficients[axis]).collect();
        }
    }
}

/// A rough cost of reading and writing one element with the axes in this order.
fn run_cost(fused: &Fused, order: &[usize]) -> f64 {
    let loads = fused.tape.iter().filter_map(|instr| match &instr.code {
        program::Code::Load(_, view) => Some(view),
        _ => None,
    });
    let touch = |view: &View| {
        let access = ViewAccess::new(view, &fused.axes, order, &[]);
        let (size, stride) = access.dims[access.dims.len() - 1];
        let runs =
            if access.dims.len() > 1 || !access.conditions.is_empty() { 8.0 / size as f64 } else { 0.0 };
        (if matches!(stride, 0 | 1) { 0.3 } else { 1.0 }) + runs
    };
    loads.chain(fused.stores.iter().map(|store| &store.view)).map(touch).sum()
}

/// Whether the position of some take does not change along the innermost axis.
fn takes_rows(fused: &Fused) -> bool {
    let inner = fused.axes.len() - 1;
    let steady: Vec<bool> = dependence::dependence(fused, |view: &View| {
        view.strides[inner] != 0 || view.guards.iter().any(|g| g.coefficients[inner] != 0)
    })
    .into_iter()
    .map(|depends| !depends)
    .collect();
    let is_steady = |instr: &Instr| match &instr.code {
        program::Code::Take { position, .. } => steady[position.0 as usize],
        _ => false,
    };
    fused.tape.iter().any(is_steady)
}

/// The layout of a kernel without reductions.
fn pointwise(fused: &Fused) -> Layout {
    let sizes = fused.axes.clone();
    let total: usize = sizes.iter().product();
    let last = sizes.last().copied().unwrap_or(1);
    let by_rows = sizes.len() > 1 && (last >= LONG_AXIS || (last >= 8 && takes_rows(fused)));
    let (outer, inner_len) = if by_rows { (sizes.len() - 1, last) } else { (0, total) };
    let rows = if by_rows { (TILE / inner_len.max(1)).max(1) } else { 1 };
    let columns = if rows > 1 { inner_len } else { inner_len.min(TILE) };
    let outer_len = sizes[..outer].iter().product();
    Layout {
        shape: TileShape::Rows,
        sizes,
        outer,
        outer_len,
        inner_len,
        rows,
        columns,
        resident: false,
        patch: None,
    }
}

/// The layout of a pointwise kernel in which some loads are contiguous along an axis other than the innermost.
/// That axis becomes the last outer one, and patches let the loads read whole cache lines.
fn patch(fused: &mut Fused) -> Option<Layout> {
    let last = fused.axes.len().checked_sub(1)?;
    let along =
        |view: &View| (0..last).find(|&axis| view.strides[axis] == 1 && fused.axes[axis] >= PATCH_ROWS);
    let across = |instr: &Instr| match &instr.code {
        program::Code::Load(_, view) if view.strides[last].abs() > 1 => along(view),
        _ => None,
    };
    let axis = fused.tape.iter().find_map(across).filter(|_| fused.axes[last] >= 8)?;
    let exchange = |values: &mut Vec<i64>| {
        let value = values.remove(axis);
        values.insert(last - 1, value);
    };
    for view in views_mut(&mut fused.tape, &mut fused.stores) {
        exchange(&mut view.strides);
        view.guards.iter_mut().for_each(|guard| exchange(&mut guard.coefficients));
    }
    let size = fused.axes.remove(axis);
    fused.axes.insert(last - 1, size);
    fused.outer = fused.axes.len();
    let (sizes, inner_len) = (fused.axes.clone(), fused.axes[last]);
    Some(Layout {
        shape: TileShape::Rows,
        outer: last,
        outer_len: sizes[..last].iter().product(),
        sizes,
        inner_len,
        rows: PATCH_ROWS,
        columns: PATCH_COLUMNS.min(inner_len),
        resident: false,
        patch: Some(size),
    })
}

/// The layout of a kernel with reductions: along rows or down columns, whichever reads memory faster.
fn reducing(fused: &Fused) -> Layout {
    let (sizes, outer) = (fused.axes.clone(), fused.outer);
    let (outer_len, inner_len) = (fused.outer_len(), fused.reduced_len());
    let down = outer_len > 1 && inner_len > 1 && cost(fused, false) < cost(fused, true);
    let layout = |shape, rows: usize, columns: usize| {
        let resident = columns >= inner_len;
        Layout { shape, sizes, outer, outer_len, inner_len, rows, columns, resident, patch: None }
    };
    if !down {
        let reads = only_reduces(fused);
        if inner_len > RESIDENT_ROW {
            return layout(TileShape::Rows, 1, if reads { REDUCED_TILE } else { LONG_ROW_TILE });
        }
        let most = |tile: usize| (tile / inner_len.max(1)).clamp(1, outer_len.max(1));
        // With enough tiles for several threads.
        let large = reads && inner_len >= LEAST_REDUCED;
        let large = if large { most(REDUCED_TILE).min(outer_len / (2 * MANY_TILES)) } else { 1 };
        let rows = most(TILE).max(large);
        return layout(TileShape::Rows, rows, inner_len.max(1));
    }
    if outer_len <= TILE / 2 {
        return layout(TileShape::Block, outer_len, (TILE / outer_len).min(inner_len));
    }
    layout(TileShape::Columns, TILE.min(outer_len), 1)
}

/// Whether everything at the elements is a load of neighbors, so that tiles need no registers.
fn only_reduces(fused: &Fused) -> bool {
    let domain: Vec<usize> = (0..fused.axes.len()).collect();
    let run = |view: &View| ViewAccess::new(view, &fused.axes, &domain, &[]).is_run();
    let full = fused.tape.iter().filter(|instr| instr.level == Level::Full);
    full.map(|instr| &instr.code).all(|code| matches!(code, program::Code::Load(_, view) if run(view)))
}

/// A rough cost of reading one element if tiles run along rows or down columns.
fn cost(fused: &Fused, along_rows: bool) -> f64 {
    let (outer, all) = (fused.outer, fused.axes.len());
    let domain: Vec<usize> =
        if along_rows { (0..all).collect() } else { (outer..all).chain(0..outer).collect() };
    let mut sum = if along_rows { 8.0 / fused.reduced_len() as f64 } else { 2.0 / fused.outer_len() as f64 };
    for instr in fused.tape.iter().filter(|instr| instr.level == Level::Full) {
        if let program::Code::Load(_, view) = &instr.code {
            let access = ViewAccess::new(view, &fused.axes, &domain, &[]);
            let (size, stride) = access.dims[access.dims.len() - 1];
            let step = match stride {
                0 | 1 => 0.3,
                _ => 2.0,
            };
            sum += step + if access.dims.len() > 1 { 6.0 / size as f64 } else { 0.0 };
        }
    }
    sum
}
