//! What kernels mean: each reads all its inputs, computes, and only then writes.

use std::cell::RefCell;
use std::collections::BTreeMap;

use farad_compile::program::{
    BufferId, Code, Custom, Fused, Instr, Kernel, Keys, Level, Loop, Product, ProductOperand, Recurrence,
    Scatter, Sort, Store,
};
use farad_ir::{DType, Scalar};

use crate::number::{from_whole, stored, to_whole};
use crate::tape::{RowSpan, compare, evaluate};
use crate::view::{Coordinates, locate};

/// Positions that are evaluated in one batch.
const TOGETHER: usize = 1 << 13;

/// The range of a storage that a buffer occupies.
#[derive(Clone, Copy, Debug)]
pub struct BufferPlace {
    /// Which storage.
    pub storage: usize,
    /// Its first element there.
    pub start: usize,
    /// How many elements it has.
    pub len: usize,
    /// The dtype of its elements.
    pub dtype: DType,
}

/// Memory as `f64` numbers, and the interpreter of kernels on it.
///
/// ```
/// use farad_compile::program::{BufferId, Kernel, Segment, Sums};
/// use farad_ir::{DType, Scalar};
/// use farad_reference::{BufferPlace, Machine};
///
/// let bound = |storage, len| BufferPlace { storage, start: 0, len, dtype: DType::F32 };
/// let storages = vec![vec![1.0, 2.0, 3.0, 4.0], vec![0.0; 2]];
/// let mut machine = Machine::new(storages, vec![bound(0, 4), bound(1, 2)], vec![]);
/// let segments = vec![Segment { from: 0, to: 0, parts: 2, results: 2 }];
/// machine.run(&Kernel::Sums(Sums { source: BufferId(0), target: BufferId(1), segments }));
/// assert_eq!(machine.storages[1], [4.0, 6.0]);
/// ```
pub struct Machine {
    /// All memory.
    pub storages: Vec<Vec<f64>>,
    /// Storages that a kernel wrote to.
    pub written: Vec<bool>,
    pub(crate) bindings: Vec<BufferPlace>,
    pub(crate) parameters: Vec<f64>,
    /// The first bad index at each site that saw one.
    faults: RefCell<BTreeMap<usize, i64>>,
}

/// What a kernel writes: buffer, index, value.
type Writes = Vec<(BufferId, i64, f64)>;

impl Machine {
    /// A machine with one binding per buffer, and the parameters of the run.
    pub fn new(storages: Vec<Vec<f64>>, bindings: Vec<BufferPlace>, parameters: Vec<f64>) -> Machine {
        let written = vec![false; storages.len()];
        Machine { storages, written, bindings, parameters, faults: RefCell::default() }
    }

    /// Runs a kernel.
    pub fn run(&mut self, kernel: &Kernel) {
        match kernel {
            Kernel::Fused(fused) => self.fused(fused),
            Kernel::Product(product) => self.product(product),
            Kernel::Scatter(scatter) => self.scatter(scatter),
            Kernel::Sums(sums) => sums.apart().iter().for_each(|sum| self.fused(sum)),
            Kernel::Sort(sort) => self.sort(sort),
            Kernel::Custom(custom) => self.custom(custom),
            Kernel::Loop(of) => self.repeat(of, |machine, step| machine.run(&step.kernel)),
            Kernel::Recurrence(recurrence) => self.recurrence(recurrence),
        }
    }

    /// Runs a loop; `run` executes each step of its body.
    pub(crate) fn repeat(
        &mut self,
        of: &Loop,
        mut run: impl FnMut(&mut Machine, &farad_compile::program::ProgramStep),
    ) {
        let outside = self.bindings.clone();
        for trip in 0..of.trips {
            self.bindings.clone_from(&outside);
            let position = if of.reverse { of.trips - 1 - trip } else { trip };
            for (id, stride) in &of.slots {
                let binding = &mut self.bindings[id.0 as usize];
                binding.start += position * stride;
                binding.len -= position * stride;
            }
            if trip % 2 == 1 {
                of.swaps.iter().for_each(|(a, b)| self.bindings.swap(a.0 as usize, b.0 as usize));
            }
            of.steps.iter().for_each(|step| run(self, step));
        }
        self.bindings = outside;
    }

    /// The first site that saw a bad index, and that index.
    pub fn first_fault(&self) -> Option<(usize, i64)> {
        self.faults.borrow().first_key_value().map(|(&site, &index)| (site, index))
    }

    pub(crate) fn fault(&self, site: usize, index: i64) {
        self.faults.borrow_mut().entry(site).or_insert(index);
    }

