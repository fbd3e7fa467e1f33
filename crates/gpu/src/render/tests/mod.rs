//! Every form compared with the reference in `f64`, with default limits and with everything that the adapter
//! supports. Every text is validated, and some are golden files.

mod fuzz;
mod golden;
mod machine;
mod math;
mod pointwise;
mod product;
mod recurrence;
mod reduce;
mod scatter;
mod sort;
mod sums;

use farad_compile::program::{
    BufferId, Code, Fused, Guard, Instr, Kernel, Level, Place, Program, ProgramBuffer, Reg, Store, View,
};
use farad_ir::{Binary, DType, Scalar, Unary};

use super::render;
use crate::dispatch::{Capabilities, Dispatch};
use farad_runtime::Tuning;
use machine::{Given, machines};

/// A kernel with its buffers, under construction.
#[derive(Default)]
struct Case {
    program: Program,
    memory: Vec<Vec<f64>>,
    parameters: Vec<f64>,
    slots: Vec<(BufferId, usize, usize)>,
    tape: Vec<Instr>,
    stores: Vec<Store>,
}

/// A stream of pseudorandom numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn float(&mut self) -> f64 {
        (self.next() % 20_001) as f64 / 5_000.0 - 2.0
    }
}

/// The value that outputs hold before a kernel runs.
const UNTOUCHED: f64 = 77.0;

impl Case {
    fn buffer(&mut self, dtype: DType, values: Vec<f64>) -> BufferId {
        let place = Place::Input(self.memory.len());
        self.program.buffers.push(ProgramBuffer { place, offset: 0, dtype, len: values.len() });
        self.memory.push(values);
        BufferId(self.memory.len() as u32 - 1)
    }

    /// A buffer of pseudorandom numbers that the dtype holds exactly.
    fn input(&mut self, dtype: DType, len: usize) -> BufferId {
        let mut numbers = Numbers(self.memory.len() as u64 * 7919 + len as u64);
        let value = |numbers: &mut Numbers| match dtype {
            DType::F32 => numbers.float() as f32 as f64,
            DType::F16 => half::f16::from_f64(numbers.float()).to_f64(),
            DType::I32 => (numbers.next() % 200) as f64 - 100.0,
            DType::U32 => (numbers.next() % 200) as f64,
            _ => (numbers.next() % 2) as f64,
        };
        let values = (0..len).map(|_| value(&mut numbers)).collect();
        self.buffer(dtype, values)
    }

    fn output(&mut self, dtype: DType, len: usize) -> BufferId {
        let value = if dtype == DType::Bool { 1.0 } else { UNTOUCHED };
        self.buffer(dtype, vec![value; len])
    }

    fn push(&mut self, code: Code, dtype: DType, level: Level) -> Reg {
        self.tape.push(Instr { code, dtype: dtype.register(), level });
        Reg(self.tape.len() as u32 - 1)
    }

    fn full(&mut self, code: Code, dtype: DType) -> Reg {
        self.push(code, dtype, Level::Full)
    }

    fn load(&mut self, buffer: BufferId, view: View) -> Reg {
        let dtype = self.program.buffers[buffer.0 as usize].dtype;
        self.full(Code::Load(buffer, view), dtype)
    }

    fn constant(&mut self, value: f32) -> Reg {
        self.full(Code::Constant(Scalar::f32(value)), DType::F32)
    }

    fn unary(&mut self, op: Unary, x: Reg) -> Reg {
        let Instr { dtype, level, .. } = self.tape[x.0 as usize];
        self.push(Code::Unary(op, x), dtype, level)
    }

    fn binary(&mut self, op: Binary, a: Reg, b: Reg) -> Reg {
        let (a_type, level) = (self.tape[a.0 as usize].dtype, self.tape[a.0 as usize].level);
        let level = level.max(self.tape[b.0 as usize].level);
        self.push(Code::Binary(op, a, b), if op.compares() { DType::Bool } else { a_type }, level)
    }

    fn store(&mut self, buffer: BufferId, value: Reg, view: View) {
        self.stores.push(Store { buffer, value, view });
    }

    /// The kernel of everything pushed so far.
    fn fused(&mut self, axes: &[usize], outer: usize) -> Kernel {
        let (tape, stores) = (std::mem::take(&mut self.tape), std::mem::take(&mut self.stores));
        Kernel::Fused(Fused { axes: axes.to_vec(), outer, tape, stores })
    }

    fn bytes(&self) -> Vec<Vec<u8>> {
        let one = |(buffer, values): (&ProgramBuffer, &Vec<f64>)| -> Vec<u8> {
            values.iter().flat_map(|&value| encode(buffer.dtype, value)).collect()
        };
        self.program.buffers.iter().zip(&self.memory).map(one).collect()
    }

    fn word(&self, number: usize) -> u32 {
        let value = self.parameters[number];
        match self.program.parameters[number] {
            DType::F32 => (value as f32).to_bits(),
            DType::I32 => value as i32 as u32,
            _ => value as u32,
        }
    }

    /// What every buffer should hold after the kernel.
    fn meaning(&self, kernel: &Kernel, dtypes: &[DType]) -> Vec<Vec<f64>> {
        let bound = |(storage, &dtype): (usize, &DType)| {
            let slot = self.slots.iter().find(|slot| slot.0.0 as usize == storage);
            let start = slot.map_or(0, |&(_, stride, position)| stride * position);
            farad_reference::BufferPlace { storage, start, len: self.memory[storage].len() - start, dtype }
        };
        let bindings = dtypes.iter().enumerate().map(bound).collect();
        let parameters = self.parameters.clone();
        let mut machine = farad_reference::Machine::new(self.memory.clone(), bindings, parameters);
        machine.run(kernel);
        machine.storages
    }

