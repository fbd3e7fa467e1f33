//! The forms of kernels, and the tapes of instructions that they consist of. Start at [`Kernel`].

use std::sync::Arc;

use farad_ir::{Binary, CustomOp, DType, Reduce, Scalar, Shape, Unary};

#[cfg(doc)]
use super::Program;
use super::{BufferId, ProgramStep, Sort, View};

/// A value on a tape: the index of the instruction that makes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// The forms of kernels.
#[derive(Clone, Debug)]
pub enum Kernel {
    /// Pointwise work, with or without reductions over trailing axes.
    Fused(Fused),
    /// A matrix product with pointwise work on its operands and its result.
    Product(Product),
    /// Adds rows into zeros at given positions, in order.
    Scatter(Scatter),
    /// Small sums over rows, all of one array into one array.
    Sums(Sums),
    /// The stable argsort of rows.
    Sort(Sort),
    /// The kernels of a custom op.
    Custom(Custom),
    /// A body run several times.
    Loop(Loop),
    /// Pointwise work run several times, whose state stays in registers.
    Recurrence(Recurrence),
}

/// Pointwise work over `axes`. The first `outer` axes are kept, the rest are reduced.
///
/// An instruction is at *outer* level if it is a reduction or depends only on outer axes, otherwise at *full*
/// level. An outer value that is used at full level is the same along the reduced axes. Several reductions may
/// follow each other (softmax: max, then sum of exponentials).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fused {
    /// Sizes, outer axes first. May be empty (a scalar).
    pub axes: Vec<usize>,
    /// How many axes are outer; the rest are reduced (none, or at least one).
    pub outer: usize,
    /// Instructions in order; operands come before users.
    pub tape: Vec<Instr>,
    /// What is written. Outer-level values are written once per outer position.
    pub stores: Vec<Store>,
}

/// How often an instruction's value changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Once per outer position.
    Outer,
    /// At every position.
    Full,
}

/// One instruction of a tape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instr {
    /// What is computed.
    pub code: Code,
    /// The register's type: `f32`, `i32`, `u32` or `bool`.
    pub dtype: DType,
    /// How often its value changes. [`Level::Full`] where a kernel has no reduced axes.
    pub level: Level,
}

/// What an instruction computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A fixed value.
    Constant(Scalar),
    /// The n-th parameter of the run.
    Parameter(usize),
    /// An element of a buffer, converted from storage to register type; zero where guards fail.
    Load(BufferId, View),
    /// An element at a position known only at run time: `index = view + stride · position`, with
    /// `position` (an `i32` or `u32` register) clamped to `0..size` and, if that changed it, `site`
    /// reported as an error. Zero where the view's guards fail.
    Take {
        /// What is read.
        buffer: BufferId,
        /// Where, apart from the position.
        view: View,
        /// The register that holds the position.
        position: Reg,
        /// Elements between positions.
        stride: i64,
        /// How many positions there are.
        size: usize,
        /// The op to report ([`Program::sites`]).
        site: usize,
    },
    /// The view's index itself, as `i32` (guards are empty).
    Position(View),
    /// Philox bits of the element at the view's index; seed (low, high), counter (low, high), and the stream if it is
    /// not 0.
    Random([Reg; 4], Option<Reg>, View),
    /// A unary op on a register.
    Unary(Unary, Reg),
    /// A binary op on registers of equal type.
    Binary(Binary, Reg, Reg),
    /// `condition ? a : b`
    Select(Reg, Reg, Reg),
    /// Conversion; `f16` rounds an `f32` register to half precision.
    Cast(Reg, DType),
    /// Reduction of a full-level register over the reduced axes. `argmax` and `argmin` give the
    /// first position (row-major over the reduced axes) as `i32`.
    Reduce(Reduce, Reg),
    /// The element of the matrix product; only in a [`Product`]'s epilogue.
    Accumulator,
    /// The n-th carry as it was before the position; only in a [`Recurrence`].
    Carry(usize),
}

/// A value written to a buffer, converted from register to storage type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    /// Where to.
    pub buffer: BufferId,
    /// What.
    pub value: Reg,
    /// At which index; one-to-one over the axes of the value's level, without guards. Reduced axes
    /// have stride 0 for outer-level values.
    pub view: View,
}

