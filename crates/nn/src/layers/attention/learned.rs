//! Places as learned rows.

use crate::layers::{Layer, Module, Parameter};
use farad_tensor::Device;
use farad_tensor::Tensor;
use farad_tensor::engine::inside;

/// Adds to every row of a sequence a learned row for its place: `[.., time, width] -> [.., time, width]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::LearnedPositions;
/// let positions = LearnedPositions::new(8, 4);
/// let y = positions.forward(&Tensor::zeros([2, 3, 4], &Device::cpu()));
/// assert_eq!(y.slice(1).to_vec::<f32>()?, positions.weight.value().narrow(0, 0, 3).to_vec::<f32>()?);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct LearnedPositions {
    /// `[places, width]`
    pub weight: Parameter,
}

impl LearnedPositions {
    /// For sequences of at most `places` rows. Rows start normal with variance 1, as embeddings do.
    #[track_caller]
    pub fn new(places: usize, width: usize) -> LearnedPositions {
        LearnedPositions { weight: Parameter::new(Tensor::randn([places, width], &Device::cpu())) }
    }

    /// As [`Layer::forward`], with the first row at place `offset`. Panics beyond the last place.
    #[track_caller]
    pub fn forward_from(&self, x: &Tensor, offset: usize) -> Tensor {
        x + self.weight.value().narrow(0, offset, x.size(-2))
    }
}

impl Layer for LearnedPositions {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _inside = inside("LearnedPositions");
        self.forward_from(x, 0)
    }
}
