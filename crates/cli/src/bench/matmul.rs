//! Products of matrices.

use farad::{DType, Device, Precision, Tensor};

use super::case::{CaseWork, Workload, signed};
use super::reference::{NormDifference, select, spread};

/// `batch` products `[rows, inner] · [inner, columns]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductSize {
    /// Products; 1: matrices without an axis for them.
    pub batch: usize,
    pub rows: usize,
    pub inner: usize,
    pub columns: usize,
    /// Which operands lie with their axes swapped.
    pub transposed: [bool; 2],
    /// Whether elements are f16.
    pub is_f16: bool,
}

impl ProductSize {
    fn square(size: usize) -> ProductSize {
        ProductSize {
            batch: 1,
            rows: size,
            inner: size,
            columns: size,
            transposed: [false; 2],
            is_f16: false,
        }
    }

    /// Multiplications and additions.
    pub fn flops(&self) -> f64 {
        2.0 * (self.batch * self.rows) as f64 * (self.inner * self.columns) as f64
    }

    /// Operands and result, each once.
    pub fn bytes(&self) -> f64 {
        let numbers = self.rows * self.inner + self.inner * self.columns + self.rows * self.columns;
        (self.batch * numbers) as f64 * if self.is_f16 { 2.0 } else { 4.0 }
    }

    /// How an operand lies in memory.
    fn stored(&self, operand: usize) -> Vec<usize> {
        let mut shape = [[self.rows, self.inner], [self.inner, self.columns]][operand];
        if self.transposed[operand] {
            shape.reverse();
        }
        let batch = (self.batch > 1).then_some(self.batch);
        batch.into_iter().chain(shape).collect()
    }

    fn operand(&self, x: &Tensor, operand: usize) -> Tensor {
        if self.transposed[operand] { x.transpose(-2, -1) } else { x.clone() }
    }
}

/// `[size, size] · [size, size]`.
pub fn square(size: usize, device: &Device) -> farad::Result<Workload> {
    product(ProductSize::square(size), device)
}

/// `[size, size] · [size, size]` in f16; `transposed` says which operands lie with their axes swapped.
pub fn square_f16(size: usize, transposed: [bool; 2], device: &Device) -> farad::Result<Workload> {
    product(ProductSize { transposed, is_f16: true, ..ProductSize::square(size) }, device)
}

/// `[size, size] · [size, size]` in f32, made of f16 products.
pub fn square_high(size: usize, device: &Device) -> farad::Result<Workload> {
    in_precision(ProductSize::square(size), Precision::High, device)
}

/// `batch` products `[rows, inner] · [inner, rows]`.
pub fn batched(batch: usize, rows: usize, inner: usize, device: &Device) -> farad::Result<Workload> {
    product(ProductSize { batch, inner, ..ProductSize::square(rows) }, device)
}

/// Products of a size.
pub fn product(size: ProductSize, device: &Device) -> farad::Result<Workload> {
    in_precision(size, Precision::Single, device)
}

fn in_precision(size: ProductSize, precision: Precision, device: &Device) -> farad::Result<Workload> {
    let dtype = if size.is_f16 { DType::F16 } else { DType::F32 };
    let inputs = [0, 1].map(|operand| signed(&size.stored(operand), device)?.cast(dtype).detach());
    let inputs: Vec<Tensor> = inputs.into_iter().collect::<farad::Result<_>>()?;
    let work = CaseWork { flops: size.flops(), ..CaseWork::default() };
    let error = move |inputs: &[Tensor], result: &Tensor| {
        let [a, b] = [0, 1].map(|n| size.operand(&inputs[n], n).cast(DType::F32));
        error(&a, &b, &result.cast(DType::F32))
    };
    let build = move |inputs: &[Tensor]| {
        precision.scope(|| size.operand(&inputs[0], 0).matmul(&size.operand(&inputs[1], 1)))
    };
    Ok(Workload::expression(inputs, work, build, error))
}

/// A few rows by a few columns of a few products against f64.
fn error(a: &Tensor, b: &Tensor, product: &Tensor) -> farad::Result<f64> {
    let whole = |tensor: &Tensor| {
        let (m, n) = (tensor.size(-2), tensor.size(-1));
        tensor.reshape([tensor.numel() / (m * n), m, n])
    };
    let (a, b, product) = (whole(a), whole(b), whole(product));
    let (batch, inner, device) = (a.size(0), a.size(2), a.device());
    let (batches, rows, columns) = (spread(batch, 3), spread(a.size(1), 6), spread(b.size(2), 6));
    let some = |tensor: &Tensor| select(tensor, 0, &batches, device);
    // A column of b is read as a row of its transpose.
    let lhs = select(&some(&a), 1, &rows, device).to_vec::<f32>()?;
    let rhs = select(&some(&b), 2, &columns, device).transpose(1, 2).to_vec::<f32>()?;
    let got = select(&select(&some(&product), 1, &rows, device), 2, &columns, device).to_vec::<f32>()?;
    let mut difference = NormDifference::default();
    for (n, &value) in got.iter().enumerate() {
        let (row, column) =
            (n / columns.len(), n / (rows.len() * columns.len()) * columns.len() + n % columns.len());
        let (row, column) = (&lhs[row * inner..][..inner], &rhs[column * inner..][..inner]);
        difference.add(value, row.iter().zip(column).map(|(&a, &b)| a as f64 * b as f64).sum());
    }
    Ok(difference.relative())
}
