//! The pictures of a run: losses, gates, the roll-out as film and contact sheet, damage, the circuit.

use std::time::Duration;

use farad::run::{Chart, LogTable, Picture, Rgb, Run, Series, Sheet, Thumbnail, count, counted};
use farad_circuit::{Automaton, Drawing, Gate, Grid};

use super::{SeedVerdict, trained};
use crate::error::Result;
use crate::evaluate::Examination;
use crate::histogram;
use crate::recipe::{Recipe, Trial};
use crate::train::{Configuration, LearnedAutomata};

const ON: Rgb = [24, 24, 32];
const OFF: Rgb = [240, 240, 236];
/// The color of a cell whose number has no color.
const NO_COLOR: Rgb = [255, 0, 255];

/// A picture of a grid: black and white, its first three visible channels as light or, with colors, the color
/// whose number they encode.
pub fn frame(grid: &Grid, visible: usize, colors: &[Rgb]) -> Picture {
    cells(grid.width(), grid.height(), visible, &grid.pictures(), colors)
}

/// A roll-out's end, a pixel per cell.
pub(crate) fn last_frame(examination: &Examination) -> Result<Picture> {
    let trial = filmed(examination.trained);
    let mut grid = examination.start(trial, 0)?;
    (0..trial.steps).for_each(|_| grid.step());
    let recipe = examination.recipe;
    Ok(pixels(grid.width(), grid.height(), recipe.visible, &grid.pictures(), recipe.colors()))
}

/// A trial that shows something: a 3×3 board does not, so life is filmed on a larger grid.
fn filmed(trained: Trial) -> Trial {
    if trained.height < 8 { Trial { height: 48, width: 48, steps: 60 } } else { trained }
}

/// The target `[height, width, visible]` as a grid would show it.
fn target_frame(target: &[bool], recipe: &Recipe, trial: Trial) -> Picture {
    let visible = recipe.visible;
    let by_channel = (0..visible).flat_map(|channel| target[channel..].iter().step_by(visible).copied());
    cells(trial.width, trial.height, visible, &by_channel.collect::<Vec<_>>(), recipe.colors())
}

/// Bits `[visible, height, width]` as a picture with sharp cells.
fn cells(width: usize, height: usize, visible: usize, bits: &[bool], colors: &[Rgb]) -> Picture {
    pixels(width, height, visible, bits, colors).scaled((256 / width.max(height)).clamp(1, 16))
}

/// The same, a pixel per cell.
fn pixels(width: usize, height: usize, visible: usize, bits: &[bool], colors: &[Rgb]) -> Picture {
    let bit = |cell: usize, channel: usize| bits[channel * width * height + cell];
    if !colors.is_empty() {
        let code = |cell: usize| (0..visible).map(|n| usize::from(bit(cell, n)) << n).sum::<usize>();
        // Numbers beyond the last color do not occur if everything is right.
        let color = |cell: usize| colors.get(code(cell)).copied().unwrap_or(NO_COLOR);
        let light = |level: u8| f32::from(level) / 255.0;
        let values: Vec<f32> = (0..width * height).flat_map(|cell| color(cell).map(light)).collect();
        Picture::from_channels(width, height, &values)
    } else if visible < 3 {
        Picture::from_bools(width, height, &bits[..width * height], ON, OFF)
    } else {
        let light = |cell: usize| [0, 1, 2].map(|channel| f32::from(bit(cell, channel)));
        let values: Vec<f32> = (0..width * height).flat_map(light).collect();
        Picture::from_channels(width, height, &values)
    }
}

/// Writes everything to `plots/`. With several seeds, shows [`LearnedAutomata::shown`].
pub fn write(run: &Run, learned: &LearnedAutomata, verdicts: &[SeedVerdict]) -> Result<()> {
    let shown = learned.shown();
    losses(run, learned)?;
    gates(run, learned, shown, &verdicts[shown])?;
    layers(run, learned, shown)?;
    damage(run, learned, shown, &verdicts[shown])?;
    films(run, learned, shown)?;
    let (circuit, simplified) = (&learned.circuits[shown], &verdicts[shown].simplified);
    let drawing = Drawing::new("The circuit of a cell").about(&about(learned, Some(shown)));
    let drawing = drawing.automaton("simplified", simplified).automaton(circuit.form(), &circuit.automaton);
    run.write_plot("circuit", &drawing.svg())?;
    Ok(())
}

