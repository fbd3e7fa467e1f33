//! `farad tune`: time the tiles of products on this GPU, and keep the fastest that are as accurate.

use std::io::Write;

use farad::{Tuned, save_tuning};
use serde_json::json;

use crate::arguments::TuneOptions;
use crate::bench;
use crate::error::{Error, Result};
use crate::look::{self, COMMAND, FAINT, GOOD, Table, TableCell, itself, left, paint, right};

/// Runs the workloads once, then times their products.
pub fn run(options: &TuneOptions) -> Result<()> {
    crate::ranks::one_process("tune")?;
    if let Some(count) = options.random {
        return random(options, count);
    }
    if options.out.exists() {
        return Err(Error::FileExists { op: "tune", path: options.out.display().to_string(), flag: "--out" });
    }
    let (device, talk) = (options.device.or_best()?, options.output.talk());
    // Found out before the workloads take their time.
    if !device.is_gpu() {
        device.tune(|_, _| ())?;
    }
    bench::record(&options.cases, &device, talk)?;
    let bar = talk.progress("products", 1, 0);
    let tuned = device.tune(|done, all| {
        bar.set_length(all as u64);
        bar.set(done as u64, || format!("tuning on {device}"));
    })?;
    drop(bar);
    let tuning = device.tuning_of(&tuned);
    save_tuning(&options.out, &tuning)?;
    match options.output.json {
        true => print_json(&tuned)?,
        false => print(&tuned)?,
    }
    let (better, path) = (tuning.products.len(), options.out.display());
    let (all, name) = (tuned.len(), tuning.name());
    talk.say(format!("{better} of {all} products are quicker with another tile; the table {name} is {path}"));
    let command = format!("FARAD_TUNING={path} {} bench --filter {}", itself(), options.cases.join(","));
    talk.fact("next", format!("{}  use it", paint(COMMAND, command)));
    Ok(())
}

/// Times all tiles of random products.
fn random(options: &TuneOptions, count: usize) -> Result<()> {
    let (device, talk) = (options.device.or_best()?, options.output.talk());
    let shapes = bench::products(count, options.seed, &device);
    let bar = talk.progress("products", shapes.len() as u64, 0);
    let tuned = device.tune_products(&shapes, |done, _| {
        bar.set(done as u64, || format!("timing tiles on {device}"));
    })?;
    drop(bar);
    match options.output.json {
        true => print_json(&tuned),
        false => print(&tuned),
    }
}

/// What a product multiplies, in the order of the operands.
fn name(product: &Tuned) -> String {
    let s = &product.shape;
    let turned = |n: usize| if s.turned[n] { "T" } else { "" };
    let dtype = if s.is_f16 { "f16" } else { "f32" };
    format!("{}x[{},{}]{}[{},{}]{} {dtype}", s.batch, s.m, s.k, turned(0), s.k, s.n, turned(1))
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

fn print_json(tuned: &[Tuned]) -> Result<()> {
    let mut out = look::out();
    for one in tuned {
        let refused: Vec<&str> = one.refused.iter().map(|tile| tile.name.as_str()).collect();
        let tiles =
            one.variants.iter().map(|tile| (tile.name.clone(), milliseconds(tile.nanoseconds).into()));
        let tiles: serde_json::Map<String, serde_json::Value> = tiles.collect();
        let object = json!({
            "product": name(one), "rule": one.rule.name, "rule_ms": milliseconds(one.rule.nanoseconds),
            "best": one.best.name, "best_ms": milliseconds(one.best.nanoseconds), "error": one.best.error,
            "refused": refused, "batch": one.shape.batch, "m": one.shape.m, "k": one.shape.k, "n": one.shape.n,
            "f16": one.shape.is_f16, "turned": one.shape.turned, "tiles": tiles,
        });
        writeln!(out, "{object}")?;
    }
    Ok(out.flush()?)
}

fn print(tuned: &[Tuned]) -> Result<()> {
    let titles = [left("product"), right("rule ms"), right("best ms"), right("error"), left("tile")];
    let mut table = Table::new(titles);
    let ms = |nanoseconds: u64| TableCell::from(format!("{:.4}", milliseconds(nanoseconds)));
    let error = |error: f64| TableCell::from(format!("{error:.1e}"));
    for one in tuned {
        let tile = match one.best.name == one.rule.name {
            true => format!("{} (the rule's)", one.rule.name).into(),
            false => TableCell::new(GOOD, &one.best.name),
        };
        let (rule, best) = (ms(one.rule.nanoseconds), ms(one.best.nanoseconds));
        table.row([name(one).into(), rule, best, error(one.best.error), tile]);
        for refused in &one.refused {
            let why = TableCell::new(FAINT, format!("{}: refused, less accurate", refused.name));
            table.row(["".into(), "".into(), ms(refused.nanoseconds), error(refused.error), why]);
        }
    }
    let mut out = look::out();
    write!(out, "{table}")?;
    Ok(out.flush()?)
}
