//! Worlds and policies spread over the ranks that train together.
//!
//! A rank steps its share of the worlds, with the random numbers that these worlds have on one rank: numbers are drawn for all
//! worlds, and the rank takes its part. What was collected is put together again, so all ranks go on with the same
//! numbers.
//!
//! Invariant: results are those of one rank with all worlds, up to the rounding of sums over ranks. Start at [`WorldShare`].

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use farad::group::{Group, share};
use farad::run::{Picture, counted};
use farad::{Device, Result, Tensor, TrainError};

use crate::environment::{Actions, Environment, Transition};

/// Which worlds a rank has, where every one of some agents has so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldShare {
    /// How many agents, or groups of worlds, there are.
    agents: usize,
    /// Worlds of each on all ranks.
    worlds: usize,
    /// The first one here.
    from: usize,
    /// How many are here.
    own: usize,
}

impl WorldShare {
    /// The share of a rank, if there are several. Fails if there are more ranks than worlds.
    pub fn of(group: &Group, agents: usize, worlds: usize) -> Result<Option<WorldShare>> {
        if group.is_alone() {
            return Ok(None);
        }
        if worlds < group.size() {
            let (what, ranks) = ("worlds or policies", group.size());
            return Err(TrainError::FewForRanks { what, count: worlds, ranks }.into());
        }
        Ok(Some(WorldShare::at(agents, worlds, group.size(), group.rank())))
    }

    fn at(agents: usize, worlds: usize, size: usize, rank: usize) -> WorldShare {
        let own = share(worlds, size, rank);
        WorldShare { agents, worlds, from: own.start, own: own.len() }
    }

    /// The same of `times` worlds in the place of each.
    pub fn times(&self, times: usize) -> WorldShare {
        let WorldShare { agents, worlds, from, own } = *self;
        WorldShare { agents, worlds: worlds * times, from: from * times, own: own * times }
    }

    /// Of a tensor whose first axis is all worlds, agent by agent, those that are here.
    pub fn take(&self, all: &Tensor) -> Tensor {
        let rest = &all.shape()[1..];
        let cut = all.reshape([&[self.agents, self.worlds], rest].concat()).narrow(1, self.from, self.own);
        cut.reshape([&[self.agents * self.own], rest].concat())
    }

    /// How many worlds there are on all ranks.
    pub fn all_worlds(&self) -> usize {
        self.agents * self.worlds
    }

    /// The shape of a tensor `[agents, worlds, ..]` of all worlds, by that of those that are here.
    pub fn whole(&self, own: &[usize]) -> Vec<usize> {
        [&own[..1], &[self.worlds], &own[2..]].concat()
    }

    /// Of a tensor `[agents, worlds, ..]`, the worlds that are here.
    pub fn narrow(&self, all: &Tensor) -> Tensor {
        all.narrow(1, self.from, self.own)
    }

    /// Tensors `[time, worlds, ..]` of all worlds from those of all ranks, in one message.
    pub fn all(&self, group: &Group, own: &[&Tensor]) -> Result<Vec<Tensor>> {
        Tensor::compute_all(own)?;
        let numbers = own.iter().map(|t| t.to_vec::<f32>()).collect::<Result<Vec<_>>>()?;
        let numbers = numbers.concat();
        let found = match own.first() {
            Some(first) => first.device().waiting_for_others(|| group.all_gather(&numbers))?,
            None => return Ok(vec![]),
        };
        let mut at = vec![0; found.len()];
        let mut all = Vec::with_capacity(own.len());
        for tensor in own {
            let (time, width) =
                (tensor.shape()[0], tensor.numel() / (tensor.shape()[0] * self.agents * self.own));
            let each = self.worlds * width;
            let mut whole = vec![0.0; time * self.agents * each];
            for (rank, numbers) in found.iter().enumerate() {
                let part = WorldShare::at(self.agents, self.worlds, group.size(), rank);
                for row in 0..time * self.agents {
                    let to = row * each + part.from * width;
                    whole[to..][..part.own * width].copy_from_slice(&numbers[at[rank]..][..part.own * width]);
                    at[rank] += part.own * width;
                }
            }
            let mut shape = tensor.shape().to_vec();
            shape[1] = self.agents * self.worlds;
            all.push(Tensor::try_from_vec(&whole, shape, tensor.device())?);
        }
        Ok(all)
    }
}

/// A rank's share of the worlds of an environment: they begin as they do among all.
pub(crate) struct SharedWorlds<'a> {
    pub environment: &'a dyn Environment,
    pub share: WorldShare,
}

impl Environment for SharedWorlds<'_> {
    fn observations(&self) -> usize {
        self.environment.observations()
    }

    fn actions(&self) -> Actions {
        self.environment.actions()
    }

    fn longest(&self) -> usize {
        self.environment.longest()
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        let WorldShare { agents, worlds: each, own, .. } = self.share;
        debug_assert_eq!(worlds, agents * own);
        let all = self.environment.begin(agents * each, device);
        all.iter().map(|tensor| self.share.take(tensor)).collect()
    }

    fn observe(&self, state: &[Tensor]) -> Tensor {
        self.environment.observe(state)
    }

    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
        self.environment.step(state, action)
    }

    fn ahead(&self, state: &[Tensor]) -> Option<Tensor> {
        self.environment.ahead(state)
    }

    fn starts_slowly(&self) -> bool {
        self.environment.starts_slowly()
    }

    fn clocks(&self) -> usize {
        self.environment.clocks()
    }

    fn broken(&self, before: &[Tensor], after: &[Tensor]) -> Option<Tensor> {
        self.environment.broken(before, after)
    }

    fn part(&self, number: usize) -> String {
        self.environment.part(number)
    }

    fn draw(&self, state: &[f32]) -> Option<Picture> {
        self.environment.draw(state)
    }
}

/// A file in a line that differs where its bytes do.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    let mut sum = DefaultHasher::new();
    sum.write(bytes);
    format!("{} with checksum {:016x}", counted(bytes.len(), "byte"), sum.finish())
}

/// The ranks of an algorithm.
pub(crate) type Ranks = Option<(Group, WorldShare)>;

/// The environment as a rank sees it.
pub(crate) fn seen_by<T>(
    environment: &Arc<dyn Environment>,
    ranks: &Ranks,
    work: impl FnOnce(&dyn Environment) -> T,
) -> T {
    match ranks {
        None => work(&**environment),
        Some((_, share)) => work(&SharedWorlds { environment: &**environment, share: *share }),
    }
}
