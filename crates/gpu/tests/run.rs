//! Hand-written dispatches run by the runtime: what a replay costs, and that it is right.

mod device;
mod kernels;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use device::{floats, open, read, to_floats, turn};
use farad_compile::program::{BufferId, Place, Program, ProgramOutput};
use farad_gpu::dispatch::Word;
use farad_gpu::{Error, GpuCounters, GpuDevice, GpuExecutable, LaunchStage, Memory, MemoryRange, Options};
use kernels::{
    LEN, SCALE, affine, binding, bits, buffer, counter, expect_affine, fixed, ramp, routine, scale, spec,
};

#[test]
fn a_replay_creates_nothing_and_submits_once() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = affine(&device);
    assert_eq!(executable.dispatches(), 2);
    let (x, y) = (floats(&device, &ramp()), device.allocate(4 * LEN).unwrap());
    let run = |a: f32, b: f32| executable.run(&[(&x, 0)], &bits(&[a, b]), &[&y]).unwrap();
    run(3.0, 0.5);
    assert_eq!(read(&device, &y, LEN), expect_affine(3.0, 0.5));
    let before = device.counters();
    run(3.0, 0.5);
    let after = device.counters();
    assert_eq!(after.submissions - before.submissions, 1);
    assert_eq!(after.dispatches - before.dispatches, 2);
    let created = |c: &GpuCounters| (c.pipelines, c.bind_groups, c.allocations, c.uploads, c.reads);
    assert_eq!(created(&after), created(&before));
    assert_eq!(after.pipelines, 1, "equal text is one pipeline");
    // New parameters cost one upload.
    run(-1.0, 4.0);
    assert_eq!(device.counters().uploads - after.uploads, 1);
    assert_eq!(read(&device, &y, LEN), expect_affine(-1.0, 4.0));
}

#[test]
fn alternating_memories_find_their_bind_groups_again() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = affine(&device);
    let inputs: Vec<Memory> = (0..3).map(|k| floats(&device, &ramp().map_with(k))).collect();
    let outputs: Vec<Memory> = (0..2).map(|_| device.allocate(4 * LEN).unwrap()).collect();
    let round = |n: usize| {
        let (x, y) = (&inputs[n % 3], &outputs[n % 2]);
        executable.run(&[(x, 0)], &bits(&[1.0, 0.0]), &[y]).unwrap();
        let expected: Vec<f32> = ramp().map_with(n % 3).iter().map(|x| (x + 1.0) * 2.0).collect();
        assert_eq!(read(&device, y, LEN), expected, "round {n}");
    };
    (0..6).for_each(round);
    let before = device.counters().bind_groups;
    (0..12).for_each(round);
    assert_eq!(device.counters().bind_groups, before);
    // More memories than bind groups are kept for: still right.
    let many: Vec<Memory> = (0..12).map(|_| floats(&device, &ramp())).collect();
    for x in many.iter().chain(&many) {
        executable.run(&[(x, 0)], &bits(&[2.0, 0.0]), &[&outputs[0]]).unwrap();
        assert_eq!(read(&device, &outputs[0], LEN), expect_affine(2.0, 0.0));
    }
}

trait MapWith {
    fn map_with(&self, k: usize) -> Vec<f32>;
}

impl MapWith for Vec<f32> {
    fn map_with(&self, k: usize) -> Vec<f32> {
        self.iter().map(|x| x + 10.0 * k as f32).collect()
    }
}

#[test]
fn donated_memory_is_updated_in_place_over_a_thousand_runs() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = counter(&device);
    let x = floats(&device, &ramp());
    let run = || executable.run(&[(&x, 0)], &[], &[&x]).unwrap();
    run();
    let before = device.counters();
    (1..1000).for_each(|_| run());
    let after = device.counters();
    // While the device is busy, up to eight runs share a submission.
    let submitted = after.submissions - before.submissions;
    assert!((999 / 8..=999).contains(&submitted), "{submitted} submissions of 999 runs");
    assert_eq!((after.allocations, after.bind_groups), (before.allocations, before.bind_groups));
    assert_eq!((after.bytes_live, after.bytes_peak), (before.bytes_live, before.bytes_peak));
    assert_eq!(x.handles(), 1, "a run keeps no handles");
    let expected: Vec<f32> = ramp().iter().map(|x| x + 1000.0).collect();
    assert_eq!(read(&device, &x, LEN), expected);
}

