//! Profiles: the parts are the whole, counts are the counters', traces nest, and reports name what holds memory.

mod devices;

use std::time::{Duration, Instant};

use devices::{devices, turn};
use farad::prelude::*;
use farad::{HostSpan, Profile, ProfileMode, ProfileOptions};
use serde_json::Value;

const MODES: [ProfileMode; 2] = [ProfileMode::Kernels, ProfileMode::Host];

fn options(mode: ProfileMode) -> ProfileOptions {
    ProfileOptions { mode, peaks: false }
}

/// Ten steps of a small network, with a read and an upload each.
fn steps(device: &Device) -> impl FnMut() {
    farad::seed(3);
    let model = Sequential::new((Linear::new(32, 64), Relu, Linear::new(64, 8))).to_device(device);
    let mut adam = AdamW::new(model.parameters()).learning_rate(0.01);
    let device = device.clone();
    move || {
        for step in 0..10 {
            let x = Tensor::from_vec(vec![step as f32; 16 * 32], [16, 32], &device);
            let loss = model.forward(&x).square().mean();
            adam.step(&loss).unwrap();
            assert!(loss.item().unwrap().is_finite());
        }
    }
}

fn sum(profile: &Profile) -> Duration {
    profile.host.iter().map(|phase| Duration::from_nanos(phase.nanoseconds)).sum::<Duration>() + profile.other
}

#[test]
fn the_parts_are_the_whole_and_counts_are_the_counters() {
    let _turn = turn();
    for (device, mode) in devices().into_iter().flat_map(|device| MODES.map(|mode| (device.clone(), mode))) {
        let mut work = steps(&device);
        let before = device.counters();
        let (_, profile) = device.profile_with(options(mode), &mut work);
        let counted = device.counters().since(&before);
        assert_eq!(profile.counters, counted, "{profile}");
        assert_eq!(profile.launches() as usize, counted.dispatches, "{profile}");
        assert_eq!((counted.uploads >= 10, counted.reads), (true, 10), "{profile}");
        let (parts, wall) = (sum(&profile).as_secs_f64(), profile.wall.as_secs_f64());
        assert!((parts - wall).abs() <= 0.02 * wall, "{parts} vs {wall}: {profile}");
        assert_eq!(profile.phase("compiling") > Duration::ZERO, counted.plans_compiled > 0, "{profile}");
        let of = |name: &str| *profile.host.iter().find(|phase| phase.phase == name).unwrap();
        assert!(of("recording").count >= 10 && of("hashing and lookup").count >= 20, "{profile}");
        assert_eq!(of("reading").bytes, 10 * 4, "{profile}");
        assert!(of("uploading").bytes >= 10 * 16 * 32 * 4, "{profile}");
        assert_eq!(profile.nanoseconds() > 0, mode == ProfileMode::Kernels, "{profile}");
        assert_eq!(of("running kernels").count > 0, !device.is_gpu(), "{profile}");
        assert_eq!(of("submitting").count > 0, device.is_gpu(), "{profile}");
    }
}

/// A thread that has to wait for a core between two phases adds to what is unexplained, so one of ten profiles counts.
#[test]
fn little_of_what_farad_does_is_left_unexplained() {
    let _turn = turn();
    for (device, mode) in devices().into_iter().flat_map(|device| MODES.map(|mode| (device.clone(), mode))) {
        let mut work = steps(&device);
        let mut last = String::new();
        let explained = (0..10).any(|_| {
            let start = Instant::now();
            let (_, profile) = device.profile_with(options(mode), || (0..20).for_each(|_| work()));
            let outside = start.elapsed();
            assert!(profile.wall <= outside, "{outside:?}: {profile}");
            last = format!("{outside:?}: {profile}");
            profile.wall >= outside / 2 && profile.other < profile.wall / 2
        });
        assert!(explained, "{last}");
    }
}

/// Long reductions are left out: devices split them differently.
#[test]
fn all_devices_count_bytes_and_operations_alike() {
    let _turn = turn();
    let found = devices().into_iter().map(|device| {
        let x = Tensor::rand([128, 64], &device).detach().unwrap();
        let y = Tensor::rand([64, 128], &device).detach().unwrap();
        let (_, profile) = device.profile_with(options(ProfileMode::Host), || {
            x.matmul(&y).relu().compute().unwrap();
            (&x * 2.0 + 1.0).tanh().compute().unwrap();
            let slices = Tensor::ones([5, 128, 64], &device).detach().unwrap();
            let (sum, _) =
                farad::scan(&[&x], &[&slices], |carries, slices| (vec![&carries[0] + &slices[0]], vec![]));
            sum[0].compute().unwrap();
        });
        let of = |amount: fn(&farad::KernelTime) -> u64| profile.kernels.iter().map(amount).sum::<u64>();
        (of(|kernel| kernel.bytes), of(|kernel| kernel.flops))
    });
    let found: Vec<(u64, u64)> = found.collect();
    let (product, chain) = (2 * 128 * 128 * 64 + 128 * 128, 3 * 128 * 64);
    assert_eq!(found[0].1, product + chain + 5 * 128 * 64, "{found:?}");
    assert!(found.iter().all(|counts| *counts == found[0]), "{found:?}");
}

