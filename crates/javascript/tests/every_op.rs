//! The table of cases of all ops, in a browser: what is written as JavaScript computes what the ops mean, and what cannot be
//! written says so.

#[path = "../../circuit/tests/exports/browser.rs"]
mod browser;
#[allow(dead_code)]
#[path = "../../circuit/tests/exports/tool.rs"]
mod tool;

use std::collections::BTreeMap;
use std::time::Instant;

use browser::Browser;
use farad::{DType, Device, Tensor};
use farad_ir::reference::Values;
use farad_javascript::Script;
use farad_testkit::{Case, Form, SuiteReport, cases, compare};
use serde_json::Value;

/// Cases with larger results are left out: their texts would be megabytes of numbers.
const LARGEST: usize = 20_000;

/// What may be refused: how messages begin, without the kernel.
const REFUSED: [&str; 4] = [
    "javascript: elements of dtype",
    "javascript: a sort cannot be written",
    "javascript: a custom op cannot be written",
    "javascript: a number that is given with a run cannot be written",
];

/// What the browser computes, one list per result.
fn computed(browser: &mut Browser, script: &Script, outputs: &[Tensor]) -> Vec<Values> {
    // JSON has no infinities, so numbers come as texts.
    let ask = format!(
        "(()=>{{const p={};p.run();return Object.values(p.outputs).map((a)=>Array.from(a,String))}})()",
        script.text()
    );
    let found = browser.evaluate(&ask);
    let lists = found.as_array().unwrap().iter().zip(outputs);
    let number = |text: &Value| text.as_str().unwrap().replace("Infinity", "inf").parse::<f64>().unwrap();
    let values = |(list, output): (&Value, &Tensor)| {
        let numbers = list.as_array().unwrap().iter().map(number);
        match output.dtype() {
            DType::F32 => Values::Float(numbers.collect()),
            _ => Values::Int(numbers.map(|x| x as i64).collect()),
        }
    };
    lists.map(values).collect()
}

/// Checks a case in the browser; the refusal, if it cannot be written.
fn check(browser: &mut Browser, case: &Case, form: Form, report: &mut SuiteReport) -> Option<String> {
    let outputs = form.outputs(case, &Device::cpu()).unwrap();
    let sizes = case.inputs.iter().map(|input| input.shape.numel()).chain(outputs.iter().map(Tensor::numel));
    if sizes.max().is_some_and(|largest| largest > LARGEST) {
        return None;
    }
    let names: Vec<String> = (0..outputs.len()).map(|n| format!("y{n}")).collect();
    let named: Vec<(&str, &Tensor)> = names.iter().map(String::as_str).zip(&outputs).collect();
    let script = match Script::of(&[], &named) {
        Ok(script) => script,
        Err(error) => return Some(error.to_string()),
    };
    report.ran += 1;
    let meaning = farad::check::reference(&outputs).unwrap();
    let found = computed(browser, &script, &outputs);
    for (n, output) in outputs.iter().enumerate() {
        if let Err(text) = compare(&found[n], &meaning[n], form.tolerance(case, output)) {
            report.failures.push(format!("{} [{form:?}] result {n}\n    {text}", case.name()));
        }
    }
    None
}

#[test]
fn every_op_computes_in_a_browser_what_it_means() {
    if !tool::have("chromium") {
        return;
    }
    let start = Instant::now();
    let mut browser = Browser::start("chromium");
    let mut report = SuiteReport::default();
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases::all() {
        for form in [Form::Alone, Form::Fused].into_iter().filter(|form| form.applies(&case)) {
            let Some(error) = check(&mut browser, &case, form, &mut report) else { continue };
            let known = REFUSED.iter().find(|known| error.starts_with(**known));
            *refused.entry(known.unwrap_or_else(|| panic!("{}: {error}", case.name()))).or_default() += 1;
        }
    }
    farad_testkit::announce(&format!("refused: {refused:?}"));
    assert!(report.ran > 500, "only {} checks ran", report.ran);
    report.conclude("javascript", start);
}

#[test]
fn every_run_draws_what_the_device_would_draw_next() {
    if !tool::have("chromium") {
        return;
    }
    let device = Device::cpu_with(Default::default());
    device.seed(9);
    // Near the end of the counter's lower word, so that a run carries into the upper one.
    device.set_random_state(farad::RandomState { counter: u64::from(u32::MAX) - 2, ..device.random_state() });
    let drawn = || [Tensor::random_bits([9], &device), Tensor::random_bits([6], &device)];
    let begun = device.random_state();
    let recorded = drawn();
    let own = Tensor::random_bits_at(7, 3, [5], &device);
    let script = Script::of(&[], &[("a", &recorded[0]), ("b", &recorded[1]), ("own", &own)]).unwrap();
    let mut browser = Browser::start("chromium");
    let ask = format!(
        "(()=>{{const p={}, all=[]; for (let n=0;n<4;n++){{p.run();all.push(Object.values(p.outputs).flatMap((a)=>[...a]));}} \
         p.runs=1;p.run();all.push(Object.values(p.outputs).flatMap((a)=>[...a]));return all}})()",
        script.text()
    );
    let found: Vec<Vec<u32>> = serde_json::from_value(browser.evaluate(&ask)).unwrap();
    device.set_random_state(begun);
    let bits = |x: &Tensor| x.to_vec::<u32>().unwrap();
    for run in &found[..4] {
        let [a, b] = drawn();
        assert_eq!(*run, [bits(&a), bits(&b), bits(&own)].concat());
    }
    assert_eq!(found[4], found[1]);
}
