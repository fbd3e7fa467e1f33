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

    fn class_of(&self, index: usize) -> Option<usize> {
        self.indices.get(index).and_then(|&inner| self.dataset.class_of(inner))
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

/// As [`split`], but with the same share of every class in both, as near as whole samples allow. Without known classes it
/// is [`split`].
///
/// ```
/// use farad::data::{Dataset, digits, split_by_class};
/// let (train, validation) = split_by_class(digits(200, 1), 0.75, 7);
/// let of = |set: &dyn Dataset, class| (0..set.len()).filter(|&n| set.class_of(n) == Some(class)).count();
/// assert_eq!((train.len(), validation.len()), (150, 50));
/// for class in 0..10 {
///     assert!(of(&train, class).abs_diff(3 * of(&validation, class)) <= 4);
/// }
/// ```
pub fn split_by_class<D: Dataset>(dataset: D, share: f64, seed: u64) -> (Subset<Arc<D>>, Subset<Arc<D>>) {
    let order = Random::at(seed, SPLIT, 0).permutation(dataset.len());
    let (first, second) = shares_by_class(order, share, |index| dataset.class_of(index));
    let dataset = Arc::new(dataset);
    (Subset::new(dataset.clone(), first), Subset::new(dataset, second))
}

/// Numbers of samples in two parts: the first has this share of every class, as near as whole samples allow, and this share of
/// all. Both keep the order. If the class of one sample is not known, classes do not count.
pub fn shares_by_class(
    order: Vec<usize>,
    share: f64,
    class_of: impl Fn(usize) -> Option<usize>,
) -> (Vec<usize>, Vec<usize>) {
    let share = share.clamp(0.0, 1.0);
    let kept = (share * order.len() as f64).round() as usize;
    let classes: Option<Vec<usize>> = order.iter().map(|&index| class_of(index)).collect();
    let Some(classes) = classes else {
        let mut first = order;
        let second = first.split_off(kept);
        return (first, second);
    };
    let mut left = quotas(&classes, share, kept);
    let (mut first, mut second) = (vec![], vec![]);
    for (index, class) in order.into_iter().zip(classes) {
        match left[class] {
            0 => second.push(index),
            _ => {
                left[class] -= 1;
                first.push(index);
            }
        }
    }
    (first, second)
}

/// Samples of every class that are kept, `kept` in all: whole parts first, then the largest rests.
fn quotas(classes: &[usize], share: f64, kept: usize) -> Vec<usize> {
    let mut counts = vec![0usize; classes.iter().max().map_or(0, |most| most + 1)];
    classes.iter().for_each(|&class| counts[class] += 1);
    let wanted: Vec<f64> = counts.iter().map(|&count| count as f64 * share).collect();
    let mut quotas: Vec<usize> = wanted.iter().map(|&wanted| wanted as usize).collect();
    let mut by_rest: Vec<usize> = (0..counts.len()).collect();
    by_rest.sort_by(|&a, &b| (wanted[b].fract()).total_cmp(&wanted[a].fract()).then(a.cmp(&b)));
    let mut missing = kept.saturating_sub(quotas.iter().sum());
    for class in by_rest {
        if missing > 0 && quotas[class] < counts[class] {
            quotas[class] += 1;
            missing -= 1;
        }
    }
    quotas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_classes_are_in_both_parts() {
        // 90 of one class, 10 of another, in any order.
        let order: Vec<usize> = (0..100).map(|n| (n * 37) % 100).collect();
        let class_of = |n: usize| Some(usize::from(n % 10 == 3));
        for percent in [50, 70, 80, 85, 90] {
            let (first, second) = shares_by_class(order.clone(), percent as f64 / 100.0, class_of);
            let rare = |part: &[usize]| part.iter().filter(|&&n| class_of(n) == Some(1)).count();
            assert_eq!((first.len(), second.len()), (percent, 100 - percent));
            assert!((rare(&first) as f64 - percent as f64 / 10.0).abs() < 1.0, "{percent}: {}", rare(&first));
            assert_eq!(rare(&first) + rare(&second), 10);
            let mut all = [first, second].concat();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn without_classes_the_order_alone_counts() {
        let (first, second) = shares_by_class(vec![3, 1, 2, 0], 0.5, |n| (n != 2).then_some(0));
        assert_eq!((first, second), (vec![3, 1], vec![2, 0]));
        assert_eq!(shares_by_class(vec![], 0.5, |_| Some(0)), (vec![], vec![]));
    }
}
