//! A checkerboard from noise.

use farad::train::LoopSettings;
use farad_circuit::Edge;

use super::{Damage, PictureSource, Recipe, RecipeTarget, RolloutStart, Trial, published};
use crate::automaton::Topology;
use crate::settings::{AutomatonSettings, FreezeOrder};
use crate::soft_gates::GateKind;

pub fn recipe() -> Recipe {
    Recipe {
        name: "checkerboard",
        former: &[],
        about: "a checkerboard of 2×2 squares from random bits, in 20 steps".into(),
        task: None,
        topology: topology(),
        settings: settings(),
        reference: reference(),
        seed: 2,
        visible: 1,
        start: RolloutStart::RandomBits,
        target: RecipeTarget::Picture(PictureSource::Pixels(square)),
        trials: vec![Trial { height: 32, width: 32, steps: 40 }, Trial { height: 64, width: 64, steps: 80 }],
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

/// The cell of all checkerboards, with this many wide layers.
pub fn cell(wide_layers: usize) -> Topology {
    let update = [vec![264], vec![256; wide_layers], vec![128, 64, 32, 16, 8, 8]].concat();
    Topology { channels: 8, kernels: 16, perception: vec![9, 8, 4, 2], update, edge: Edge::Zero }
}

pub fn reference() -> AutomatonSettings {
    AutomatonSettings { updates: 500, batch: 2, steps: 20, ..published() }
}

/// [`swift`], with roll-outs that grow.
pub fn settings() -> AutomatonSettings {
    AutomatonSettings { curriculum: 200, ..swift(reference()) }
}

/// What made most seeds exact within the published number of updates (docs/hardening.md): four logits per gate,
/// a high learning rate after a warm-up, and more and more hard gates, redrawn at each update. It trains to the
/// end: a circuit that is exact halfway has ten times the gates that remain once all are hard.
pub fn swift(published: AutomatonSettings) -> AutomatonSettings {
    AutomatonSettings {
        gates: GateKind::Four,
        initial_logit: 5.0,
        learning_rate: 0.5,
        warm_up: 100,
        beta1: 0.8,
        beta2: 0.9,
        weight_decay: 0.03,
        freeze_from: 0.2,
        freeze_until: 1.0,
        freeze_order: FreezeOrder::Anew,
        repair: true,
        course: LoopSettings { evaluate_every: 25, keep_best: true, ..published.course.clone() },
        ..published
    }
}
