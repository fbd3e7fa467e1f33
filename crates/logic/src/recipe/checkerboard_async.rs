//! A checkerboard from noise, although cells fire at random.

use super::{Damage, PictureSource, Recipe, RecipeTarget, RolloutStart, Trial, checkerboard, published};
use crate::automaton::Topology;
use crate::settings::AutomatonSettings;

pub fn recipe() -> Recipe {
    Recipe {
        name: "checkerboard-async",
        former: &[],
        about: "a checkerboard from random bits although each cell fires only 6 times in 10".into(),
        task: None,
        topology: topology(),
        settings: settings(),
        reference: reference(),
        seed: 8,
        visible: 1,
        start: RolloutStart::RandomBits,
        target: RecipeTarget::Picture(PictureSource::Pixels(checkerboard::square)),
        trials: vec![Trial { height: 56, width: 56, steps: 200 }],
        damage: Some(Damage { trial: Trial { height: 56, width: 56, steps: 400 }, block: 20, held: 200 }),
        robustness: Some((Trial { height: 64, width: 64, steps: 1000 }, 10)),
    }
}

fn topology() -> Topology {
    checkerboard::cell(14)
}

fn reference() -> AutomatonSettings {
    AutomatonSettings {
        updates: 800,
        batch: 1,
        steps: 50,
        height: 14,
        width: 14,
        fire_rate: 0.6,
        ..published()
    }
}

/// As for the checkerboard, within the published number of updates: exact twice as often as with slow updates.
fn settings() -> AutomatonSettings {
    checkerboard::swift(reference())
}
