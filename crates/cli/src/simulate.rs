//! `farad simulate`: run the circuit of an automaton on a grid.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farad::run::{Picture, write_whole};
use farad::{Device, Tensor};
use farad_circuit::{Automaton, Circuit, Grid};
use farad_logic::recipe::palette;
use farad_logic::report::frame;
use farad_logic::simulate::{AutomatonSimulation, BITS, fire_masks, pack, unpack};
use serde_json::json;

use crate::arguments::{SimulateOptions, StartOption};
use crate::circuits::{self, Wanted};
use crate::error::{Error, Result};
use crate::film;
use crate::look::{self, count, counted, duration, shown};
use crate::profile::{self, Profiling, has_folder};
use crate::source::Source;
use crate::training::Screen;

/// Frames of a GIF at most; of longer simulations, evenly spread steps are shown.
const FRAMES: usize = 300;

/// The film that is not named otherwise.
const FILM: &str = "simulation.gif";

/// Steps of one launch.
const STEPS: usize = 1000;

/// Words of masks that one launch of an automaton whose cells fire at random may have.
const MASKS: usize = 1 << 22;

/// Simulates.
pub fn run(options: &SimulateOptions) -> Result<()> {
    let (width, height) = size(&options.grid)?;
    let gif = options.gif.as_ref().map(|path| gif_path(options, path.as_deref())).transpose()?;
    profile::check(&options.profile)?;
    let automaton = automaton(options)?;
    let colors = palette(&automaton.cell.meta);
    let mut grid = Grid::new(&automaton, width, height)?;
    grid.set_seed(options.seed);
    match options.start {
        StartOption::Random => grid.randomize(options.seed),
        StartOption::Zeros => {}
        StartOption::Center => (0..automaton.channels).for_each(|c| grid.set(c, width / 2, height / 2, true)),
    }
    if let Some(path) = &options.healing {
        return heal(options, path, &automaton, &mut grid);
    }
    let device = options.device.or_best()?;
    let profiling = Profiling::start(&options.profile, &device);
    let mut on_device = match device.is_gpu() {
        true => Some(OnDevice::new(&automaton, &grid, options.seed, &device)?),
        false => None,
    };
    let mut frames: Vec<Picture> = Vec::new();
    // Without a film there is nothing to stop for but to say how far it is.
    let every = if gif.is_some() { options.steps.div_ceil(FRAMES) } else { options.steps.div_ceil(100) };
    let every = every.max(if gif.is_some() { 1 } else { STEPS });
    let bar = options.output.talk().progress("steps", options.steps as u64, 0);
    let (mut elapsed, mut step) = (Duration::ZERO, 0);
    loop {
        if gif.is_some() {
            let words = format!("step {step} of {}", options.steps);
            let share = step as f64 / options.steps.max(1) as f64;
            frames.push(frame(&grid, automaton.visible.len(), &colors).with_progress(&words, share));
        }
        let steps = every.min(options.steps - step);
        if steps == 0 {
            break;
        }
        let started = Instant::now();
        match &mut on_device {
            Some(on_device) => on_device.steps(steps)?,
            None => grid.steps(steps),
        }
        (elapsed, step) = (elapsed + started.elapsed(), step + steps);
        bar.set(step as u64, || "simulating".into());
        if let Some(on_device) = &on_device {
            grid.set_cells(&unpack(&on_device.states.to_vec::<u32>()?, width));
        }
    }
    if let Some(path) = &gif {
        Picture::write_film(path, &frames, Duration::from_millis(80), Duration::from_millis(1600))?;
    }
    drop(bar);
    print(options, &grid, elapsed, gif)?;
    profiling.finish()
}

/// A grid on a GPU: states stay there until somebody looks.
struct OnDevice {
    simulation: AutomatonSimulation,
    /// `[1, channels, height, words]`
    states: Tensor,
    width: usize,
    height: usize,
    fire_rate: f32,
    seed: u64,
    taken: u64,
}

impl OnDevice {
    fn new(automaton: &Automaton, grid: &Grid, seed: u64, device: &Device) -> Result<OnDevice> {
        let (width, height) = (grid.width(), grid.height());
        let shape = [1, automaton.channels, height, width.div_ceil(BITS)];
        Ok(OnDevice {
            simulation: AutomatonSimulation::new(automaton, device)?,
            states: Tensor::from_vec::<u32>(pack(&grid.cells(), width), shape, device),
            width,
            height,
            fire_rate: automaton.fire_rate,
            seed,
            taken: 0,
        })
    }

    /// Makes steps and waits for them; the same cells fire as in a [`Grid`] with this seed.
    fn steps(&mut self, count: usize) -> Result<()> {
        let fires = self.fire_rate < 1.0;
        let words = self.height * self.width.div_ceil(BITS);
        let most = if fires { (MASKS / words).clamp(1, STEPS) } else { STEPS };
        let mut left = count;
        while left > 0 {
            let steps = left.min(most);
            let masks = fires.then(|| {
                let sizes = (self.width, self.height);
                let masks = fire_masks(sizes, self.fire_rate, self.seed, self.taken, steps);
                let shape = [steps, self.height, self.width.div_ceil(BITS)];
                Tensor::from_vec::<u32>(masks, shape, self.states.device())
            });
            let after = self.simulation.run(&self.states, self.width, steps, masks.as_ref());
            self.states = after.detach()?;
            (left, self.taken) = (left - steps, self.taken + steps as u64);
        }
        Ok(self.states.device().wait()?)
    }
}

