//! Long short-term memory.

use super::cell::{State, cell};
use farad_tensor::Tensor;

/// What an LSTM carries.
#[derive(Clone, Debug)]
pub struct LstmState {
    /// What the cell shows: `[batch, hidden]`.
    pub hidden: Tensor,
    /// What the cell remembers: `[batch, hidden]`.
    pub cell: Tensor,
}

impl State for LstmState {
    const PARTS: usize = 2;

    fn parts(&self) -> Vec<Tensor> {
        vec![self.hidden.clone(), self.cell.clone()]
    }

    fn from_parts(parts: &[Tensor]) -> LstmState {
        LstmState { hidden: parts[0].clone(), cell: parts[1].clone() }
    }
}

cell! {
    /// One position of an LSTM. With gates `i f g o = x · weight_ihᵀ + h · weight_hhᵀ + biases`,
    /// `c' = σ(f) · c + σ(i) · tanh(g)` and `h' = σ(o) · tanh(c')`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let cell = LstmCell::new(3, 5);
    /// let x = Tensor::ones([2, 3], &Device::cpu());
    /// let state = cell.forward(&x, &cell.start(&x));
    /// assert_eq!(state.hidden.shape()[..], [2, 5]);
    /// ```
    LstmCell of "Lstm", 4 gates, both biases true,
    |this, inputs, state: LstmState| {
        let gates = this.weights.hidden(&state.hidden) + inputs;
        let size = gates.shape()[1] / 4;
        let gate = |n: usize| gates.narrow(1, n * size, size);
        let cell = gate(1).sigmoid() * &state.cell + gate(0).sigmoid() * gate(2).tanh();
        LstmState { hidden: gate(3).sigmoid() * cell.tanh(), cell }
    }
}
