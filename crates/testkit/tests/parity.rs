//! Every case on a GPU, compared with the f64 reference: alone, between pointwise neighbors, differentiated;
//! the whole table with all features of the adapter, and with default limits and core WGSL. `FARAD_CASE=scan`
//! runs the cases of one op.

use std::time::Instant;

use farad::DeviceOptions;
use farad_testkit::{Form, SuiteReport, cases, gpu, run};

/// Cases computed by one program: their kernels compile in parallel, and there is one wait.
const BATCH: usize = 16;

fn agrees(suite: &str, options: DeviceOptions) {
    let Some(device) = gpu(suite, options) else { return };
    let start = Instant::now();
    let (mut cases, mut report) = (cases::all(), SuiteReport::default());
    if let Ok(op) = std::env::var("FARAD_CASE") {
        cases.retain(|case| case.op == op);
    }
    for form in Form::ALL {
        report.join(run(&cases, form, &device, BATCH));
    }
    report.conclude(suite, start);
}

#[test]
fn gpu_agrees_with_all_features() {
    agrees("parity, all features", DeviceOptions::default());
}

#[test]
fn gpu_agrees_with_core_features() {
    agrees("parity, core", DeviceOptions { core: true, ..DeviceOptions::default() });
}
