//! How good a model is on a set.

use super::{Confusion, Fit, Task};
use crate::error::Result;
use farad_data::DataLoader;
use farad_group::{Combine, Group};
use farad_tensor::DType;
use farad_tensor::Tensor;

/// How good a model is on the samples of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Samples in all.
    pub samples: usize,
    /// The mean loss.
    pub loss: f64,
    /// The share of samples that were classified right, if there are classes.
    pub accuracy: Option<f64>,
    /// Which classes were taken for which, if there are classes.
    pub confusion: Option<Confusion>,
    /// The explained variance (R²) of targets that are numbers: 1 is perfect, 0 no better than their mean.
    pub explained: Option<f64>,
    /// The class that the model saw in each sample, in the set's order; empty if there are none.
    pub predictions: Vec<usize>,
    /// The class of each sample, in the same order.
    pub labels: Vec<usize>,
    /// How sure the model was of what it saw, from 0 to 1, in the same order.
    pub confidences: Vec<f32>,
    /// How likely the model found every class, sample by sample; empty if there are no classes, or very many.
    pub probabilities: Vec<f32>,
    /// The numbers that the model said, where targets are numbers, in the set's order.
    pub said: Vec<f32>,
    /// The targets, in the same order.
    pub wanted: Vec<f32>,
    /// What who knows nothing of the inputs would reach, if that is known.
    pub baseline: Option<Baseline>,
}

/// What who knows nothing of the inputs would reach.
#[derive(Clone, Debug, PartialEq)]
pub enum Baseline {
    /// Always the same class.
    Class {
        /// Its name: the most frequent of training.
        name: String,
        /// The share of samples that it is right for.
        accuracy: f64,
    },
    /// Always the same number.
    Number {
        /// The mean of training.
        value: f64,
        /// The root of the mean square of its errors.
        root: f64,
        /// The mean of its errors, without their signs.
        mean: f64,
    },
}

/// Classes whose probabilities are kept, at most.
const MOST_CLASSES: usize = 64;

/// Errors without their signs: the root of the mean of their squares, and their mean.
fn errors(pairs: impl Iterator<Item = (f64, f64)>) -> [f64; 2] {
    let (mut count, mut squares, mut sizes) = (0.0, 0.0, 0.0);
    for (said, wanted) in pairs {
        count += 1.0;
        squares += (said - wanted).powi(2);
        sizes += (said - wanted).abs();
    }
    let count = f64::max(count, 1.0);
    [(squares / count).sqrt(), sizes / count]
}

/// The area under the curve of hits over false alarms: how likely a sample of a class has more of something than one that is
/// not of it. Equals count half. None if all samples are of the class, or none is.
fn area_under_curve(mut samples: Vec<(f32, bool)>) -> Option<f64> {
    samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    let own = samples.iter().filter(|sample| sample.1).count() as f64;
    let others = samples.len() as f64 - own;
    let mut ranks = 0.0;
    let mut from = 0;
    while from < samples.len() {
        let same = samples[from..].iter().take_while(|sample| sample.0 == samples[from].0).count();
        let rank = from as f64 + (same as f64 + 1.0) / 2.0;
        ranks += rank * samples[from..from + same].iter().filter(|sample| sample.1).count() as f64;
        from += same;
    }
    (own > 0.0 && others > 0.0).then(|| (ranks - own * (own + 1.0) / 2.0) / (own * others))
}

impl Score {
    /// The accuracy or the explained variance: what is called good.
    pub fn goodness(&self) -> f64 {
        self.accuracy.or(self.explained).unwrap_or(f64::NAN)
    }

