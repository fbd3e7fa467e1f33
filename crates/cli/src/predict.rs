//! `farad predict`: what a trained network or circuit sees in new data.

mod model;

use std::io::Write;

use farad::fit::{HitCount, PublishedNetwork, SampleOrigin, Unseen, is_published};
use farad::run::visible;
use farad::train::{Outputs, Prediction, Predictor, Signature};
use serde_json::{Value, json};

use crate::arguments::PredictOptions;
use crate::error::Result;
use crate::kinds::KINDS;
use crate::look::{self, Table, left, percent, right};
use crate::profile::{self, Profiling};
use crate::source::open_run;
pub use model::ModelInUse;

/// Samples that are looked at together.
const BATCH: usize = 256;
/// Classes that a table shows.
const SHOWN: usize = 3;

/// Predicts every sample, in order.
pub fn run(options: &PredictOptions) -> Result<()> {
    profile::check(&options.profile)?;
    if options.source.is_file() && options.source.extension().is_some_and(|end| end == "onnx") {
        let device = options.device.or_best()?;
        let profiling = Profiling::start(&options.profile, &device);
        predict(&ModelInUse::open(&options.source, &device)?, options)?;
        return profiling.finish();
    }
    if is_published(&options.source) {
        let device = options.device.or_best()?;
        let profiling = Profiling::start(&options.profile, &device);
        predict(&PublishedNetwork::open(&options.source, &device)?, options)?;
        return profiling.finish();
    }
    let run = open_run(&options.source)?;
    let kind = KINDS.of(&run)?;
    let device = match options.device.asked()? {
        Some(device) => device,
        None => kind.judges_on(&run)?,
    };
    let profiling = Profiling::start(&options.profile, &device);
    predict(&*kind.predictor(&run, &device)?, options)?;
    profiling.finish()
}

fn predict(predictor: &dyn Predictor, options: &PredictOptions) -> Result<()> {
    let (signature, talk) = (predictor.signature(), options.output.talk());
    let samples = Unseen::open(&options.data, signature)?.shorter_side(predictor.shorter_side());
    let mut shown = ShownPredictions::new(signature, options);
    let mut tally = HitCount::default();
    let progress = talk.progress("samples", samples.len() as u64, 0);
    for part in samples.parts(BATCH) {
        let said = predictor.predict(&samples.batch(part.clone())?)?;
        for (sample, prediction) in part.clone().zip(&said) {
            tally.add(&signature.outputs, prediction, samples.target(sample));
            shown.add(&samples.origin(sample), prediction, samples.target(sample))?;
        }
        progress.set(part.end as u64, String::new);
    }
    drop(progress);
    let sentence = tally.sentence(signature);
    samples.notes().into_iter().for_each(|note| talk.say(visible(&note)));
    let mut out = look::out();
    if let Some(table) = shown.table {
        write!(out, "{table}")?;
        sentence.iter().try_for_each(|sentence| writeln!(out, "{sentence}"))?;
    } else {
        sentence.into_iter().for_each(|sentence| talk.say(sentence));
    }
    Ok(out.flush()?)
}

/// Where predictions go: lines of JSON at once, or a table at the end.
struct ShownPredictions<'a> {
    signature: &'a Signature,
    top: Option<usize>,
    table: Option<Table>,
}

impl ShownPredictions<'_> {
    fn new<'a>(signature: &'a Signature, options: &PredictOptions) -> ShownPredictions<'a> {
        let first = left("sample");
        let table = (!options.output.json).then(|| match &signature.outputs {
            Outputs::Classes(_) => Table::new([first, left("class"), right("probability"), left("then")]),
            Outputs::Numbers(names) => {
                Table::new(std::iter::once(first).chain(names.iter().map(|name| right(name))))
            }
        });
        ShownPredictions { signature, top: options.top, table }
    }

    fn add(&mut self, origin: &SampleOrigin, said: &Prediction, target: Option<&[String]>) -> Result<()> {
        let outputs = &self.signature.outputs;
        let Some(table) = &mut self.table else {
            return Ok(writeln!(look::out(), "{}", object(outputs, self.top, origin, said, target))?);
        };
        let place = match origin {
            SampleOrigin::File(path) => path.display().to_string(),
            SampleOrigin::Row(row) => row.to_string(),
        };
        match said {
            Prediction::Class { .. } => {
                let ranked = said.ranked();
                let named = |&(class, likely): &(usize, Option<f32>)| {
                    let likely =
                        likely.map_or(String::new(), |likely| format!(" {}", percent(likely.into())));
                    outputs.class(class) + &likely
                };
                let (class, likely) = ranked[0];
                let then = ranked[1..].iter().take(self.top.unwrap_or(SHOWN) - 1).map(named);
                table.row([
                    place.into(),
                    outputs.class(class).into(),
                    likely.map_or(String::new(), |likely| percent(likely.into())).into(),
                    then.collect::<Vec<_>>().join(", ").into(),
                ]);
            }
            Prediction::Numbers(numbers) => {
                table.row(
                    std::iter::once(place.into()).chain(numbers.iter().map(|number| digits(*number).into())),
                );
            }
        }
        Ok(())
    }
}

/// A number with as many digits as a network knows.
fn digits(number: f64) -> String {
    let short: f64 = format!("{number:.6e}").parse().unwrap_or(number);
    short.to_string()
}

/// A sample as one object.
fn object(
    outputs: &Outputs,
    top: Option<usize>,
    origin: &SampleOrigin,
    said: &Prediction,
    target: Option<&[String]>,
) -> Value {
    let mut object = match origin {
        SampleOrigin::File(path) => json!({ "file": path.display().to_string() }),
        SampleOrigin::Row(row) => json!({ "row": row }),
    };
    for (key, value) in said.object(outputs, top) {
        object[key] = value;
    }
    if let Some(target) = target {
        object["target"] = if let [one] = target { json!(one) } else { json!(target) };
    }
    object
}
