//! Custom ops through the runtime: alone, with scratch, and on the slices of a loop.

mod device;

use std::sync::Arc;

use device::{floats, open, read, turn};
use farad_compile::program::{
    BufferId, Custom, Kernel, Loop, Place, Program, ProgramBuffer, ProgramOutput, ProgramStep, Spec,
};
use farad_gpu::{Error, Options};
use farad_ir::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, Words};

/// `y = 2 · x + 1`, in two kernels: the first doubles into scratch, the second reads only that and adds its
/// parameter.
#[derive(Debug, Hash)]
struct DoubleAndAdd;

const DOUBLE: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> doubled: array<f32>;
@compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) { doubled[id.x] = 2.0 * x[id.x]; }
}";

const ADD: &str = "
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> doubled: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] = doubled[id.x] + bitcast<f32>(parameters[0].x); }
}";

impl CustomOp for DoubleAndAdd {
    fn name(&self) -> &str {
        "double_and_add"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![operands[0]])
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        vec![operands[0].iter().map(|x| 2.0 * x + 1.0).collect()]
    }

    fn cpu(&self, operands: &[&[u32]], _: &[Shape], results: &mut [Words]) {
        for (y, x) in results[0].iter_mut().zip(operands[0]) {
            *y = (2.0 * f32::from_bits(*x) + 1.0).to_bits();
        }
    }

    fn wgsl(&self, shapes: &[Shape], _: &CustomLimits) -> Vec<CustomKernel> {
        let workgroups = [shapes[0].numel().div_ceil(64) as u32, 1, 1];
        let double = CustomKernel::new(DOUBLE, "double", workgroups);
        let add = CustomKernel::new(ADD, "add", workgroups).arguments(&[2, 1]);
        vec![double, add.parameters(&[1f32.to_bits()])]
    }

    fn scratch(&self, shapes: &[Shape]) -> Vec<usize> {
        vec![shapes[0].numel()]
    }
}

/// `trips` slices of `len` elements; a single trip needs no loop.
fn program(trips: usize, len: usize, dtype: DType) -> Program {
    let spec = Spec { dtype, len: trips * len };
    let buffer = |place, len| ProgramBuffer { place, offset: 0, dtype, len };
    let custom = Kernel::Custom(Custom {
        op: Arc::new(DoubleAndAdd),
        shapes: vec![Shape::new(&[len])],
        operands: vec![BufferId(0)],
        results: vec![BufferId(1)],
        scratch: vec![BufferId(2)],
    });
    let step = ProgramStep { wave: 0, label: "double_and_add".into(), kernel: custom };
    let slots = vec![(BufferId(0), len), (BufferId(1), len)];
    let kernel = Kernel::Loop(Loop { trips, reverse: true, steps: vec![step.clone()], slots, swaps: vec![] });
    let scan = ProgramStep { wave: 0, label: "scan".into(), kernel };
    Program {
        inputs: vec![spec],
        outputs: vec![ProgramOutput { spec, donor: None }],
        blocks: vec![4 * len],
        buffers: vec![
            buffer(Place::Input(0), trips * len),
            buffer(Place::Output(0), trips * len),
            buffer(Place::Block(0), len),
        ],
        steps: vec![if trips > 1 { scan } else { step }],
        ..Program::default()
    }
}

#[test]
fn custom_ops_run_alone_and_on_slices() {
    let _turn = turn();
    for core in [false, true] {
        let Some(device) = open(Options { core, ..Options::default() }) else { return };
        // Slices of 5 and of 65 floats do not start at valid binding offsets, slices of 64 do.
        for (trips, len, dispatches) in [(1, 100, 2), (4, 64, 8), (3, 5, 12), (7, 65, 28)] {
            let executable = device.load(Arc::new(program(trips, len, DType::F32))).unwrap();
            assert_eq!(executable.dispatches(), dispatches, "{trips} trips over {len}");
            let values: Vec<f32> = (0..trips * len).map(|i| i as f32 - 3.0).collect();
            let (x, y) = (floats(&device, &values), device.allocate(4 * values.len()).unwrap());
            executable.run(&[(&x, 0)], &[], &[&y]).unwrap();
            let expected: Vec<f32> = values.iter().map(|x| 2.0 * x + 1.0).collect();
            assert_eq!(read(&device, &y, values.len()), expected, "{trips} trips over {len}, core {core}");
        }
    }
}

#[test]
fn a_profile_credits_launches_with_what_they_bind() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    // Each launch reads one array and writes another; in the loop, slices of them.
    for (trips, len, bytes) in [(1, 100, 2 * 800), (4, 64, 4 * 2 * 512)] {
        let executable = device.load(Arc::new(program(trips, len, DType::F32))).unwrap();
        let (x, y) = (floats(&device, &vec![1.0; trips * len]), device.allocate(4 * trips * len).unwrap());
        let before = device.profiler().open(true);
        executable.run(&[(&x, 0)], &[], &[&y]).unwrap();
        let times = device.profiler().close(true, &before).0.since(&before).2;
        assert_eq!((times.len(), times[0].count, times[0].costs.bytes), (1, 2 * trips as u64, bytes));
    }
}

#[test]
fn slices_that_start_inside_a_word_are_refused() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let error = device.load(Arc::new(program(3, 5, DType::F16))).err().unwrap();
    assert!(matches!(error, Error::Slice { bytes: 10, .. }), "{error:?}");
    let text =
        "slices of a loop start inside a word: custom op on f16 (10 bytes per slice vs multiples of 4)";
    assert_eq!(error.to_string(), format!("double_and_add: {text}"));
}
