//! Products of matrices.

use farad::{DType, Device, Tensor};

use super::case::{Work, Workload, signed};
use super::reference::{Difference, select, spread};

/// `[size, size] · [size, size]`.
pub fn square(size: usize, device: &Device) -> farad::Result<Workload> {
    let inputs = vec![signed(&[size, size], device)?, signed(&[size, size], device)?];
    let work = Work { flops: 2.0 * (size as f64).powi(3), ..Work::default() };
    let error = |inputs: &[Tensor], result: &Tensor| error(&inputs[0], &inputs[1], result);
    Ok(Workload::expression(inputs, work, |inputs| inputs[0].matmul(&inputs[1]), error))
}

/// `[size, size] · [size, size]` of halves; `transposed` says which operands lie with their axes swapped.
pub fn halves(size: usize, transposed: [bool; 2], device: &Device) -> farad::Result<Workload> {
    let inputs = (0..2).map(|_| signed(&[size, size], device)?.cast(DType::F16).detach());
    let inputs: Vec<Tensor> = inputs.collect::<farad::Result<_>>()?;
    let work = Work { flops: 2.0 * (size as f64).powi(3), ..Work::default() };
    let turned = move |x: &Tensor, operand: usize| match transposed[operand] {
        true => x.transpose(0, 1),
        false => x.clone(),
    };
    let error = move |inputs: &[Tensor], result: &Tensor| {
        let [a, b] = [0, 1].map(|n| turned(&inputs[n], n).cast(DType::F32));
        error(&a, &b, &result.cast(DType::F32))
    };
    let product = move |inputs: &[Tensor]| turned(&inputs[0], 0).matmul(&turned(&inputs[1], 1));
    Ok(Workload::expression(inputs, work, product, error))
}

/// `batch` products `[rows, inner] · [inner, rows]`.
pub fn batched(batch: usize, rows: usize, inner: usize, device: &Device) -> farad::Result<Workload> {
    let inputs = vec![signed(&[batch, rows, inner], device)?, signed(&[batch, inner, rows], device)?];
    let work = Work { flops: 2.0 * (batch * rows * rows * inner) as f64, ..Work::default() };
    let error = |inputs: &[Tensor], result: &Tensor| error(&inputs[0], &inputs[1], result);
    Ok(Workload::expression(inputs, work, |inputs| inputs[0].matmul(&inputs[1]), error))
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
    let mut difference = Difference::default();
    for (n, &value) in got.iter().enumerate() {
        let (row, column) =
            (n / columns.len(), n / (rows.len() * columns.len()) * columns.len() + n % columns.len());
        let (row, column) = (&lhs[row * inner..][..inner], &rhs[column * inner..][..inner]);
        difference.add(value, row.iter().zip(column).map(|(&a, &b)| a as f64 * b as f64).sum());
    }
    Ok(difference.relative())
}
