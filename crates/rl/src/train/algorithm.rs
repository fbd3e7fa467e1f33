//! The algorithms by name, one row each, and what a training needs of every one of them.

use std::sync::Arc;

use farad::{Device, Result, Tensor};

use super::settings::Settings;
use crate::environment::Environment;
use crate::episodes::Agents;
use crate::evolution::{Cma, Es, GENERATION};
use crate::ppo::{COURSE, Ppo};

/// What trains agents. The course of an update is `[seeds, columns]`; its first columns are the loss and the mean return.
pub trait Algorithm {
    /// One update, or one generation: its course, not waited for.
    fn update(&mut self) -> Result<Tensor>;

    /// The columns of a course.
    fn columns(&self) -> [&'static str; 4];

    /// The agents as they are now.
    fn agents(&self) -> Agents;

    /// Goes on with these agents' weights, and with nothing else of theirs.
    fn take(&mut self, agents: &Agents) -> Result<()>;

    /// Steps of all worlds in an update, at most.
    fn steps_per_update(&self) -> usize;

    /// Everything that training goes on with, by name.
    fn tensors(&self) -> Vec<(String, Tensor)>;

    /// Goes on from that after so many updates.
    fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()>;
}

/// Hands everything to the methods of the same names.
macro_rules! algorithm {
    ($type:ty, $columns:expr) => {
        impl Algorithm for $type {
            fn update(&mut self) -> Result<Tensor> {
                <$type>::update(self)
            }

            fn columns(&self) -> [&'static str; 4] {
                $columns
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

            fn tensors(&self) -> Vec<(String, Tensor)> {
                <$type>::tensors(self)
            }

            fn restore(&mut self, tensors: &[(String, Tensor)], updates: u64) -> Result<()> {
                <$type>::restore(self, tensors, updates)
            }
        }
    };
}

algorithm!(Ppo, COURSE);
algorithm!(Es, GENERATION);
algorithm!(Cma, GENERATION);

type Make = fn(Arc<dyn Environment>, &Settings, &Device) -> Result<Box<dyn Algorithm>>;

/// An algorithm with a name.
pub struct NamedAlgorithm {
    /// What settings call it.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Makes it, before its first update.
    pub make: Make,
}

/// All of them; the first is what is usual.
pub const ALGORITHMS: [NamedAlgorithm; 3] = [
    NamedAlgorithm {
        name: "ppo",
        about: "Proximal policy optimization: gradients from what was collected last",
        make: |environment, s, device| {
            Ok(Box::new(Ppo::new(environment, s.ppo.clone(), s.seeds, s.updates, device)?))
        },
    },
    NamedAlgorithm {
        name: "es",
        about: "OpenAI's evolution strategy: policies vary, and ranks say where to go",
        make: |environment, s, device| {
            Ok(Box::new(Es::new(environment, s.evolution.clone(), s.seeds, device)?))
        },
    },
    NamedAlgorithm {
        name: "cma",
        about: "CMA-ES: evolution that learns which weights vary together; for small policies",
        make: |environment, s, device| {
            Ok(Box::new(Cma::new(environment, s.evolution.clone(), s.seeds, s.seed, device)?))
        },
    },
];

impl NamedAlgorithm {
    /// The one of this name.
    pub fn of(name: &str) -> Option<&'static NamedAlgorithm> {
        ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
    }
}
