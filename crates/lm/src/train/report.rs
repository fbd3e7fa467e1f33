//! The end of a run: charts of loss and perplexity, and `report.md`.

use farad::run::{Chart, Conclusion, Events, LogTable, Page, Run, Series, count, counted, json, visible};
use farad::train::{Outcome as Told, Tone};

use super::{Breakdown, Learned, LmSettings, Speed, TextScore};
use crate::error::Result;

/// Tokens of the training text of wikitext-2, with the end of every line: the epoch that is published.
const PUBLISHED_EPOCH: f64 = 2_088_628.0;

/// Characters of a sample that are shown at the end.
const EXCERPT: usize = 240;

/// What a report needs to know beside the run.
pub struct LmReportInputs<'a> {
    /// What was asked for.
    pub settings: &'a LmSettings,
    /// Numbers that were learned.
    pub parameters: usize,
    /// Tokens that were trained on.
    pub train_tokens: usize,
    /// Updates made.
    pub updates: u64,
    /// How fast the last process was.
    pub speed: Speed,
    /// Where the time of an update went, if there were enough of them to see.
    pub breakdown: Option<Breakdown>,
    /// The best model on a text, and which text.
    pub score: (TextScore, &'a str),
    /// Text by the model.
    pub sample: &'a str,
    /// Where it ran.
    pub device: &'a str,
}

impl LmReportInputs<'_> {
    /// How good it is, in a line.
    pub fn sentence(&self) -> String {
        let (score, on) = &self.score;
        sentence(score, on)
    }

    /// How fast it was, in a line; none if too little was trained to say.
    pub fn pace(&self) -> Option<String> {
        let rate = self.speed.tokens_per_second()?;
        let epoch = self.train_tokens as f64 / rate;
        let (speed, tokens) = (count(rate.round() as u64), counted(self.train_tokens, "token"));
        let mut text = format!("{speed} tokens/s, an epoch of {tokens} takes {epoch:.1} s");
        // The published times are of words.
        if self.settings.tokenizer == "words" {
            text += &format!(", one of 2.09 M tokens (wikitext-2) {:.1} s", PUBLISHED_EPOCH / rate);
        }
        Some(text)
    }

    /// The same and a sample, as the outcome of a run.
    pub(super) fn told(&self, learned: &Learned) -> Told {
        let (score, on) = self.score;
        let told = outcome(learned, (score, on), self.speed.tokens_per_second());
        let lines = self.pace().into_iter().chain(self.breakdown.iter().map(Breakdown::line));
        let told = lines.fold(told, |told, line| told.say(Tone::Plain, line));
        let excerpt: String = self.sample.trim().chars().take(EXCERPT).collect();
        match excerpt.is_empty() {
            true => told,
            false => told.say(Tone::Heading, "a sample of its text").say(Tone::Faint, visible(&excerpt)),
        }
    }
}

/// How well a text was predicted.
pub fn sentence(score: &TextScore, on: &str) -> String {
    let (loss, perplexity, tokens) = (score.loss, score.perplexity(), counted(score.tokens, "token"));
    format!("{on} loss {loss:.4}, perplexity {perplexity:.2} ({tokens}, each predicted once)")
}

/// What a score says, for people and for programs, and how many tokens per second were learned from.
pub(super) fn outcome(learned: &Learned, (score, on): (TextScore, &str), rate: Option<f64>) -> Told {
    let value = json!({
        "text": on, "tokens": score.tokens, "loss": score.loss, "perplexity": score.perplexity(),
        "updates": learned.updates, "validation_loss": learned.validation_loss,
        "parameters": learned.model.parameter_count(), "tokens_per_second": rate,
        "seed": learned.settings.seed,
    });
    Told::new(value, sentence(&score, on))
}