    /// The area under the receiver operating characteristic, the mean over the classes, each against all others; none if
    /// a class is missing or probabilities are not known.
    pub fn auc(&self) -> Option<f64> {
        let classes = self.confusion.as_ref()?.classes();
        if self.probabilities.len() != self.labels.len() * classes || classes < 2 {
            return None;
        }
        let of = |class: usize| {
            let rows = self.probabilities.chunks(classes).zip(&self.labels);
            area_under_curve(rows.map(|(row, &label)| (row[class], label == class)).collect())
        };
        // Of two classes, one says all.
        let chosen = if classes == 2 { 1..2 } else { 0..classes };
        let areas = chosen.map(of).collect::<Option<Vec<f64>>>()?;
        Some(areas.iter().sum::<f64>() / areas.len() as f64)
    }

    /// The mean of the errors without their signs, where targets are numbers.
    pub fn mean_error(&self) -> Option<f64> {
        let pairs = self.said.iter().zip(&self.wanted).map(|(&said, &wanted)| (said.into(), wanted.into()));
        (!self.said.is_empty()).then(|| errors(pairs)[1])
    }

    /// Brings targets that were learned with mean 0 and deviation 1 back into their own unit, and with them the loss.
    pub(super) fn in_units(&mut self, mean: f64, deviation: f64) {
        self.loss *= deviation.powi(2);
        for value in self.said.iter_mut().chain(&mut self.wanted) {
            *value = (f64::from(*value) * deviation + mean) as f32;
        }
    }

    /// What always saying this number would reach.
    pub(super) fn of_constant(&self, value: f64) -> Baseline {
        let [root, mean] = errors(self.wanted.iter().map(|&wanted| (value, wanted.into())));
        Baseline::Number { value, root, mean }
    }

    /// Goes through one epoch of a loader that does not shuffle.
    pub(super) fn of(fit: &Fit, loader: &mut DataLoader, group: &Group) -> Result<Score> {
        let classes = loader.dataset().classes().len();
        let mut sums = ScoreSums { confusion: Confusion::new(classes.max(1)), ..ScoreSums::default() };
        let mut batches = loader.into_iter();
        while let Some(batch) = batches.next() {
            let (x, y) = batch?;
            // A sample of another rank, where there are too few.
            if batches.weight() == 0.0 {
                continue;
            }
            let said = fit.predict(&x);
            let loss = fit.task().loss(&said, &y);
            match fit.task() {
                Task::Classify => sums.classes(&said, &y)?,
                Task::Regress => sums.numbers(&said, &y)?,
            }
            sums.samples += y.shape()[0];
            sums.loss += f64::from(loss.item()?) * y.shape()[0] as f64;
        }
        sums.reduce(group)?;
        Ok(sums.score(fit.task()))
    }
}

/// What is added up over batches.
#[derive(Default)]
struct ScoreSums {
    samples: usize,
    loss: f64,
    confusion: Confusion,
    predictions: Vec<usize>,
    labels: Vec<usize>,
    confidences: Vec<f32>,
    probabilities: Vec<f32>,
    said: Vec<f32>,
    wanted: Vec<f32>,
    targets: usize,
    total: f64,
    squares: f64,
}

impl ScoreSums {
    fn classes(&mut self, said: &Tensor, y: &Tensor) -> Result<()> {
        let (classes, likely) = (said.argmax(1), said.cast(DType::F32).softmax(1));
        let sure = likely.max_axes([1]);
        Tensor::compute_all(&[&classes, &sure, &likely])?;
        if self.confusion.classes() <= MOST_CLASSES {
            self.probabilities.extend(likely.to_vec::<f32>()?);
        }
        self.confidences.extend(sure.to_vec::<f32>()?);
        let wanted = y.to_vec::<i32>()?;
        for (class, wanted) in classes.to_vec::<i32>()?.into_iter().zip(wanted) {
            let place = self.predictions.len();
            let outside = |class: i32| farad_data::DataError::Class {
                sample: place,
                class: class.into(),
                count: self.confusion.classes(),
            };
            let known = |class: i32| usize::try_from(class).ok().filter(|&n| n < self.confusion.classes());
            let (seen, actual) =
                (known(class).ok_or_else(|| outside(class))?, known(wanted).ok_or_else(|| outside(wanted))?);
            self.confusion.add(actual, seen);
            self.predictions.push(seen);
            self.labels.push(actual);
        }
        Ok(())
    }

