//! The seeds of a run, spread over the ranks that train together.
//!
//! Seeds know nothing of each other: each has random numbers of its own. So a rank trains its share of them, and what is
//! judged or stored is put side by side.
//!
//! Invariant: a seed learns the same on any number of ranks.

use std::ops::Range;

use farad::group::{Group, share};
use farad::{Device, Tensor};
use farad_circuit::Gate;

use super::AutomatonTrainer;
use crate::error::Result;

/// The moments of an optimizer; the rest of its state is the same for all seeds.
const MOMENT: &str = "moment.";

/// Which seeds this rank has.
pub(super) struct SeedsOfRanks {
    group: Group,
    own: Range<usize>,
    seeds: usize,
    /// What the next checkpoint gets, once it was gathered.
    gathered: Option<LearnedState>,
}

/// Logits and the optimizer's state of all seeds.
type LearnedState = (Tensor, Vec<(String, Tensor)>);

impl SeedsOfRanks {
    pub fn new(seeds: usize, group: &Group) -> SeedsOfRanks {
        let own = share(seeds, group.size(), group.rank());
        SeedsOfRanks { group: group.clone(), own, seeds, gathered: None }
    }

    pub fn group(&self) -> &Group {
        &self.group
    }

    pub fn is_alone(&self) -> bool {
        self.group.is_alone()
    }

    /// Gates of all seeds, those of other ranks' seeds standing in until they are known.
    pub fn begun(&self, own: Vec<Vec<Gate>>) -> Vec<Vec<Gate>> {
        (0..self.seeds)
            .map(|seed| own[seed.saturating_sub(self.own.start).min(own.len() - 1)].clone())
            .collect()
    }

    /// Numbers of all seeds, from those of this rank's.
    pub fn numbers(&self, own: &[f32]) -> Result<Vec<f32>> {
        Ok(self.group.all_gather(own)?.concat())
    }

    /// Gates of all seeds.
    pub fn gates(&self, own: Vec<Vec<Gate>>) -> Result<Vec<Vec<Gate>>> {
        let each = own[0].len();
        let numbers: Vec<u8> = own.iter().flatten().map(|gate| gate.number()).collect();
        let all = self.group.all_gather(&numbers)?.concat();
        let gates: Vec<Gate> = all.into_iter().map(|number| Gate::ALL[usize::from(number)]).collect();
        Ok(gates.chunks_exact(each).map(<[Gate]>::to_vec).collect())
    }

    /// Puts what all ranks have learned side by side, for [`SeedsOfRanks::whole`]. All ranks call it.
    pub fn gather(&mut self, trainer: &AutomatonTrainer) -> Result<()> {
        if self.is_alone() {
            return Ok(());
        }
        let logits = self.all(&trainer.logits())?;
        let mut state = trainer.optimizer().state()?;
        for (_, moment) in state.iter_mut().filter(|(name, _)| name.starts_with(MOMENT)) {
            *moment = self.all(moment)?;
        }
        self.gathered = Some((logits, state));
        Ok(())
    }

    /// What a checkpoint stores.
    pub fn whole(&self, trainer: &AutomatonTrainer) -> Result<LearnedState> {
        match &self.gathered {
            Some(gathered) => Ok(gathered.clone()),
            None => Ok((trainer.logits(), trainer.optimizer().state()?)),
        }
    }

    /// A tensor `[seeds, ..]` of all seeds, from that of this rank's.
    fn all(&self, own: &Tensor) -> Result<Tensor> {
        let all = self.numbers(&own.to_vec::<f32>()?)?;
        let mut shape = own.shape().to_vec();
        shape[0] = self.seeds;
        Ok(Tensor::try_from_vec(&all, shape, &Device::cpu())?)
    }

    /// This rank's part of a tensor of all seeds.
    pub fn own(&self, all: &Tensor) -> Result<Tensor> {
        match self.is_alone() {
            true => Ok(all.clone()),
            false => Ok(all.narrow(0, self.own.start, self.own.len()).detach()?),
        }
    }

    /// This rank's part of an optimizer's state.
    pub fn own_state(&self, mut state: Vec<(String, Tensor)>) -> Result<Vec<(String, Tensor)>> {
        for (_, moment) in state.iter_mut().filter(|(name, _)| name.starts_with(MOMENT)) {
            *moment = self.own(moment)?;
        }
        Ok(state)
    }
}
