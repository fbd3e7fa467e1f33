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
}

impl Score {
    /// The accuracy or the explained variance: what is called good.
    pub fn goodness(&self) -> f64 {
        self.accuracy.or(self.explained).unwrap_or(f64::NAN)
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
                Task::Regress => sums.numbers(&y)?,
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
    targets: usize,
    total: f64,
    squares: f64,
}

impl ScoreSums {
    fn classes(&mut self, said: &Tensor, y: &Tensor) -> Result<()> {
        let (classes, sure) = (said.argmax(1), said.cast(DType::F32).softmax(1).max_axes([1]));
        Tensor::compute_all(&[&classes, &sure])?;
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

    fn numbers(&mut self, y: &Tensor) -> Result<()> {
        for value in y.to_vec::<f32>()? {
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
        }
    }
}
