//! Matrix products: converts operands to matrices if needed, multiplies, then runs the epilogue on the result.

use farad_compile::program::{BufferId, Code, Fused, Instr, Level, Product, ProductOperand, Store, View};
use farad_ir::DType;
use gemm::Parallelism;
use rayon::prelude::*;

use crate::error::Error;
use crate::heuristics::products::{LARGE, SHARED_WHOLE, SMALL, THIN_TASK, THIN_TASKS};
use crate::interpreter::nest::{Nest, Spec};
use crate::interpreter::tile_machine::KernelContext;
use crate::memory::view_access;
use crate::simd::lanes::lanes;
use crate::simd::small_matrix::{Multiply, StridedMatrix};

/// A planned product.
#[derive(Debug)]
pub struct MatrixPlan {
    /// Operands that are not plain matrices; they are evaluated into temporaries.
    prepare: Vec<Nest>,
    /// The dtype of the product: `f32` or `f64`.
    dtype: DType,
    batch: Vec<usize>,
    m: usize,
    n: usize,
    k: usize,
    lhs: ProductMatrix,
    rhs: ProductMatrix,
    out: ProductMatrix,
    epilogue: Option<Nest>,
}

/// The layout of a batch of matrices in a buffer.
#[derive(Clone, Debug)]
pub struct ProductMatrix {
    /// Which buffer.
    pub buffer: usize,
    /// The index of the first element.
    pub offset: i64,
    /// Elements between neighbors, per batch axis.
    pub batch: Vec<i64>,
    /// Elements between rows.
    pub row: i64,
    /// Elements between columns.
    pub column: i64,
}

impl ProductMatrix {
    /// A view over `batch` axes, `rows` axes and the rest as a matrix; `None` if the rows or the columns are
    /// several axes that cannot be merged.
    fn of(buffer: usize, view: &View, axes: &[usize], [batch, rows]: [usize; 2]) -> Option<ProductMatrix> {
        let one = |from: usize, to: usize| {
            let inner = to.checked_sub(1).filter(|_| from < to);
            let follows = |a: usize| view.strides[a] == view.strides[a + 1] * axes[a + 1] as i64;
            (from + 1..to).all(|a| follows(a - 1)).then(|| inner.map_or(0, |a| view.strides[a]))
        };
        let (row, column) = (one(batch, batch + rows)?, one(batch + rows, axes.len())?);
        Some(ProductMatrix {
            buffer,
            offset: view.offset,
            batch: view.strides[..batch].to_vec(),
            row,
            column,
        })
    }

    /// The offset of one batch's matrix, given the sizes of the batch axes.
    fn first(&self, axes: &[usize], batch: usize) -> isize {
        let (mut rest, mut index) = (batch, self.offset);
        for (&size, &stride) in axes.iter().zip(&self.batch).rev() {
            index += stride * (rest % size) as i64;
            rest /= size;
        }
        index as isize
    }
}

/// Temporaries are buffers numbered after the program's own. The temporaries of all kernels share the same
/// memory.
pub struct Temporaries<'a> {
    /// Specs of all buffers so far.
    pub specs: &'a mut Vec<Spec>,
    /// Byte offsets of temporaries, from the first.
    pub offsets: &'a mut Vec<usize>,
    /// Bytes that this kernel's temporaries take.
    pub bytes: usize,
}

impl Temporaries<'_> {
    /// A buffer of `len` floats of which every task has its own copy. It has no memory until a task binds it.
    pub fn reserve(&mut self, len: usize) -> BufferId {
        self.specs.push(Spec { dtype: DType::F32, len });
        self.offsets.push(0);
        BufferId(self.specs.len() as u32 - 1)
    }

    /// A temporary of `len` floats.
    pub fn add(&mut self, len: usize) -> BufferId {
        self.add_of(DType::F32, len)
    }

    /// A temporary of `len` elements.
    pub fn add_of(&mut self, dtype: DType, len: usize) -> BufferId {
        self.specs.push(Spec { dtype, len });
        self.offsets.push(self.bytes);
        self.bytes = (self.bytes + dtype.size() * len).next_multiple_of(256);
        BufferId(self.specs.len() as u32 - 1)
    }
}

