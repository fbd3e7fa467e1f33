//! A table of learned vectors.

use super::{Layer, Module, Parameter};
use farad_tensor::Device;
use farad_tensor::Tensor;
use farad_tensor::engine::inside;
use farad_tensor::ensure;

/// Rows of a learned table at positions: `[..] -> [.., width]`. Rows start normal with variance 1, drawn from the CPU's
/// random numbers.
///
/// ```
/// use farad::prelude::*;
/// let layer = Embedding::new(10, 4).padding(0);
/// let ids = Tensor::from_vec(vec![0, 3, 9], [3], &Device::cpu());
/// let y = layer.forward(&ids);
/// assert_eq!(y.shape()[..], [3, 4]);
/// assert_eq!(y.to_vec::<f32>()?[..4], [0.0; 4]);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Embedding {
    /// `[entries, width]`
    pub weight: Parameter,
    padding: Option<usize>,
}

impl Embedding {
    /// A table of this many vectors.
    #[track_caller]
    pub fn new(entries: usize, width: usize) -> Embedding {
        let weight = Parameter::new(Tensor::randn([entries, width], &Device::cpu()));
        Embedding { weight, padding: None }
    }

    /// The row at this position starts with zeros and gets no gradient.
    ///
    /// # Panics
    /// If there is no such row.
    #[track_caller]
    pub fn padding(mut self, index: usize) -> Embedding {
        let weight = self.weight.value();
        let entries = weight.shape()[0];
        ensure!(
            index < entries,
            "embedding: padding out of range: {} ({index} vs {entries})",
            weight.shape()
        );
        let row = Tensor::arange(entries, weight.device()).equal(index as f64).unsqueeze(1);
        self.weight.set(row.select(&weight.full_like(0.0), &weight));
        self.padding = Some(index);
        self
    }
}

impl Layer for Embedding {
    #[track_caller]
    fn forward(&self, ids: &Tensor) -> Tensor {
        let _inside = inside("Embedding");
        let rows = self.weight.value().embedding(ids);
        match self.padding {
            Some(index) => ids.equal(index as f64).unsqueeze(-1).select(&rows.stop_gradient(), &rows),
            None => rows,
        }
    }
}
