//! The contents of a run's checkpoint: the best hard circuit of every seed so far, and how good it was.
//!
//! Start at [`LearnedAutomata::of`].

use farad::run::{Checkpoint, Run};
use farad::{Device, Tensor, TrainError};
use farad_circuit::{Automaton, Gate, Statistics};
use serde::{Deserialize, Serialize};

use super::Configuration;
use crate::error::{Error, Result};
use crate::harden::harden;
use crate::repair::{self, RepairNote};

/// What a run has learned: the kept circuit of every seed.
pub struct LearnedAutomata {
    /// What was trained.
    pub configuration: Configuration,
    /// Updates made.
    pub updates: u64,
    /// One circuit per seed.
    pub circuits: Vec<LearnedCircuit>,
}

/// The kept circuit of one seed.
pub struct LearnedCircuit {
    /// The seed.
    pub seed: u64,
    /// The update after which it was kept.
    pub update: u64,
    /// Whether it was right when it was evaluated in training, or is after repair.
    pub right: bool,
    /// The learned gates, each once, in the order of the coefficients.
    pub gates: Vec<Gate>,
    /// The circuit as it was learned.
    pub learned: Automaton,
    /// The circuit that is kept: the repaired one, if there is one.
    pub automaton: Automaton,
    /// What repair did, if there is a repaired one.
    pub repair: Option<RepairNote>,
}

impl LearnedCircuit {
    /// What the kept circuit is called, next to the simplified one.
    pub fn form(&self) -> &'static str {
        if self.repair.is_some() { "repaired" } else { "as learned" }
    }

    /// Gates that are neither constant nor copies: the learned ones or, after repair, those of the repaired
    /// circuit.
    pub fn active_gates(&self) -> usize {
        match self.repair {
            Some(_) => Statistics::of(&self.automaton.cell).active,
            None => self.gates.iter().filter(|gate| gate.is_active()).count(),
        }
    }
}

impl LearnedAutomata {
    /// Which circuit represents the run: the first that was right when training evaluated it, otherwise the
    /// first.
    pub fn shown(&self) -> usize {
        self.circuits.iter().position(|circuit| circuit.right).unwrap_or(0)
    }

    /// Reads a run's checkpoint. Needs no device.
    pub fn of(run: &Run) -> Result<LearnedAutomata> {
        let configuration = Configuration::of(run)?;
        let nothing = || TrainError::NothingLearned { path: run.path().into() };
        let checkpoint = run.checkpoint()?.ok_or_else(nothing)?;
        let topology = configuration.recipe.topology.clone();
        let kept = KeptSeeds::of(&checkpoint, configuration.seeds.len(), topology.gates())?;
        let (recipe, rate) = (&configuration.recipe, configuration.settings.fire_rate);
        let name = recipe.name.replace('-', "_");
        let circuits =
            configuration.seeds.iter().zip(kept.gates).zip(kept.best).map(|((&seed, gates), best)| {
                let layers = topology.wire(seed);
                let learned = harden(&name, &topology, &layers, &gates, recipe.visible, rate);
                let (automaton, repair) = repair::stored(run, seed, &learned).unzip();
                let exact = repair.as_ref().is_some_and(|note| note.wrong == 0);
                let right = exact || best.wrong == Some(0.0);
                let automaton = automaton.unwrap_or_else(|| learned.clone());
                LearnedCircuit { seed, update: best.update, right, gates, learned, automaton, repair }
            });
        let circuits = circuits.collect();
        Ok(LearnedAutomata { updates: checkpoint.step(), circuits, configuration })
    }
}

/// The best hard circuit of a seed so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Best {
    /// Wrong bits when it was evaluated; infinite before the first evaluation.
    pub wrong: Option<f32>,
    /// The update after which it was kept.
    pub update: u64,
    /// Evaluations in a row that were right.
    pub right_in_a_row: u64,
}

/// What training keeps besides parameters.
pub(super) struct KeptSeeds {
    /// How good the kept circuit of every seed was.
    pub best: Vec<Best>,
    /// Its gates.
    pub gates: Vec<Vec<Gate>>,
    /// The mean hard loss at the last evaluation.
    pub hard_loss: Option<f32>,
    /// Wrong bits of the best seed then.
    pub wrong: Option<f32>,
}

/// The part of it that a checkpoint stores besides tensors.
#[derive(Serialize, Deserialize)]
struct StoredSeeds {
    best: Vec<Best>,
    hard_loss: Option<f32>,
    last_wrong: Option<f32>,
}

impl KeptSeeds {
    /// Before the first evaluation.
    pub fn new(gates: Vec<Vec<Gate>>) -> KeptSeeds {
        let best = vec![Best { wrong: None, update: 0, right_in_a_row: 0 }; gates.len()];
        KeptSeeds { best, gates, hard_loss: None, wrong: None }
    }

    /// From a checkpoint with this many seeds and gates.
    pub fn of(checkpoint: &Checkpoint, seeds: usize, gates: usize) -> Result<KeptSeeds> {
        let StoredSeeds { best, hard_loss, last_wrong } = checkpoint.value()?;
        if best.len() != seeds {
            return Err(Error::Mismatch { what: format!("seeds ({} vs {seeds})", best.len()) });
        }
        let numbers = checkpoint.tensor("gates", [seeds, gates], &Device::cpu())?.to_vec::<u32>()?;
        let gate = |number: &u32| {
            let gate = u8::try_from(*number).ok().and_then(Gate::new);
            gate.ok_or_else(|| Error::Mismatch { what: format!("a gate's number ({number} vs below 16)") })
        };
        let rows = numbers.chunks_exact(gates).map(|row| row.iter().map(gate).collect());
        Ok(KeptSeeds { best, gates: rows.collect::<Result<_>>()?, hard_loss, wrong: last_wrong })
    }

    /// Stores it in a checkpoint.
    pub fn put(&self, checkpoint: &mut Checkpoint) {
        let numbers: Vec<u32> = self.gates.iter().flatten().map(|gate| gate.number() as u32).collect();
        let shape = [self.gates.len(), numbers.len() / self.gates.len()];
        checkpoint.put("gates", &Tensor::from_vec(numbers, shape, &Device::cpu()));
        let (best, hard_loss, last_wrong) = (self.best.clone(), self.hard_loss, self.wrong);
        checkpoint.set_value(&StoredSeeds { best, hard_loss, last_wrong });
    }

    /// Seeds whose kept circuit was right.
    pub fn exact(&self) -> usize {
        self.best.iter().filter(|best| best.wrong == Some(0.0)).count()
    }
}