#[test]
fn inputs_may_start_inside_a_memory() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = counter(&device);
    let arena = floats(&device, &[1.0; 256]);
    executable.run(&[(&arena, 512)], &[], &[&arena]).unwrap();
    let values = read(&device, &arena, 256);
    let expected = |i: usize| if (128..228).contains(&i) { 2.0 } else { 1.0 };
    assert!(values.iter().enumerate().all(|(i, &value)| value == expected(i)), "{values:?}");
    let error = executable.run(&[(&arena, 4)], &[], &[&arena]).unwrap_err();
    assert!(matches!(error, Error::Alignment { op: "run", offset: 4, .. }), "{error}");
    let error = executable.run(&[(&arena, 768)], &[], &[&arena]).unwrap_err();
    assert_eq!(error.to_string(), "run: out of range: 400 bytes from 768 (end 1168 vs size 1024)");
    let error = executable.run(&[], &[], &[&arena]).unwrap_err();
    assert_eq!(error.to_string(), "run: wrong number of inputs (0 vs 1)");
    // Errors leave no trace.
    executable.run(&[(&arena, 512)], &[], &[&arena]).unwrap();
    assert_eq!(read(&device, &arena, 129)[128], 3.0);
}

/// `trips` slices of a sequence: each result is twice its input plus one. Tests slots and swaps.
#[test]
fn loops_walk_slots_and_swap_carries() {
    const TRIPS: usize = 5;
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    for reverse in [false, true] {
        let program = Program {
            inputs: vec![spec(TRIPS * LEN)],
            outputs: vec![
                ProgramOutput { spec: spec(TRIPS * LEN), donor: None },
                ProgramOutput { spec: spec(LEN), donor: None },
            ],
            blocks: vec![4 * LEN, 4 * LEN],
            buffers: vec![
                buffer(Place::Input(0), TRIPS * LEN),
                buffer(Place::Output(0), TRIPS * LEN),
                buffer(Place::Block(0), LEN),
                buffer(Place::Block(1), LEN),
                buffer(Place::Output(1), LEN),
            ],
            ..Program::default()
        };
        // The sequence: result[p] = 2 · input[p] + 1. The carry: next = 3 · carry + 1, from zero.
        let words = vec![Word::Fixed(LEN as u32), fixed(2.0), fixed(1.0), Word::Slot(BufferId(0))];
        let sequence = routine("slices", SCALE, vec![binding(0, false), binding(1, true)], words);
        let body = vec![sequence, scale(2, 3, fixed(3.0), fixed(1.0))];
        let (slots, swaps) = (vec![(BufferId(0), LEN)], vec![(BufferId(2), BufferId(3))]);
        // After an odd number of trips the carry lies in the second buffer.
        let reset = vec![scale(2, 3, fixed(0.0), fixed(0.0)), scale(3, 2, fixed(0.0), fixed(0.0))];
        let stages = vec![
            LaunchStage::Once(reset),
            LaunchStage::Loop { trips: TRIPS, reverse, slots, swaps, body },
            LaunchStage::Once(vec![scale(3, 4, fixed(1.0), fixed(0.0))]),
        ];
        let executable = GpuExecutable::from_dispatches(&device, Arc::new(program), stages).unwrap();
        assert_eq!(executable.dispatches(), 2 + 2 * TRIPS + 1);
        let sequence: Vec<f32> = (0..TRIPS * LEN).map(|i| i as f32).collect();
        let x = floats(&device, &sequence);
        let (y, carry) = (device.allocate(4 * TRIPS * LEN).unwrap(), device.allocate(4 * LEN).unwrap());
        for _ in 0..2 {
            executable.run(&[(&x, 0)], &[], &[&y, &carry]).unwrap();
            let expected: Vec<f32> = sequence.iter().map(|x| 2.0 * x + 1.0).collect();
            assert_eq!(read(&device, &y, TRIPS * LEN), expected);
            assert_eq!(read(&device, &carry, LEN), [121.0; LEN]);
        }
    }
}

#[test]
fn two_threads_run_one_executable_with_their_own_parameters() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = affine(&device);
    std::thread::scope(|scope| {
        for thread in 1..3 {
            let (device, executable) = (&device, &executable);
            scope.spawn(move || {
                let (x, y) = (floats(device, &ramp()), device.allocate(4 * LEN).unwrap());
                for round in 0..20 {
                    let (a, b) = (thread as f32, round as f32);
                    executable.run(&[(&x, 0)], &bits(&[a, b]), &[&y]).unwrap();
                    assert_eq!(read(device, &y, LEN), expect_affine(a, b), "thread {thread}, round {round}");
                }
            });
        }
    });
}

#[test]
fn copies_and_runs_keep_their_order() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = counter(&device);
    let (x, kept) = (floats(&device, &[0.0; LEN]), device.allocate(4 * LEN).unwrap());
    let run = || executable.run(&[(&x, 0)], &[], &[&x]).unwrap();
    run();
    device.copy((&x, 0), (&kept, 0), 4 * LEN).unwrap();
    run();
    let both = device
        .read_blocking(&[MemoryRange::new(x.clone(), 0, 4 * LEN), MemoryRange::new(kept.clone(), 0, 4 * LEN)])
        .unwrap();
    assert_eq!((to_floats(&both[0]), to_floats(&both[1])), (vec![2.0; LEN], vec![1.0; LEN]));
}

