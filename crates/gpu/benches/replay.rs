//! The host cost of a replay: microseconds per dispatch, encoded, submitted, and done.
//!
//! Every dispatch adds one to a small block, after the previous dispatch; the result is checked.

use std::sync::Arc;
use std::time::Instant;

use farad_compile::costs::Costs;
use farad_compile::program::{BufferId, Place, Program, ProgramBuffer, ProgramOutput, Spec};
use farad_gpu::dispatch::{Dispatch, StorageBinding, Word};
use farad_gpu::{GpuDevice, GpuExecutable, LaunchStage, MemoryRange, Options, Routine, adapters};
use farad_ir::DType;

/// Dispatches of one run.
const DISPATCHES: usize = 1000;
/// Runs that are timed.
const RUNS: usize = 50;
/// Elements that each dispatch works on.
const LEN: usize = 64;

const INCREMENT: &str = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < p[0].x { y[id.x] = x[id.x] + 1.0; }
}";

fn main() {
    let noop = Options { noop: true, checked: false, ..Options::default() };
    measure(&GpuDevice::open(0, noop).expect("noop opens"), false);
    for info in adapters() {
        let options = Options { checked: false, ..Options::default() };
        measure(&GpuDevice::open(info.index, options).expect("the adapter opens"), true);
    }
}

fn measure(device: &GpuDevice, computes: bool) {
    let loading = Instant::now();
    let executable = chain(device);
    let loaded = loading.elapsed();
    let x = device.allocate_zeroed(4 * LEN).expect("memory");
    let run = |n: usize| executable.run(&[(&x, 0)], &[n as u32], &[&x]).expect("runs");
    run(0);
    device.wait().expect("done");
    device.time_passes(true).expect("time stamps");
    let start = Instant::now();
    let mut host = 0.0;
    for n in 1..RUNS {
        let before = Instant::now();
        run(n);
        host += before.elapsed().as_secs_f64();
        if n % 3 == 0 {
            device.wait().expect("done");
        }
    }
    device.wait().expect("done");
    let total = start.elapsed().as_secs_f64();
    let passes = device.pass_nanoseconds().expect("read");
    let gpu = passes.iter().sum::<u64>() as f64 * 1e-9 / passes.len().max(1) as f64;
    let each = |seconds: f64, runs: usize| seconds * 1e6 / (runs * DISPATCHES) as f64;
    println!(
        "{:<40} load {:.1} ms; a dispatch: host {:.2} µs, wall {:.2} µs, gpu {:.2} µs",
        device.name(),
        loaded.as_secs_f64() * 1e3,
        each(host, RUNS - 1),
        each(total, RUNS - 1),
        each(gpu, 1),
    );
    let bytes = device.read_blocking(&[MemoryRange::new(x, 0, 4)]).expect("read").remove(0);
    let value = f32::from_le_bytes(bytes.try_into().expect("four bytes"));
    assert!(!computes || value == (RUNS * DISPATCHES) as f32, "{value}");
}

/// Input and block are swapped from dispatch to dispatch.
fn chain(device: &GpuDevice) -> GpuExecutable {
    let buffer = |place| ProgramBuffer { place, offset: 0, dtype: DType::F32, len: LEN };
    let spec = Spec { dtype: DType::F32, len: LEN };
    let program = Program {
        inputs: vec![spec],
        parameters: vec![DType::U32],
        outputs: vec![ProgramOutput { spec, donor: Some(0) }],
        blocks: vec![4 * LEN],
        buffers: vec![buffer(Place::Input(0)), buffer(Place::Block(0))],
        ..Program::default()
    };
    let step = |n: usize| {
        let (from, to) = (BufferId(n as u32 % 2), BufferId(1 - n as u32 % 2));
        let dispatch = Dispatch {
            wgsl: INCREMENT.into(),
            entry: "main",
            bindings: vec![
                StorageBinding { buffer: from, write: false },
                StorageBinding { buffer: to, write: true },
            ],
            parameters: vec![Word::Fixed(LEN as u32), Word::Fixed(n as u32), Word::Parameter(0)],
            reports: false,
            workgroups: [LEN.div_ceil(64) as u32, 1, 1],
            costs: Costs { bytes: 8 * LEN as u64, flops: LEN as u64, half_flops: 0 },
        };
        Routine::new("increment", dispatch)
    };
    let stages = vec![LaunchStage::Once((0..DISPATCHES).map(step).collect())];
    GpuExecutable::from_dispatches(device, Arc::new(program), stages).expect("loads")
}
