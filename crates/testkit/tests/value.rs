//! Every case on the CPU, compared with the f64 reference: alone, fused with neighbors, differentiated, and all
//! of it again with every op in its own kernel.

use std::time::Instant;

use farad_testkit::{Form, SuiteReport, cases, open_cpu, run};

#[test]
fn cpu_agrees_with_the_reference() {
    let start = Instant::now();
    let (cases, mut report) = (cases::all(), SuiteReport::default());
    for fuse in [true, false] {
        let device = open_cpu(fuse);
        for form in Form::ALL {
            report.join(run(&cases, form, &device, 1));
        }
    }
    report.conclude("value", start);
}
