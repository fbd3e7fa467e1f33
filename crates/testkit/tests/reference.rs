//! Every case on the reference backend, which runs Programs in f64. It is compared with the f64 reference of
//! graphs, as closely as reading f32 allows: so compiling changes nothing. The CPU is compared with it.

use std::time::Instant;

use farad::{Device, DeviceOptions, Result, Tensor};
use farad_testkit::{Case, Form, SuiteReport, Tolerance, cases, compare, open_cpu, read};

/// The error of reading a value as f32, and of f32 constants in programs, plus a little for the order of sums
/// in f64.
const READ: Tolerance = Tolerance { relative: 3e-7, absolute: 1e-12 };

fn open(fuse: bool) -> Device {
    Device::reference_with(DeviceOptions { fuse, ..DeviceOptions::default() })
}

/// Whether something is rounded to f16 on the way; the reference of graphs rounds nothing.
fn rounds(outputs: &[Tensor]) -> Result<bool> {
    Ok(farad::check::graph(outputs)?.nodes.iter().any(|node| node.dtype.is_half()))
}

/// Compares results, each within its tolerance; returns the first difference.
fn differs(case: &Case, form: Form, device: &Device) -> Result<Option<String>> {
    let outputs = form.outputs(case, device)?;
    let meaning = farad::check::reference(&outputs)?;
    let rounds = rounds(&outputs)?;
    for (output, expected) in outputs.iter().zip(&meaning) {
        let tolerance = if rounds { form.tolerance(case, output) } else { READ };
        if let Err(text) = compare(&read(output)?, expected, tolerance) {
            return Ok(Some(format!("{} [{form:?} on {device}]\n    {text}", case.name())));
        }
    }
    Ok(None)
}

/// The same for a device and the reference backend.
fn differs_from(case: &Case, form: Form, device: &Device, reference: &Device) -> Result<Option<String>> {
    let (found, meaning) = (form.outputs(case, device)?, form.outputs(case, reference)?);
    for (output, expected) in found.iter().zip(&meaning) {
        if let Err(text) = compare(&read(output)?, &read(expected)?, form.tolerance(case, output)) {
            return Ok(Some(format!("{} [{form:?} on {device}]\n    {text}", case.name())));
        }
    }
    Ok(None)
}

fn over_all(suite: &str, differs: impl Fn(&Case, Form) -> Result<Option<String>>) {
    let start = Instant::now();
    let mut report = SuiteReport::default();
    for case in &cases::all() {
        for form in Form::ALL.into_iter().filter(|form| form.applies(case)) {
            report.ran += 1;
            let found = differs(case, form).unwrap_or_else(|error| Some(format!("{}: {error}", case.name())));
            report.failures.extend(found);
        }
    }
    report.conclude(suite, start);
}

#[test]
fn programs_mean_what_graphs_mean() {
    for fuse in [true, false] {
        let device = open(fuse);
        over_all("reference", |case, form| differs(case, form, &device));
    }
}

#[test]
fn the_cpu_agrees_with_the_reference_backend() {
    let (cpu, reference) = (open_cpu(true), open(true));
    over_all("cpu against the reference backend", |case, form| differs_from(case, form, &cpu, &reference));
}

/// The parameters of a network after a few steps of either optimizer.
fn learned(device: &Device) -> Result<Vec<f32>> {
    use farad::prelude::*;
    let mut weights = Vec::new();
    for adaptive in [false, true] {
        Device::cpu().seed(3);
        let model = Sequential::new((Linear::new(2, 8), Relu, Linear::new(8, 1))).to_device(device);
        device.seed(5);
        let x = Tensor::rand([16, 2], device).detach()?;
        let y = x.sum_axes(kept([1]));
        let loss = || model.forward(&x).mean_squared_error(&y);
        if adaptive {
            let mut adam = AdamW::new(model.parameters()).learning_rate(0.01);
            (0..5).try_for_each(|_| adam.step(&loss()))?;
        } else {
            let mut sgd = Sgd::new(model.parameters()).learning_rate(0.1);
            (0..5).try_for_each(|_| sgd.step(&loss()))?;
        }
        for parameter in model.parameters() {
            weights.extend(parameter.value().to_vec::<f32>()?);
        }
    }
    Ok(weights)
}

#[test]
fn networks_train_on_the_reference_backend() -> Result<()> {
    let (meant, found) = (learned(&open(true))?, learned(&open_cpu(true))?);
    assert!(meant.iter().all(|x| x.is_finite()) && meant.len() == found.len());
    for (x, y) in meant.iter().zip(&found) {
        assert!((x - y).abs() < 1e-5, "{x} is not {y}");
    }
    Ok(())
}
