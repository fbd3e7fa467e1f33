//! The end of a run: returns of the kept agents, curves with quantiles over seeds, and `report.md`.

use farad::run::{Chart, Conclusion, Events, LogTable, Page, Run, Series, count, counted, shell_word};
use farad::train::{Outcome, TextTable};
use farad::{Device, Result};

use super::score::ReturnScore;
use super::settings::Settings;
use crate::environment::Environment;
use crate::episodes::Agents;

/// Seed offset for the starts that judge agents.
const JUDGED: u64 = 0x6a75_6467_6564;

/// The agents of a run, judged.
pub struct Judged {
    /// One per seed.
    pub scores: Vec<ReturnScore>,
    /// Updates made.
    pub steps: u64,
    /// Weights of each.
    pub numbers: usize,
}

impl Judged {
    /// The mean of all agents' mean returns.
    fn mean(&self) -> f64 {
        self.scores.iter().map(ReturnScore::mean).sum::<f64>() / self.scores.len().max(1) as f64
    }

    fn worst(&self) -> f64 {
        self.scores.iter().map(ReturnScore::min).fold(f64::INFINITY, f64::min)
    }

    /// The result as a sentence.
    fn sentence(&self) -> String {
        let episodes = self.scores.first().map_or(0, |score| score.returns.len());
        let of = match self.scores.len() {
            1 => counted(episodes, "episode"),
            seeds => format!("{} of each of {seeds} agents", counted(episodes, "episode")),
        };
        let lengths: Option<Vec<f64>> =
            self.scores.iter().map(|score| score.body_lengths().map(|[mean, _]| mean)).collect();
        let ahead = lengths.filter(|all| !all.is_empty()).map_or(String::new(), |all| {
            format!(", {:.1} body lengths ahead", all.iter().sum::<f64>() / all.len() as f64)
        });
        format!("mean return {:.1} over {of}, {:.1} in the worst{ahead}", self.mean(), self.worst())
    }
}

/// Judges agents, one per seed.
pub fn judge(
    settings: &Settings,
    environment: &dyn Environment,
    agents: &Agents,
    steps: u64,
    device: &Device,
) -> Result<Judged> {
    let seed = settings.seed ^ JUDGED;
    let scores = ReturnScore::of(environment, agents, settings.episodes, seed, device)?;
    Ok(Judged { scores, steps, numbers: agents.network.numbers() })
}

/// The results, for people and for programs: one object per seed.
pub fn outcome(settings: &Settings, judged: &Judged) -> Outcome {
    let scores = settings.all_seeds().zip(&judged.scores);
    let json = scores.clone().map(|(seed, score)| score.json(settings, seed, judged.steps)).collect();
    let mut outcome = Outcome { json, lines: vec![judged.sentence()], ..Outcome::default() };
    if judged.scores.len() > 1 {
        let bodies = judged.scores.iter().all(|score| score.ahead.is_some());
        let columns = [("seed", true), ("mean return", true), ("worst", true), ("body lengths", true)];
        let mut table = TextTable::new(columns[..if bodies { 4 } else { 3 }].iter().copied());
        for (seed, score) in scores {
            let numbers = [score.mean(), score.min()].into_iter();
            let numbers = numbers.chain(score.body_lengths().map(|[mean, _]| mean));
            table.row([seed.into()].into_iter().chain(numbers.map(|n| format!("{n:.1}").into())));
        }
        outcome.table = Some(table);
    }
    outcome
}

