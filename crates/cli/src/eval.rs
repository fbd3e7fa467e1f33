//! `farad eval`: how good the circuits or the network of a run are.

use std::io::Write;

use farad::Device;
use farad::run::Run;
use farad::train::{Asked, Kind};
use farad_logic::report::{self, Verdict};

use crate::arguments::EvalOptions;
use crate::error::{Error, Result};
use crate::kinds::KINDS;
use crate::lm;
use crate::look::{self, Cell, Table, count, left, right};
use crate::profile::{self, Profiling};
use crate::source::open_run;
use crate::training::{self, Screen};

/// Evaluates every seed of a run again, on the circuits of its checkpoint.
pub fn run(options: &EvalOptions) -> Result<()> {
    profile::check(&options.profile)?;
    let run = open_run(&options.run)?;
    let (speed, data) = ((options.speed, "--speed"), (options.data.is_some(), "--data"));
    let device = (options.device.device.is_some(), "--device");
    let refuse =
        |flags: &[(bool, &'static str)], why: &'static str| match flags.iter().find(|(given, _)| *given) {
            Some(&(_, flag)) => Err(Error::EvalFlag { flag, kind: run.kind().into(), why }),
            None => Ok(()),
        };
    if lm::is_lm(&run) {
        refuse(&[speed], "it times the circuits of logic networks")?;
        return lm::eval(&run, options);
    }
    if let Some(kind) = KINDS.named(run.kind()) {
        return judge(kind, &run, options);
    }
    refuse(&[data, device], "circuits are judged on the CPU, by their own data")?;
    refuse(&[speed], "it times the circuits of logic networks")?;
    let profiling = Profiling::start(&options.profile, &Device::cpu());
    let verdicts = report::judge(&run)?;
    if options.output.json { print_json(&verdicts) } else { print_table(&verdicts) }?;
    profiling.finish()
}

/// Judges what a run of a kind of the table has learned.
fn judge(kind: &dyn Kind, run: &Run, options: &EvalOptions) -> Result<()> {
    let data = options.data.as_ref().map(|path| path.display().to_string());
    let device = options.device.device.is_some().then(String::new);
    let given = [
        ("speed", "--speed", options.speed.then(|| "true".to_string())),
        ("data", "--data", data),
        ("device", "--device", device),
    ];
    let mut flags = vec![];
    for (key, flag, text) in given {
        let Some(text) = text else { continue };
        if let Some(why) = kind.refuses(run.config(), key) {
            return Err(Error::EvalFlag { flag, kind: run.kind().into(), why });
        }
        flags.push((key.to_string(), text));
    }
    let screen = Screen::new(options.output.talk());
    let device = match options.device.asked()? {
        Some(device) => device,
        None => kind.judges_on(run)?,
    };
    let profiling = Profiling::start(&options.profile, &device);
    let asked = Asked { watcher: &screen, flags, ..Asked::new("") };
    let outcome = kind.judge(run, &asked, &device)?;
    screen.end();
    training::show(&outcome, options.output.json)?;
    profiling.finish()
}

/// One object a line and seed.
pub fn print_json(verdicts: &[Verdict]) -> Result<()> {
    let mut out = look::out();
    for verdict in verdicts {
        writeln!(out, "{}", verdict.json())?;
    }
    Ok(out.flush()?)
}

/// A line a seed, for people.
pub fn print_table(verdicts: &[Verdict]) -> Result<()> {
    let mut out = look::out();
    let titles = ["seed", "exact", "wrong bits", "of", "stable", "active gates", "simplified", "proved"];
    let sides = [right, left, right, right, left, right, right, left];
    let columns = titles.into_iter().zip(sides).map(|(title, side)| side(title));
    let mut table = Table::new(columns.chain([left("larger grids"), left("heals")]));
    for verdict in verdicts {
        let evaluation = &verdict.evaluation;
        let size = |(width, height, right, wrong): (usize, usize, bool, usize)| match right {
            true => format!("{width}×{height} right"),
            false => format!("{width}×{height} {} wrong", count(wrong)),
        };
        let sizes =
            evaluation.sizes.iter().map(|trial| size((trial.width, trial.height, trial.right, trial.wrong)));
        let larger = sizes.collect::<Vec<_>>().join(", ");
        table.row([
            verdict.seed.into(),
            Cell::yes(evaluation.exact),
            count(evaluation.wrong).into(),
            count(evaluation.of).into(),
            Cell::yes(evaluation.stable),
            count(verdict.active_gates).into(),
            count(verdict.simplified_gates).into(),
            Cell::yes(verdict.proved),
            Cell::judged(evaluation.sizes.iter().all(|trial| trial.right), larger),
            evaluation.healed.map_or("–".into(), Cell::yes),
        ]);
    }
    write!(out, "{table}")?;
    let exact = verdicts.iter().filter(|verdict| verdict.evaluation.exact).count();
    if verdicts.len() > 1 {
        writeln!(out, "{exact} of {} exact", verdicts.len())?;
    }
    Ok(out.flush()?)
}
