//! Predictions in batches: what waits together is computed together.
//!
//! Batches are filled up to powers of two, so that there are few plans to compile. Invariant: every request gets its own
//! predictions in its own order, also when another one of its batch fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use farad::train::{Prediction, Predictor};
use farad::{Device, Tensor};
use tokio::sync::{mpsc, oneshot};

use crate::error::Result;
use crate::limits::ServeLimits;

/// Samples of one request. Each has as many numbers as the model's inputs say.
pub struct SamplesJob {
    /// The samples.
    pub samples: Vec<Vec<f32>>,
    /// Where the predictions go.
    pub reply: oneshot::Sender<std::result::Result<Vec<Prediction>, String>>,
}

/// Computes every size of batch once, so that no request waits for a plan.
pub fn warm(model: &dyn Predictor, limits: ServeLimits) -> Result<()> {
    let sample = vec![0.0; model.signature().inputs.shape().numel()];
    let mut size = 1;
    while size <= limits.batch.next_power_of_two() {
        together(model, &vec![&sample[..]; size])?;
        size *= 2;
    }
    Ok(())
}

/// Answers until nobody can ask any more.
pub fn work(model: &dyn Predictor, mut jobs: mpsc::Receiver<SamplesJob>, limits: ServeLimits) {
    while let Some(first) = jobs.blocking_recv() {
        let mut count = first.samples.len();
        let mut batch = vec![first];
        while count < limits.batch {
            let Ok(job) = jobs.try_recv() else { break };
            count += job.samples.len();
            batch.push(job);
        }
        // Who has gone needs no answer.
        batch.retain(|job| !job.reply.is_closed());
        answer(model, batch, limits);
    }
}

/// Answers requests as one batch; if that fails, one by one.
fn answer(model: &dyn Predictor, jobs: Vec<SamplesJob>, limits: ServeLimits) {
    let rows: Vec<&[f32]> = jobs.iter().flat_map(|job| &job.samples).map(Vec::as_slice).collect();
    let said = predicted(model, &rows, limits);
    tracing::debug!(requests = jobs.len(), samples = rows.len(), "a batch");
    match said {
        Ok(said) => {
            let mut said = said.into_iter();
            for job in jobs {
                let own = said.by_ref().take(job.samples.len()).collect();
                let _ = job.reply.send(Ok(own));
            }
        }
        Err(why) if jobs.len() == 1 => {
            jobs.into_iter().for_each(|job| drop(job.reply.send(Err(why.clone()))));
        }
        Err(_) => jobs.into_iter().for_each(|job| answer(model, vec![job], limits)),
    }
}

/// Predictions of any number of samples. A panic is an error of this batch, and the server goes on.
fn predicted(
    model: &dyn Predictor,
    rows: &[&[f32]],
    limits: ServeLimits,
) -> std::result::Result<Vec<Prediction>, String> {
    let all =
        || rows.chunks(limits.batch.max(1)).map(|part| together(model, part)).collect::<Result<Vec<_>>>();
    match catch_unwind(AssertUnwindSafe(all)) {
        Ok(Ok(parts)) => Ok(parts.concat()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("serve: the model panicked".into()),
    }
}

/// Predictions of a batch, with as many copies of the last sample as make a power of two.
fn together(model: &dyn Predictor, rows: &[&[f32]]) -> Result<Vec<Prediction>> {
    let Some(last) = rows.last() else { return Ok(vec![]) };
    let size = rows.len().next_power_of_two();
    let filled = rows.iter().chain(std::iter::repeat_n(last, size - rows.len()));
    let values: Vec<f32> = filled.flat_map(|row| row.iter().copied()).collect();
    let shape: Vec<usize> =
        std::iter::once(size).chain(model.signature().inputs.shape().iter().copied()).collect();
    let mut said = model.predict(&Tensor::try_from_vec(&values, shape.as_slice(), &Device::cpu())?)?;
    said.truncate(rows.len());
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad::train::{Inputs, Outputs, Signature};
    use std::cell::RefCell;

    /// Says the sum of a row; fails for a negative one.
    struct Sums {
        signature: Signature,
        sizes: RefCell<Vec<usize>>,
    }

    impl Predictor for Sums {
        fn signature(&self) -> &Signature {
            &self.signature
        }

        fn predict(&self, samples: &Tensor) -> farad::Result<Vec<Prediction>> {
            self.sizes.borrow_mut().push(samples.shape()[0]);
            let rows = samples.to_vec::<f32>()?;
            assert!(rows.iter().all(|&value| value >= 0.0), "a negative number");
            Ok(rows.chunks(2).map(|row| Prediction::Numbers(vec![f64::from(row[0] + row[1])])).collect())
        }
    }

    fn sums() -> Sums {
        let signature = Signature {
            inputs: Inputs::Array { shape: vec![2] },
            outputs: Outputs::Numbers(vec!["sum".into()]),
        };
        Sums { signature, sizes: RefCell::default() }
    }

    fn job(
        rows: &[[f32; 2]],
    ) -> (SamplesJob, oneshot::Receiver<std::result::Result<Vec<Prediction>, String>>) {
        let (reply, answer) = oneshot::channel();
        (SamplesJob { samples: rows.iter().map(|row| row.to_vec()).collect(), reply }, answer)
    }

    fn numbers(said: Vec<Prediction>) -> Vec<f64> {
        said.into_iter()
            .map(|said| match said {
                Prediction::Numbers(numbers) => numbers[0],
                Prediction::Class { .. } => f64::NAN,
            })
            .collect()
    }

    #[test]
    fn what_waits_together_is_computed_together_and_comes_apart_again() {
        let model = sums();
        let (queue, jobs) = mpsc::channel(8);
        let mut answers = vec![];
        for rows in [&[[1.0, 2.0]][..], &[[3.0, 4.0], [5.0, 6.0]], &[[7.0, 8.0]], &[]] {
            let (job, answer) = job(rows);
            assert!(queue.try_send(job).is_ok());
            answers.push(answer);
        }
        drop(queue);
        work(&model, jobs, ServeLimits::default());
        let said: Vec<Vec<f64>> =
            answers.into_iter().map(|answer| numbers(answer.blocking_recv().unwrap().unwrap())).collect();
        assert_eq!(said, [vec![3.0], vec![7.0, 11.0], vec![15.0], vec![]]);
        assert_eq!(*model.sizes.borrow(), [4], "one batch of a power of two");
    }

    #[test]
    fn a_request_that_fails_takes_no_other_along() {
        let model = sums();
        let (good, answered) = job(&[[1.0, 1.0]]);
        let (bad, failed) = job(&[[-1.0, 1.0]]);
        answer(&model, vec![good, bad], ServeLimits::default());
        assert_eq!(numbers(answered.blocking_recv().unwrap().unwrap()), [2.0]);
        assert!(failed.blocking_recv().unwrap().unwrap_err().contains("panicked"));
    }

    #[test]
    fn many_samples_come_in_several_batches() {
        let (model, limits) = (sums(), ServeLimits { batch: 4, ..ServeLimits::default() });
        let rows: Vec<[f32; 2]> = (0..9).map(|n| [n as f32, 0.0]).collect();
        let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..]).collect();
        let said = numbers(predicted(&model, &rows, limits).unwrap());
        assert_eq!(said, (0..9).map(f64::from).collect::<Vec<_>>());
        assert_eq!(*model.sizes.borrow(), [4, 4, 1]);
    }
}
