//! How a batch is made on the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::DataLoader;
use crate::error::{DataError, Result};
use crate::{Array, Dataset, Random, Sample, Transform};
use farad_group::share;

/// The stream of random numbers that orders are drawn from.
const ORDER: u32 = u32::MAX;

/// One batch on the host: inputs and targets.
pub(super) type HostBatch = (Array, Array);

/// The batches of one epoch, by number.
pub(super) struct EpochWork {
    dataset: Arc<dyn Dataset>,
    transforms: Vec<Arc<dyn Transform>>,
    /// The samples in the order of this epoch; in order if none.
    order: Option<Vec<usize>>,
    batch: usize,
    /// Which rank of how many.
    part: (usize, usize),
    seed: u64,
    epoch: u64,
    /// How many batches there are.
    pub batches: usize,
    /// Nobody wants the rest.
    pub stopped: AtomicBool,
}

impl EpochWork {
    /// What a loader has to do in the epoch where it stands.
    pub fn of(loader: &DataLoader) -> Result<EpochWork> {
        let batches = loader.batches()?;
        let samples = loader.dataset.len();
        Ok(EpochWork {
            dataset: loader.dataset.clone(),
            transforms: loader.transforms.clone(),
            order: loader.seed.map(|seed| Random::at(seed, ORDER, loader.epoch).permutation(samples)),
            batch: loader.batch,
            part: loader.part,
            seed: loader.seed.unwrap_or(0),
            epoch: loader.epoch,
            batches,
            stopped: AtomicBool::new(false),
        })
    }

    /// Makes a batch. A panic of the data set or of a transform is an error as well.
    pub fn make(&self, number: usize) -> Result<HostBatch> {
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.collate(number)));
        made.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let message = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_string();
            Err(DataError::Worker { batch: number, message }.into())
        })
    }

    fn collate(&self, number: usize) -> Result<HostBatch> {
        let (start, all) = (number * self.batch, self.dataset.len());
        let len = (start + self.batch).min(all) - start;
        let (from, to) = match share(len, self.part.1, self.part.0) {
            // Too few for all ranks: one of another's, which counts nothing.
            own if own.is_empty() && len > 0 => (start + self.part.0 % len, start + self.part.0 % len + 1),
            own => (start + own.start, start + own.end),
        };
        let (mut inputs, mut targets) = (Vec::with_capacity(to - from), Vec::with_capacity(to - from));
        for place in from..to {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(DataError::NoSamples { op: "loader" }.into()); // nobody looks at it
            }
            let index = self.order.as_ref().map_or(place, |order| order[place]);
            let Sample { mut input, target } = self.dataset.get(index)?;
            let mut random = Random::at(self.seed, self.epoch as u32, index as u64);
            for transform in &self.transforms {
                input = transform.apply(input, &mut random)?;
            }
            inputs.push(input);
            targets.push(target);
        }
        Ok((Array::stack(&inputs)?.without_bytes(), Array::stack(&targets)?.without_bytes()))
    }
}
