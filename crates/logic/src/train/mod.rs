//! Training: automata of one recipe and several seeds, all at once on one device.
//!
//! [`AutomatonTrainer`] is the state and one update. `forward` is its forward pass: it makes coefficients and states by
//! the settings (noise, sharpness, freezing, rounding). `schedule` has what changes from update to update.
//! `starts` draws the initial states of roll-outs, and `loss` compares their ends. [`Learners`] is what the
//! training loop drives; [`Automata`] is the kind of training for the command. `configuration` and `learned`
//! are the contents of a run folder.
//!
//! The training loop knows one model; here it has several seeds. So each seed keeps its own best circuit. A
//! validation is judged by the number of wrong bits of all seeds together. Gates are meaningful only on the
//! wires of their seed, so `--from RUN` takes the seeds that both runs have.
//!
//! Every random number is determined by a seed and the number of the update. So a seed sees the same data alone
//! or among others. On the CPU it also learns the same bits; a GPU sums in another order when it has more to
//! do. A resumed run ends with the same bits as an uninterrupted one.

mod configuration;
mod forward;
mod kind;
mod learned;
mod loss;
mod ranks;
mod schedule;
mod starts;
mod trainee;

pub use configuration::{Configuration, KIND};
pub use kind::Automata;
pub use learned::{LearnedAutomata, LearnedCircuit};
pub use starts::Stream;
pub use trainee::Learners;

use farad::nn::Parameter;
use farad::optim::Clip;
use farad::train::{AnyOptimizer, OptimizerOptions, optimizer};
use farad::{Device, Tensor};
use farad_circuit::Gate;

use crate::automaton::{Topology, Wiring};
use crate::error::Result;
use crate::recipe::Recipe;
use crate::settings::AutomatonSettings;
use crate::soft_gates::SoftGates;
use crate::wires::Wires;
use starts::Starts;

/// The variance of gradient noise falls with the number of updates to this power.
const NOISE_DECAY: f32 = 0.55;

/// Automata in training: one recipe, one or more seeds.
pub struct AutomatonTrainer {
    recipe: Recipe,
    settings: AutomatonSettings,
    seeds: Vec<u64>,
    device: Device,
    topology: Topology,
    wiring: Wiring,
    gates: SoftGates,
    starts: Starts,
    /// When each gate becomes hard, as a number from 0 to 1, `[seeds, gates, 1]`.
    turns: Tensor,
    logits: Parameter,
    optimizer: Box<dyn AnyOptimizer>,
    updates: u64,
}

impl AutomatonTrainer {
    /// The state before the first update.
    pub fn new(
        recipe: Recipe,
        settings: AutomatonSettings,
        seeds: &[u64],
        device: &Device,
    ) -> AutomatonTrainer {
        let topology = &recipe.topology;
        let layers: Vec<Vec<Wires>> = seeds.iter().map(|&seed| topology.wire(seed)).collect();
        let gates = SoftGates::new(settings.gates, settings.rounding, device);
        let logits = gates.initial(&[seeds.len(), topology.gates()], settings.initial_logit, device);
        AutomatonTrainer::wired(recipe, settings, seeds, &layers, logits, device)
    }

    /// The same with given wires and logits: the layers of every seed, `[seeds, gates, width]`.
    pub fn wired(
        recipe: Recipe,
        settings: AutomatonSettings,
        seeds: &[u64],
        layers: &[Vec<Wires>],
        logits: Tensor,
        device: &Device,
    ) -> AutomatonTrainer {
        let topology = recipe.topology.clone();
        let wiring = Wiring::new(&topology, layers, device);
        let gates = SoftGates::new(settings.gates, settings.rounding, device);
        let logits = Parameter::new(logits);
        let options = OptimizerOptions {
            clip: Some(Clip::Value(settings.clip)),
            betas: Some((settings.beta1, settings.beta2)),
        };
        let groups = vec![(vec![logits.clone()], settings.weight_decay)];
        let optimizer = optimizer(&settings.optimizer, groups, options);
        let starts =
            Starts::new(&recipe, (settings.height, settings.width), seeds, topology.channels, device);
        let turns = starts.turns(topology.gates());
        let (seeds, device) = (seeds.to_vec(), device.clone());
        AutomatonTrainer {
            recipe,
            settings,
            seeds,
            device,
            topology,
            wiring,
            gates,
            starts,
            turns,
            logits,
            optimizer,
            updates: 0,
        }
    }

