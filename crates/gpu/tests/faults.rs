//! Every failure is an error that says what is wrong and leaves the device usable.

mod device;
mod kernels;

use std::sync::Arc;

use device::{floats, open, read, turn};
use farad_compile::program::{Place, Program, ProgramOutput};
use farad_gpu::dispatch::Word;
use farad_gpu::{Error, GpuDevice, GpuExecutable, LaunchStage, MemoryRange, Options};
use kernels::{
    INCREMENT, LEN, affine, binding, bits, buffer, checker, counter, fixed, ramp, routine, scale, spec,
};

#[test]
fn a_bad_index_is_reported_once_by_the_next_read() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = checker(&device);
    let mut values = vec![7.0; LEN];
    let good = floats(&device, &values);
    values[33] = -4.0;
    let bad = floats(&device, &values);
    executable.run(&[(&good, 0)], &[], &[]).unwrap();
    assert_eq!(read(&device, &good, 1), [7.0]);
    executable.run(&[(&bad, 0)], &[], &[]).unwrap();
    executable.run(&[(&good, 0)], &[], &[]).unwrap();
    // A read that nobody waits for consumes no report.
    drop(device.read(&[MemoryRange::new(good.clone(), 0, 4)]));
    let error = device.read_blocking(&[MemoryRange::new(good.clone(), 0, 4)]).unwrap_err();
    let Error::Index { op, location: Some(location), index: -4, size: 50, elsewhere: false } = &error else {
        panic!("{error:?}")
    };
    assert_eq!((op.as_str(), location.file().ends_with("faults.rs")), ("scatter_add", true));
    assert!(error.to_string().ends_with("(index -4 vs size 50)"), "{error}");
    executable.run(&[(&good, 0)], &[], &[]).unwrap();
    assert_eq!(read(&device, &good, 1), [7.0]);
}

#[test]
fn a_shader_that_does_not_compile_is_an_error_with_its_text() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let program =
        Program { blocks: vec![4 * LEN], buffers: vec![buffer(Place::Block(0), LEN)], ..Program::default() };
    let bad = |wgsl: &str| {
        let step = routine("broken", wgsl, vec![binding(0, true)], vec![]);
        let stages = vec![LaunchStage::Once(vec![step])];
        let error = GpuExecutable::from_dispatches(&device, Arc::new(program.clone()), stages).err().unwrap();
        let Error::Shader { label, wgsl: text, message } = &error else { panic!("{error:?}") };
        assert_eq!((label.as_str(), &**text), ("broken", wgsl));
        assert!(error.to_string().starts_with("broken: the shader does not compile: "), "{error}");
        message.clone()
    };
    assert!(bad("fn main( {").contains("expected"), "a parse error says what was expected");
    bad("@compute @workgroup_size(1) fn other() {}");
    // The device is still usable.
    let x = floats(&device, &ramp());
    counter(&device).run(&[(&x, 0)], &[], &[&x]).unwrap();
    assert_eq!(read(&device, &x, 2), [1.0, 2.0]);
}

#[test]
fn misuse_that_wgpu_finds_is_an_error_and_not_a_panic() {
    let _turn = turn();
    let Some(device) = open(Options::default()) else { return };
    let executable = affine(&device);
    let x = floats(&device, &ramp());
    // Input and output are one memory here, used through two kernels with a block between them: allowed. A
    // single kernel that reads and writes one memory is not.
    let program = Program {
        inputs: vec![spec(LEN)],
        outputs: vec![ProgramOutput { spec: spec(LEN), donor: None }],
        buffers: vec![buffer(Place::Input(0), LEN), buffer(Place::Output(0), LEN)],
        ..Program::default()
    };
    let stages = vec![LaunchStage::Once(vec![scale(0, 1, fixed(1.0), fixed(1.0))])];
    let conflicting = GpuExecutable::from_dispatches(&device, Arc::new(program), stages).unwrap();
    let error = conflicting.run(&[(&x, 0)], &[], &[&x]).unwrap_err();
    assert!(matches!(error, Error::Validation { .. }), "{error:?}");
    let y = device.allocate(4 * LEN).unwrap();
    conflicting.run(&[(&x, 0)], &[], &[&y]).unwrap();
    assert_eq!(read(&device, &y, 2), [1.0, 2.0]);
    executable.run(&[(&x, 0)], &bits(&[1.0, 0.0]), &[&x]).unwrap();
    assert_eq!(read(&device, &x, 2), [2.0, 4.0]);
}

#[test]
fn a_device_is_lost_when_it_was_asked_to_be() {
    let options = Options { noop: true, lose_after: Some(3), ..Options::default() };
    let device = GpuDevice::open(0, options).unwrap();
    let (executable, x) = (counter(&device), floats(&device, &ramp()));
    let run = || executable.run(&[(&x, 0)], &[], &[&x]).and_then(|()| device.wait());
    let error = (0..10).find_map(|_| run().err());
    assert!(matches!(error, Some(Error::Lost { .. })), "{error:?}");
    assert!(device.is_lost() && device.counters().submissions == 3, "{:?}", device.counters());
    assert!(matches!(device.allocate(64), Err(Error::Lost { .. })));
}

#[test]
fn bindings_above_the_limit_are_refused_at_load() {
    let device = GpuDevice::open(0, Options { noop: true, core: true, ..Options::default() }).unwrap();
    let len = (128 << 20) / 4 + 1;
    let buffers = vec![buffer(Place::Input(0), len)];
    let program = Program { inputs: vec![spec(len)], buffers, ..Program::default() };
    let step = routine("increment", INCREMENT, vec![binding(0, true)], vec![Word::Fixed(len as u32)]);
    let error =
        GpuExecutable::from_dispatches(&device, Arc::new(program), vec![LaunchStage::Once(vec![step])])
            .err()
            .unwrap();
    assert_eq!(error.to_string(), "load: too large for the device (134217732 bytes vs at most 134217728)");
}