#[test]
fn what_the_program_does_itself_is_other_host_time() {
    let _turn = turn();
    let device = Device::cpu_with(Default::default());
    let (_, profile) = device.profile_with(options(ProfileMode::Host), || {
        std::thread::sleep(Duration::from_millis(30));
        Tensor::ones([4], &device).to_vec::<f32>().unwrap()
    });
    assert!(profile.other >= Duration::from_millis(30), "{profile}");
    assert!(profile.wall - profile.other < Duration::from_millis(500), "{profile}");
}

#[test]
fn other_threads_are_counted_apart() {
    let _turn = turn();
    let device = Device::cpu_with(Default::default());
    let (_, profile) = device.profile_with(options(ProfileMode::Kernels), || {
        std::thread::scope(|scope| {
            for n in 1..=3usize {
                let device = &device;
                scope.spawn(move || Tensor::ones([n * 100], device).sum().item().unwrap());
            }
        });
    });
    assert_eq!(profile.counters.reads, 3, "{profile}");
    assert_eq!(profile.launches() as usize, profile.counters.dispatches, "{profile}");
    let here: u64 = profile.host.iter().map(|phase| phase.nanoseconds).sum();
    let elsewhere: u64 = profile.host.iter().map(|phase| phase.elsewhere_nanoseconds).sum();
    assert!(elsewhere > 0 && here == 0, "{profile}");
    assert!(profile.to_string().contains("other threads"), "{profile}");
}

/// Whether of two spans on one thread one lies in the other, or they do not meet.
fn nest(a: &HostSpan, b: &HostSpan) -> bool {
    let (a_end, b_end) = (a.start + a.duration, b.start + b.duration);
    a_end <= b.start
        || b_end <= a.start
        || (a.start <= b.start && b_end <= a_end)
        || (b.start <= a.start && a_end <= b_end)
}

#[test]
fn a_trace_has_every_launch_in_order_and_spans_that_nest() {
    let _turn = turn();
    for device in devices() {
        let mut work = steps(&device);
        work();
        let (_, profile) = device.profile_with(options(ProfileMode::Kernels), &mut work);
        assert_eq!(profile.launches.len() as u64, profile.launches(), "{profile}");
        assert!(profile.launches.windows(2).all(|pair| pair[0].start <= pair[1].start));
        let end = |launch: &farad::LaunchTime| launch.start + launch.duration;
        let late = profile.wall + Duration::from_millis(5);
        assert!(profile.launches.iter().all(|launch| end(launch) <= late), "{profile}");
        let total: Duration = profile.launches.iter().map(|launch| launch.duration).sum();
        assert_eq!(total.as_nanos() as u64, profile.nanoseconds());
        for (n, a) in profile.spans.iter().enumerate() {
            assert!(a.start + a.duration <= profile.wall, "{a:?} in {:?}", profile.wall);
            let close = profile.spans[n + 1..].iter().take(50).filter(|b| b.thread == a.thread);
            close.for_each(|b| assert!(nest(a, b), "{a:?} and {b:?}"));
        }

        let path = std::env::temp_dir().join(format!("farad-trace-{}.json", std::process::id()));
        profile.write_trace(&path).unwrap();
        let trace: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let spans: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
        assert_eq!(spans.len(), 1 + profile.spans.len() + profile.launches.len());
        assert!(
            spans.iter().all(|span| span["ts"].as_f64() >= Some(0.0) && span["dur"].as_f64() >= Some(0.0))
        );
        let kernels = spans.iter().filter(|span| span["cat"] == "kernel").count();
        assert_eq!(kernels, profile.counters.dispatches);
        assert!(events.iter().any(|event| event["args"]["name"] == device.name()));
    }
}

