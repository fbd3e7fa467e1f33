//! Hand-written kernels, and programs made of them for tests.
#![allow(dead_code, missing_docs)] // every test file uses a part of it

use std::sync::Arc;

use farad_compile::costs::Costs;
use farad_compile::program::{BufferId, Place, Program, ProgramBuffer, ProgramOutput, Site, Spec};
use farad_gpu::dispatch::{Dispatch, StorageBinding, Word};
use farad_gpu::{GpuDevice, GpuExecutable, LaunchStage, Routine};
use farad_ir::DType;

pub const LEN: usize = 100;

/// `y[i] = x[i] · f32(word 1) + f32(word 2)` for `i <` word 0; both arrays start at the element in word 3.
pub const SCALE: &str = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < p[0].x {
        y[p[0].w + id.x] = x[p[0].w + id.x] * bitcast<f32>(p[0].y) + bitcast<f32>(p[0].z);
    }
}";

/// `x[i] += 1` in place.
pub const INCREMENT: &str = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < p[0].x { x[id.x] += 1.0; }
}";

/// Reports the site in word 1 where `x[i]` is not below word 2.
pub const CHECK: &str = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> errors: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < p[0].x {
        let index = i32(x[id.x]);
        if index < 0 || index >= i32(p[0].z) {
            atomicMax(&errors[2u * p[0].y], 1u);
            atomicMax(&errors[2u * p[0].y + 1u], bitcast<u32>(index));
        }
    }
}";

pub fn buffer(place: Place, len: usize) -> ProgramBuffer {
    ProgramBuffer { place, offset: 0, dtype: DType::F32, len }
}

pub fn spec(len: usize) -> Spec {
    Spec { dtype: DType::F32, len }
}

pub fn binding(buffer: u32, write: bool) -> StorageBinding {
    StorageBinding { buffer: BufferId(buffer), write }
}

pub fn routine(label: &str, wgsl: &str, bindings: Vec<StorageBinding>, parameters: Vec<Word>) -> Routine {
    let dispatch = Dispatch {
        wgsl: wgsl.into(),
        entry: "main",
        reports: wgsl.contains("errors"),
        bindings,
        parameters,
        workgroups: [LEN.div_ceil(64) as u32, 1, 1],
        costs: Costs { bytes: 8 * LEN as u64, flops: 2 * LEN as u64, half_flops: 0 },
    };
    Routine::new(label, dispatch)
}

pub fn fixed(value: f32) -> Word {
    Word::Fixed(value.to_bits())
}

pub fn scale(from: u32, to: u32, factor: Word, addend: Word) -> Routine {
    let words = vec![Word::Fixed(LEN as u32), factor, addend, Word::Fixed(0)];
    routine("scale", SCALE, vec![binding(from, false), binding(to, true)], words)
}

/// `output = (input · parameter 0 + 1) · 2 + parameter 1`, through a block.
pub fn affine(device: &GpuDevice) -> GpuExecutable {
    let program = Program {
        inputs: vec![spec(LEN)],
        parameters: vec![DType::F32, DType::F32],
        outputs: vec![ProgramOutput { spec: spec(LEN), donor: None }],
        blocks: vec![4 * LEN],
        buffers: vec![
            buffer(Place::Input(0), LEN),
            buffer(Place::Output(0), LEN),
            buffer(Place::Block(0), LEN),
        ],
        ..Program::default()
    };
    let first = scale(0, 2, Word::Parameter(0), fixed(1.0));
    let second = scale(2, 1, fixed(2.0), Word::Parameter(1));
    GpuExecutable::from_dispatches(device, Arc::new(program), vec![LaunchStage::Once(vec![first, second])])
        .unwrap()
}

pub fn ramp() -> Vec<f32> {
    (0..LEN).map(|i| i as f32).collect()
}

pub fn expect_affine(a: f32, b: f32) -> Vec<f32> {
    ramp().iter().map(|x| (x * a + 1.0) * 2.0 + b).collect()
}

pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// `input += 1`, donated to the output.
pub fn counter(device: &GpuDevice) -> GpuExecutable {
    let program = Program {
        inputs: vec![spec(LEN)],
        outputs: vec![ProgramOutput { spec: spec(LEN), donor: Some(0) }],
        buffers: vec![buffer(Place::Input(0), LEN)],
        ..Program::default()
    };
    let step = routine("increment", INCREMENT, vec![binding(0, true)], vec![Word::Fixed(LEN as u32)]);
    GpuExecutable::from_dispatches(device, Arc::new(program), vec![LaunchStage::Once(vec![step])]).unwrap()
}

/// Reports the second site where an element is not below 50.
#[track_caller]
pub fn checker(device: &GpuDevice) -> GpuExecutable {
    let here = std::panic::Location::caller();
    let site = |op: &str| Site { op: op.to_string(), location: Some(here), size: 50 };
    let program = Program {
        inputs: vec![spec(LEN)],
        buffers: vec![buffer(Place::Input(0), LEN)],
        sites: vec![site("gather"), site("scatter_add")],
        ..Program::default()
    };
    let words = vec![Word::Fixed(LEN as u32), Word::Fixed(1), Word::Fixed(50)];
    let step = routine("check", CHECK, vec![binding(0, false)], words);
    GpuExecutable::from_dispatches(device, Arc::new(program), vec![LaunchStage::Once(vec![step])]).unwrap()
}
