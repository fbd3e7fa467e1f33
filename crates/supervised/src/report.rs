//! The end of a run: charts, the confusion matrix, samples with what the model saw in them, and `report.md`.

use super::filters;
use super::samples::{self, JudgedSample};
use super::{Baseline, Score, Task};
use crate::error::Result;
use farad_data::Dataset;
use farad_tensor::Tensor;
use farad_train::run::{
    Chart, Conclusion, Events, LogTable, Page, Run, Series, Sheet, count, counted, number as digits,
};

/// What a report needs to know beside the run.
pub struct SupervisedReportInputs<'a> {
    /// What was learned, e.g. `mnist with a cnn`.
    pub title: String,
    /// Lines about model, data and settings: name and value.
    pub facts: Vec<(String, String)>,
    /// On what the score was made, e.g. `test`.
    pub judged_on: &'a str,
    /// How good the model is.
    pub score: &'a Score,
    /// The samples that it was judged on.
    pub dataset: &'a dyn Dataset,
    /// The task.
    pub task: Task,
    /// Steps that the model has made.
    pub steps: u64,
    /// A command to go on with.
    pub next: String,
    /// The network's tensors by name.
    pub state: Vec<(String, Tensor)>,
    /// The shape of a sample.
    pub shape: &'a [usize],
    /// The target of a table, with its unit where that is known; empty for others.
    pub target: String,
}

/// Classes in a table at most.
const MOST_CLASSES: usize = 30;

/// Writes `plots/`, `result.json` and `report.md` into a run.
pub fn write(run: &Run, outcome: &SupervisedReportInputs) -> Result<()> {
    let mut figures = charts(run, outcome)?;
    if let Some(confusion) = &outcome.score.confusion {
        let matrix = confusion.matrix(outcome.dataset.classes(), outcome.judged_on, &about(outcome));
        run.write_plot("confusion", &matrix.svg())?;
        figures.push(("plots/confusion.svg", CONFUSION.to_string()));
    }
    if let Some(sheet) = samples(outcome)? {
        run.write_plot("samples", &sheet.svg())?;
        figures.push(("plots/samples.svg", SAMPLES.to_string()));
    }
    if let Some(sheet) = filters::sheet(&outcome.state, outcome.shape, &about(outcome))? {
        run.write_plot("filters", &sheet.svg())?;
        figures.push(("plots/filters.svg", FILTERS.to_string()));
    }
    if let Some(chart) = predicted(outcome) {
        run.write_plot("predicted", &chart.svg())?;
        figures.push(("plots/predicted.svg", PREDICTED.to_string()));
    }
    conclusion(outcome).write(run)?;
    run.write_report(&page(run, outcome, &figures)?)
}

/// What came out, for lists of runs.
fn conclusion(outcome: &SupervisedReportInputs) -> Conclusion {
    let SupervisedReportInputs { judged_on: on, score, steps, .. } = *outcome;
    match (score.accuracy, score.explained) {
        (Some(accuracy), _) => Conclusion::share(steps, &format!("{on} accuracy"), accuracy),
        (None, Some(explained)) => Conclusion::share(steps, &format!("{on} explained variance"), explained),
        _ => {
            Conclusion::new(steps, &format!("{on} loss"), score.loss, format!("{on} loss {:.4}", score.loss))
        }
    }
}

const CONFUSION: &str = "Confusion. Rows are classes, columns are predictions; the shade is the share of the row, \
    blue what is right and orange what is wrong.";
const PREDICTED: &str =
    "Predicted against true, one point per sample of the test set. On the line a prediction is right.";
const FILTERS: &str = "What the first layer looks for, each set of weights as a picture: gray is zero, white adds, black takes away.";
const SAMPLES: &str = "Samples. First the mistakes that the model was most sure of, framed and crossed, with the class \
    and what was seen instead; then samples that were seen right.";

