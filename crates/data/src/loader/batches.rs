//! One loop over a loader: uploads batches, each before it is needed if possible.

use std::borrow::BorrowMut;

use super::DataLoader;
use super::feed::Feed;
use super::work::{EpochWork, HostBatch};
use crate::error::{Error, Result};
use farad_tensor::Device;
use farad_tensor::Tensor;

type LoadedBatch = (Tensor, Tensor);

/// The batches of an epoch, or of what is left of it: see [`DataLoader`]. An error ends it.
pub struct Batches<L: BorrowMut<DataLoader>> {
    loader: L,
    state: LoaderState,
}

enum LoaderState {
    /// Batches are being made. The next is uploaded already, if its threads were fast enough.
    Running {
        feed: Feed,
        first: usize,
        batches: usize,
        ready: Option<Result<LoadedBatch>>,
    },
    /// It could not begin.
    Failed(Error),
    Over,
}

impl<L: BorrowMut<DataLoader>> Batches<L> {
    pub(super) fn new(loader: L) -> Batches<L> {
        let state = begin(loader.borrow()).unwrap_or_else(LoaderState::Failed);
        Batches { loader, state }
    }

    /// As [`DataLoader::weight`].
    pub fn weight(&self) -> f64 {
        self.loader.borrow().weight()
    }

    /// Where the loader stands: after the batch that was given out last.
    pub fn position(&self) -> super::Position {
        self.loader.borrow().position()
    }
}

impl Batches<DataLoader> {
    /// The loader, standing after the batch that was given out last.
    pub fn into_loader(self) -> DataLoader {
        self.loader
    }
}

fn begin(loader: &DataLoader) -> Result<LoaderState> {
    let work = EpochWork::of(loader)?;
    let (first, batches) = (loader.given as usize, work.batches);
    let feed = Feed::start(work, first, loader.workers, loader.prefetch)?;
    Ok(LoaderState::Running { feed, first, batches, ready: None })
}

impl<L: BorrowMut<DataLoader>> Iterator for Batches<L> {
    type Item = Result<LoadedBatch>;

    fn next(&mut self) -> Option<Result<LoadedBatch>> {
        let loader = self.loader.borrow_mut();
        let LoaderState::Running { feed, first, batches, ready } = &mut self.state else {
            return match std::mem::replace(&mut self.state, LoaderState::Over) {
                LoaderState::Failed(error) => Some(Err(error)),
                _ => None,
            };
        };
        let batch = ready.take().unwrap_or_else(|| upload(feed.take(*first), &loader.device));
        match batch {
            Ok(batch) => {
                loader.given += 1;
                if loader.given as usize >= *batches {
                    // Now, and not when asked for one more: who counts batches need not ask.
                    (loader.epoch, loader.given) = (loader.epoch + 1, 0);
                    self.state = LoaderState::Over;
                } else {
                    // Before the step on this batch is recorded, so that nothing waits for the next one.
                    *ready = feed.take_ready(*first).map(|made| upload(made, &loader.device));
                }
                Some(Ok(batch))
            }
            Err(error) => {
                self.state = LoaderState::Over;
                Some(Err(error))
            }
        }
    }
}

fn upload(made: Result<HostBatch>, device: &Device) -> Result<LoadedBatch> {
    let (inputs, targets) = made?;
    Ok((inputs.to_tensor(device)?, targets.to_tensor(device)?))
}
