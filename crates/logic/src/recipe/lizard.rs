//! A lizard that grows from one cell.

use farad_circuit::Edge;

use super::{PictureSource, Recipe, RecipeTarget, RolloutStart, Trial, drawn, published};
use crate::automaton::Topology;
use crate::settings::AutomatonSettings;

/// Seen from above: head, four legs, a curled tail.
const DRAWING: [&str; 20] = [
    "....................",
    "....................",
    ".........###........",
    "........#####.......",
    "........#####.......",
    ".....#...###...#....",
    ".....##.#####.##....",
    "......#########.....",
    "........#####.......",
    "........#####.......",
    "........#####.......",
    "........#####.......",
    "......#########.....",
    ".....##.#####.##....",
    ".....#...###...#....",
    ".........###........",
    ".........##.........",
    "........##..........",
    "......###...........",
    "....................",
];

pub fn recipe() -> Recipe {
    Recipe {
        name: "lizard",
        former: &[],
        about: "a lizard that grows from a single cell in 12 steps".into(),
        task: None,
        topology: topology(),
        settings: settings(),
        reference: reference(),
        seed: 7,
        visible: 1,
        start: RolloutStart::CenterOnes,
        target: RecipeTarget::Picture(PictureSource::Pixels(pixel)),
        trials: vec![Trial { height: 40, width: 40, steps: 12 }],
        damage: None,
        robustness: None,
    }
}

fn pixel(_: usize, y: usize, x: usize, height: usize, width: usize) -> bool {
    drawn(&DRAWING, b'#', y, x, height, width)
}

pub fn topology() -> Topology {
    let mut update = vec![640];
    update.extend([512; 8]);
    update.extend([256, 128]);
    Topology { channels: 128, kernels: 4, perception: vec![9, 8, 4, 2, 1], update, edge: Edge::Wrap }
}

pub fn reference() -> AutomatonSettings {
    AutomatonSettings { updates: 3500, steps: 12, height: 20, width: 20, learning_rate: 0.06, ..published() }
}

pub fn settings() -> AutomatonSettings {
    AutomatonSettings { weight_decay: 0.03, stop_after_exact: 2, repair: true, ..reference() }.keeping_best()
}
