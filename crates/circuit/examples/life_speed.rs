//! How fast one core runs life: `cargo run --release -p farad-circuit --example life_speed`.

use std::io::Write;
use std::time::Instant;

use farad_circuit::{Automaton, Edge, Error, Grid, Netlist};

/// Cells in a row and rows.
const SIZE: usize = 512;
/// Steps per round.
const STEPS: usize = 100;
/// Rounds; the fastest counts.
const ROUNDS: usize = 200;

fn main() -> Result<(), Error> {
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let random = |channels: usize, gates: usize| {
        let cell = Netlist::random(1, 9 * channels, gates, channels);
        Automaton { cell, channels, visible: vec![0], edge: Edge::Wrap, fire_rate: 1.0 }
    };
    let rules = [
        ("life", Automaton::life(Edge::Wrap)),
        ("random, 8 channels", random(8, 100)),
        ("random, 8 channels", random(8, 1000)),
    ];
    for (name, automaton) in rules {
        let mut grid = Grid::new(&automaton, SIZE, SIZE)?;
        grid.randomize(1);
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            one_core.install(|| grid.steps(STEPS));
            best = best.min(start.elapsed().as_secs_f64() / STEPS as f64);
        }
        let (micros, gates) = (best * 1e6, grid.gates());
        writeln!(std::io::stdout(), "{name}: {SIZE}x{SIZE}, {gates} gates: {micros:.1} µs per step")
            .expect("standard output");
    }
    Ok(())
}
