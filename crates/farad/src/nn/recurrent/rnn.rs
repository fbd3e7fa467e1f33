//! The plain recurrent layer.

use super::cell::{Cell, cell};
use super::weights::RecurrentWeights;
use crate::tensor::Tensor;

cell! {
    /// One position of a plain recurrent layer: `h' = tanh(x · weight_ihᵀ + h · weight_hhᵀ + biases)`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let cell = RnnCell::new(3, 5).without_bias();
    /// let x = Tensor::ones([2, 3], &Device::cpu());
    /// assert_eq!(cell.start(&x).shape()[..], [2, 5]);
    /// ```
    RnnCell, 1, Tensor
}

impl Cell for RnnCell {
    type State = Tensor;
    const LAYER: &'static str = "Rnn";
    const GATES: usize = 1;

    fn of(weights: RecurrentWeights) -> RnnCell {
        RnnCell { weights }
    }

    fn weights(&self) -> &RecurrentWeights {
        &self.weights
    }

    #[track_caller]
    fn inputs(&self, x: &Tensor) -> Tensor {
        self.weights.inputs(x, true)
    }

    #[track_caller]
    fn step(&self, inputs: &Tensor, hidden: &Tensor) -> Tensor {
        (self.weights.hidden(hidden) + inputs).tanh()
    }
}
