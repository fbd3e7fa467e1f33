//! The whole table in `f64` on the CPU: values and gradients have the accuracy of `f64`.

use std::time::Instant;

use farad_ir::DType;
use farad_testkit::{Case, Form, SuiteReport, Tolerance, cases, open_cpu, run};

/// Cases per run of the device.
const BATCH: usize = 16;
/// The allowed error, relative to the largest element or to one: for sums and products of thousands of
/// elements.
const FINE: f64 = 1e-13;

/// Cases that use `f32` or `f16` themselves, by method and detail: they round, or are not promoted to `f64`.
const COARSE: [(&str, &str); 6] = [
    ("cast", ""),
    ("number", ""),
    ("matmul", "of rounded operands"),
    // Custom ops use 32-bit registers.
    ("custom", ""),
    ("scan", "starts at constants"),
    ("repeat", ""),
];

/// The `f32` cases as `f64` cases.
fn doubles() -> Vec<Case> {
    let coarse =
        |case: &Case| COARSE.iter().any(|(op, detail)| case.op == *op && case.detail.contains(detail));
    let floats = |case: &Case| {
        let inputs = &case.inputs;
        inputs.iter().any(|input| input.dtype == DType::F32)
            && inputs.iter().all(|input| !input.dtype.is_half())
    };
    let mut all: Vec<Case> = cases::all().into_iter().filter(|case| floats(case) && !coarse(case)).collect();
    all.iter_mut().for_each(|case| case.tolerance = Tolerance::relative(FINE));
    all.into_iter().map(Case::in_double).collect()
}

#[test]
fn the_table_holds_in_double_precision() {
    let start = Instant::now();
    let (mut report, cases) = (SuiteReport::default(), doubles());
    for form in Form::ALL {
        report.join(run(&cases, form, &open_cpu(true), BATCH));
    }
    report.join(run(&cases, Form::Alone, &open_cpu(false), BATCH));
    report.conclude("double", start);
}