fn automaton(options: &SimulateOptions) -> Result<Automaton> {
    let circuit = match Source::open("simulate", &options.source)? {
        Source::Circuit(circuit) => circuit,
        Source::Run(run) if !circuits::may_be_automata(&run) => {
            return Err(Error::NoAutomaton { path: options.source.display().to_string() });
        }
        Source::Run(run) => {
            let screen = Screen::new(options.output.talk());
            let (op, seed, raw, votes) = ("simulate", None, false, false);
            circuits::circuit(&run, &Wanted { op, seed, raw, votes, watcher: &screen })?
        }
    };
    match circuit {
        Circuit::Automaton(automaton) => Ok(automaton),
        Circuit::Netlist(_) => Err(Error::NoAutomaton { path: options.source.display().to_string() }),
    }
}

fn size(text: &str) -> Result<(usize, usize)> {
    let bad = || Error::Grid { text: text.into() };
    let (width, height) = text.split_once(['x', 'X', '×']).ok_or_else(bad)?;
    let number = |text: &str| text.trim().parse().ok().filter(|&n: &usize| n > 0).ok_or_else(bad);
    Ok((number(width)?, number(height)?))
}

/// Writes a film of damage and healing, on the CPU: its grids are small.
fn heal(options: &SimulateOptions, path: &Path, automaton: &Automaton, grid: &mut Grid) -> Result<()> {
    free("--healing", path)?;
    if options.steps == 0 || 2 * options.steps > FRAMES {
        return Err(Error::HealingSteps { steps: options.steps, most: FRAMES / 2 });
    }
    let film = film::healing(automaton, grid, options.steps, &palette(&automaton.cell.meta));
    write_whole("simulate", path, film.as_bytes())?;
    let mut out = look::out();
    match options.output.json {
        true => {
            let (width, height, gates) = (grid.width(), grid.height(), grid.gates());
            let path = path.display().to_string();
            writeln!(
                out,
                "{}",
                json!({ "width": width, "height": height, "steps": options.steps, "gates": gates, "film": path })
            )?;
        }
        false => writeln!(out, "film {}", shown(path).display())?,
    }
    Ok(out.flush()?)
}

/// Refuses a file that is there already, or whose folder is not.
fn free(flag: &'static str, asked: &Path) -> Result<()> {
    let path = asked.display().to_string();
    if asked.exists() {
        return Err(Error::FileExists { op: "simulate", path, flag });
    }
    match has_folder(asked) {
        true => Ok(()),
        false => Err(Error::NoFolder { op: "simulate", path, flag }),
    }
}

/// Where the film goes: to the file that is named, which must be new, else beside the circuit under a name that is free.
fn gif_path(options: &SimulateOptions, asked: Option<&Path>) -> Result<PathBuf> {
    if let Some(asked) = asked {
        free("--gif", asked)?;
        return Ok(asked.to_path_buf());
    }
    let source = &options.source;
    let folder = if source.is_dir() { source.as_path() } else { source.parent().unwrap_or(Path::new("")) };
    let named = |n: u32| match n {
        1 => folder.join(FILM),
        _ => folder.join(format!("simulation-{n}.gif")),
    };
    Ok((1..).map(named).find(|path| !path.exists()).expect("there are enough numbers"))
}

fn print(options: &SimulateOptions, grid: &Grid, elapsed: Duration, gif: Option<PathBuf>) -> Result<()> {
    let mut out = look::out();
    let bits = grid.pictures();
    let (on, of) = (bits.iter().filter(|&&bit| bit).count(), bits.len());
    let a_step = elapsed / options.steps.clamp(1, u32::MAX as usize) as u32;
    if options.output.json {
        let microseconds = elapsed.as_secs_f64() * 1e6 / options.steps.max(1) as f64;
        let object = json!({
            "width": grid.width(), "height": grid.height(), "steps": options.steps,
            "gates": grid.gates(), "microseconds_per_step": microseconds, "on": on, "of": of,
            "gif": gif.map(|path| path.display().to_string()),
        });
        writeln!(out, "{object}")?;
    } else {
        let (width, height) = (grid.width(), grid.height());
        let (steps, gates) = (counted(options.steps, "step"), counted(grid.gates(), "gate"));
        writeln!(out, "{width}×{height} cells of {gates}, {steps}, {} a step", duration(a_step))?;
        writeln!(out, "{} of {} visible bits are set at the end", count(on), count(of))?;
        if let Some(path) = gif {
            writeln!(out, "film {}", shown(&path).display())?;
        }
    }
    Ok(out.flush()?)
}
