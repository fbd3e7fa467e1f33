//! `farad eval`: how good the circuits or the network of a run are.

use std::io::Write;

use farad::Device;
use farad::run::Run;
use farad_logic::report::{self, Verdict};

use crate::arguments::EvalOptions;
use crate::classify;
use crate::error::{Error, Result};
use crate::fit;
use crate::lm;
use crate::profile::Profiling;

/// Evaluates every seed of a run again, on the circuits of its checkpoint.
pub fn run(options: &EvalOptions) -> Result<()> {
    let run = Run::open(&options.run)?;
    if lm::is_lm(&run) {
        return lm::eval(&run, options);
    }
    if options.data.is_some() || options.device.is_some() {
        return Err(Error::EvalFlag { kind: run.kind().into() });
    }
    if fit::is_fit(&run) {
        return fit::eval(&run, options);
    }
    if classify::is_classify(&run) {
        return classify::eval(&run, options);
    }
    let profiling = Profiling::start(&options.profile, &Device::cpu());
    let verdicts = report::judge(&run)?;
    if options.json { print_json(&verdicts) } else { print_table(&verdicts) }?;
    profiling.finish()
}

/// One object a line and seed.
pub fn print_json(verdicts: &[Verdict]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for verdict in verdicts {
        writeln!(out, "{}", verdict.json())?;
    }
    Ok(out.flush()?)
}

/// A line a seed, for people.
pub fn print_table(verdicts: &[Verdict]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    write!(out, "{}", report::table(verdicts))?;
    Ok(out.flush()?)
}
