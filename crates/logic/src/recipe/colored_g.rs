//! A letter G in colors, out of nothing.

use farad_circuit::Edge;

use super::{Recipe, Start, Target, drawn, published};
use crate::automaton::Topology;
use crate::settings::Settings;

/// Red, yellow, green and blue parts.
const DRAWING: [&str; 16] = [
    "................",
    ".....rrrrrr.....",
    "...rrrrrrrrrr...",
    "..yrrrrrrrrrrr..",
    "..yyyrr....rr...",
    ".yyyy.......r...",
    ".yyy............",
    ".yyy....bbbbbb..",
    ".yyy....bbbbbb..",
    ".yyy....bbbbbb..",
    ".yyyy......bbb..",
    "..gggg....bbbb..",
    "..ggggggggggbb..",
    "...gggggggggg...",
    ".....gggggg.....",
    "................",
];

pub fn recipe() -> Recipe {
    Recipe {
        name: "colored-g",
        former: &["coloured-g"],
        about: "a letter G in four colors, from an empty grid in 15 steps",
        topology,
        settings,
        reference,
        seed: 1,
        visible: 3,
        start: Start::Zeros,
        target: Target::Picture(pixel),
        trials: &[],
        damage: None,
        robustness: None,
    }
}

/// Channels are red, green and blue light: a yellow part shows in two.
fn pixel(channel: usize, y: usize, x: usize, height: usize, width: usize) -> bool {
    let marks: &[u8] = [b"ry".as_slice(), b"yg", b"b"][channel];
    marks.iter().any(|&mark| drawn(&DRAWING, mark, y, x, height, width))
}

fn topology() -> Topology {
    let mut update = vec![576];
    update.extend([512; 8]);
    update.extend([256, 128, 64]);
    Topology { channels: 64, kernels: 4, perception: vec![9, 8, 4, 2], update, edge: Edge::Zero }
}

fn reference() -> Settings {
    Settings { updates: 3000, steps: 15, learning_rate: 0.06, ..published() }
}

fn settings() -> Settings {
    Settings { stop_after_exact: 2, repair: true, ..reference() }.keeping_best()
}
