//! The end of a run: the chart of losses and `report.md`.

use farad::run::{Chart, Events, LogTable, Run};

use super::{Score, Settings, Summary};
use crate::error::Result;

/// Tokens of the training text of wikitext-2, with the end of every line: the epoch that is published.
const PUBLISHED_EPOCH: f64 = 2_088_628.0;

/// What a report needs to know beside the run.
pub struct Outcome<'a> {
    /// What was asked for.
    pub settings: &'a Settings,
    /// Numbers that were learned.
    pub parameters: usize,
    /// Tokens that were trained on.
    pub train_tokens: usize,
    /// How training ended.
    pub summary: &'a Summary,
    /// The best model on a text, and which text.
    pub score: (Score, &'a str),
    /// Text by the model.
    pub sample: &'a str,
    /// Where it ran.
    pub device: &'a str,
}

impl Outcome<'_> {
    /// How good it is, in a line.
    pub fn sentence(&self) -> String {
        let (score, on) = &self.score;
        sentence(score, on)
    }

    /// How fast it was, in a line; none if too little was trained to say.
    pub fn speed(&self) -> Option<String> {
        let rate = self.summary.speed.tokens_per_second()?;
        let epoch = self.train_tokens as f64 / rate;
        let mut text =
            format!("{rate:.0} tokens/s, an epoch of {} tokens takes {epoch:.1} s", self.train_tokens);
        // The published times are of words.
        if self.settings.tokeniser == "words" {
            text += &format!(", one of 2.09 M tokens (wikitext-2) {:.1} s", PUBLISHED_EPOCH / rate);
        }
        Some(text)
    }
}

/// How well a text was predicted.
pub fn sentence(score: &Score, on: &str) -> String {
    let (loss, perplexity, tokens) = (score.loss, score.perplexity(), score.tokens);
    format!("{on} loss {loss:.4}, perplexity {perplexity:.2} ({tokens} tokens, each predicted once)")
}

/// Writes `plots/loss.svg` and `report.md` into a run.
pub fn write(run: &Run, outcome: &Outcome) -> Result<()> {
    let log = LogTable::read(run.log_path())?;
    let chart = Chart::new("loss", "update", "mean loss of a token (nats)");
    let chart = chart.line("training", log.series("loss")).line("validation", log.series("validation_loss"));
    run.write_plot("loss", &chart.svg())?;
    Ok(run.write_report(&page(run, outcome)?)?)
}

fn page(run: &Run, outcome: &Outcome) -> Result<String> {
    let Outcome { settings, summary, .. } = outcome;
    let seconds = Events::training_seconds(&Events::read(run.events_path())?);
    let (rate, decay, warm) = (settings.learning_rate, settings.weight_decay, settings.warm_up);
    let (batch, accumulate) = (settings.batch, settings.accumulate);
    let mut text = format!("# Language model\n\n{}\n\n| | |\n|---|---|\n", outcome.sentence());
    let facts = [
        ("data", format!("{} ({} tokens to train on)", settings.data, outcome.train_tokens)),
        ("tokeniser", settings.tokeniser.clone()),
        ("model", format!("{}, {} parameters", settings.shape(), outcome.parameters)),
        ("batch", format!("{batch} windows, {accumulate} batches an update")),
        (
            "optimiser",
            format!(
                "AdamW, learning rate {rate}, warm-up {warm}, cosine, decay {decay}, clip {}",
                settings.clip
            ),
        ),
        ("precision", if settings.mixed { "mixed".into() } else { "f32".into() }),
        ("updates", summary.updates.to_string()),
        ("seed", settings.seed.to_string()),
        ("device", outcome.device.to_string()),
        ("training time", format!("{seconds:.1} s, validation included")),
        ("speed", outcome.speed().unwrap_or_else(|| "too few updates to say".into())),
    ];
    facts.iter().for_each(|(name, value)| text += &format!("| {name} | {value} |\n"));
    text += "\n![Loss](plots/loss.svg)\n\n";
    if let Some(breakdown) = &summary.breakdown {
        let launches = breakdown.launches;
        text +=
            &format!("## Where the time goes\n\n{}\n{launches:.0} kernels an update.\n\n", breakdown.table());
    }
    if !outcome.sample.is_empty() {
        text += &format!("## Sample\n\n{}\n\n", quoted(outcome.sample));
    }
    text += "## Files\n\n\
        - `config.toml`: everything needed to train again\n\
        - `log.csv`: losses and learning rate by update\n\
        - `events.jsonl`: what happened when, and how fast\n\
        - `best.safetensors`: the model of the best validation, with its tokeniser\n\
        - `checkpoint.safetensors`: the last model, with its tokeniser and the optimiser\n\
        - `tokens/`: the text as tokens\n\n";
    let path = run.path().display();
    text += &format!("Next: `farad generate {path} --prompt \"…\"`\n");
    Ok(text)
}

/// Text as a block that no text can end.
fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
