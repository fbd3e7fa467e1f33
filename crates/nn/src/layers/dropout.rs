//! Dropout: features left out at random while training.

use super::{Layer, Mode, Module};
use farad_tensor::engine::inside;
use farad_tensor::ensure;
use farad_tensor::{Tensor, engine::check_probability};

/// Elements zeroed with a probability while training, the others scaled up to keep the mean; nothing in use. The shape
/// stays. Draws come from the random numbers of the tensor's device ([`Device::seed`](farad_tensor::Device::seed)).
///
/// ```
/// use farad::prelude::*;
/// let layer = Dropout::new(0.5);
/// let x = Tensor::ones([100], &Device::cpu());
/// assert!(layer.forward(&x).to_vec::<f32>()?.iter().all(|&y| y == 0.0 || y == 2.0));
/// layer.eval();
/// assert_eq!(layer.forward(&x).to_vec::<f32>()?, [1.0; 100]);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Dropout {
    probability: f64,
    whole_channels: bool,
    mode: Mode,
}

impl Dropout {
    /// Elements are zeroed with this probability.
    ///
    /// # Panics
    /// If it is not a probability.
    #[track_caller]
    pub fn new(probability: f64) -> Dropout {
        check_probability("dropout", probability);
        Dropout { probability, whole_channels: false, mode: Mode::new() }
    }

    /// Whole channels of `[batch, channels, ..]` are zeroed instead of single elements.
    pub fn whole_channels(mut self) -> Dropout {
        self.whole_channels = true;
        self
    }
}

impl Layer for Dropout {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("Dropout");
        if !self.mode.is_training() || self.probability == 0.0 {
            return x.clone();
        }
        if !self.whole_channels {
            return x.dropout(self.probability);
        }
        let shape = x.shape();
        ensure!(shape.rank() >= 2, "dropout: rank too low: {shape} ({} vs at least 2)", shape.rank());
        let sizes: Vec<usize> = shape[..2].iter().copied().chain(vec![1; shape.rank() - 2]).collect();
        x.drop_by(self.probability, sizes.into())
    }
}
