//! Conway's Game of Life, from all boards of 3×3 cells.

use farad_circuit::Edge;

use super::{Recipe, Start, Target, Trial, published};
use crate::automaton::Topology;
use crate::settings::{FreezeOrder, Settings};

pub fn recipe() -> Recipe {
    Recipe {
        name: "life",
        former: &[],
        about: "Conway's Game of Life, from the 512 boards of 3×3 cells and their successors",
        topology,
        settings,
        reference,
        seed: 5,
        visible: 1,
        start: Start::Boards,
        target: Target::Life,
        trials: &[Trial { height: 128, width: 128, steps: 300 }],
        damage: None,
        robustness: None,
    }
}

fn topology() -> Topology {
    let mut update = vec![17];
    update.extend([128; 17]);
    update.extend([64, 32, 16, 8, 4, 2, 1]);
    Topology { channels: 1, kernels: 16, perception: vec![9, 8, 4, 2, 1], update, edge: Edge::Wrap }
}

fn reference() -> Settings {
    Settings { updates: 3000, batch: 20, steps: 1, height: 3, width: 3, ..published() }
}

/// Softer gates at the start, and later more and more of them hard, drawn anew at each update: what made every seed
/// exact (docs/hardening.md).
fn settings() -> Settings {
    Settings {
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

/// Whether a cell lives on: its neighborhood's bits, the cell itself at 4.
pub fn lives(patch: [bool; 9]) -> bool {
    let around = patch.iter().filter(|&&cell| cell).count() - patch[4] as usize;
    around == 3 || (patch[4] && around == 2)
}

/// All 512 boards of 3×3 cells, `[512, 9]`, and what becomes of them on a torus.
pub fn next_boards() -> (Vec<bool>, Vec<bool>) {
    let board = |number: usize| std::array::from_fn::<bool, 9, _>(|cell| number >> cell & 1 == 1);
    let next = |board: [bool; 9]| {
        std::array::from_fn::<bool, 9, _>(|cell| {
            let at = |n: usize| board[(cell / 3 + n / 3 + 2) % 3 * 3 + (cell % 3 + n % 3 + 2) % 3];
            lives(std::array::from_fn(at))
        })
    };
    let boards: Vec<[bool; 9]> = (0..512).map(board).collect();
    let after = boards.iter().flat_map(|&board| next(board)).collect();
    (boards.into_iter().flatten().collect(), after)
}