#[test]
fn a_profile_is_json_and_a_table() {
    let _turn = turn();
    let device = Device::cpu_with(Default::default());
    let mut work = steps(&device);
    let (_, profile) = device.profile(&mut work);
    let json: Value = serde_json::from_str(&serde_json::to_string(&profile).unwrap()).unwrap();
    assert_eq!(json["wall"].as_u64(), Some(profile.wall.as_nanos() as u64));
    assert_eq!(json["counters"]["dispatches"].as_u64(), Some(profile.launches()));
    assert_eq!(json["kernels"].as_array().unwrap().len(), profile.kernels.len());
    assert_eq!(json["kernels"][0]["label"], profile.kernels[0].label);
    assert_eq!(json["memory"]["tensors"][0]["dtype"], "f32");
    assert!(json["peaks"]["bytes_per_second"].as_f64().unwrap() > 1e8);
    assert_eq!(json["mode"], "kernels");
    let text = profile.to_string();
    for part in ["GB/s", "of peak", "recording", "other host time", "wall time", "live tensors hold"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let peaks = profile.peaks.unwrap();
    assert!(profile.kernels.iter().all(|k| k.share_of_peak(&peaks).unwrap() > 0.0), "{text}");
    assert_eq!(device.peaks().unwrap(), peaks, "measured once");
}

#[test]
fn measuring_peaks_leaves_no_mark() {
    let _turn = turn();
    for device in devices() {
        let (counters, random, held) = (device.counters(), device.random_state(), device.holdings());
        let peaks = device.peaks().unwrap();
        assert!(peaks.bytes_per_second > 1e8 && peaks.flops_per_second > 1e8, "{peaks:?}");
        assert_eq!((device.counters(), device.random_state(), device.holdings()), (counters, random, held));
        assert!(!device.is_lost());
    }
}

#[test]
fn a_memory_report_names_the_largest_tensors_and_what_held_most() {
    let _turn = turn();
    for device in [Some(Device::cpu_with(Default::default())), handle()].into_iter().flatten() {
        let small = Tensor::from_vec(vec![1.0f32; 1024], [32, 32], &device);
        let line = line!() + 1;
        let large = Tensor::from_vec(vec![1i32; 1 << 18], [512, 512], &device);
        let sum = (&large * 2).detach().unwrap();
        let report = device.memory_report();
        assert_eq!(report.count, 3, "{report}");
        assert_eq!((report.tensors[0].bytes, report.tensors[2].shape), (1 << 20, small.shape()), "{report}");
        let named = report.tensors.iter().find(|tensor| tensor.op == "from_vec").unwrap();
        assert!(named.location.ends_with(&format!("tests/profile.rs:{line}")), "{report}");
        assert_eq!((named.shape, named.dtype), (large.shape(), large.dtype()));
        drop((large, sum));
        let after = device.memory_report();
        assert_eq!((after.count, after.bytes_peak), (1, report.bytes_peak), "{after}");
        assert_eq!(
            after.tensors_at_peak.iter().filter(|tensor| tensor.bytes == 1 << 20).count(),
            2,
            "{after}"
        );
        assert_eq!(after.high_water, report.high_water);
        assert!(after.high_water.tensors >= 2 << 20 && after.holdings.tensors < 1 << 20, "{after}");
        assert!(after.to_string().contains("[32, 32]"), "{after}");
    }
}

/// A GPU of its own, if there is one.
fn handle() -> Option<Device> {
    Device::gpu_with(0, farad::DeviceOptions { handle: 77, ..Default::default() }).ok()
}

#[test]
fn lists_of_live_memory_stay_short_over_ten_thousand_steps() {
    let _turn = turn();
    let device = Device::cpu_with(Default::default());
    let weight = Parameter::new(Tensor::from_vec(vec![1.0f32; 8], [8], &device));
    let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.01);
    let mut after_hundred = (0, 0);
    for step in 0..10_000 {
        let loss = weight.value().square().sum();
        sgd.step(&loss).unwrap();
        drop(loss);
        if step == 100 {
            after_hundred = (device.memory_report().count, device.holdings().total());
        }
    }
    assert_eq!((device.memory_report().count, device.holdings().total()), after_hundred);
}

#[test]
fn an_open_profile_costs_less_than_a_microsecond_a_phase() {
    let _turn = turn();
    let device = Device::cpu_with(Default::default());
    let mut work = steps(&device);
    work();
    let mut time = || {
        let start = Instant::now();
        (0..5).for_each(|_| work());
        start.elapsed()
    };
    // In turns, so that both meet the machine as it is.
    let (mut plain, mut profiled, mut phases) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..20 {
        plain = plain.min(time());
        let open = device.open_profile(options(ProfileMode::Host));
        profiled = profiled.min(time());
        phases += open.finish().host.iter().map(|phase| phase.count).sum::<u64>();
    }
    let a_step = phases as f64 / 1000.0;
    // 50 steps each time; the bound is generous, since other tests run beside this one.
    let extra = (profiled.as_secs_f64() - plain.as_secs_f64()) * 1e6 / 50.0;
    println!(
        "{a_step} phases per step, {extra:.3} µs per step, {:.3} µs without",
        plain.as_secs_f64() * 1e6 / 50.0
    );
    assert!(extra < a_step, "{extra} µs a step for {a_step} phases");
}
