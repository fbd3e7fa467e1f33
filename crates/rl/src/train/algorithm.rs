//! The algorithms by name, one row each, and the trait that they implement.

use std::sync::Arc;

use farad::group::Group;
use farad::{Device, Result, Tensor};

use super::settings::Settings;
use crate::dreamer::{DREAMER_COURSE, Dreamer};
use crate::environment::Environment;
use crate::episodes::Agents;
use crate::evolution::{Cma, Es, GENERATION};
use crate::ppo::{COURSE, Ppo};
use crate::sac::{SAC_COURSE, Sac};
use crate::shac::{SHAC_COURSE, Shac};

/// Trains agents. The statistics of an update are `[seeds, columns]`; the first columns are the loss and the
/// mean return.
pub trait Algorithm: Send {
    /// One update, or one generation: returns its statistics, without waiting for them.
    fn update(&mut self) -> Result<Tensor>;

    /// An error that names update, step, world and body if a world exploded so far. The statistics of such an agent are not
    /// finite. Reads.
    fn check(&self) -> Result<()>;

    /// The names of the columns.
    fn columns(&self) -> &'static [&'static str];

    /// The agents as they are now.
    fn agents(&self) -> Agents;

    /// Continues with these agents' weights, and nothing else of theirs.
    fn take(&mut self, agents: &Agents) -> Result<()>;

    /// Most steps per update, over all worlds.
    fn steps_per_update(&self) -> usize;

    /// Trains with all ranks of a group, which have been made alike.
    fn distributed(self: Box<Self>, group: &Group) -> Result<Box<dyn Algorithm>>;

    /// Puts what ranks have of their own together, for [`Algorithm::tensors`]. All ranks call it.
    fn gather(&mut self) -> Result<()>;

    /// Everything that training needs to continue, by name.
    fn tensors(&self) -> Vec<(String, Tensor)>;

    /// Continues from these tensors after this many updates.
    fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()>;
}

/// Delegates everything to the methods of the same names.
macro_rules! algorithm {
    ($type:ty, $columns:expr, $gather:expr) => {
        impl Algorithm for $type {
            fn update(&mut self) -> Result<Tensor> {
                <$type>::update(self)
            }

            fn check(&self) -> Result<()> {
                <$type>::check(self)
            }

            fn columns(&self) -> &'static [&'static str] {
                &$columns
            }

            fn agents(&self) -> Agents {
                <$type>::agents(self)
            }

            fn take(&mut self, agents: &Agents) -> Result<()> {
                <$type>::take(self, agents)
            }

            fn steps_per_update(&self) -> usize {
                <$type>::steps_per_update(self)
            }

            fn distributed(self: Box<Self>, group: &Group) -> Result<Box<dyn Algorithm>> {
                Ok(Box::new(<$type>::distributed(*self, group)?))
            }

            fn gather(&mut self) -> Result<()> {
                $gather(self)
            }

            fn tensors(&self) -> Vec<(String, Tensor)> {
                <$type>::tensors(self)
            }

            fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()> {
                <$type>::restore(self, tensors, updates)
            }
        }
    };
}

algorithm!(Ppo, COURSE, Ppo::gather);
// Evolved distributions are the same on all ranks.
algorithm!(Es, GENERATION, |_| Ok(()));
algorithm!(Cma, GENERATION, |_| Ok(()));
algorithm!(Sac, SAC_COURSE, |_| Ok(()));
algorithm!(Dreamer, DREAMER_COURSE, |_| Ok(()));
algorithm!(Shac, SHAC_COURSE, |_| Ok(()));

type Make = fn(Arc<dyn Environment>, &Settings, &Device) -> Result<Box<dyn Algorithm>>;

/// An algorithm with a name.
pub struct NamedAlgorithm {
    /// Its name in settings.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Changes the settings that suit a world to those that suit the algorithm.
    pub usual: fn(&mut Settings),
    /// Makes it, before its first update.
    pub make: Make,
}

/// All algorithms; the first is the default.
pub const ALGORITHMS: [NamedAlgorithm; 6] = [
    NamedAlgorithm {
        name: "ppo",
        about: "Proximal policy optimization: gradients from the latest samples",
        usual: |_| {},
        make: |environment, s, device| {
            Ok(Box::new(Ppo::new(environment, s.ppo.clone(), s.seeds, s.updates, device)?))
        },
    },
    NamedAlgorithm {
        name: "sac",
        about: "Soft actor-critic: gradients from everything that is remembered; for continuous actions",
        usual: |_| {},
        make: |environment, s, device| {
            Ok(Box::new(Sac::new(environment, s.sac.clone(), s.ppo.clone(), s.seeds, device)?))
        },
    },
    NamedAlgorithm {
        name: "dreamer",
        about: "DreamerV3: a model of the world learns from everything that is remembered, and agents from what it imagines",
        usual: |settings| {
            let Settings { ppo, sac, .. } = settings;
            (ppo.worlds, ppo.horizon, ppo.learning_rate) = (4, 16, 4e-5);
            (ppo.discount, ppo.trace, ppo.entropy) = (1.0 - 1.0 / 333.0, 0.95, 3e-4);
            (sac.replay, sac.batch, sac.warm_up_samples) = (1 << 18, 16, 1024);
            (settings.updates, settings.validation, settings.episodes) = (1600, 4, 16);
            settings.course.evaluate_every = 25;
        },
        make: |environment, s, device| {
            let (own, replay, shared) = (s.dreamer.clone(), s.sac.clone(), s.ppo.clone());
            Ok(Box::new(Dreamer::new(environment, own, replay, shared, s.seeds, device)?))
        },
    },
    NamedAlgorithm {
        name: "shac",
        about: "Short-horizon actor-critic: gradients through the steps of worlds; for continuous actions",
        usual: |_| {},
        make: |environment, s, device| {
            Ok(Box::new(Shac::new(environment, s.shac.clone(), s.ppo.clone(), s.seeds, s.updates, device)?))
        },
    },
    NamedAlgorithm {
        name: "es",
        about: "OpenAI's evolution strategy: random variations of a policy, weighted by their ranks",
        usual: |_| {},
        make: |environment, s, device| {
            Ok(Box::new(Es::new(environment, s.evolution.clone(), s.seeds, s.updates, device)?))
        },
    },
    NamedAlgorithm {
        name: "cma",
        about: "CMA-ES: evolution that learns which weights vary together; for small policies",
        usual: |_| {},
        make: |environment, s, device| {
            Ok(Box::new(Cma::new(environment, s.evolution.clone(), s.seeds, s.seed, device)?))
        },
    },
];

impl NamedAlgorithm {
    /// The algorithm with this name.
    pub fn of(name: &str) -> Option<&'static NamedAlgorithm> {
        ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
    }
}