impl MatrixPlan {
    /// Plans a product.
    pub fn new(product: &Product, temporaries: &mut Temporaries, label: &str) -> Result<MatrixPlan, Error> {
        let [left, right, whole] = product.axes();
        let counts = [product.batch.len(), product.m.len(), product.n.len(), product.k.len()];
        let mut prepare = Vec::new();
        let lhs = operand(&product.lhs, &left, [counts[0], counts[1]], temporaries, &mut prepare, label)?;
        let rhs = operand(&product.rhs, &right, [counts[0], counts[3]], temporaries, &mut prepare, label)?;
        let (out, epilogue) = result(product, &whole, temporaries, label)?;
        let (m, n, k) = (product.rows(), product.columns(), product.terms());
        let (dtype, batch) = (dtype(product), product.batch.clone());
        let mut plan = MatrixPlan { prepare, dtype, batch, m, n, k, lhs, rhs, out, epilogue };
        plan.fold();
        Ok(plan)
    }

    /// Folds batch axes along which one operand does not change into the rows or columns of a larger product.
    fn fold(&mut self) {
        while let Some((&size, axis)) = self.batch.last().zip(self.batch.len().checked_sub(1)) {
            let (lhs, rhs, out) = (&mut self.lhs, &mut self.rhs, &mut self.out);
            let follows = |x: &ProductMatrix, len: usize, stride: i64| {
                size == 1 || x.batch[axis] == stride * len as i64
            };
            let stays = |x: &ProductMatrix| size == 1 || x.batch[axis] == 0;
            if stays(rhs) && follows(lhs, self.m, lhs.row) && follows(out, self.m, out.row) {
                self.m *= size;
            } else if stays(lhs) && follows(rhs, self.n, rhs.column) && follows(out, self.n, out.column) {
                self.n *= size;
            } else {
                return;
            }
            self.batch.pop();
            for matrix in [lhs, rhs, out] {
                matrix.batch.pop();
            }
        }
    }

    /// Runs the product.
    pub fn run(&self, context: KernelContext) {
        self.prepare.iter().for_each(|nest| nest.run(context));
        self.multiply(context);
        if let Some(nest) = &self.epilogue {
            nest.run(context);
        }
    }

    fn multiply(&self, context: KernelContext) {
        let batches: usize = self.batch.iter().product();
        let one = self.m * self.n * self.k;
        if batches * self.m * self.n == 0 {
            return;
        }
        if self.dtype == DType::F64 {
            return (0..batches).for_each(|batch| self.multiply_wide(context, batch));
        }
        let threads = rayon::current_num_threads();
        if batches > 1 && threads > 1 && one < SHARED_WHOLE && one * batches >= LARGE {
            let group = (LARGE / 4 / one.max(1)).max(1);
            (0..batches.div_ceil(group)).into_par_iter().for_each(|task| {
                let end = batches.min((task + 1) * group);
                (task * group..end).for_each(|batch| single(self.block(context, batch), false));
            });
        } else {
            let parallel = threads > 1 && one >= LARGE;
            (0..batches).for_each(|batch| single(self.block(context, batch), parallel));
        }
    }

    /// The matrices of one batch.
    fn block(&self, context: KernelContext, batch: usize) -> Multiply {
        let block = |matrix: &ProductMatrix| {
            let start = context.bindings[matrix.buffer].start.cast::<f32>();
            // SAFETY: views were checked against their buffers when the program was loaded.
            let start = unsafe { start.offset(matrix.first(&self.batch, batch)) };
            StridedMatrix { start, row: matrix.row as isize, column: matrix.column as isize }
        };
        Multiply {
            m: self.m,
            n: self.n,
            k: self.k,
            lhs: block(&self.lhs),
            rhs: block(&self.rhs),
            out: block(&self.out),
        }
    }
}