    fn numbers(&mut self, said: &Tensor, y: &Tensor) -> Result<()> {
        let wanted = y.to_vec::<f32>()?;
        self.said.extend(said.cast(DType::F32).to_vec::<f32>()?);
        self.wanted.extend(&wanted);
        for value in wanted {
            self.targets += 1;
            self.total += f64::from(value);
            self.squares += f64::from(value).powi(2);
        }
        Ok(())
    }

    /// Adds up what all ranks have, except what is known of single samples.
    fn reduce(&mut self, group: &Group) -> Result<()> {
        if group.is_alone() {
            return Ok(());
        }
        let mut sums = vec![self.samples as f64, self.loss, self.targets as f64, self.total, self.squares];
        sums.extend(self.confusion.counts().iter().map(|&count| count as f64));
        group.all_reduce(&mut sums, Combine::Sum)?;
        (self.samples, self.loss, self.targets) = (sums[0] as usize, sums[1], sums[2] as usize);
        (self.total, self.squares) = (sums[3], sums[4]);
        self.confusion.set_counts(sums[5..].iter().map(|&count| count as u64));
        Ok(())
    }

    fn score(self, task: Task) -> Score {
        let loss = self.loss / self.samples.max(1) as f64;
        let classify = task == Task::Classify;
        let count = self.targets.max(1) as f64;
        let variance = self.squares / count - (self.total / count).powi(2);
        Score {
            samples: self.samples,
            loss,
            accuracy: classify.then(|| self.confusion.accuracy()),
            explained: (!classify && variance > 0.0).then(|| 1.0 - loss / variance),
            confusion: classify.then_some(self.confusion),
            predictions: self.predictions,
            labels: self.labels,
            confidences: self.confidences,
            probabilities: self.probabilities,
            said: self.said,
            wanted: self.wanted,
            baseline: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_under_curves_are_those_of_pairs() {
        assert_eq!(area_under_curve(vec![(0.1, false), (0.9, true)]), Some(1.0));
        assert_eq!(area_under_curve(vec![(0.9, false), (0.1, true)]), Some(0.0));
        assert_eq!(area_under_curve(vec![(0.5, false), (0.5, true), (0.5, false)]), Some(0.5));
        assert_eq!(area_under_curve(vec![(0.5, true)]), None);
        // Any list: the share of pairs in which the sample of the class has more.
        let samples: Vec<(f32, bool)> =
            (0u32..60).map(|n| ((n * 37 % 23) as f32, (n * 17 % 7) < 3)).collect();
        let (mut right, mut all) = (0.0, 0.0);
        for own in samples.iter().filter(|sample| sample.1) {
            for other in samples.iter().filter(|sample| !sample.1) {
                all += 1.0;
                right += if own.0 > other.0 {
                    1.0
                } else if own.0 == other.0 {
                    0.5
                } else {
                    0.0
                };
            }
        }
        assert!((area_under_curve(samples).unwrap() - right / all).abs() < 1e-12);
    }

    #[test]
    fn errors_are_in_the_unit_of_the_target() {
        let sums = ScoreSums { said: vec![0.0, 1.0], wanted: vec![1.0, 1.0], ..ScoreSums::default() };
        let mut score = sums.score(Task::Regress);
        score.loss = 0.5;
        score.in_units(10.0, 2.0);
        assert_eq!((score.said.clone(), score.wanted.clone()), (vec![10.0, 12.0], vec![12.0, 12.0]));
        assert_eq!((score.loss, score.mean_error()), (2.0, Some(1.0)));
        assert_eq!(score.of_constant(10.0), Baseline::Number { value: 10.0, root: 2.0, mean: 2.0 });
    }
}
