//! Losses with their options. What needs none is a method of [`Tensor`], e.g. [`Tensor::cross_entropy`]; both are
//! the same code. Definitions and defaults are PyTorch's.
//!
//! Invariant: shapes must be equal (a loss that broadcasts hides mistakes), and a loss is computed and reduced in
//! `f32` even if it is given `f16`.
//!
//! ```
//! use farad::loss::{CrossEntropy, Reduction};
//! use farad::prelude::*;
//! let device = Device::cpu();
//! let logits = Tensor::zeros([3, 4], &device);
//! let labels = Tensor::from_vec(vec![0, -100, 3], [3], &device);
//! let entropy = CrossEntropy::new().smoothing(0.1).ignore(-100).reduction(Reduction::Sum);
//! assert!((entropy.loss(&logits, &labels).item()? - 2.0 * 4f32.ln()).abs() < 1e-5);
//! # Ok::<(), farad::Error>(())
//! ```

mod binary;
mod distance;
mod divergence;
mod embedding;
mod entropy;
mod likelihood;

pub use binary::{BinaryCrossEntropy, BinaryCrossEntropyWithLogits, Focal};
pub use distance::{AbsoluteError, Huber, SmoothL1, SquaredError};
pub use divergence::KlDivergence;
pub use embedding::{CosineEmbedding, HingeEmbedding};
pub use entropy::CrossEntropy;
pub use likelihood::NegativeLogLikelihood;

use farad_ir::OpError;

use crate::tensor::{Tensor, raise};

/// How the losses of single elements or samples are reduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Not at all: one loss per element or sample.
    None,
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

impl Reduction {
    #[track_caller]
    fn of(self, losses: &Tensor) -> Tensor {
        match self {
            Reduction::None => losses.clone(),
            Reduction::Mean => losses.mean(),
            Reduction::Sum => losses.sum(),
        }
    }
}

/// Gives a loss its reduction.
macro_rules! reduction {
    ($name:ty) => {
        impl $name {
            /// What becomes of the single losses; their mean unless set.
            pub fn reduction(mut self, reduction: crate::loss::Reduction) -> Self {
                self.reduction = reduction;
                self
            }
        }
    };
}
use reduction;

/// Panics unless the shapes are equal.
#[track_caller]
fn same_shapes(op: &'static str, x: &Tensor, target: &Tensor) {
    let (lhs, rhs) = (x.shape(), target.shape());
    if lhs.rank() != rhs.rank() {
        raise(OpError::Ranks { op, lhs, rhs, a: lhs.rank(), b: rhs.rank() });
    }
    if let Some(axis) = (0..lhs.rank()).find(|&axis| lhs[axis] != rhs[axis]) {
        raise(OpError::Shapes { op, lhs, rhs, a: lhs[axis], b: rhs[axis] });
    }
}