impl MatrixPlan {
    /// The product of one batch in `f64`.
    fn multiply_wide(&self, context: KernelContext, batch: usize) {
        let start = |matrix: &ProductMatrix| {
            let start = context.bindings[matrix.buffer].start.cast::<f64>();
            // SAFETY: views were checked against their buffers when the program was loaded.
            unsafe { start.offset(matrix.first(&self.batch, batch)) }
        };
        let steps = |matrix: &ProductMatrix| (matrix.column as isize, matrix.row as isize);
        let (out, lhs, rhs) = (steps(&self.out), steps(&self.lhs), steps(&self.rhs));
        let parallel = rayon::current_num_threads() > 1 && self.m * self.n * self.k >= LARGE;
        // SAFETY: matrices are in memory, and results do not overlap operands.
        unsafe {
            gemm::gemm(
                self.m,
                self.n,
                self.k,
                start(&self.out),
                out.0,
                out.1,
                false,
                start(&self.lhs).cast_const(),
                lhs.0,
                lhs.1,
                start(&self.rhs).cast_const(),
                rhs.0,
                rhs.1,
                0f64,
                1f64,
                false,
                false,
                false,
                if parallel { Parallelism::Rayon(0) } else { Parallelism::None },
            );
        }
    }
}

/// What a product multiplies: `f32` or `f64`.
pub fn dtype(product: &Product) -> DType {
    product.lhs.tape[product.lhs.value.0 as usize].dtype.register()
}

