//! Matrix products and general contractions.

use std::sync::Arc;

use farad_ir::{Contraction, DType, Op, OpError, Shape};

use super::{Tensor, expect, raise};
use crate::precision::Precision;

impl Tensor {
    /// Matrix product: `[.., m, k] × [.., k, n] -> [.., m, n]`. Leading axes broadcast; a vector on
    /// either side counts as a matrix of one row or column; that axis is removed from the result.
    /// Products of integers are exact but for what wraps.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let a = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [2, 2], &device);
    /// let b = Tensor::from_vec(vec![1.0, 1.0], [2, 1], &device);
    /// assert_eq!(a.matmul(&b).to_vec::<f32>()?, [3.0, 7.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul(&self, other: &Tensor) -> Tensor {
        for operand in [self, other] {
            if operand.rank() == 0 {
                raise(OpError::RankTooLow { op: "matmul", shape: operand.shape(), rank: 0, least: 1 });
            }
        }
        if self.rank() == 1 {
            let row = self.unsqueeze(0).matmul(other);
            return row.squeeze(if other.rank() == 1 { 0 } else { -2 });
        }
        if other.rank() == 1 {
            return self.matmul(&other.unsqueeze(1)).squeeze(-1);
        }
        let (lhs, rhs) = (self.shape(), other.shape());
        let (m, k, n) = (lhs[lhs.rank() - 2], lhs[lhs.rank() - 1], rhs[rhs.rank() - 1]);
        let inner = rhs[rhs.rank() - 2];
        if k != inner {
            raise(OpError::Inner { lhs, rhs, a: k, b: inner });
        }
        let dtype = super::meet("matmul", self.dtype(), other.dtype());
        let (a, b) = (self.cast(dtype), other.cast(dtype));
        let leading = |s: &Shape| Shape::new(&s[..s.rank() - 2]);
        if rhs.rank() == 2 && lhs.rank() > 2 {
            // One matrix for all: fold the batch into the rows.
            let rows = a.reshape([lhs.numel() / k.max(1), k]);
            let rows = if k == 0 { a.reshape([leading(&lhs).numel() * m, 0]) } else { rows };
            let product = rows.matmul(&b);
            return product.reshape(leading(&lhs).iter().copied().chain([m, n]).collect::<Vec<_>>());
        }
        let batch = expect(leading(&lhs).broadcast(&leading(&rhs)).map_err(|axis| {
            let rank = lhs.rank().max(rhs.rank()) - 2;
            let pick = |s: &Shape| s[axis + s.rank() - 2 - rank];
            OpError::Broadcast { op: "matmul", lhs, rhs, axis, a: pick(&lhs), b: pick(&rhs) }
        }));
        let full = |last: [usize; 2]| batch.iter().copied().chain(last).collect::<Vec<_>>();
        let (a, b) = (a.broadcast_to(full([m, k])), b.broadcast_to(full([k, n])));
        if dtype.is_int() {
            return whole_product(&a, &b, [m, k, n]).reshape(full([m, n]));
        }
        a.contract(&b, Contraction::matmul(&batch, m, k, n))
    }

    /// A sum of products over index maps: what matmul and convolutions are made of. Floats only. In
    /// [`Precision::Mixed`] `f32` operands are rounded to `f16` first.
    ///
    /// ```
    /// use farad::prelude::*;
    /// use farad::Contraction;
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [2, 2], &Device::cpu());
    /// let y = x.contract(&x, Contraction::matmul(&[], 2, 2, 2));
    /// assert_eq!(y.to_vec::<f32>()?, x.matmul(&x).to_vec::<f32>()?);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn contract(&self, other: &Tensor, contraction: Contraction) -> Tensor {
        let dtype = super::meet("contract", self.dtype(), other.dtype());
        let high = contraction.high || dtype == DType::F32 && Precision::current() == Precision::High;
        let contraction = Contraction { high, ..contraction };
        let product = |a: &Tensor, b: &Tensor| Tensor::record(Op::Contract(Arc::new(contraction)), &[a, b]);
        if dtype == DType::F32 && Precision::current() == Precision::Mixed {
            return product(&self.cast(DType::F16), &other.cast(DType::F16)).cast(dtype);
        }
        product(self, other)
    }
}

/// The products of integer matrices, `[batches, m, n]`. Devices multiply matrices of floats only, so it is a sum of products
/// like any other: one fused kernel.
#[track_caller]
fn whole_product(a: &Tensor, b: &Tensor, [m, k, n]: [usize; 3]) -> Tensor {
    let batches: usize = a.shape()[..a.rank() - 2].iter().product();
    let (a, b) = (a.reshape([batches, m, k, 1]), b.reshape([batches, 1, k, n]));
    (a * b).sum_axes([2])
}