/// Writes `plots/`, `result.json` and `report.md` into a run.
pub fn write(
    run: &Run,
    settings: &Settings,
    environment: &dyn Environment,
    judged: &Judged,
    best: &[u64],
    steps: String,
) -> Result<()> {
    let has_model = curves(run, settings)?;
    let words = format!("mean return {:.1}", judged.mean());
    Conclusion::new(judged.steps, "mean return", judged.mean(), words).write(run)?;
    let events = Events::read(run.events_path())?;
    let (seconds, ranks) = (Events::training_seconds(&events), Events::on_ranks(&events));
    let mut page = Page::with_result(&settings.title(), &judged.sentence());
    page.facts([
        ("world", format!("{}, {} at most", settings.world, counted(environment.longest(), "step"))),
        ("algorithm", settings.algorithm.clone()),
        ("weights", counted(judged.numbers, "number")),
        ("updates", format!("{} ({steps} steps of worlds at most)", count(judged.steps))),
        ("kept after", best.iter().map(|&update| count(update)).collect::<Vec<_>>().join(", ")),
        ("seeds", settings.all_seeds().map(|seed| seed.to_string()).collect::<Vec<_>>().join(", ")),
        ("device", settings.device.clone()),
        ("training time", format!("{seconds:.1} s{ranks}")),
    ]);
    page.section("Pictures");
    page.figure(
        "plots/return.svg",
        "Returns in training, and of validations, where every agent takes its best action.",
    );
    page.figure("plots/loss.svg", "Loss during training.");
    if has_model {
        page.figure("plots/model.svg", "How far the model of the world is off, as losses of its parts.");
    }
    page.files(&[
        ("config.toml", "everything needed to train again"),
        ("log.csv", "loss, return and validations by update"),
        ("events.jsonl", "what happened when"),
        ("checkpoint.safetensors", "the kept agents (`best.…`), and the state of training (`training.…`)"),
        ("plots/", "the pictures above"),
        ("result.json", "what came out, for lists of runs"),
    ]);
    page.words(&format!("Next: `farad watch {}`", shell_word(run.path())));
    run.write_report(&page.text())
}

/// Columns of losses of a model of the world, with their names.
const MODEL: [(&str, &str); 4] = [
    ("reconstruction_loss", "what is seen"),
    ("reward_loss", "rewards"),
    ("continue_loss", "ends"),
    ("divergence", "latent states, in nats"),
];

/// Draws all curves. Whether there are some of a model.
fn curves(run: &Run, settings: &Settings) -> Result<bool> {
    let log = LogTable::read(run.log_path())?;
    let about = format!("{}, seed {}, {}", settings.title(), settings.seed, settings.device);
    let chart = Chart::new("Return during training", "update", "sum of rewards").about(&about);
    let training = quantiles("in training", &log, settings, "return");
    let validated = quantiles("validation", &log, settings, "validation_return").markers();
    run.write_plot("return", &chart.series(training).series(validated).svg())?;
    let chart = Chart::new("Loss during training", "update", "loss").about(&about);
    run.write_plot("loss", &chart.series(quantiles("updates", &log, settings, "loss")).svg())?;
    let has_model = settings.algorithm == "dreamer";
    if has_model {
        let chart = Chart::new("Model of the world during training", "update", "loss").about(&about).log_y();
        let all = MODEL.iter().map(|(column, name)| quantiles(name, &log, settings, column));
        run.write_plot("model", &all.fold(chart, Chart::series).svg())?;
    }
    Ok(has_model)
}

/// A column as a curve: the median of all seeds, with a band from the lower to the upper quartile.
fn quantiles(name: &str, log: &LogTable, settings: &Settings, column: &str) -> Series {
    if settings.seeds == 1 {
        return Series::new(name, log.series(column));
    }
    let all: Vec<Vec<(f64, f64)>> =
        settings.all_seeds().map(|seed| log.series(&format!("{column}_{seed}"))).collect();
    let steps = all.first().map_or(0, Vec::len);
    let at = |step: usize| {
        let mut values: Vec<f64> = all.iter().filter_map(|series| Some(series.get(step)?.1)).collect();
        values.sort_by(f64::total_cmp);
        let of = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        (all[0][step].0, of(0.25), of(0.5), of(0.75))
    };
    let points: Vec<(f64, f64, f64, f64)> = (0..steps).map(at).collect();
    let median = Series::new(&format!("{name}, median of seeds"), points.iter().map(|p| (p.0, p.2)));
    median.band(points.iter().map(|p| (p.0, p.1, p.3)))
}