/// The subtitle of a picture: recipe, seed or seeds, device.
fn about(learned: &LearnedAutomata, shown: Option<usize>) -> String {
    let Configuration { recipe, device, seeds, .. } = &learned.configuration;
    let seeds = match (shown, &seeds[..]) {
        (Some(shown), _) => format!("seed {}", learned.circuits[shown].seed),
        (None, [seed]) => format!("seed {seed}"),
        (None, all) => counted(all.len(), "seed"),
    };
    format!("{}, {seeds}, {device}", recipe.name)
}

/// Most seeds in the chart of losses: as many as there are colors.
const MOST_SEEDS: usize = 7;
/// Losses below this count as zero: they are shown in a row below the axis.
const FLOOR: f64 = 1e-3;

fn losses(run: &Run, learned: &LearnedAutomata) -> Result<()> {
    let log = LogTable::read(run.log_path())?;
    let unit = learned.configuration.settings.loss.label();
    let chart = Chart::new("Loss during training", "update", unit).log_y_from(FLOOR);
    let mut chart = chart.about(&about(learned, None));
    let seeds = &learned.configuration.seeds;
    if let [_] = seeds[..] {
        chart = chart.series(Series::new("soft gates, training batches", log.series("soft_loss")).smoothed());
        chart = chart.series(Series::new("hard gates, fresh starts", log.series("hard_loss")).markers());
    } else {
        for (n, seed) in seeds.iter().take(MOST_SEEDS).enumerate() {
            let column = |name: &str| log.series(&format!("{name}_loss_{seed}"));
            let soft = Series::new(&format!("seed {seed}, soft"), column("soft"));
            let hard = Series::new(&format!("seed {seed}, hard"), column("hard"));
            chart = chart.series(soft.color(n).dashed()).series(hard.color(n).markers());
        }
    }
    run.write_plot("loss", &chart.svg())?;
    Ok(())
}

/// The learned functions, those of a repaired circuit, and the remaining ones.
fn gates(run: &Run, learned: &LearnedAutomata, shown: usize, verdict: &SeedVerdict) -> Result<()> {
    let circuit = &learned.circuits[shown];
    let of = |automaton: &Automaton| by_function(automaton.cell.gates.iter().map(|node| node.gate));
    let active = circuit.gates.iter().filter(|gate| gate.is_active()).count();
    let name = format!("learned: {}, {} active", count(circuit.gates.len()), count(active));
    let mut panels = vec![(name, by_function(circuit.gates.iter().copied()))];
    if circuit.repair.is_some() {
        let name = format!("repaired: {} active", count(verdict.active_gates));
        panels.push((name, of(&circuit.automaton)));
    }
    panels.push((format!("simplified: {} active", count(verdict.simplified_gates)), of(&verdict.simplified)));
    run.write_plot("gates", &histogram::gates(&about(learned, Some(shown)), &panels).svg())?;
    Ok(())
}

/// Gates by their number.
fn by_function(gates: impl Iterator<Item = Gate>) -> [usize; 16] {
    let mut counts = [0; 16];
    gates.for_each(|gate| counts[gate.number() as usize] += 1);
    counts
}

/// The learned functions, layer by layer; all perception kernels together.
fn layers(run: &Run, learned: &LearnedAutomata, shown: usize) -> Result<()> {
    let topology = learned.configuration.recipe.topology.clone();
    let gates = &learned.circuits[shown].gates;
    let mut rows = Vec::new();
    let mut from = 0;
    for (n, &width) in topology.perception[1..].iter().enumerate() {
        let of_kernel = |kernel: usize| &gates[kernel * topology.perception_gates() + from..][..width];
        let all = (0..topology.kernels).flat_map(|kernel| of_kernel(kernel).iter().copied());
        rows.push((format!("perception {}", n + 1), by_function(all)));
        from += width;
    }
    from = topology.kernels * topology.perception_gates();
    for (n, &width) in topology.update[1..].iter().enumerate() {
        rows.push((format!("update {}", n + 1), by_function(gates[from..][..width].iter().copied())));
        from += width;
    }
    run.write_plot("layers", &histogram::layers(&about(learned, Some(shown)), &rows).svg())?;
    Ok(())
}

