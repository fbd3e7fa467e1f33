//! The parameters of a recurrent cell.

use crate::layers::conv::uniform;
use crate::layers::{Module, Parameter};
use farad_tensor::Tensor;

/// The parameters of a recurrent cell, in PyTorch's layout: the gates' rows one gate after the other.
#[derive(Clone, Debug, Module)]
pub struct RecurrentWeights {
    /// From the inputs: `[gates · hidden, inputs]`.
    pub weight_ih: Parameter,
    /// From the hidden state: `[gates · hidden, hidden]`.
    pub weight_hh: Parameter,
    /// `[gates · hidden]`
    pub bias_ih: Option<Parameter>,
    /// `[gates · hidden]`
    pub bias_hh: Option<Parameter>,
}

impl RecurrentWeights {
    /// All uniform in ±1/√hidden, drawn from the CPU's random numbers.
    #[track_caller]
    pub fn new(inputs: usize, hidden: usize, gates: usize, bias: bool) -> RecurrentWeights {
        // Rows that do not fit into a number are too many for a tensor.
        let rows = gates.saturating_mul(hidden);
        RecurrentWeights {
            weight_ih: uniform(&[rows, inputs], hidden),
            weight_hh: uniform(&[rows, hidden], hidden),
            bias_ih: bias.then(|| uniform(&[rows], hidden)),
            bias_hh: bias.then(|| uniform(&[rows], hidden)),
        }
    }

    /// What the inputs contribute to all gates: `[.., inputs] -> [.., gates · hidden]`. Biases of the hidden
    /// state are added too if `both`.
    #[track_caller]
    pub(super) fn inputs(&self, x: &Tensor, both: bool) -> Tensor {
        let y = x.matmul(&self.weight_ih.value().transpose(0, 1));
        let hidden = self.bias_hh.as_ref().filter(|_| both);
        match (&self.bias_ih, hidden) {
            (Some(a), Some(b)) => y + (a.value() + b.value()),
            (Some(bias), None) | (None, Some(bias)) => y + bias.value(),
            (None, None) => y,
        }
    }

    /// What the hidden state contributes, without a bias: `[batch, hidden] -> [batch, gates · hidden]`.
    #[track_caller]
    pub(super) fn hidden(&self, h: &Tensor) -> Tensor {
        h.matmul(&self.weight_hh.value().transpose(0, 1))
    }
}
