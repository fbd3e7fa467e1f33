//! `farad simulate`: run the circuit of an automaton on a grid.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use farad::run::Picture;
use farad::{Device, Tensor};
use farad_circuit::{Automaton, Circuit, Grid};
use farad_logic::report::{frame, simplified};
use farad_logic::simulate::{AutomatonSimulation, pack, unpack};
use farad_logic::train::Learned;
use serde_json::json;

use crate::arguments::{SimulateOptions, StartOption};
use crate::error::{Error, Result};
use crate::source::{Source, pick};

/// Frames of a GIF at most; of longer simulations, evenly spread steps are shown.
const FRAMES: usize = 300;

/// Steps that a device makes before it is waited for.
const LAUNCHES: usize = 1000;

/// Simulates.
pub fn run(options: &SimulateOptions) -> Result<()> {
    let (width, height) = size(&options.grid)?;
    let automaton = automaton(options)?;
    let mut grid = Grid::new(&automaton, width, height)?;
    grid.set_seed(options.seed);
    match options.start {
        StartOption::Random => grid.randomise(options.seed),
        StartOption::Zeros => {}
        StartOption::Centre => (0..automaton.channels).for_each(|c| grid.set(c, width / 2, height / 2, true)),
    }
    let device = Device::named(&options.device)?;
    if device.is_gpu() && automaton.fire_rate < 1.0 {
        return Err(Error::FiresAtRandom { rate: automaton.fire_rate });
    }
    let on_device = AutomatonSimulation::new(&automaton, &device)?;
    let mut frames: Vec<Picture> = Vec::new();
    let every = if options.gif.is_some() { options.steps.div_ceil(FRAMES).max(1) } else { LAUNCHES };
    let (mut elapsed, mut step) = (Duration::ZERO, 0);
    loop {
        if options.gif.is_some() {
            frames.push(frame(&grid, automaton.visible.len()));
        }
        let steps = every.min(options.steps - step);
        if steps == 0 {
            break;
        }
        let started = Instant::now();
        if device.is_gpu() {
            let shape = [1, automaton.channels, height, width.div_ceil(32)];
            let states = Tensor::from_vec::<u32>(pack(&grid.cells(), width), shape, &device);
            let played = on_device.run(&states, width, steps, None).to_vec::<u32>()?;
            grid.set_cells(&unpack(&played, width));
        } else {
            grid.steps(steps);
        }
        (elapsed, step) = (elapsed + started.elapsed(), step + steps);
    }
    let gif = options.gif.as_ref().map(|path| write_gif(options, path, &frames)).transpose()?;
    print(options, &grid, elapsed, gif)
}

fn automaton(options: &SimulateOptions) -> Result<Automaton> {
    match Source::open("simulate", &options.source)? {
        Source::Circuit(Circuit::Automaton(automaton)) => Ok(automaton),
        Source::Circuit(Circuit::Netlist(_)) => {
            Err(Error::NoAutomaton { path: options.source.display().to_string() })
        }
        Source::Run(run) => {
            let learned = Learned::of(&run)?;
            let index = pick("simulate", &learned, None)?;
            Ok(simplified(&run, &learned.circuits[index])?)
        }
    }
}

fn size(text: &str) -> Result<(usize, usize)> {
    let bad = || Error::Grid { text: text.into() };
    let (width, height) = text.split_once(['x', 'X', '×']).ok_or_else(bad)?;
    let number = |text: &str| text.trim().parse().ok().filter(|&n: &usize| n > 0).ok_or_else(bad);
    Ok((number(width)?, number(height)?))
}

fn write_gif(options: &SimulateOptions, path: &PathBuf, frames: &[Picture]) -> Result<PathBuf> {
    let named = path.components().count() > 1 || path.as_os_str() != "simulation.gif";
    let folder =
        if options.source.is_dir() { Some(options.source.as_path()) } else { options.source.parent() };
    let path = if named { path.clone() } else { folder.unwrap_or(path).join(path) };
    Picture::write_gif(&path, frames, Duration::from_millis(80))?;
    Ok(path)
}

fn print(options: &SimulateOptions, grid: &Grid, elapsed: Duration, gif: Option<PathBuf>) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let shown = grid.pictures();
    let (on, of) = (shown.iter().filter(|&&bit| bit).count(), shown.len());
    let microseconds = elapsed.as_secs_f64() * 1e6 / options.steps.max(1) as f64;
    if options.json {
        let object = json!({
            "width": grid.width(), "height": grid.height(), "steps": options.steps,
            "gates": grid.gates(), "microseconds_per_step": microseconds, "on": on, "of": of,
            "gif": gif.map(|path| path.display().to_string()),
        });
        writeln!(out, "{object}")?;
    } else {
        let (width, height) = (grid.width(), grid.height());
        writeln!(out, "{width}×{height}, {} steps, {} gates a cell", options.steps, grid.gates())?;
        writeln!(out, "{microseconds:.1} µs a step; {on} of {of} visible bits are set at the end")?;
        if let Some(path) = gif {
            writeln!(out, "film {}", path.display())?;
        }
    }
    Ok(out.flush()?)
}