    fn place(&self, buffer: BufferId, index: i64) -> (BufferPlace, usize) {
        let binding = self.bindings[buffer.0 as usize];
        let inside = usize::try_from(index).ok().filter(|&index| index < binding.len);
        let Some(inside) = inside else {
            panic!("view: goes beyond its buffer: {index} ({index} vs {})", binding.len);
        };
        (binding, binding.start + inside)
    }

    /// An element as a register holds it.
    pub(crate) fn read(&self, buffer: BufferId, index: i64) -> f64 {
        let (binding, at) = self.place(buffer, index);
        self.storages[binding.storage][at]
    }

    fn write(&mut self, buffer: BufferId, index: i64, value: f64) {
        let (binding, at) = self.place(buffer, index);
        self.storages[binding.storage][at] = stored(binding.dtype, value);
        self.written[binding.storage] = true;
    }

    fn write_all(&mut self, writes: Writes) {
        writes.into_iter().for_each(|(buffer, index, value)| self.write(buffer, index, value));
    }

    fn fused(&mut self, fused: &Fused) {
        let row = fused.reduced_len();
        let (all, rows) = (fused.outer_len(), (TOGETHER / row.max(1)).max(1));
        let mut writes = Writes::new();
        for first in (0..all).step_by(rows) {
            let count = rows.min(all - first);
            let span = RowSpan {
                rows: &Coordinates::new(&fused.axes[..fused.outer], first, count),
                points: &Coordinates::new(&fused.axes, first * row, count * row),
                row,
                reduces: fused.outer < fused.axes.len(),
                accumulators: &[],
                carried: &[],
            };
            self.span(&fused.tape, &fused.stores, &span, &mut writes);
        }
        self.write_all(writes);
    }

    fn recurrence(&mut self, of: &Recurrence) {
        let (elements, axes) = (of.elements(), &of.axes[..of.axes.len() - 1]);
        // Values that are the same at every position do not depend on carries.
        let outer: Vec<Instr> = of
            .tape
            .iter()
            .map(|instr| match instr.level {
                Level::Outer => instr.clone(),
                Level::Full => Instr { code: Code::Constant(Scalar::of(instr.dtype, 0.0)), ..instr.clone() },
            })
            .collect();
        let mut writes = Writes::new();
        for first in (0..elements).step_by(TOGETHER) {
            let count = TOGETHER.min(elements - first);
            let at = |trip: usize| Coordinates::behind(axes, first, count, trip);
            let begin = at(0);
            let starts = evaluate(self, &outer, &RowSpan::at(&begin, &[], &[]));
            let mut carried: Vec<Vec<f64>> =
                of.carries.iter().map(|carry| starts[carry.start.0 as usize].clone()).collect();
            for trip in 0..of.trips() {
                let points = at(trip);
                let values = evaluate(self, &of.tape, &RowSpan::at(&points, &[], &carried));
                stored_at(&of.stores, &points, &values, &mut writes);
                carried = of.carries.iter().map(|carry| values[carry.next.0 as usize].clone()).collect();
            }
            for (carry, values) in of.carries.iter().zip(&carried) {
                let Some((buffer, view)) = &carry.last else { continue };
                for (position, &value) in begin.iter().zip(values) {
                    writes.push((*buffer, locate(view, position).expect("stores have no guards"), value));
                }
            }
        }
        self.write_all(writes);
    }

    /// Evaluates a tape over a span, and collects what its stores write.
    fn span(&self, tape: &[Instr], stores: &[Store], span: &RowSpan, writes: &mut Writes) {
        let values = evaluate(self, tape, span);
        for store in stores {
            let once = span.once(tape[store.value.0 as usize].level);
            let positions = if once { span.rows } else { span.points };
            for (position, &value) in positions.iter().zip(&values[store.value.0 as usize]) {
                let index = locate(&store.view, position).expect("stores have no guards");
                writes.push((store.buffer, index, value));
            }
        }
    }

    fn product(&mut self, product: &Product) {
        let [left, right, result] = product.axes();
        let (rows, columns, terms) = (product.rows(), product.columns(), product.terms());
        let mut writes = Writes::new();
        for batch in 0..product.batches() {
            let lhs = self.operand(&product.lhs, &left, batch * rows * terms, rows * terms);
            let rhs = self.operand(&product.rhs, &right, batch * terms * columns, terms * columns);
            let mut sums = vec![0.0; rows * columns];
            for (row, sums) in sums.chunks_exact_mut(columns.max(1)).enumerate() {
                for term in 0..terms {
                    let factor = lhs[row * terms + term];
                    let rhs = &rhs[term * columns..(term + 1) * columns];
                    sums.iter_mut().zip(rhs).for_each(|(sum, x)| *sum += factor * x);
                }
            }
            for (n, accumulators) in sums.chunks(TOGETHER).enumerate() {
                let first = batch * rows * columns + n * TOGETHER;
                let points = &Coordinates::new(&result, first, accumulators.len());
                let span = RowSpan::at(points, accumulators, &[]);
                self.span(&product.epilogue, &product.stores, &span, &mut writes);
            }
        }
        self.write_all(writes);
    }

