//! The worlds that policies are tried in: they may begin alike for all policies, and end early.

use farad::{Device, Tensor};

use crate::environment::{Actions, Environment, Transition};

/// An environment as the policies of a generation see it.
pub(super) struct TrialWorlds<'a> {
    pub environment: &'a dyn Environment,
    /// Policies per seed, and the worlds of each.
    pub population: usize,
    pub trials: usize,
    /// Whether all policies of a seed begin in the same states.
    pub alike: bool,
    /// Steps of the longest episode.
    pub longest: usize,
}

impl Environment for TrialWorlds<'_> {
    fn observations(&self) -> usize {
        self.environment.observations()
    }

    fn actions(&self) -> Actions {
        self.environment.actions()
    }

    fn longest(&self) -> usize {
        self.longest
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        if !self.alike {
            return self.environment.begin(worlds, device);
        }
        let seeds = worlds / (self.population * self.trials);
        let starts = self.environment.begin(seeds * self.trials, device);
        let of_all = |start: &Tensor| {
            let rest = &start.shape()[1..];
            let one = start.reshape([&[seeds, 1, self.trials], rest].concat());
            let all = one.broadcast_to([&[seeds, self.population, self.trials], rest].concat());
            all.reshape([&[worlds], rest].concat())
        };
        starts.iter().map(of_all).collect()
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
}
