//! A checkerboard out of noise.

use farad_circuit::Edge;

use super::{Damage, Recipe, Start, Target, Trial, published};
use crate::automaton::Topology;
use crate::settings::Settings;

pub fn recipe() -> Recipe {
    Recipe {
        name: "checkerboard",
        about: "a checkerboard of 2×2 squares out of random bits, in 20 steps",
        topology,
        settings,
        reference,
        seed: 3,
        visible: 1,
        start: Start::RandomBits,
        target: Target::Picture(square),
        trials: &[Trial { height: 32, width: 32, steps: 40 }, Trial { height: 64, width: 64, steps: 80 }],
        damage: Some(Damage { trial: Trial { height: 64, width: 64, steps: 160 }, block: 20, held: 80 }),
        robustness: Some((Trial { height: 64, width: 64, steps: 1000 }, 10)),
    }
}

/// Squares of two by two, black at the upper left.
pub fn square(_: usize, y: usize, x: usize, _: usize, _: usize) -> bool {
    (y / 2 + x / 2) % 2 == 1
}

fn topology() -> Topology {
    cell(10)
}

/// The cell of all checkerboards, with so many wide layers.
pub fn cell(wide_layers: usize) -> Topology {
    let update = [vec![264], vec![256; wide_layers], vec![128, 64, 32, 16, 8, 8]].concat();
    Topology { channels: 8, kernels: 16, perception: vec![9, 8, 4, 2], update, edge: Edge::Zero }
}

fn reference() -> Settings {
    Settings { updates: 500, batch: 2, steps: 20, ..published() }
}

fn settings() -> Settings {
    bold(reference())
}

/// What learns checkerboards better than the published settings: softer gates at the start that nothing
/// pulls back, more updates, and an end once the circuit is right.
pub fn bold(reference: Settings) -> Settings {
    Settings {
        updates: 2000,
        initial_logit: 5.0,
        weight_decay: 0.0,
        keep_best: true,
        stop_after_exact: 2,
        ..reference
    }
}