/// `y[b, m, n] = Σ_k lhs[b, m, k] · rhs[b, k, n]`, accumulated in `f32`. In a product of matrices, rows,
/// columns and terms are one axis each. In a convolution they are several axes, each with its own strides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Batch axes.
    pub batch: Vec<usize>,
    /// The axes that rows are made of.
    pub m: Vec<usize>,
    /// The axes that columns are made of.
    pub n: Vec<usize>,
    /// The axes summed over; sizes may be zero.
    pub k: Vec<usize>,
    /// The left operand over axes `[batch.., m.., k..]`.
    pub lhs: ProductOperand,
    /// The right operand over axes `[batch.., k.., n..]`.
    pub rhs: ProductOperand,
    /// Over axes `[batch.., m.., n..]`, with [`Code::Accumulator`] as the product.
    pub epilogue: Vec<Instr>,
    /// Over axes `[batch.., m.., n..]`.
    pub stores: Vec<Store>,
}

/// A product's operand: a pointwise tape, usually a single load.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProductOperand {
    /// Pointwise instructions without `Take`.
    pub tape: Vec<Instr>,
    /// The operand's value, `f32`.
    pub value: Reg,
}

/// `target[.., index[i], ..] += source[i]` into zeros, in the order of `i` along `axis`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scatter {
    /// The source's sizes.
    pub axes: Vec<usize>,
    /// The axis that is scattered.
    pub axis: usize,
    /// The target's size on that axis; the target has the source's sizes on the others.
    pub size: usize,
    /// What is added, over `axes`.
    pub source: (BufferId, View),
    /// Where to, over `axes` (`i32` or `u32`); an index out of range adds nothing, and `site` is reported.
    pub index: (BufferId, View),
    /// Written as a whole, row-major.
    pub target: BufferId,
    /// The stable argsort of the index along `axis`, if the index does not vary along the later axes; one row
    /// per row of the index. Given where scanning the whole index for every target row would take too long.
    pub order: Option<BufferId>,
    /// Whether every source goes to a valid position of its own, so that adding is writing.
    pub distinct: bool,
    /// The op to report ([`Program::sites`]).
    pub site: usize,
}

/// Sums over the rows of matrices that lie in one array: `target[to + j] = Σ_p source[from + p·results + j]`, in `f32`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sums {
    /// What is added up.
    pub source: BufferId,
    /// What is written; only the segments change.
    pub target: BufferId,
    /// The sums.
    pub segments: Vec<Segment>,
}

/// One sum of [`Sums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The first element of its matrix.
    pub from: usize,
    /// The first element of its results.
    pub to: usize,
    /// Rows of the matrix.
    pub parts: usize,
    /// Columns of the matrix.
    pub results: usize,
}

/// A user's op over contiguous buffers.
#[derive(Clone, Debug)]
pub struct Custom {
    /// The op.
    pub op: Arc<dyn CustomOp>,
    /// The operands' shapes.
    pub shapes: Vec<Shape>,
    /// What it reads; of operands that a result takes over ([`CustomOp::in_place`]), the result's buffer.
    pub operands: Vec<BufferId>,
    /// What it writes.
    pub results: Vec<BufferId>,
    /// Scratch memory that its kernels share.
    pub scratch: Vec<BufferId>,
}

/// A body run `trips` times. At trip `t`, position `p` is `t`, or `trips - 1 - t` if reversed.
#[derive(Clone, Debug)]
pub struct Loop {
    /// How often.
    pub trips: usize,
    /// From the last position to the first.
    pub reverse: bool,
    /// The body's steps; no loops inside.
    pub steps: Vec<ProgramStep>,
    /// Buffers that hold sequences, with their stride per trip: at position `p`, the body sees them shifted by
    /// `p · stride` elements. The views of body kernels address one slice.
    pub slots: Vec<(BufferId, usize)>,
    /// Pairs of buffers that are swapped after every trip: at odd trips, each name means the other buffer.
    pub swaps: Vec<(BufferId, BufferId)>,
}