    /// Runs the kernel on every machine and compares all buffers; returns the last error words.
    fn check(&self, kernel: &Kernel, tolerance: f64) -> [u32; 2] {
        self.check_rendered(kernel, tolerance, |slots, capabilities| {
            render(kernel, &self.program, slots, capabilities, &Tuning::default())
        })
    }

    /// The same with launches that `write` makes, on every machine for which it makes any.
    fn check_rendered(
        &self,
        kernel: &Kernel,
        tolerance: f64,
        write: impl Fn(&[(BufferId, usize)], &Capabilities) -> Vec<Dispatch>,
    ) -> [u32; 2] {
        let dtypes: Vec<DType> = self.program.buffers.iter().map(|buffer| buffer.dtype).collect();
        let expected = self.meaning(kernel, &dtypes);
        let slots: Vec<(BufferId, usize)> = self.slots.iter().map(|&(id, stride, _)| (id, stride)).collect();
        let moved: Vec<(BufferId, u32)> = self.slots.iter().map(|&(id, s, p)| (id, (s * p) as u32)).collect();
        let parameters: Vec<u32> = (0..self.parameters.len()).map(|n| self.word(n)).collect();
        let mut errors = [0; 2];
        for machine in machines() {
            let dispatches = write(&slots, &machine.capabilities);
            assert_eq!(dispatches, write(&slots, &machine.capabilities), "the text is pure");
            if dispatches.is_empty() {
                continue;
            }
            let mut bytes = self.bytes();
            for dispatch in &dispatches {
                validate(dispatch, &machine.capabilities);
                errors = machine.run(dispatch, &mut bytes, &Given { parameters: &parameters, slots: &moved });
            }
            let scratch: &[BufferId] = if let Kernel::Sort(sort) = kernel { &sort.scratch } else { &[] };
            let meant = |number: usize| !scratch.contains(&BufferId(number as u32));
            for (number, dtype) in dtypes.iter().enumerate().filter(|(number, _)| meant(*number)) {
                let found = decode(*dtype, &bytes[number], expected[number].len());
                let text = dispatches.last().map_or("", |dispatch| &dispatch.wgsl);
                compare(&found, &expected[number], *dtype, tolerance, number, text);
            }
        }
        errors
    }
}

fn encode(dtype: DType, value: f64) -> Vec<u8> {
    match dtype {
        DType::F32 => (value as f32).to_le_bytes().to_vec(),
        DType::F16 => half::f16::from_f64(value).to_le_bytes().to_vec(),
        DType::I32 => (value as i32).to_le_bytes().to_vec(),
        _ => (value as u32).to_le_bytes().to_vec(),
    }
}

fn decode(dtype: DType, bytes: &[u8], len: usize) -> Vec<f64> {
    let word = |at: usize| u32::from_le_bytes(bytes[at * 4..at * 4 + 4].try_into().expect("four bytes"));
    let one = |at: usize| match dtype {
        DType::F32 => f32::from_bits(word(at)) as f64,
        DType::F16 => half::f16::from_le_bytes([bytes[at * 2], bytes[at * 2 + 1]]).to_f64(),
        DType::I32 => word(at) as i32 as f64,
        _ => word(at) as f64,
    };
    (0..len).map(one).collect()
}

/// Fails unless all elements agree within `tolerance` times the largest (exactly for integers).
fn compare(found: &[f64], expected: &[f64], dtype: DType, tolerance: f64, buffer: usize, text: &str) {
    let finite = expected.iter().filter(|x| x.is_finite() && **x != UNTOUCHED);
    let largest = finite.fold(0.0f64, |most, x| most.max(x.abs()));
    let allowed = match dtype {
        DType::F32 => tolerance * largest.max(1e-30),
        DType::F16 => (tolerance + 1e-3) * largest,
        _ => 0.0,
    };
    for (at, (x, y)) in found.iter().zip(expected).enumerate() {
        let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= allowed;
        assert!(same, "buffer {buffer} of {dtype} at {at}: {x} is not {y} (within {allowed:e})\n{text}");
    }
}

/// Fails unless naga accepts the text, with subgroup operations only where they are allowed.
fn validate(dispatch: &Dispatch, capabilities: &Capabilities) {
    use naga::valid::Capabilities as Naga;
    use naga::valid::{ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
    let module = naga::front::wgsl::parse_str(&dispatch.wgsl)
        .unwrap_or_else(|error| panic!("{}\n{}", error.emit_to_string(&dispatch.wgsl), dispatch.wgsl));
    let matrices = Naga::SHADER_FLOAT16 | Naga::COOPERATIVE_MATRIX | Naga::SUBGROUP_BARRIER;
    let extra = [(capabilities.subgroups, Naga::SUBGROUP), (capabilities.cooperative > 0, matrices)];
    let extra = extra.into_iter().filter(|(has, _)| *has).map(|(_, extra)| extra);
    let all = extra.fold(Naga::SHADER_FLOAT16_IN_FLOAT32, |all, extra| all | extra);
    let mut validator = Validator::new(ValidationFlags::all(), all);
    if capabilities.subgroups {
        validator.subgroup_operations(SubgroupOperationSet::all());
        validator.subgroup_stages(ShaderStages::COMPUTE);
    }
    if let Err(error) = validator.validate(&module) {
        panic!("{}\n{}", error.emit_to_string(&dispatch.wgsl), dispatch.wgsl);
    }
    assert!(dispatch.workgroups.iter().all(|&count| count <= 65_535), "{:?}", dispatch.workgroups);
}

fn view(offset: i64, strides: &[i64]) -> View {
    View { offset, strides: strides.to_vec(), guards: vec![] }
}

fn guarded(offset: i64, strides: &[i64], guards: Vec<Guard>) -> View {
    View { offset, strides: strides.to_vec(), guards }
}
