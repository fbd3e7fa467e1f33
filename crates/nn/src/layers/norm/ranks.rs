//! Sums over all ranks inside a program, for statistics of a batch that ranks share.
//!
//! Invariant: every rank runs the same program, so all ranks come to the same sums in the same order.

use farad_group::{Combine, Group};
use farad_ir::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, Var, Words};

/// The sum of a tensor over all ranks, on every rank. So is its gradient.
#[derive(Clone, Debug, Hash)]
pub(super) struct SumOverRanks(pub Group);

impl SumOverRanks {
    fn sum<T: farad_group::Summable>(&self, numbers: &mut [T]) {
        // Inside a program nothing can be returned; the panic ends all ranks.
        if let Err(error) = self.0.all_reduce(numbers, Combine::Sum) {
            panic!("batch_norm: {error}");
        }
    }
}

/// What programs call the sum.
pub(crate) const SUM_OVER_RANKS: &str = "sum_over_ranks";

impl CustomOp for SumOverRanks {
    fn name(&self) -> &str {
        SUM_OVER_RANKS
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        match operands {
            [(shape, DType::F32)] => Ok(vec![(*shape, DType::F32)]),
            [(_, dtype)] => Err(OpError::DType { op: SUM_OVER_RANKS, dtype: *dtype, help: "" }),
            _ => unreachable!("one operand"),
        }
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        let mut sums = operands[0].clone();
        self.sum(&mut sums);
        vec![sums]
    }

    fn cpu(&self, operands: &[&[u32]], _: &[Shape], results: &mut [Words]) {
        results[0].copy_from_slice(operands[0]);
        self.sum(bytemuck::cast_slice_mut::<u32, f32>(&mut results[0]));
    }

    fn wgsl(&self, _: &[Shape], _: &CustomLimits) -> Vec<CustomKernel> {
        unreachable!("a layer on a GPU refuses ranks")
    }

    fn gradient<'g>(
        &self,
        _: &[Var<'g>],
        _: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        Ok(vec![Some(Var::custom(self.clone(), &[upstream[0]])?[0])])
    }
}
