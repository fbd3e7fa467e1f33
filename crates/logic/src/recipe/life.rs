//! Conway's Game of Life, from all boards of 3×3 cells.

use farad_circuit::Edge;

use super::{Recipe, RecipeTarget, RolloutStart, Rule, Trial, published};
use crate::automaton::Topology;
use crate::settings::{AutomatonSettings, FreezeOrder};

pub fn recipe() -> Recipe {
    Recipe {
        name: "life",
        former: &[],
        about: "Conway's Game of Life, from the 512 boards of 3×3 cells and their successors".into(),
        task: None,
        topology: topology(),
        settings: settings(),
        reference: reference(),
        seed: 5,
        visible: 1,
        start: RolloutStart::Boards,
        target: RecipeTarget::Rule(Rule::life()),
        trials: vec![Trial { height: 128, width: 128, steps: 300 }],
        damage: None,
        robustness: None,
    }
}

pub fn topology() -> Topology {
    let mut update = vec![17];
    update.extend([128; 17]);
    update.extend([64, 32, 16, 8, 4, 2, 1]);
    Topology { channels: 1, kernels: 16, perception: vec![9, 8, 4, 2, 1], update, edge: Edge::Wrap }
}

pub fn reference() -> AutomatonSettings {
    AutomatonSettings { updates: 3000, batch: 20, steps: 1, height: 3, width: 3, ..published() }
}

/// Softer gates at the start, and later more and more hard ones, redrawn at each update: what made every seed
/// exact (docs/hardening.md).
pub fn settings() -> AutomatonSettings {
    AutomatonSettings {
        initial_logit: 4.0,
        weight_decay: 0.0,
        freeze_from: 0.4,
        freeze_until: 0.9,
        freeze_order: FreezeOrder::Anew,
        stop_after_exact: 2,
        repair: true,
        ..reference()
    }
    .keeping_best()
}