/// Writes `plots/` and `report.md` into a run.
pub fn write(run: &Run, outcome: &LmReportInputs) -> Result<()> {
    let log = LogTable::read(run.log_path())?;
    let about = format!("{}, seed {}, {}", outcome.settings.shape(), outcome.settings.seed, outcome.device);
    let (training, validation) = (log.series("loss"), log.series("validation_loss"));
    let lines = |chart: Chart, of: fn(f64) -> f64| {
        let points = |points: &[(f64, f64)]| points.iter().map(|&(x, y)| (x, of(y))).collect::<Vec<_>>();
        let chart = chart.about(&about).series(Series::new("training batches", points(&training)).smoothed());
        chart.series(Series::new("validation text", points(&validation)).markers()).svg()
    };
    let loss = Chart::new("Loss during training", "update", "loss of a token (nats)");
    run.write_plot("loss", &lines(loss, |loss| loss))?;
    let perplexity = Chart::new("Perplexity during training", "update", "perplexity of a token").log_y();
    run.write_plot("perplexity", &lines(perplexity, f64::exp))?;
    let (score, on) = &outcome.score;
    let (name, value) = (format!("{on} perplexity"), score.perplexity());
    Conclusion::new(outcome.updates, &name, value, format!("{name} {value:.2}")).write(run)?;
    Ok(run.write_report(&page(run, outcome)?)?)
}

fn page(run: &Run, outcome: &LmReportInputs) -> Result<String> {
    let LmReportInputs { settings, breakdown, .. } = outcome;
    let events = Events::read(run.events_path())?;
    let (seconds, ranks) = (Events::training_seconds(&events), Events::on_ranks(&events));
    let (rate, decay, warm) = (settings.learning_rate, settings.weight_decay, settings.warm_up);
    let (batch, accumulate) = (settings.batch, settings.accumulate);
    let mut page = Page::with_result("Language model", &outcome.sentence());
    page.facts([
        ("data", format!("{} ({} to train on)", settings.data, counted(outcome.train_tokens, "token"))),
        ("tokenizer", settings.tokenizer.clone()),
        ("model", format!("{}, {}", settings.shape(), counted(outcome.parameters, "parameter"))),
        ("batch", format!("{}, {} an update", counted(batch, "window"), counted(accumulate, "batch"))),
        (
            "optimizer",
            format!(
                "{}, learning rate {rate}, warm-up {warm}, cosine, decay {decay}, clip {}",
                settings.optimizer, settings.clip
            ),
        ),
        ("precision", if settings.mixed { "mixed".into() } else { "f32".into() }),
        ("updates", count(outcome.updates)),
        ("seed", settings.seed.to_string()),
        ("device", outcome.device.to_string()),
        ("training time", format!("{seconds:.1} s{ranks}, validation included")),
        ("speed", outcome.pace().unwrap_or_else(|| "too few updates to say".into())),
    ]);
    if !outcome.sample.is_empty() {
        page.section("Sample");
        page.words("Text by the model, one token after the other:");
        page.quote(outcome.sample);
    }
    page.section("Pictures");
    page.figure("plots/loss.svg", "Mean loss per token, on training batches and on the validation text.");
    page.figure(
        "plots/perplexity.svg",
        "Perplexity: between how many equally likely tokens the model hesitates.",
    );
    if let Some(breakdown) = breakdown {
        page.section("Where the time goes");
        page.words(&format!(
            "{}\n{} an update.",
            breakdown.table(),
            counted(breakdown.launches.round() as u64, "kernel")
        ));
    }
    page.files(&[
        ("config.toml", "everything needed to train again"),
        ("log.csv", "losses and learning rate by update"),
        ("events.jsonl", "what happened when, and how fast"),
        ("best.safetensors", "the model of the best validation, with its tokenizer"),
        ("checkpoint.safetensors", "the last model, with its tokenizer and the optimizer"),
        ("tokens/", "the text as tokens"),
        ("plots/", "the pictures above"),
        ("result.json", "what came out, for lists of runs"),
    ]);
    page.words(&format!("Next: `farad generate {} --prompt \"…\"`", farad::run::shell_word(run.path())));
    Ok(page.text())
}