/// Pointwise work at every position of the last axis, in sequence, for each element of the other axes by
/// itself. Values that go from one position to the next stay in registers.
///
/// An instruction is at *full* level if its value changes from position to position, otherwise at *outer*
/// level. Outer values are computed once per element, before the first position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recurrence {
    /// Sizes: the axes of elements (maybe none), then the number of positions, at least 1. A loop from the last position
    /// to the first has views that run backwards along the last axis.
    pub axes: Vec<usize>,
    /// Instructions in order, without reductions; operands come before users.
    pub tape: Vec<Instr>,
    /// What is carried from position to position.
    pub carries: Vec<Carry>,
    /// What is written at every position.
    pub stores: Vec<Store>,
}

/// A value that a [`Recurrence`] carries from position to position, read by [`Code::Carry`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Carry {
    /// Its value before the first position; at outer level.
    pub start: Reg,
    /// Its value after a position.
    pub next: Reg,
    /// Where it is written after the last position; the view's stride along the last axis is 0.
    pub last: Option<(BufferId, View)>,
}

impl Fused {
    /// Number of positions that are kept.
    pub fn outer_len(&self) -> usize {
        self.axes[..self.outer].iter().product()
    }

    /// Number of positions reduced per kept position (1 without reduced axes).
    pub fn reduced_len(&self) -> usize {
        self.axes[self.outer..].iter().product()
    }
}

impl Recurrence {
    /// Number of elements, each of which has its own state.
    pub fn elements(&self) -> usize {
        self.axes[..self.axes.len() - 1].iter().product()
    }

    /// Number of positions that each element goes through.
    pub fn trips(&self) -> usize {
        self.axes[self.axes.len() - 1]
    }

    /// Every value that is written or carried.
    pub fn wanted(&self) -> Vec<Reg> {
        let carried = self.carries.iter().flat_map(|carry| [carry.start, carry.next]);
        carried.chain(self.stores.iter().map(|store| store.value)).collect()
    }

    /// Every view.
    pub fn views_mut(&mut self) -> Vec<&mut View> {
        let loads = self.tape.iter_mut().filter_map(|instr| instr.code.view_mut());
        let last = self.carries.iter_mut().filter_map(|carry| carry.last.as_mut().map(|(_, view)| view));
        loads.chain(self.stores.iter_mut().map(|store| &mut store.view)).chain(last).collect()
    }
}

impl Custom {
    /// The operands that are no result at the same time, by their numbers.
    pub fn read_only(&self) -> impl Iterator<Item = usize> + '_ {
        let changed = self.op.in_place();
        (0..self.operands.len()).filter(move |n| changed.iter().all(|(operand, _)| operand != n))
    }
}

impl Product {
    /// How many products.
    pub fn batches(&self) -> usize {
        self.batch.iter().product()
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.m.iter().product()
    }

    /// How many columns.
    pub fn columns(&self) -> usize {
        self.n.iter().product()
    }

    /// How many terms a sum has.
    pub fn terms(&self) -> usize {
        self.k.iter().product()
    }

    /// The axes of the left operand, of the right one, and of the result.
    pub fn axes(&self) -> [Vec<usize>; 3] {
        let of = |first: &[usize], second: &[usize]| [&self.batch[..], first, second].concat();
        [of(&self.m, &self.k), of(&self.k, &self.n), of(&self.m, &self.n)]
    }
}

impl Sums {
    /// Each sum as a kernel of its own.
    pub fn apart(&self) -> Vec<Fused> {
        let kernel = |segment: &Segment| {
            let Segment { from, to, parts, results } = *segment;
            let view = |offset: usize, strides: [usize; 2]| View {
                offset: offset as i64,
                strides: strides.map(|stride| stride as i64).to_vec(),
                guards: vec![],
            };
            let load = Code::Load(self.source, view(from, [1, results]));
            let instr = |code, level| Instr { code, dtype: DType::F32, level };
            Fused {
                axes: vec![results, parts],
                outer: 1,
                tape: vec![instr(load, Level::Full), instr(Code::Reduce(Reduce::Sum, Reg(0)), Level::Outer)],
                stores: vec![Store { buffer: self.target, value: Reg(1), view: view(to, [1, 0]) }],
            }
        };
        self.segments.iter().map(kernel).collect()
    }
}