/// Curves of wrong bits under damage: the mean over all starts, and the range from the best to the worst.
fn damage(run: &Run, learned: &LearnedAutomata, shown: usize, verdict: &SeedVerdict) -> Result<()> {
    let chart = |title: &str, curves: &[Vec<f64>]| {
        let starts = curves.len();
        let about = format!("{}; {starts} starts", about(learned, Some(shown)));
        let at = |step: usize| curves.iter().map(move |curve| 100.0 * curve[step]);
        let steps = 0..curves[0].len();
        let mean = |step: usize| (step as f64, at(step).sum::<f64>() / starts as f64);
        let range =
            |step: usize| (step as f64, at(step).fold(f64::INFINITY, f64::min), at(step).fold(0.0, f64::max));
        let series = Series::new("mean; shade: from the best start to the worst", steps.clone().map(mean));
        Chart::new(title, "step", "wrong visible bits (%)")
            .about(&about)
            .series(series.band(steps.map(range)))
            .svg()
    };
    let evaluation = &verdict.evaluation;
    if !evaluation.healing.is_empty() {
        let title = "Healing: a block held at zero, then released";
        run.write_plot("healing", &chart(title, &evaluation.healing))?;
    }
    if !evaluation.robustness.is_empty() {
        let title = "Robustness: a new block of zeros at every step";
        run.write_plot("robustness", &chart(title, &evaluation.robustness))?;
    }
    Ok(())
}

/// Pictures on a contact sheet, and their side.
const TILES: usize = 12;
const TILE: f64 = 117.0;
/// How long the last picture of a film stays.
const PAUSE: Duration = Duration::from_millis(1600);

/// The roll-out at the training size and at that of the largest trial, as films; the first also as a contact
/// sheet.
fn films(run: &Run, learned: &LearnedAutomata, shown: usize) -> Result<()> {
    let circuit = &learned.circuits[shown];
    let recipe = &learned.configuration.recipe;
    let examination =
        Examination { recipe, automaton: &circuit.automaton, trained: trained(learned), seed: circuit.seed };
    let first = filmed(examination.trained);
    let frames = film(&examination, first)?;
    write_film(run, "rollout.gif", &frames, Duration::from_millis(150))?;
    let target = recipe.picture(first.height, first.width);
    let target = target.map(|cells| target_frame(&cells, recipe, first));
    let title = format!("Roll-out of the hard circuit, {}×{} cells", first.width, first.height);
    let mut sheet = Sheet::new(&title, (TILE, TILE * first.height as f64 / first.width as f64));
    sheet = sheet.about(&about(learned, Some(shown)));
    let places = TILES - usize::from(target.is_some());
    for step in chosen(frames.len(), places) {
        sheet = sheet.tile(Thumbnail::new(frames[step].png(), &[format!("step {step}")]));
    }
    if let Some(target) = target {
        sheet = sheet.tile(Thumbnail::new(target.png(), &["target"]).apart());
    }
    run.write_plot("rollout", &sheet.svg())?;
    if let Some(&trial) = recipe.trials.last() {
        write_film(run, "larger.gif", &film(&examination, trial)?, Duration::from_millis(80))?;
    }
    Ok(())
}

/// Steps for a contact sheet: the first, the last, and as many in between as there is room for.
fn chosen(frames: usize, places: usize) -> Vec<usize> {
    let places = places.min(frames).max(2);
    let mut steps: Vec<usize> = (0..places).map(|n| n * (frames - 1) / (places - 1)).collect();
    steps.dedup();
    steps
}

/// A film whose frames are labeled with their step, and whose last frame stays for a while.
fn write_film(run: &Run, name: &str, frames: &[Picture], delay: Duration) -> Result<()> {
    let last = frames.len() - 1;
    let words = |step: usize| format!("step {step} of {last}");
    let share = |step: usize| step as f64 / last.max(1) as f64;
    let frames: Vec<Picture> =
        frames.iter().enumerate().map(|(n, frame)| frame.with_progress(&words(n), share(n))).collect();
    Ok(Picture::write_film(run.plot_path(name)?, &frames, delay, PAUSE)?)
}

/// One picture per step, the start first.
fn film(examination: &Examination, trial: Trial) -> Result<Vec<Picture>> {
    let mut grid = examination.start(trial, 0)?;
    let shown = |grid: &Grid| frame(grid, examination.recipe.visible, examination.recipe.colors());
    let mut frames = vec![shown(&grid)];
    for _ in 0..trial.steps {
        grid.step();
        frames.push(shown(&grid));
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_sheet_has_the_first_and_the_last_step() {
        assert_eq!(chosen(21, 11), [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
        assert_eq!(chosen(61, 12)[11], 60);
        assert_eq!(chosen(3, 12), [0, 1, 2]);
        assert_eq!(chosen(1, 12), [0]);
    }
}
