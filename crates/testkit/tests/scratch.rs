//! scratch
use farad_testkit::fuzz::*;
use farad_testkit::*;
use farad::DeviceOptions;
#[test]
fn many() {
    let host = open_cpu(true);
    let d = |core, fuse| gpu("x", DeviceOptions { core, fuse, ..Default::default() }).unwrap();
    let devices = [d(false, true), d(true, true)];
    let mut bad = 0;
    for (l, n) in [(Limits { ops: 14, elements: 1000, smooth: false }, 1000..2000u64), (Limits { ops: 40, elements: 1000, smooth: false }, 0..200), (Limits { ops: 5, elements: 30000, smooth: false }, 0..300)] {
    for seed in n {
        if let Err(e) = check(&Recipe::grow(seed, l), &host, &devices) { bad += 1; if bad < 8 { eprintln!("{e}"); } }
    }
    eprintln!("{l:?} {bad}");
    }
    for (l, n) in [(Limits { ops: 12, elements: 1000, smooth: true }, 0..300u64)] {
    for seed in n {
        if let Err(e) = check_gradients(&Recipe::grow(seed, l), &host, &devices) { bad += 1; if bad < 18 { eprintln!("{e}"); } }
    }
    eprintln!("{l:?} {bad}");
    }
}
