//! Whole programs: rendered kernels run by the runtime, on both kinds of device.

mod device;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use device::{floats, open, read, turn};
use farad_compile::program::{
    BufferId, Code, Fused, Instr, Kernel, Level, Loop, Place, Program, ProgramBuffer, ProgramOutput,
    ProgramStep, Reg, Site, Spec, Store, View,
};
use farad_gpu::{Error, MemoryRange, Options};
use farad_ir::{Binary, DType};

const LEN: usize = 150;

fn buffer(place: Place, len: usize) -> ProgramBuffer {
    ProgramBuffer { place, offset: 0, dtype: DType::F32, len }
}

fn spec(len: usize) -> Spec {
    Spec { dtype: DType::F32, len }
}

fn instr(code: Code, dtype: DType) -> Instr {
    Instr { code, dtype, level: Level::Full }
}

/// `to = tape's last register` over `len` elements.
fn step(label: &str, tape: Vec<Instr>, to: u32, len: usize) -> ProgramStep {
    let value = Reg(tape.len() as u32 - 1);
    let store = Store { buffer: BufferId(to), value, view: View::contiguous(&[len]) };
    let fused = Fused { axes: vec![len], outer: 1, tape, stores: vec![store] };
    ProgramStep { wave: 0, label: label.to_string(), kernel: Kernel::Fused(fused) }
}

/// `to = from · parameter 0 + other`
fn multiply_add(from: u32, other: u32, to: u32) -> ProgramStep {
    let load = |buffer: u32| instr(Code::Load(BufferId(buffer), View::contiguous(&[LEN])), DType::F32);
    let tape = vec![
        load(from),
        instr(Code::Parameter(0), DType::F32),
        instr(Code::Binary(Binary::Mul, Reg(0), Reg(1)), DType::F32),
        load(other),
        instr(Code::Binary(Binary::Add, Reg(2), Reg(3)), DType::F32),
    ];
    step("multiply_add", tape, to, LEN)
}

fn ramp(len: usize) -> Vec<f32> {
    (0..len).map(|i| i as f32 * 0.5 - 7.0).collect()
}

#[test]
fn donated_updates_and_parameters() {
    let _turn = turn();
    for core in [false, true] {
        let Some(device) = open(Options { core, ..Options::default() }) else { return };
        let program = Program {
            inputs: vec![spec(LEN), spec(LEN)],
            parameters: vec![DType::F32],
            outputs: vec![ProgramOutput { spec: spec(LEN), donor: Some(0) }],
            buffers: vec![buffer(Place::Input(0), LEN), buffer(Place::Input(1), LEN)],
            steps: vec![multiply_add(0, 1, 0)],
            ..Program::default()
        };
        let executable = device.load(Arc::new(program)).unwrap();
        let (x, y) = (floats(&device, &ramp(LEN)), floats(&device, &[1.0; LEN]));
        let mut expected = ramp(LEN);
        for factor in [0.5f32, 2.0, -1.0] {
            executable.run(&[(&x, 0), (&y, 0)], &[factor.to_bits()], &[&x]).unwrap();
            expected.iter_mut().for_each(|x| *x = *x * factor + 1.0);
        }
        assert_eq!(read(&device, &x, LEN), expected, "core {core}");
    }
}

