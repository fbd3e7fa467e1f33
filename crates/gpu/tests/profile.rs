//! Times of kernels and passes, with time stamps and without.

mod device;
mod kernels;

use device::{floats, open, read, turn};
use farad_gpu::dispatch::Capabilities;
use farad_gpu::{AdapterFeatures, GpuDevice, Options};
use farad_runtime::profile::Phase;
use kernels::{LEN, affine, bits, counter, expect_affine, ramp};

#[test]
fn core_devices_have_default_limits_and_run_the_same() {
    let _turn = turn();
    let Some(device) = open(Options { core: true, ..Options::default() }) else { return };
    assert_eq!(device.capabilities(), Capabilities::core());
    assert_eq!((device.target().bindings, device.target().binding_bytes), (7, 128 << 20));
    assert_eq!(device.info().features, AdapterFeatures::default());
    let executable = affine(&device);
    let (x, y) = (floats(&device, &ramp()), device.allocate(4 * LEN).unwrap());
    executable.run(&[(&x, 0)], &bits(&[3.0, 0.5]), &[&y]).unwrap();
    assert_eq!(read(&device, &y, LEN), expect_affine(3.0, 0.5));
    profile(&device);
    assert!(!device.time_passes(true).unwrap());
    assert_eq!(device.pass_nanoseconds().unwrap(), []);
}

fn profile(device: &GpuDevice) {
    let executable = affine(device);
    let (x, y) = (floats(device, &ramp()), device.allocate(4 * LEN).unwrap());
    let run = || executable.run(&[(&x, 0)], &bits(&[1.0, 0.0]), &[&y]).unwrap();
    for alone in [true, false] {
        let before = device.profiler().open(alone);
        (0..3).for_each(|_| run());
        device.wait().unwrap();
        let (after, spans, launches) = device.profiler().close(alone, &before);
        let (_, phases, times) = after.since(&before);
        assert_eq!((times.len(), &*times[0].label, times[0].count), (1, "scale", 6));
        assert_eq!((times[0].costs.bytes, times[0].costs.flops), (6 * 800, 6 * 200));
        assert_eq!((times[0].nanoseconds > 0, launches.len()), (alone, if alone { 6 } else { 0 }));
        assert!(launches.windows(2).all(|pair| pair[0].start <= pair[1].start), "{launches:?}");
        let runs = phases[Phase::Encoding as usize].count;
        assert_eq!(runs, 3);
        // No launch starts before its run did.
        let runs: Vec<_> = spans.iter().filter(|span| span.phase == Phase::Encoding).collect();
        assert!(launches.iter().enumerate().all(|(n, launch)| launch.start >= runs[n / 2].start));
        assert_eq!(read(device, &y, LEN), expect_affine(1.0, 0.0));
    }
    run();
    assert!(!device.profiler().is_open());
}

#[test]
fn profiles_and_pass_times_count_what_ran() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    profile(&device);
    if !device.time_passes(true).unwrap() {
        {
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "skipped: no time stamps");
        }
        return;
    }
    let executable = counter(&device);
    let x = floats(&device, &ramp());
    for runs in [3, 70] {
        device.time_passes(true).unwrap();
        (0..runs).for_each(|_| executable.run(&[(&x, 0)], &[], &[&x]).unwrap());
        let times = device.pass_nanoseconds().unwrap();
        assert_eq!(times.len(), runs.min(64));
        assert!(times.iter().sum::<u64>() > 0, "{times:?}");
    }
    device.time_passes(false).unwrap();
    assert_eq!(device.pass_nanoseconds().unwrap(), []);
}
