//! Runs cases on a device and collects failures.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use farad::{Device, DeviceOptions, Result, Tensor};
use farad_ir::reference::Values;

use crate::case::Case;
use crate::compare::{compare, read};
use crate::form::Form;

/// The result of a suite.
#[derive(Debug, Default)]
pub struct SuiteReport {
    /// How many checks ran.
    pub ran: usize,
    /// The failures, one text per check.
    pub failures: Vec<String>,
}

impl SuiteReport {
    /// Prints what ran and how long it took; panics if anything failed.
    #[track_caller]
    pub fn conclude(self, suite: &str, start: Instant) {
        let seconds = start.elapsed().as_secs_f64();
        announce(&format!("{suite}: {} checks in {seconds:.1} s, {} failed", self.ran, self.failures.len()));
        assert!(
            self.failures.is_empty(),
            "{suite}: {} of {} failed\n{}",
            self.failures.len(),
            self.ran,
            self.failures.join("\n")
        );
        assert!(self.ran > 0, "{suite}: nothing ran");
    }

    /// Adds another report.
    pub fn join(&mut self, other: SuiteReport) {
        self.ran += other.ran;
        self.failures.extend(other.failures);
    }
}

/// Prints although tests capture their output.
pub fn announce(text: &str) {
    // If standard error is closed, only a line of progress is lost.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The first adapter with these options; prints a message if there is none.
pub fn gpu(suite: &str, options: DeviceOptions) -> Option<Device> {
    if farad::adapters().is_empty() {
        announce(&format!("{suite}: skipped: no GPU adapter"));
        return None;
    }
    Some(
        Device::gpu_with(0, options)
            .unwrap_or_else(|error| panic!("{suite}: the adapter cannot be opened: {error}")),
    )
}

/// A separate CPU device, with or without fusion.
pub fn open_cpu(fuse: bool) -> Device {
    Device::cpu_with(DeviceOptions { fuse, ..DeviceOptions::default() })
}

/// Runs one form of cases on a device, `batch` of them at once, and compares with the f64 reference.
pub fn run(cases: &[Case], form: Form, device: &Device, batch: usize) -> SuiteReport {
    let mut report = SuiteReport::default();
    let cases: Vec<&Case> =
        cases.iter().filter(|c| form.applies(c) && !(c.cpu_only && device.is_gpu())).collect();
    for group in cases.chunks(batch) {
        report.ran += group.len();
        let whole = guarded(|| check(group, form, device));
        match whole {
            Ok(failures) => report.failures.extend(failures),
            // Something failed in the batch: run each case separately to find out which.
            Err(_) if group.len() > 1 => {
                let before = report.failures.len();
                for case in group {
                    report.failures.extend(
                        guarded(|| check(&[case], form, device))
                            .unwrap_or_else(|e| vec![title(case, form, device, &e)]),
                    );
                }
                if report.failures.len() == before {
                    let error = whole.expect_err("just matched");
                    let names: Vec<String> = group.iter().map(|c| c.name()).collect();
                    report.failures.push(format!(
                        "{form:?} on {device}: only together: {}\n    {error}",
                        names.join("; ")
                    ));
                }
            }
            Err(error) => report.failures.push(title(group[0], form, device, &error)),
        }
    }
    report
}

fn title(case: &Case, form: Form, device: &Device, text: &str) -> String {
    format!("{} [{form:?} on {device}]\n    {text}", case.name())
}

/// Errors and panics alike, as text.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> std::result::Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or(panic.downcast_ref::<&str>().map(|s| s.to_string()));
            Err(format!("panic: {}", text.unwrap_or_default()))
        }
    }
}

/// Computes cases together and compares each; returns the failures.
fn check(cases: &[&Case], form: Form, device: &Device) -> Result<Vec<String>> {
    let host = if device.is_gpu() { open_cpu(true) } else { device.clone() };
    let mut work: Vec<(&Case, Vec<Tensor>, Vec<Values>)> = Vec::new();
    for case in cases {
        let outputs = form.outputs(case, device)?;
        let meaning = if device.is_gpu() {
            farad::check::reference(&form.outputs(case, &host)?)?
        } else {
            farad::check::reference(&outputs)?
        };
        work.push((case, outputs, meaning));
    }
    Tensor::compute_all(&work.iter().flat_map(|(_, outputs, _)| outputs).collect::<Vec<_>>())?;
    let mut failures = Vec::new();
    for (case, outputs, meaning) in &work {
        for (n, (output, expected)) in outputs.iter().zip(meaning).enumerate() {
            if let Err(text) = compare(&read(output)?, expected, form.tolerance(case, output)) {
                failures.push(title(
                    case,
                    form,
                    device,
                    &format!("result {n}, {} {}: {text}", output.dtype(), output.shape()),
                ));
            }
        }
    }
    Ok(failures)
}
