//! Some of the samples of another set.

use std::sync::Arc;

use super::{Dataset, Random, Sample};
use crate::error::{DataError, Result};

/// The samples of a set with these numbers, in this order.
///
/// ```
/// use farad::data::{Dataset, Subset, digits};
/// let few = Subset::new(digits(20, 1), vec![3, 5]);
/// assert_eq!(few.len(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Subset<D> {
    dataset: D,
    indices: Vec<usize>,
}

impl<D: Dataset> Subset<D> {
    /// These samples of a set.
    pub fn new(dataset: D, indices: Vec<usize>) -> Subset<D> {
        Subset { dataset, indices }
    }
}

impl<D: Dataset> Dataset for Subset<D> {
    fn len(&self) -> usize {
        self.indices.len()
    }

    fn get(&self, index: usize) -> Result<Sample> {
        match self.indices.get(index) {
            Some(&inner) => self.dataset.get(inner),
            None => Err(DataError::NoSample { index, len: self.len() }.into()),
        }
    }

    fn classes(&self) -> &[String] {
        self.dataset.classes()
    }
}

/// The stream of random numbers that splits are drawn from.
const SPLIT: u32 = u32::MAX - 1;

/// Two sets without a sample in common: the first has this share of them, chosen by a seed.
///
/// ```
/// use farad::data::{Dataset, digits, split};
/// let (train, validation) = split(digits(100, 1), 0.9, 7);
/// assert_eq!((train.len(), validation.len()), (90, 10));
/// ```
pub fn split<D: Dataset>(dataset: D, share: f64, seed: u64) -> (Subset<Arc<D>>, Subset<Arc<D>>) {
    let mut first = Random::at(seed, SPLIT, 0).permutation(dataset.len());
    let kept = (share.clamp(0.0, 1.0) * dataset.len() as f64).round() as usize;
    let second = first.split_off(kept);
    let dataset = Arc::new(dataset);
    (Subset::new(dataset.clone(), first), Subset::new(dataset, second))
}
