//! A data set in memory: all inputs in one array, all targets in another.

use farad_ir::Shape;

use super::{Array, Dataset, Elements, Sample};
use crate::error::{DataError, Result};
use farad_tensor::Tensor;

/// Samples that lie in memory: row `n` of the inputs belongs to row `n` of the targets.
///
/// ```
/// use farad::data::{Dataset, TensorSet};
/// use farad::prelude::*;
/// let x = Tensor::rand([10, 3], &Device::cpu());
/// let set = TensorSet::new(&x, &x.sum_axes(kept([1])))?;
/// assert_eq!((set.len(), set.get(4)?.target.shape()[..].to_vec()), (10, vec![1]));
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSet {
    inputs: Array,
    targets: Array,
    classes: Vec<String>,
}

impl TensorSet {
    /// From tensors on any device, which are read once. `[n, ..]` and `[n, ..]`.
    pub fn new(inputs: &Tensor, targets: &Tensor) -> Result<TensorSet> {
        TensorSet::from_arrays(Array::of_tensor(inputs)?, Array::of_tensor(targets)?)
    }

    /// From arrays. `[n, ..]` and `[n, ..]`
    pub fn from_arrays(inputs: Array, targets: Array) -> Result<TensorSet> {
        let rows = |array: &Array| array.shape().first().copied();
        match (rows(&inputs), rows(&targets)) {
            (Some(a), Some(b)) if a == b => Ok(TensorSet { inputs, targets, classes: vec![] }),
            _ => Err(DataError::Unequal { inputs: inputs.shape(), targets: targets.shape() }.into()),
        }
    }

    /// Names for the classes. Targets must be integers below their number.
    pub fn with_classes<S: Into<String>>(
        mut self,
        classes: impl IntoIterator<Item = S>,
    ) -> Result<TensorSet> {
        self.classes = classes.into_iter().map(Into::into).collect();
        let count = self.classes.len();
        let Elements::I32(targets) = self.targets.elements() else {
            return Err(DataError::NotClasses { op: "classes" }.into());
        };
        match targets.iter().position(|&class| class < 0 || class as usize >= count) {
            Some(sample) => Err(DataError::Class { sample, class: targets[sample].into(), count }.into()),
            None => Ok(self),
        }
    }

    /// All inputs.
    pub fn inputs(&self) -> &Array {
        &self.inputs
    }

    /// All targets.
    pub fn targets(&self) -> &Array {
        &self.targets
    }

    /// The shape of one input.
    pub fn input_shape(&self) -> Shape {
        Shape::new(&self.inputs.shape()[1..])
    }

    /// Mean and standard deviation of the inputs along the first axis of a sample (channels of an image, columns
    /// of a table), for [`Normalize`](super::Normalize). Bytes count as numbers from 0 to 1.
    pub fn statistics(&self) -> (Vec<f32>, Vec<f32>) {
        let shape = self.input_shape();
        let channels = shape.first().copied().unwrap_or(1).max(1);
        let size = (shape.numel() / channels).max(1);
        let values = self.inputs.to_f32();
        let (mut sums, mut squares) = (vec![0f64; channels], vec![0f64; channels]);
        for (at, part) in values.chunks_exact(size).enumerate() {
            sums[at % channels] += part.iter().map(|&v| f64::from(v)).sum::<f64>();
        }
        let count = (values.len() / channels).max(1) as f64;
        let means: Vec<f64> = sums.iter().map(|sum| sum / count).collect();
        // Around the mean, so that nothing cancels.
        for (at, part) in values.chunks_exact(size).enumerate() {
            let mean = means[at % channels];
            squares[at % channels] += part.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>();
        }
        let deviations = squares.iter().map(|square| (square / count).sqrt() as f32).collect();
        (means.iter().map(|&mean| mean as f32).collect(), deviations)
    }
}

impl Dataset for TensorSet {
    fn len(&self) -> usize {
        self.inputs.shape()[0]
    }

    fn get(&self, index: usize) -> Result<Sample> {
        let len = self.len();
        if index >= len {
            return Err(DataError::NoSample { index, len }.into());
        }
        Ok(Sample { input: self.inputs.row(index), target: self.targets.row(index) })
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn class_of(&self, index: usize) -> Option<usize> {
        match self.targets.elements() {
            Elements::I32(targets) if !self.classes.is_empty() => {
                targets.get(index).and_then(|&class| usize::try_from(class).ok())
            }
            _ => None,
        }
    }
}
