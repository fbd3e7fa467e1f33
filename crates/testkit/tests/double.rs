//! The whole table in `f64` on the CPU: values and gradients are as fine as `f64` is.

use std::time::Instant;

use farad_ir::DType;
use farad_testkit::{Case, Form, SuiteReport, Tolerance, cases, open_cpu, run};

/// Cases per run of the device.
const BATCH: usize = 16;
/// What a result may be off, of the largest element or of one: sums and products of thousands of elements.
const FINE: f64 = 1e-13;

/// What makes `f32` or `f16` of its own, by method and detail: it rounds, or does not meet `f64`.
const COARSE: [(&str, &str); 6] = [
    ("cast", ""),
    ("number", ""),
    ("matmul", "of rounded operands"),
    // Custom ops see registers of 32 bits.
    ("custom", ""),
    ("scan", "starts at constants"),
    ("repeat", ""),
];

/// The cases of `f32` as cases of `f64`.
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