/// What a picture is about: the run in a few words.
fn about(outcome: &SupervisedReportInputs) -> String {
    let fact = |name: &str| outcome.facts.iter().find(|fact| fact.0 == name).map(|fact| fact.1.as_str());
    let seed = fact("seed").map(|seed| format!("seed {seed}"));
    let words = [Some(outcome.title.clone()), seed, fact("device").map(str::to_string)];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Losses of training and validation, and how good the model was.
fn charts(run: &Run, outcome: &SupervisedReportInputs) -> Result<Vec<(&'static str, String)>> {
    let (log, about) = (LogTable::read(run.log_path())?, about(outcome));
    let unit = if outcome.task == Task::Classify { "cross-entropy (nats)" } else { "mean squared error" };
    let chart = Chart::new("Loss during training", "step", unit).about(&about).log_y();
    let chart = chart.series(Series::new("training batches", log.series("loss")).smoothed());
    let validation = log.series("validation_loss");
    run.write_plot("loss", &chart.series(Series::new("validation set", validation).markers()).svg())?;
    let mut figures =
        vec![("plots/loss.svg", "Loss of training batches and of the validation set.".to_string())];
    let percent = |(step, share): (f64, f64)| (step, 100.0 * share);
    let goodness: Vec<(f64, f64)> = log.series("validation_goodness").into_iter().map(percent).collect();
    if !goodness.is_empty() {
        let (title, unit) = match outcome.task {
            Task::Classify => ("Accuracy on the validation set", "samples classified right (%)"),
            Task::Regress => ("Explained variance on the validation set", "explained variance, R² (%)"),
        };
        let series = Series::new("validation set", goodness).color(1).markers();
        run.write_plot("goodness", &Chart::new(title, "step", unit).about(&about).series(series).svg())?;
        figures.push(("plots/goodness.svg", format!("{title}.")));
    }
    Ok(figures)
}

/// Points in a picture at most.
const MOST_POINTS: usize = 2000;

/// Predicted against true, for targets that are numbers.
fn predicted(outcome: &SupervisedReportInputs) -> Option<Chart> {
    let Score { said, wanted, .. } = outcome.score;
    let every = said.len().div_ceil(MOST_POINTS).max(1);
    let points: Vec<(f64, f64)> =
        wanted.iter().zip(said).step_by(every).map(|(&x, &y)| (x.into(), y.into())).collect();
    let lowest = wanted.iter().copied().reduce(f32::min)?;
    let highest = wanted.iter().copied().reduce(f32::max)?;
    let name = if outcome.target.is_empty() { "target" } else { &outcome.target };
    let line = [lowest, highest].map(|at| (f64::from(at), f64::from(at)));
    let chart = Chart::new("Predicted against true", &format!("true {name}"), &format!("predicted {name}"));
    let points = Series::new("samples of the test set", points).scattered();
    Some(chart.about(&about(outcome)).series(points).series(Series::new("right", line).dashed().color(6)))
}

/// Measures beside the first one, and what who knows nothing of the inputs would reach: name and value.
pub fn measures(score: &Score, target: &str) -> Vec<(String, String)> {
    let mut all = vec![];
    let mut add = |name: &str, value: String| all.push((name.to_string(), value));
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    if let Some(confusion) = &score.confusion {
        add("F1, mean over classes", percent(confusion.macro_f1()));
    }
    if let Some(area) = score.auc() {
        add("AUC, mean over classes", format!("{area:.4}"));
    }
    let unit = target.rsplit_once(" (").map_or("", |(_, unit)| unit.trim_end_matches(')'));
    let number = |value: f64| format!("{} {unit}", digits(value)).trim_end().to_string();
    if let Some(error) = score.mean_error() {
        add("root mean square error", number(score.loss.sqrt()));
        add("mean absolute error", number(error));
    }
    match &score.baseline {
        Some(Baseline::Class { name, accuracy }) => {
            add("baseline", format!("always `{}`: {}", farad_train::run::visible(name), percent(*accuracy)));
        }
        Some(Baseline::Number { value, root, mean }) => add(
            "baseline",
            format!(
                "always the mean of training, {}: root mean square error {}, mean absolute error {}",
                number(*value),
                number(*root),
                number(*mean)
            ),
        ),
        None => {}
    }
    all
}

/// Pictures of samples with what the model saw; none if they are no pictures.
fn samples(outcome: &SupervisedReportInputs) -> Result<Option<Sheet>> {
    let Score { predictions, labels, confidences, .. } = outcome.score;
    if predictions.is_empty() || outcome.task != Task::Classify {
        return Ok(None);
    }
    let judged = |place: usize| {
        let sure = confidences.get(place).copied();
        JudgedSample { place, class: labels[place], seen: predictions[place], sure }
    };
    let all: Vec<JudgedSample> = (0..labels.len()).map(judged).collect();
    samples::sheet(&all, outcome.dataset.classes(), &about(outcome), |place| {
        let input = outcome.dataset.get(place)?.input;
        Ok(samples::picture(&input.to_f32(), &input.shape()))
    })
}

fn page(run: &Run, outcome: &SupervisedReportInputs, figures: &[(&str, String)]) -> Result<String> {
    let SupervisedReportInputs { title, facts, judged_on, score, dataset, next, .. } = outcome;
    let events = Events::read(run.events_path())?;
    let (seconds, ranks) = (Events::training_seconds(&events), Events::on_ranks(&events));
    let mut page = Page::with_result(title, &sentence(judged_on, score));
    let time = [("training time".to_string(), format!("{seconds:.1} s{ranks}"))];
    let measured = measures(score, &outcome.target);
    page.facts(measured.into_iter().chain(facts.iter().cloned()).chain(time));
    page.section("Pictures");
    figures.iter().for_each(|(file, caption)| page.figure(file, caption));
    if let Some(confusion) = score.confusion.as_ref().filter(|c| c.classes() <= MOST_CLASSES) {
        page.section("Confusion in numbers");
        page.words(&confusion.table(dataset.classes()));
    }
    page.files(&[
        ("config.toml", "everything needed to train again"),
        ("log.csv", "losses, learning rate and validation by step"),
        ("events.jsonl", "what happened when"),
        ("checkpoint.safetensors", "weights (`model.…`), optimizer, position in the data"),
        ("plots/", "the pictures above"),
        ("result.json", "what came out, for lists of runs"),
    ]);
    page.words(&format!("Next: `{next}`"));
    Ok(page.text())
}

/// How good it is, in words.
pub fn sentence(judged_on: &str, score: &Score) -> String {
    let (samples, loss) = (counted(score.samples, "sample"), score.loss);
    match (score.accuracy, score.explained) {
        (Some(accuracy), _) => {
            let (right, all) =
                (count((accuracy * score.samples as f64).round() as u64), count(score.samples));
            let percent = 100.0 * accuracy;
            format!("{judged_on} accuracy {percent:.2} % ({right} of {all}), mean loss {loss:.4}")
        }
        (None, Some(explained)) => {
            let (root, percent) = (loss.sqrt(), 100.0 * explained);
            let mean = score
                .mean_error()
                .map_or(String::new(), |mean| format!(", mean absolute error {}", digits(mean)));
            let root = digits(root);
            format!(
                "{judged_on} explained variance {percent:.2} % (R², {samples}), root mean square error {root}{mean}"
            )
        }
        _ => format!("{judged_on} loss {loss:.4} ({samples})"),
    }
}