/// One product, with the algorithm that suits its size.
fn single(p: Multiply, parallel: bool) {
    let work = p.m * p.n * p.k;
    // The number of parts depends only on sizes. Where a product is cut does not change its elements anyway.
    let count = if parallel { (work / THIN_TASK).clamp(1, THIN_TASKS) } else { 1 };
    if let Some(narrow) = p.narrow().filter(|_| work > SMALL) {
        // SAFETY: these lanes are available; matrices are in memory, and results do not overlap operands.
        let run = |part: &Multiply| unsafe { (lanes().narrow)(part) };
        return if count > 1 { narrow.rows(count).par_iter().for_each(run) } else { run(&narrow) };
    }
    if (work <= SMALL || p.m == 1 || p.n == 1)
        && let Some(parts) = p.parts(count)
    {
        // SAFETY: these lanes are available; matrices are in memory, and results do not overlap operands.
        let run = |part: &Multiply| unsafe { (lanes().multiply)(part) };
        return if parts.len() > 1 { parts.par_iter().for_each(run) } else { parts.iter().for_each(run) };
    }
    let parallelism = if parallel { Parallelism::Rayon(0) } else { Parallelism::None };
    // SAFETY: matrices are in memory, and results do not overlap operands.
    unsafe {
        gemm::gemm(
            p.m,
            p.n,
            p.k,
            p.out.start,
            p.out.column,
            p.out.row,
            false,
            p.lhs.start,
            p.lhs.column,
            p.lhs.row,
            p.rhs.start,
            p.rhs.column,
            p.rhs.row,
            0f32,
            1f32,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// The view of an operand that is a plain matrix in memory.
fn plain(
    operand: &ProductOperand,
    axes: &[usize],
    counts: [usize; 2],
    specs: &[Spec],
    label: &str,
) -> Result<Option<ProductMatrix>, Error> {
    let Code::Load(buffer, view) = &operand.tape[operand.value.0 as usize].code else { return Ok(None) };
    let spec = specs[buffer.0 as usize];
    let multiplied = operand.tape[operand.value.0 as usize].dtype.register();
    if spec.dtype != multiplied || !view.guards.is_empty() {
        return Ok(None);
    }
    view_access::check(view, axes, spec.len, label)?;
    Ok(ProductMatrix::of(buffer.0 as usize, view, axes, counts))
}

fn operand(
    operand: &ProductOperand,
    axes: &[usize],
    counts: [usize; 2],
    temporaries: &mut Temporaries,
    prepare: &mut Vec<Nest>,
    label: &str,
) -> Result<ProductMatrix, Error> {
    if let Some(matrix) = plain(operand, axes, counts, temporaries.specs, label)? {
        return Ok(matrix);
    }
    let (buffer, view) = evaluated(operand, axes, counts[0], temporaries, prepare, label)?;
    Ok(ProductMatrix::of(buffer.0 as usize, &view, axes, counts).expect("a contiguous matrix"))
}

/// An operand evaluated into a temporary, where all axes after `batch` are contiguous, and its layout there.
pub fn evaluated(
    operand: &ProductOperand,
    axes: &[usize],
    batch: usize,
    temporaries: &mut Temporaries,
    prepare: &mut Vec<Nest>,
    label: &str,
) -> Result<(BufferId, View), Error> {
    // Batch axes that nothing depends on need not be repeated.
    let depends = |axis: usize| {
        operand.tape.iter().any(|instr| match &instr.code {
            Code::Load(_, view) | Code::Position(view) | Code::Random(.., view) | Code::Take { view, .. } => {
                view.strides[axis] != 0 || view.guards.iter().any(|g| g.coefficients[axis] != 0)
            }
            _ => false,
        })
    };
    let kept: Vec<usize> = axes
        .iter()
        .enumerate()
        .map(|(axis, &n)| if axis < batch && !depends(axis) { 1 } else { n })
        .collect();
    let dtype = operand.tape[operand.value.0 as usize].dtype.register();
    let buffer = temporaries.add_of(dtype, kept.iter().product());
    let mut view = View::contiguous(&kept);
    let store = Store { buffer, value: operand.value, view: view.clone() };
    let fused =
        Fused { axes: kept.clone(), outer: kept.len(), tape: operand.tape.clone(), stores: vec![store] };
    prepare.push(Nest::new(&fused, temporaries.specs, label)?);
    for (stride, (kept, size)) in view.strides.iter_mut().zip(kept.iter().zip(axes)) {
        *stride = if kept == size { *stride } else { 0 };
    }
    Ok((buffer, view))
}

/// Where the product is written, and the epilogue that is left to run.
fn result(
    product: &Product,
    axes: &[usize],
    temporaries: &mut Temporaries,
    label: &str,
) -> Result<(ProductMatrix, Option<Nest>), Error> {
    let loaded = |buffer: BufferId| {
        product
            .epilogue
            .iter()
            .any(|i| matches!(&i.code, Code::Load(b, _) | Code::Take { buffer: b, .. } if *b == buffer))
    };
    let (counts, dtype) = ([product.batch.len(), product.m.len()], dtype(product));
    let matrix = |buffer: BufferId, view: &View| ProductMatrix::of(buffer.0 as usize, view, axes, counts);
    let fits = |store: &&Store| {
        let spec = temporaries.specs[store.buffer.0 as usize];
        let Some(matrix) = matrix(store.buffer, &store.view) else { return false };
        spec.dtype == dtype
            && (matrix.column == 1 || matrix.row == 1 || product.rows() * product.columns() == 1)
            && !loaded(store.buffer)
    };
    let target = product.stores.iter().find(fits);
    let is_accumulator =
        |store: &Store| matches!(product.epilogue[store.value.0 as usize].code, Code::Accumulator);
    let (buffer, view) = match target {
        Some(store) => (store.buffer, store.view.clone()),
        None => (temporaries.add_of(dtype, axes.iter().product()), View::contiguous(axes)),
    };
    let matrix = matrix(buffer, &view).expect("a matrix that was chosen for being one");
    let replace = |instr: &Instr| match instr.code {
        Code::Accumulator => Instr { code: Code::Load(buffer, view.clone()), dtype, level: Level::Full },
        _ => instr.clone(),
    };
    let tape = product.epilogue.iter().map(replace).collect();
    let fused = Fused { axes: axes.to_vec(), outer: axes.len(), tape, stores: product.stores.clone() };
    // Planning checks the views of stores too.
    let nest = Nest::new(&fused, temporaries.specs, label)?;
    let done = target.is_some() && product.stores.len() == 1 && is_accumulator(&product.stores[0]);
    Ok((matrix, (!done).then_some(nest)))
}
