//! `farad tune`: time the tiles of products on this GPU, and keep the quickest that are as accurate.

use std::io::Write;

use farad::{Device, Tuned, save_tuning};

use crate::arguments::TuneOptions;
use crate::bench;
use crate::error::{Error, Result};

/// Runs the workloads once, then times their products.
pub fn run(options: &TuneOptions) -> Result<()> {
    if options.out.exists() {
        return Err(Error::TableExists { path: options.out.display().to_string() });
    }
    let device = Device::named(&options.device)?;
    // Found out before the workloads take their time.
    if !device.is_gpu() {
        device.tune(|_, _| ())?;
    }
    bench::record(&options.cases, &device)?;
    let tuned = device.tune(|done, all| {
        eprintln!("tune: product {} of {all} on {device}", done + 1);
    })?;
    let tuning = device.tuning_of(&tuned);
    save_tuning(&options.out, &tuning)?;
    print(&tuned).map_err(Error::Output)?;
    let (better, path) = (tuning.products.len(), options.out.display());
    eprintln!(
        "{better} of {} products are quicker with another tile; the table {} is {path}\n\
         use it with: FARAD_TUNING={path} farad bench --filter {}",
        tuned.len(),
        tuning.name(),
        options.cases.join(",")
    );
    Ok(())
}

fn print(tuned: &[Tuned]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<34} {:>11} {:>11}  {:>9}  tile", "product", "rule ms", "best ms", "error")?;
    for one in tuned {
        let s = &one.shape;
        let turned = |n: usize| if s.turned[n] { "T" } else { "" };
        let dtype = if s.halves { "f16" } else { "f32" };
        let name =
            format!("{}x[{},{}]{}[{},{}]{} {dtype}", s.batch, s.m, s.k, turned(0), s.k, s.n, turned(1));
        let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
        writeln!(
            out,
            "{name:<34} {:>11.4} {:>11.4}  {:>9.1e}  {}",
            ms(one.rule.nanoseconds),
            ms(one.best.nanoseconds),
            one.best.error,
            if one.best.name == one.rule.name {
                format!("{} (the rule's)", one.rule.name)
            } else {
                one.best.name.clone()
            },
        )?;
        for refused in &one.refused {
            let (name, time, error) = (&refused.name, ms(refused.nanoseconds), refused.error);
            writeln!(
                out,
                "{:<34} {:>11} {time:>11.4}  {error:>9.1e}  {name}: refused, less accurate",
                "", ""
            )?;
        }
    }
    Ok(())
}