    /// Updates made so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// The seeds, in the order of all results.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// The device that everything runs on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The optimizer, for checkpoints.
    pub fn optimizer(&self) -> &dyn AnyOptimizer {
        &*self.optimizer
    }

    /// The logits, `[seeds, gates, 16]`, or 4 with `gates = "four"`.
    pub fn logits(&self) -> Tensor {
        self.logits.value()
    }

    /// The logits as a parameter.
    pub fn parameter(&self) -> Parameter {
        self.logits.clone()
    }

    /// Continues from stored logits, optimizer state and number of updates.
    pub fn restore(&mut self, logits: Tensor, state: &[(String, Tensor)], updates: u64) -> Result<()> {
        self.logits.set(logits);
        self.optimizer.restore(state)?;
        self.updates = updates;
        Ok(())
    }

    /// The losses of the next update, one per seed, as it would compute them. `[seeds]`
    pub fn loss(&self) -> Tensor {
        let steps = self.settings.steps_at(self.updates);
        let coefficients = self.coefficients();
        let (seen, target) =
            self.roll_out(&coefficients, Stream::Train, self.updates, self.settings.batch, steps);
        loss::sum(&self.settings, &seen, &target)
    }

    /// One update. Returns the losses before it, one per seed and without penalties, without waiting for them.
    /// `[seeds]`
    pub fn update(&mut self) -> Result<Tensor> {
        let losses = self.loss();
        let total = match self.penalties() {
            None => losses.sum(),
            Some(penalties) => (&losses + penalties).sum(),
        };
        let (settings, number) = (&self.settings, self.updates);
        self.optimizer.set_learning_rate(settings.rate_at(number));
        if settings.noise > 0.0 {
            let size = settings.noise / (1.0 + number as f32).powf(NOISE_DECAY / 2.0);
            let g = total.gradients(std::slice::from_ref(&self.logits))?.swap_remove(0);
            let shape = [self.topology.gates(), self.gates.width()];
            let noise = self.starts.normal(Stream::Noise, number, &shape);
            self.optimizer.apply(&[g + noise * &Tensor::number(size, &self.device)])?;
        } else {
            self.optimizer.step(&total)?;
        }
        self.updates += 1;
        Ok(losses)
    }

    /// Losses and wrong visible bits of the hard circuits on this many fresh starts, one of each per seed.
    /// Losses are scaled to the batch of an update.
    pub fn hard_losses(&self, number: u64, batch: usize) -> Result<(Vec<f32>, Vec<f32>)> {
        let hard = self.gates.hard(&self.logits.value());
        let (seen, target) = self.roll_out(&hard, Stream::Validate, number, batch, self.settings.steps);
        let scale = self.settings.batch as f64 / batch as f64;
        let losses = loss::sum(&self.settings, &seen, &target) * scale;
        let wrong = loss::per_seed(&(&seen - &target).abs());
        Tensor::compute_all(&[&losses, &wrong])?;
        Ok((losses.to_vec::<f32>()?, wrong.to_vec::<f32>()?))
    }

    /// The hard gates of every seed.
    pub fn hard_gates(&self) -> Result<Vec<Vec<Gate>>> {
        let numbers = self.gates.numbers(&self.logits.value()).to_vec::<i32>()?;
        let all: Vec<Gate> = numbers.iter().map(|&number| Gate::ALL[number as usize]).collect();
        Ok(all.chunks_exact(self.topology.gates()).map(<[Gate]>::to_vec).collect())
    }
}
