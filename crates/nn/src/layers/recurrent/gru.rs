//! Gated recurrent units.

use super::cell::cell;
use farad_tensor::Tensor;

cell! {
    /// One position of a GRU. With `a = x · weight_ihᵀ + bias_ih` and `b = h · weight_hhᵀ + bias_hh`, each of three
    /// parts: `r = σ(a₀ + b₀)`, `z = σ(a₁ + b₁)`, `n = tanh(a₂ + r · b₂)` and `h' = (1 - z) · n + z · h`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let cell = GruCell::new(3, 5);
    /// let x = Tensor::ones([2, 3], &Device::cpu());
    /// let hidden = cell.forward(&x, &cell.start(&x));
    /// assert_eq!(hidden.shape()[..], [2, 5]);
    /// ```
    GruCell of "Gru", 3 gates, both biases false,
    |this, inputs, hidden: Tensor| {
        let product = this.weights.hidden(hidden);
        let gates = match &this.weights.bias_hh {
            Some(bias) => product + bias.value(),
            None => product,
        };
        let size = gates.shape()[1] / 3;
        let part = |of: &Tensor, n: usize| of.narrow(1, n * size, size);
        let reset = (part(inputs, 0) + part(&gates, 0)).sigmoid();
        let update = (part(inputs, 1) + part(&gates, 1)).sigmoid();
        let new = (part(inputs, 2) + reset * part(&gates, 2)).tanh();
        &new + update * (hidden - &new)
    }
}
