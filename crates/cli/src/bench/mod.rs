//! `farad bench`: how long operations and training steps take, and whether their results are right.
//!
//! Invariant: what is timed is the replay of a plan on resident random data, as users run it; a
//! case that compiles anything while timed, or whose result is wrong, fails. Start at
//! [`case::CASES`].

mod attention;
mod automaton;
mod break_even;
mod cartpole;
mod case;
mod compile;
mod convolution;
mod creatures;
mod first_step;
mod gpt;
mod group;
mod hardware;
mod images;
mod logic;
mod matmul;
mod movement;
mod network;
mod overlap;
mod pointwise;
mod pooling;
mod ppo;
mod recurrent;
mod reduce;
mod reference;
mod report;
mod rows;
mod shape;
mod sort;
mod steady;
mod timing;
mod train;

use std::io::Write;

use farad::{Device, ProductShape, Profile};

use crate::arguments::BenchOptions;
use crate::error::{Error, Result};
use crate::look::{self, Talk};
use crate::profile::{self, trace_of};
use case::{BenchCase, CASES, CaseWork, SuitedDevices, TimedAs};
use hardware::Hardware;
use report::{BenchReport, Measurement};
use timing::Timing;

/// Iterations that a profile sees.
const PROFILED: usize = 5;

/// Runs the selected cases, each on its own, and prints a line for each.
pub fn run(options: &BenchOptions) -> Result<()> {
    if options.group {
        return group::run(options);
    }
    let (device, talk) = (options.device.or_best()?, options.output.talk());
    if let Some(case) = &options.first_step {
        return first_step::child(case, &device);
    }
    if options.break_even {
        return break_even::run(&device, options.output.json, talk);
    }
    let hardware = Hardware::of(&device);
    let drawn = options.random.map(|count| shape::draw(count, options.seed, hardware.small()));
    let cases = drawn.as_deref().unwrap_or(&CASES);
    let cases = select(cases, &options.filter, hardware.small(), options.full)?;
    if options.list {
        look::out().write_all(shape::list(&cases).as_bytes())?;
        return Ok(());
    }
    let report = BenchReport::new(options.output, hardware)?;
    let mut failed = Vec::new();
    for (n, case) in cases.iter().enumerate() {
        report.progress(&format!("bench: {} on {device} ({} of {})", case.name, n + 1, cases.len()));
        let faults = match measure(case, &device, options) {
            Ok((measurement, profile, faults)) => {
                report.line(&device, &measurement)?;
                if let Some(profile) = profile {
                    report.progress("");
                    let trace = options.profile.profile.iter().flatten().next();
                    let alone = cases.len() == 1;
                    let trace =
                        trace.map(|path| if alone { path.clone() } else { trace_of(path, &case.name) });
                    profile::show(&profile, trace.as_deref())?;
                }
                faults
            }
            Err(error) => vec![error],
        };
        for fault in &faults {
            report.progress("");
            look::fail(fault);
        }
        if !faults.is_empty() {
            failed.push(case.name.as_ref());
        }
    }
    report.progress("");
    if failed.is_empty() {
        return Ok(());
    }
    Err(Error::Failed { names: failed.join(", "), failed: failed.len(), total: cases.len() })
}

/// Random products, as large as those of `--random`, with sides that are multiples of four.
pub fn products(count: usize, seed: u64, device: &Device) -> Vec<ProductShape> {
    shape::products(count, seed, Hardware::of(device).small())
}

/// Runs the matching cases once each, so that the device has their programs.
pub fn record(filter: &[String], device: &Device, talk: Talk) -> Result<()> {
    for case in select(&CASES, filter, Hardware::of(device).small(), false)? {
        if let TimedAs::Operation(prepare) | TimedAs::Training(prepare) = case.kind {
            talk.say(format!("recording {} on {device}", case.name));
            (prepare.workload(device)?.iterate)()?;
        }
    }
    Ok(device.wait()?)
}