#[test]
fn loops_accumulate_over_a_sequence() {
    const TRIPS: usize = 5;
    let _turn = turn();
    for (core, reverse) in [(false, false), (false, true), (true, true)] {
        let Some(device) = open(Options { core, ..Options::default() }) else { return };
        // next = carry · p + sequence[t], carries swapped; every next carry is also written to an output.
        let body = vec![multiply_add(2, 0, 3), multiply_add(2, 0, 1)];
        let slots = vec![(BufferId(0), LEN), (BufferId(1), LEN)];
        let swaps = vec![(BufferId(2), BufferId(3))];
        let kernel = Kernel::Loop(Loop { trips: TRIPS, reverse, steps: body, slots, swaps });
        let program = Program {
            inputs: vec![spec(TRIPS * LEN), spec(LEN)],
            parameters: vec![DType::F32],
            outputs: vec![ProgramOutput { spec: spec(TRIPS * LEN), donor: None }],
            blocks: vec![4 * LEN],
            buffers: vec![
                buffer(Place::Input(0), TRIPS * LEN),
                buffer(Place::Output(0), TRIPS * LEN),
                buffer(Place::Input(1), LEN),
                buffer(Place::Block(0), LEN),
            ],
            steps: vec![ProgramStep { wave: 0, label: "scan".to_string(), kernel }],
            ..Program::default()
        };
        let executable = device.load(Arc::new(program)).unwrap();
        assert_eq!(executable.dispatches(), 1, "small kernels over one axis are one launch");
        let (sequence, first) = (ramp(TRIPS * LEN), [2.0; LEN]);
        let (x, start) = (floats(&device, &sequence), floats(&device, &first));
        let output = device.allocate(4 * TRIPS * LEN).unwrap();
        executable.run(&[(&x, 0), (&start, 0)], &[0.5f32.to_bits()], &[&output]).unwrap();
        let (mut expected, mut carry) = (vec![0.0; TRIPS * LEN], first.to_vec());
        for trip in 0..TRIPS {
            let at = LEN * if reverse { TRIPS - 1 - trip } else { trip };
            for i in 0..LEN {
                carry[i] = carry[i] * 0.5 + sequence[at + i];
                expected[at + i] = carry[i];
            }
        }
        assert_eq!(read(&device, &output, TRIPS * LEN), expected, "core {core}, reverse {reverse}");
    }
}

#[test]
fn a_take_out_of_range_is_reported_with_its_site() {
    let _turn = turn();
    for core in [false, true] {
        let Some(device) = open(Options { core, ..Options::default() }) else { return };
        let index = ProgramBuffer { dtype: DType::I32, ..buffer(Place::Input(1), LEN) };
        let tape = vec![
            instr(Code::Load(BufferId(1), View::contiguous(&[LEN])), DType::I32),
            instr(
                Code::Take {
                    buffer: BufferId(0),
                    view: View { offset: 0, strides: vec![0], guards: vec![] },
                    position: Reg(0),
                    stride: 1,
                    size: LEN,
                    site: 0,
                },
                DType::F32,
            ),
        ];
        let program = Program {
            inputs: vec![spec(LEN), Spec { dtype: DType::I32, len: LEN }],
            outputs: vec![ProgramOutput { spec: spec(LEN), donor: None }],
            buffers: vec![buffer(Place::Input(0), LEN), index, buffer(Place::Output(0), LEN)],
            steps: vec![step("gather", tape, 2, LEN)],
            sites: vec![Site { op: "gather".to_string(), location: None, size: LEN }],
            ..Program::default()
        };
        let executable = device.load(Arc::new(program)).unwrap();
        let (x, y) = (floats(&device, &ramp(LEN)), device.allocate(4 * LEN).unwrap());
        let run = |index: &dyn Fn(usize) -> i32| {
            let bytes: Vec<u8> = (0..LEN).flat_map(|i| index(i).to_le_bytes()).collect();
            let memory = device.allocate(bytes.len()).unwrap();
            device.write(&memory, 0, &bytes).unwrap();
            executable.run(&[(&x, 0), (&memory, 0)], &[], &[&y]).unwrap();
        };
        let backwards: Vec<f32> = ramp(LEN).into_iter().rev().collect();
        run(&|i| (LEN - 1 - i) as i32);
        assert_eq!(read(&device, &y, LEN), backwards, "core {core}");
        run(&|i| if i == 9 { LEN as i32 } else { 0 });
        let error = device.read_blocking(&[MemoryRange::new(y.clone(), 0, 4)]).unwrap_err();
        assert_eq!(error.to_string(), format!("gather: index out of range (index {LEN} vs size {LEN})"));
        assert!(matches!(error, Error::Index { .. }));
        run(&|i| (LEN - 1 - i) as i32);
        assert_eq!(read(&device, &y, LEN), backwards, "core {core}");
    }
}