    /// An operand's values at `count` positions of its axes.
    fn operand(&self, operand: &ProductOperand, axes: &[usize], first: usize, count: usize) -> Vec<f64> {
        let mut all = Vec::with_capacity(count);
        while all.len() < count {
            let points = &Coordinates::new(axes, first + all.len(), TOGETHER.min(count - all.len()));
            let span = RowSpan::at(points, &[], &[]);
            all.append(&mut evaluate(self, &operand.tape, &span)[operand.value.0 as usize]);
        }
        all
    }

    fn scatter(&mut self, scatter: &Scatter) {
        let mut sizes = scatter.axes.clone();
        sizes[scatter.axis] = scatter.size;
        let mut sums = vec![0.0; sizes.iter().product()];
        let dtype = self.bindings[scatter.target.0 as usize].dtype;
        for position in Coordinates::all(&scatter.axes).iter() {
            let (source, index) = (&scatter.source, &scatter.index);
            let at = locate(&index.1, position).map_or(0.0, |at| self.read(index.0, at)) as i64;
            if !(0..scatter.size as i64).contains(&at) {
                self.fault(scatter.site, at);
                continue;
            }
            let value = locate(&source.1, position).map_or(0.0, |at| self.read(source.0, at));
            let to = position
                .iter()
                .enumerate()
                .map(|(axis, &c)| if axis == scatter.axis { at as usize } else { c });
            let sum = &mut sums[to.zip(&sizes).fold(0, |to, (c, &size)| to * size + c)];
            *sum = match dtype.is_wide() && !dtype.is_float() {
                true => from_whole(dtype, to_whole(dtype, *sum).wrapping_add(to_whole(dtype, value))),
                false => *sum + value,
            };
        }
        sums.into_iter().zip(0..).for_each(|(sum, index)| self.write(scatter.target, index, sum));
    }

    fn sort(&mut self, sort: &Sort) {
        for row in 0..sort.rows {
            let start = (row * sort.len) as i64;
            let x: Vec<f64> = (0..sort.len as i64).map(|n| self.read(sort.operand, start + n)).collect();
            let key = |n: usize| match sort.keys {
                Keys::Below(size) if !(0.0..size as f64).contains(&x[n]) => size as f64,
                _ => x[n],
            };
            let dtype = self.bindings[sort.operand.0 as usize].dtype;
            let nan = |n: usize| dtype.is_float() && key(n).is_nan();
            let compare = |a: usize, b: usize| {
                let ordering = nan(a).cmp(&nan(b)).then(compare(dtype, key(a), key(b)));
                if sort.keys == Keys::Descending { ordering.reverse() } else { ordering }
            };
            let mut order: Vec<usize> = (0..sort.len).collect();
            order.sort_by(|&a, &b| compare(a, b));
            let to = (row * sort.taken) as i64;
            let taken = order.into_iter().take(sort.taken);
            taken.zip(to..).for_each(|(at, n)| self.write(sort.order, n, at as f64));
        }
    }

    fn custom(&mut self, custom: &Custom) {
        let operand = |(&id, shape): (&BufferId, &farad_ir::Shape)| {
            (0..shape.numel() as i64).map(|n| self.read(id, n)).collect::<Vec<f64>>()
        };
        let operands: Vec<Vec<f64>> = custom.operands.iter().zip(&custom.shapes).map(operand).collect();
        let results = custom.op.reference(&operands, &custom.shapes);
        for (&id, values) in custom.results.iter().zip(results) {
            values.into_iter().zip(0..).for_each(|(value, n)| self.write(id, n, value));
        }
    }
}

/// What stores write if they have one value per position.
fn stored_at(stores: &[Store], points: &Coordinates, values: &[Vec<f64>], writes: &mut Writes) {
    for store in stores {
        for (position, &value) in points.iter().zip(&values[store.value.0 as usize]) {
            let index = locate(&store.view, position).expect("stores have no guards");
            writes.push((store.buffer, index, value));
        }
    }
}
