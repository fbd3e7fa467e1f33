//! The pictures of a run: losses, gates, the roll-out as film and contact sheet, damage, the circuit.

use std::time::Duration;

use farad::run::{Bars, Chart, Colour, LogTable, Picture, Run};
use farad_circuit::{Gate, Grid, draw};

use super::{Verdict, trained};
use crate::error::Result;
use crate::evaluate::Examination;
use crate::recipe::Trial;
use crate::train::Learned;

const ON: Colour = [24, 24, 32];
const OFF: Colour = [240, 240, 236];

/// What a grid shows: black and white, or its first three visible channels as light.
pub fn frame(grid: &Grid, visible: usize) -> Picture {
    let (width, height) = (grid.width(), grid.height());
    let times = (256 / width.max(height)).clamp(1, 16);
    let picture = if visible < 3 {
        Picture::from_bools(width, height, &grid.picture(), ON, OFF)
    } else {
        let all = grid.pictures();
        let light = |cell: usize, channel: usize| f32::from(all[channel * width * height + cell]);
        let values: Vec<f32> = (0..width * height)
            .flat_map(|cell| (0..3).map(move |channel| (cell, channel)))
            .map(|(a, b)| light(a, b))
            .collect();
        Picture::from_channels(width, height, &values)
    };
    picture.scaled(times)
}

/// Writes everything into `plots/`. Of several seeds, [`Learned::shown`] is.
pub fn write(run: &Run, learned: &Learned, verdicts: &[Verdict]) -> Result<()> {
    let shown = learned.shown();
    losses(run, learned)?;
    gates(run, learned, shown, &verdicts[shown])?;
    damage(run, &verdicts[shown])?;
    films(run, learned, shown)?;
    let (before, after) = (&learned.circuits[shown].automaton.cell, &verdicts[shown].simplified.cell);
    run.write_plot("circuit", &draw(&[("as learned", before), ("simplified", after)]))?;
    Ok(())
}

fn losses(run: &Run, learned: &Learned) -> Result<()> {
    let log = LogTable::read(run.log_path())?;
    let mut chart = Chart::new("loss", "update", learned.configuration.settings.loss.label()).log_y();
    let seeds = &learned.configuration.seeds;
    for &seed in seeds.iter().take(8) {
        let (suffix, label) = match seeds.len() {
            1 => (String::new(), String::new()),
            _ => (format!("_{seed}"), format!(" {seed}")),
        };
        // A logarithmic axis has no zero: what is smaller than this is drawn as this.
        let drawn = |(x, y): (f64, f64)| (x, y.max(1e-3));
        chart = chart
            .line(&format!("soft{label}"), log.series(&format!("soft_loss{suffix}")).into_iter().map(drawn));
        chart = chart
            .line(&format!("hard{label}"), log.series(&format!("hard_loss{suffix}")).into_iter().map(drawn));
    }
    run.write_plot("loss", &chart.svg())?;
    Ok(())
}

/// The functions that were learned. Gates that pass `a` on are most and say nothing: they are only
/// counted in the title.
fn gates(run: &Run, learned: &Learned, shown: usize, verdict: &Verdict) -> Result<()> {
    let count = |of: &mut dyn Iterator<Item = Gate>| {
        let mut counts = [0usize; 16];
        of.for_each(|gate| counts[gate.number() as usize] += 1);
        counts
    };
    let circuit = &learned.circuits[shown];
    let all = count(&mut circuit.gates.iter().copied());
    let left = count(&mut verdict.simplified.cell.gates.iter().map(|node| node.gate));
    let drawn: Vec<Gate> = Gate::ALL.into_iter().filter(|&gate| gate != Gate::A).collect();
    let names: Vec<&str> = drawn.iter().map(|gate| gate.name()).collect();
    let bars = |counts: [usize; 16]| drawn.iter().map(move |gate| counts[gate.number() as usize] as f64);
    let passing = all[Gate::A.number() as usize];
    let title = format!("gates by function ({passing} more of {} pass a on)", circuit.gates.len());
    let chart =
        Bars::new(&title, "gates", &names).series("learned", bars(all)).series("simplified", bars(left));
    run.write_plot("gates", &chart.svg())?;
    Ok(())
}

fn damage(run: &Run, verdict: &Verdict) -> Result<()> {
    let curve =
        |values: &[f64]| values.iter().enumerate().map(|(n, &y)| (n as f64, 100.0 * y)).collect::<Vec<_>>();
    let evaluation = &verdict.evaluation;
    if !evaluation.healing.is_empty() {
        let chart = Chart::new("a block held at zero, then released", "step", "wrong bits in percent");
        run.write_plot("healing", &chart.line("wrong", curve(&evaluation.healing)).svg())?;
    }
    if !evaluation.robustness.is_empty() {
        let chart = Chart::new("a new block of zeros at every step", "step", "wrong bits in percent");
        run.write_plot("robustness", &chart.line("wrong", curve(&evaluation.robustness)).svg())?;
    }
    Ok(())
}

/// The roll-out of training's size, and of the largest trial, as films; the first as a contact sheet.
fn films(run: &Run, learned: &Learned, shown: usize) -> Result<()> {
    let circuit = &learned.circuits[shown];
    let examination = Examination {
        recipe: &learned.configuration.recipe,
        automaton: &circuit.automaton,
        trained: trained(learned),
        seed: circuit.seed,
    };
    // A board of 3×3 shows nothing: life is filmed on a larger grid.
    let small = examination.trained;
    let first = if small.height < 8 { Trial { height: 48, width: 48, steps: 60 } } else { small };
    let frames = film(&examination, first)?;
    Picture::write_gif(run.plot_path("rollout.gif")?, &frames, Duration::from_millis(150))?;
    let every = (frames.len() - 1).div_ceil(23).max(1);
    let picked = frames.iter().enumerate().filter(|(n, _)| n % every == 0 || n + 1 == frames.len());
    let small: Vec<Picture> = picked.map(|(n, frame)| frame.captioned(&format!("{n}"), 2)).collect();
    run.write_picture("rollout", &Picture::sheet(&small, 6, 8))?;
    if let Some(&trial) = learned.configuration.recipe.trials.last() {
        let frames = film(&examination, trial)?;
        Picture::write_gif(run.plot_path("larger.gif")?, &frames, Duration::from_millis(80))?;
    }
    Ok(())
}

/// A picture a step, the start first.
fn film(examination: &Examination, trial: Trial) -> Result<Vec<Picture>> {
    let mut grid = examination.start(trial, 0)?;
    let visible = examination.recipe.visible;
    let mut frames = vec![frame(&grid, visible)];
    for _ in 0..trial.steps {
        grid.step();
        frames.push(frame(&grid, visible));
    }
    Ok(frames)
}
