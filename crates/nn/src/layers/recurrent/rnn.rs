//! The plain recurrent layer.

use super::cell::cell;
use farad_tensor::Tensor;

cell! {
    /// One position of a plain recurrent layer: `h' = tanh(x · weight_ihᵀ + h · weight_hhᵀ + biases)`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let cell = RnnCell::new(3, 5).without_bias();
    /// let x = Tensor::ones([2, 3], &Device::cpu());
    /// assert_eq!(cell.start(&x).shape()[..], [2, 5]);
    /// ```
    RnnCell of "Rnn", 1 gates, both biases true,
    |this, inputs, hidden: Tensor| {
        (this.weights.hidden(hidden) + inputs).tanh()
    }
}
