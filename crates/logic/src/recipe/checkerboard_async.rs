//! A checkerboard out of noise, although cells fire at random.

use super::{Damage, Recipe, Start, Target, Trial, checkerboard, published};
use crate::automaton::Topology;
use crate::settings::Settings;

pub fn recipe() -> Recipe {
    Recipe {
        name: "checkerboard-async",
        former: &[],
        about: "a checkerboard out of random bits although each cell fires only 6 times in 10",
        topology,
        settings,
        reference,
        seed: 8,
        visible: 1,
        start: Start::RandomBits,
        target: Target::Picture(checkerboard::square),
        trials: &[Trial { height: 56, width: 56, steps: 200 }],
        damage: Some(Damage { trial: Trial { height: 56, width: 56, steps: 400 }, block: 20, held: 200 }),
        robustness: Some((Trial { height: 64, width: 64, steps: 1000 }, 10)),
    }
}

fn topology() -> Topology {
    checkerboard::cell(14)
}

fn reference() -> Settings {
    Settings { updates: 800, batch: 1, steps: 50, height: 14, width: 14, fire_rate: 0.6, ..published() }
}

/// Softer gates at the start that nothing pulls back, more updates, and an end once the circuit is right.
fn settings() -> Settings {
    Settings {
        updates: 2000,
        initial_logit: 5.0,
        weight_decay: 0.0,
        stop_after_exact: 2,
        repair: true,
        ..reference()
    }
    .keeping_best()
}
