//! The end of a run: charts, the confusion matrix, samples with what the model saw in them, and `report.md`.

use super::{Score, Task};
use crate::data::{Dataset, Elements};
use crate::error::Result;
use crate::run::{Chart, Colour, Events, LogTable, Picture, Run};

/// What a report needs to know beside the run.
pub struct Outcome<'a> {
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
    /// A command to go on with.
    pub next: String,
}

/// Classes in a table or a picture at most.
const MOST_CLASSES: usize = 30;
/// Samples in the picture.
const SHOWN: usize = 40;
const RIGHT: Colour = [80, 150, 90];
const WRONG: Colour = [200, 50, 50];

/// Writes `plots/` and `report.md` into a run.
pub fn write(run: &Run, outcome: &Outcome) -> Result<()> {
    charts(run)?;
    let mut pictures = vec![("plots/loss.svg", "Loss")];
    if run.plots_path().join("goodness.svg").exists() {
        pictures.push(("plots/goodness.svg", "Validation"));
    }
    let confusion = outcome.score.confusion.as_ref().filter(|c| c.classes() <= MOST_CLASSES);
    if let Some(confusion) = confusion {
        run.write_picture("confusion", &confusion.picture(outcome.dataset.classes()))?;
        pictures.push(("plots/confusion.png", "Confusion: rows are classes, columns what they were seen as"));
    }
    if let Some(sheet) = samples(outcome)? {
        run.write_picture("samples", &sheet)?;
        pictures.push((
            "plots/samples.png",
            "Samples, those seen wrong first, with the class seen and the right one",
        ));
    }
    run.write_report(&page(run, outcome, &pictures)?)
}

/// Losses of training and validation, and how good the model was.
fn charts(run: &Run) -> Result<()> {
    let log = LogTable::read(run.log_path())?;
    let chart = Chart::new("loss", "step", "mean loss of a batch or set").log_y();
    let chart = chart.line("training", log.series("loss")).line("validation", log.series("validation_loss"));
    run.write_plot("loss", &chart.svg())?;
    let goodness: Vec<(f64, f64)> =
        log.series("validation_goodness").into_iter().map(|(step, share)| (step, 100.0 * share)).collect();
    if !goodness.is_empty() {
        let chart = Chart::new("validation", "step", "percent").line("validation", goodness);
        run.write_plot("goodness", &chart.svg())?;
    }
    Ok(())
}

/// Pictures of samples with what the model saw; none if they are no pictures.
fn samples(outcome: &Outcome) -> Result<Option<Picture>> {
    let Score { predictions, .. } = outcome.score;
    if predictions.is_empty() || outcome.task != Task::Classify {
        return Ok(None);
    }
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    // Half of the places are for mistakes, as far as there are some.
    for wanted_wrong in [true, false] {
        for (index, _) in predictions.iter().enumerate() {
            let limit = if wanted_wrong { SHOWN / 2 } else { SHOWN };
            if chosen.len() >= limit {
                break;
            }
            let sample = outcome.dataset.get(index)?;
            let Elements::I32(target) = sample.target.elements() else { return Ok(None) };
            let actual = target.first().map_or(0, |&class| class as usize);
            if (actual != predictions[index]) == wanted_wrong {
                chosen.push((index, actual));
            }
        }
    }
    let mut pictures = Vec::with_capacity(chosen.len());
    for (index, actual) in chosen {
        let input = outcome.dataset.get(index)?.input;
        let Some(picture) = picture(&input.to_f32(), &input.shape()) else { return Ok(None) };
        let name = |class: usize| outcome.dataset.classes().get(class).cloned().unwrap_or_default();
        let (seen, right) = (predictions[index], predictions[index] == actual);
        let text = if right { name(seen) } else { format!("{} not {}", name(actual), name(seen)) };
        pictures.push(picture.bordered(2, if right { RIGHT } else { WRONG }).captioned(&text, 1));
    }
    Ok(Some(Picture::sheet(&pictures, 8, 6)))
}

/// An image of one or three channels with values from 0 to 1, large enough to be seen.
fn picture(values: &[f32], shape: &[usize]) -> Option<Picture> {
    let &[channels, height, width] = shape else { return None };
    let times = (64 / height.max(width).max(1)).clamp(1, 8);
    match channels {
        1 => Some(Picture::from_grey(width, height, values).scaled(times)),
        3 => {
            let size = height * width;
            let pixel = |at: usize| [values[at], values[size + at], values[2 * size + at]];
            let mixed: Vec<f32> = (0..size).flat_map(pixel).collect();
            Some(Picture::from_channels(width, height, &mixed).scaled(times))
        }
        _ => None,
    }
}

fn page(run: &Run, outcome: &Outcome, pictures: &[(&str, &str)]) -> Result<String> {
    let Outcome { title, facts, judged_on, score, dataset, next, .. } = outcome;
    let mut text = format!("# {title}\n\n{}\n\n", sentence(judged_on, score));
    let seconds = Events::training_seconds(&Events::read(run.events_path())?);
    text += "| | |\n|---|---|\n";
    facts.iter().for_each(|(name, value)| text += &format!("| {name} | {value} |\n"));
    text += &format!("| training time | {seconds:.1} s |\n\n");
    if let Some(confusion) = score.confusion.as_ref().filter(|c| c.classes() <= MOST_CLASSES) {
        text += &format!("## Confusion\n\n{}\n", confusion.table(dataset.classes()));
    }
    text += "## Pictures\n\n";
    pictures.iter().for_each(|(file, about)| text += &format!("![{about}]({file})\n\n"));
    text += "## Files\n\n\
        - `config.toml`: everything needed to train again\n\
        - `log.csv`: losses, learning rate and validation by step\n\
        - `events.jsonl`: what happened when\n\
        - `checkpoint.safetensors`: weights (`model.…`), optimiser, position in the data\n\
        - `plots/`: the pictures above\n\n";
    text += &format!("Next: `{next}`\n");
    Ok(text)
}

/// How good it is, in words.
pub fn sentence(judged_on: &str, score: &Score) -> String {
    let (samples, loss) = (score.samples, score.loss);
    match (score.accuracy, score.explained) {
        (Some(accuracy), _) => {
            let right = (accuracy * samples as f64).round();
            let percent = 100.0 * accuracy;
            format!("{judged_on} accuracy {percent:.2} % ({right} of {samples}), mean loss {loss:.4}")
        }
        (None, Some(explained)) => {
            let (root, percent) = (loss.sqrt(), 100.0 * explained);
            format!(
                "{judged_on} error {root:.4} (root mean square, {samples} samples), {percent:.2} % of variance explained"
            )
        }
        _ => format!("{judged_on} loss {loss:.4} ({samples} samples)"),
    }
}