/// A program of one kernel, whose WGSL depends on the number of additions.
fn additions(count: u32) -> Arc<Program> {
    let mut tape = vec![instr(Code::Load(BufferId(0), View::contiguous(&[LEN])), DType::F32)];
    tape.extend((0..count).map(|n| instr(Code::Binary(Binary::Add, Reg(n), Reg(0)), DType::F32)));
    Arc::new(Program {
        inputs: vec![spec(LEN)],
        outputs: vec![ProgramOutput { spec: spec(LEN), donor: None }],
        buffers: vec![buffer(Place::Input(0), LEN), buffer(Place::Output(0), LEN)],
        steps: vec![step("additions", tape, 1, LEN)],
        ..Program::default()
    })
}

/// Opens a device, runs a program on it, and closes it; returns the bytes of pipelines found on disk.
fn run_once(cache: Option<&'static Path>, additions_made: u32) -> Option<u64> {
    let device = open(Options { cache, ..Options::default() })?;
    let executable = device.load(additions(additions_made)).unwrap();
    let (x, y) = (floats(&device, &ramp(LEN)), floats(&device, &[0.0; LEN]));
    executable.run(&[(&x, 0)], &[], &[&y]).unwrap();
    let times = |x: f32| (0..additions_made).fold(x, |sum, _| sum + x);
    assert_eq!(read(&device, &y, LEN), ramp(LEN).into_iter().map(times).collect::<Vec<f32>>());
    let found = device.counters().cached_bytes;
    device.close();
    Some(found)
}

/// The log messages of a function, without those for debugging.
fn messages(work: impl FnOnce()) -> Vec<String> {
    #[derive(Clone, Default)]
    struct Listener(Arc<Mutex<Vec<String>>>);
    impl tracing::Subscriber for Listener {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            *metadata.level() <= tracing::Level::INFO && metadata.target().starts_with("farad")
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            struct Text<'a>(&'a mut String);
            impl tracing::field::Visit for Text<'_> {
                fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                    self.0.push_str(&format!("{field}={value:?} "));
                }
            }
            let mut text = String::new();
            event.record(&mut Text(&mut text));
            self.0.lock().unwrap().push(text);
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }
    let listener = Listener::default();
    tracing::subscriber::with_default(listener.clone(), work);
    let heard = listener.0.lock().unwrap();
    heard.clone()
}

/// A folder that does not exist yet.
fn folder(name: &str) -> &'static Path {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    Box::leak(path.into_boxed_path())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn pipelines_are_kept_on_disk_for_the_next_device() {
    let _turn = turn();
    let folder = folder("pipelines");
    assert_eq!(run_once(None, 2).unwrap_or(0), 0);
    let Some(found) = run_once(Some(folder), 2) else { return };
    assert!(found == 0 && folder.exists(), "the adapter keeps pipelines: {found} bytes");
    let [file] = &files(folder)[..] else { panic!("one file per adapter: {:?}", files(folder)) };
    let whole = fs::read(file).unwrap();
    assert!(run_once(Some(folder), 3).is_some_and(|bytes| bytes > 0 && bytes < whole.len() as u64));
    let whole = fs::read(file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() - 1] ^= 1;
    for damaged in [&whole[..whole.len() - 1], &flipped, &[], b"something else that is longer than a head"] {
        fs::write(file, damaged).unwrap();
        let heard = messages(|| assert_eq!(run_once(Some(folder), 2), Some(0)));
        let [line] = &heard[..] else { panic!("one line: {heard:?}") };
        assert!(line.contains("the file of pipelines is ignored: ") && line.contains("pipelines-"), "{line}");
        // The file was written again, complete.
        assert_eq!(messages(|| assert!(run_once(Some(folder), 2) > Some(0))), [""; 0]);
    }
    assert_eq!(files(folder).len(), 1, "nothing is left beside it");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_is_no_error() {
    let _turn = turn();
    let file = folder("no-folder");
    fs::write(file, "in the way").unwrap();
    let below = Box::leak(file.join("farad").into_boxed_path());
    assert_eq!(messages(|| assert_eq!(run_once(Some(below), 2).unwrap_or(0), 0)), [""; 0]);
    assert_eq!(fs::read(file).unwrap(), b"in the way");
    fs::remove_file(file).unwrap();
}