/// Every step's result is copied, as a weight that someone else holds would be.
#[test]
fn runs_between_copies_keep_their_own_parameters() {
    const STEPS: usize = 40;
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = affine(&device);
    let (x, y) = (floats(&device, &ramp()), device.allocate(4 * LEN).unwrap());
    let kept: Vec<Memory> = (0..STEPS).map(|_| device.allocate(4 * LEN).unwrap()).collect();
    occupy(&device);
    for (step, kept) in kept.iter().enumerate() {
        executable.run(&[(&x, 0)], &bits(&[step as f32, 0.5]), &[&y]).unwrap();
        device.copy((&y, 0), (kept, 0), 4 * LEN).unwrap();
    }
    for (step, kept) in kept.iter().enumerate() {
        assert_eq!(read(&device, kept, LEN), expect_affine(step as f32, 0.5), "step {step}");
    }
}

#[test]
fn the_host_stays_few_submissions_ahead_while_it_uploads_every_step() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = counter(&device);
    let x = floats(&device, &[0.0; LEN]);
    for timed in [false, true] {
        device.time_passes(timed).unwrap();
        for step in 0..30 {
            device.write(&x, 0, &(step as f32).to_le_bytes()).unwrap();
            executable.run(&[(&x, 0)], &[], &[&x]).unwrap();
            let counters = device.counters();
            assert!(counters.submissions - counters.awaited <= 4, "step {step}: {counters:?}");
        }
    }
    assert!(device.counters().submissions >= 58, "a write submits the run before it");
    assert_eq!(read(&device, &x, 1), [30.0]);
}

/// Keeps the device busy with copies for a few milliseconds.
fn occupy(device: &GpuDevice) {
    const BYTES: usize = 32 << 20;
    let (from, to) = (device.allocate(BYTES).unwrap(), device.allocate(BYTES).unwrap());
    device.copy((&from, 0), (&to, 0), BYTES).unwrap();
}

#[test]
fn noop_devices_count_without_computing() {
    let device = GpuDevice::open(0, Options { noop: true, ..Options::default() }).unwrap();
    let executable = affine(&device);
    let (x, y) = (floats(&device, &ramp()), device.allocate(4 * LEN).unwrap());
    for _ in 0..5 {
        executable.run(&[(&x, 0)], &bits(&[1.0, 0.0]), &[&y]).unwrap();
    }
    let counters = device.counters();
    assert_eq!((counters.dispatches, counters.pipelines, counters.bind_groups), (10, 1, 2));
    assert_eq!(read(&device, &x, LEN), ramp());
}

/// The environment variable that the test below sets for its child process.
const LEAVES: &str = "FARAD_TEST_LEAVES";

/// Takes some tenths of a second on a software GPU.
const LONG: &str = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < p[0].x {
        var value = x[id.x];
        for (var n = 0u; n < 1000000u; n += 1u) { value = sin(value + 1.0); }
        x[id.x] = value;
    }
}";

/// Software drivers have threads that run kernels while the process unloads its libraries.
#[test]
fn a_process_may_end_while_work_is_in_flight() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    if std::env::var_os(LEAVES).is_some() {
        let program = Program {
            inputs: vec![spec(LEN)],
            outputs: vec![ProgramOutput { spec: spec(LEN), donor: Some(0) }],
            buffers: vec![buffer(Place::Input(0), LEN)],
            ..Program::default()
        };
        let step = routine("long", LONG, vec![binding(0, true)], vec![Word::Fixed(LEN as u32)]);
        let executable =
            GpuExecutable::from_dispatches(&device, Arc::new(program), vec![LaunchStage::Once(vec![step])])
                .unwrap();
        let x = floats(&device, &ramp());
        (0..3).for_each(|_| executable.run(&[(&x, 0)], &[], &[&x]).unwrap());
        // Polling a future once starts a thread that goes on polling.
        let mut read = device.read(&[MemoryRange::new(x.clone(), 0, 4)]);
        let _ = pin!(&mut read).poll(&mut Context::from_waker(Waker::noop()));
        std::mem::forget((read, x, executable));
        std::process::exit(0);
    }
    drop(device);
    let test = std::env::current_exe().unwrap();
    for turn in 0..3 {
        let mut child = std::process::Command::new(&test);
        let child = child.args(["--exact", "a_process_may_end_while_work_is_in_flight"]).env(LEAVES, "1");
        let output = child.output().unwrap();
        assert!(output.status.success(), "turn {turn}: {:?}", output);
    }
}