/// The cases of the device's set that match; a filter that matches none of these may match others.
fn select<'a>(
    cases: &'a [BenchCase],
    filter: &[String],
    small: bool,
    full: bool,
) -> Result<Vec<&'a BenchCase>> {
    // A part without letters is in every name, and nobody means that.
    let parts = filter.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
    let matches = |case: &&BenchCase| filter.is_empty() || parts.clone().any(|text| case.name.contains(text));
    let suits = |case: &&BenchCase| match case.sizes {
        SuitedDevices::Any => true,
        SuitedDevices::Small => full || small,
        SuitedDevices::Large => full || !small,
    };
    let matching: Vec<&BenchCase> = cases.iter().filter(matches).collect();
    if matching.is_empty() {
        let names = cases.iter().map(|case| case.name.as_ref()).collect::<Vec<&str>>().join(", ");
        return Err(Error::Filter { filter: filter.join(", "), count: cases.len(), names });
    }
    let suiting: Vec<&BenchCase> = matching.iter().copied().filter(suits).collect();
    Ok(if suiting.is_empty() { matching } else { suiting })
}

/// Prepares, checks and times one case; faults are what makes its numbers worthless.
fn measure(
    case: &BenchCase,
    device: &Device,
    options: &BenchOptions,
) -> Result<(Measurement, Option<Profile>, Vec<Error>)> {
    let mut profile = None;
    let measurement = |timing: Timing, gpu_ms: Option<f64>, work: CaseWork, error: f64| Measurement {
        case: case.name.to_string(),
        timing,
        gpu_ms,
        work,
        error,
    };
    let (measurement, compiled) = match case.kind {
        TimedAs::Operation(prepare) | TimedAs::Training(prepare) => {
            device.seed(1);
            farad::seed(1);
            let mut workload = prepare.workload(device)?;
            let error = (workload.error)()?;
            let timing = match case.kind {
                TimedAs::Training(_) => timing::time_training(device, &mut workload.iterate)?,
                _ => timing::time_operation(device, &mut workload.iterate)?,
            };
            let gpu_ms = timing::time_on_gpu(device, &mut workload.iterate)?;
            if options.profile.profile.is_some() {
                // Apart from the timing above, which it would disturb.
                let work = || (0..PROFILED).try_for_each(|_| (workload.iterate)());
                let (done, found) = device.profile_with(profile::options(&options.profile), work);
                done?;
                profile = Some(found);
            }
            (measurement(timing, gpu_ms, workload.work, error), timing.compiled)
        }
        TimedAs::Steady => {
            device.seed(1);
            let (timing, error) = steady::measure(&case.name, device)?;
            (measurement(timing, None, Default::default(), error), timing.compiled)
        }
        TimedAs::Compile(program, size) => {
            let (timing, error) = compile::measure(program, size, device)?;
            (measurement(timing, None, Default::default(), error), 0)
        }
        TimedAs::Process(_) => {
            let (timing, error) = first_step::parent(&case.name, options.device.name())?;
            (measurement(timing, None, Default::default(), error), 0)
        }
    };
    let mut faults = Vec::new();
    let (error, tolerance) = (measurement.error, case.tolerance);
    if error.is_nan() || error > tolerance {
        faults.push(Error::Wrong { case: case.name.to_string(), error, tolerance });
    }
    if compiled > 0 {
        faults.push(Error::Compiled { case: case.name.to_string(), compiled });
    }
    Ok((measurement, profile, faults))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(filter: &[&str], small: bool, full: bool) -> Vec<&'static str> {
        let filter: Vec<String> = filter.iter().map(|text| text.to_string()).collect();
        select(&CASES, &filter, small, full)
            .expect("something matches")
            .iter()
            .map(|case| &*case.name)
            .collect()
    }

    #[test]
    fn small_devices_get_small_sizes() {
        assert_eq!(names(&["matmul"], true, false), ["matmul_1024_f32"]);
        assert_eq!(names(&["matmul"], false, false).len(), 10);
        assert_eq!(names(&["ew_chain"], true, false), ["ew_chain_2p22_f32"]);
        assert_eq!(names(&["ew_chain"], false, false), ["ew_chain_2p26_f32"]);
        assert_eq!(names(&[], true, true).len(), CASES.len());
    }

    #[test]
    fn a_filter_may_name_what_the_device_would_not_run() {
        assert_eq!(names(&["matmul_4096_f32"], true, false), ["matmul_4096_f32"]);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = CASES.iter().map(|case| &*case.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }

    #[test]
    fn an_unknown_filter_lists_the_cases() {
        let text =
            select(&CASES, &["nothing".into()], true, false).err().expect("nothing matches").to_string();
        assert!(text.starts_with("bench: no case matches: nothing (0 vs "), "{text}");
        assert!(text.contains("softmax_1024x1024_f32"), "{text}");
    }
}
