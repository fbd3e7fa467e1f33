//! scratch
use farad_testkit::fuzz::*;
use farad_testkit::*;
#[test]
fn one() {
    let (host, devices) = (open_cpu(true), [open_cpu(true), open_cpu(false)]);
    let l = Limits { ops: 25, elements: 3000, smooth: false };
    for seed in [11197] {
        if let Err(e) = check(&Recipe::grow(seed, l), &host, &devices) { eprintln!("{e}"); }
    }
}
