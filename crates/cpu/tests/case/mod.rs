//! Programs under construction: built, run on the CPU, and compared with the reference.
#![allow(dead_code)] // every test file uses a part of it

use std::sync::Arc;

use farad_compile::program::{
    BufferId, Code, Fused, Instr, Kernel, Level, Place, Program, ProgramBuffer, ProgramOutput, ProgramStep,
    Reg, Spec, Store, View,
};
use farad_cpu::{CpuDevice, Error, Memory};
use farad_ir::{Binary, DType, Reduce, Scalar, Unary};

/// A small generator of test data.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) ^ (self.0 >> 17 & 0xffff)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    pub fn float(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() % 1_000_003) as f64 / 1_000_003.0
    }
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
    pub fn floats(&mut self, n: usize, low: f64, high: f64) -> Vec<f64> {
        (0..n).map(|_| self.float(low, high)).collect()
    }
    pub fn wholes(&mut self, n: usize, below: usize) -> Vec<f64> {
        (0..n).map(|_| self.below(below) as f64).collect()
    }
}

/// A tape under construction.
#[derive(Default, Clone)]
pub struct Tape(pub Vec<Instr>);

impl Tape {
    pub fn push(&mut self, code: Code, dtype: DType, level: Level) -> Reg {
        self.0.push(Instr { code, dtype, level });
        Reg(self.0.len() as u32 - 1)
    }
    pub fn load(&mut self, buffer: u32, view: View) -> Reg {
        self.push(Code::Load(BufferId(buffer), view), DType::F32, Level::Full)
    }
    pub fn constant(&mut self, value: f64) -> Reg {
        self.push(Code::Constant(Scalar::of(DType::F32, value)), DType::F32, Level::Full)
    }
    pub fn unary(&mut self, op: Unary, a: Reg) -> Reg {
        let of = self.0[a.0 as usize].clone();
        self.push(Code::Unary(op, a), of.dtype, of.level)
    }
    pub fn binary(&mut self, op: Binary, a: Reg, b: Reg) -> Reg {
        let (x, y) = (self.0[a.0 as usize].clone(), self.0[b.0 as usize].clone());
        let dtype = if op.compares() { DType::Bool } else { x.dtype };
        self.push(Code::Binary(op, a, b), dtype, x.level.max(y.level))
    }
    pub fn reduce(&mut self, op: Reduce, a: Reg) -> Reg {
        let dtype = if op.is_index() { DType::I32 } else { self.0[a.0 as usize].dtype };
        self.push(Code::Reduce(op, a), dtype, Level::Outer)
    }
}

/// A view with these strides.
pub fn strided(offset: i64, strides: &[i64]) -> View {
    View { offset, strides: strides.to_vec(), guards: vec![] }
}

/// A program under construction, with the data of its inputs.
#[derive(Default)]
pub struct Case {
    pub program: Program,
    pub data: Vec<Vec<f64>>,
    pub parameters: Vec<u32>,
}

impl Case {
    pub fn input(&mut self, dtype: DType, data: Vec<f64>) -> u32 {
        let spec = Spec { dtype, len: data.len() };
        self.program.inputs.push(spec);
        self.data.push(data);
        self.buffer(Place::Input(self.program.inputs.len() - 1), 0, spec)
    }
    pub fn output(&mut self, dtype: DType, len: usize) -> u32 {
        let spec = Spec { dtype, len };
        self.program.outputs.push(ProgramOutput { spec, donor: None });
        self.buffer(Place::Output(self.program.outputs.len() - 1), 0, spec)
    }
    pub fn block(&mut self, dtype: DType, len: usize) -> u32 {
        self.program.blocks.push(len * dtype.size());
        self.buffer(Place::Block(self.program.blocks.len() - 1), 0, Spec { dtype, len })
    }
    pub fn buffer(&mut self, place: Place, offset: usize, spec: Spec) -> u32 {
        self.program.buffers.push(ProgramBuffer { place, offset, dtype: spec.dtype, len: spec.len });
        self.program.buffers.len() as u32 - 1
    }
    pub fn step(&mut self, kernel: Kernel) {
        let wave = self.program.steps.len();
        self.program.steps.push(ProgramStep { wave, label: format!("step {wave}"), kernel });
    }
    pub fn fused(&mut self, axes: &[usize], outer: usize, tape: Tape, stores: Vec<Store>) {
        self.step(Kernel::Fused(Fused { axes: axes.to_vec(), outer, tape: tape.0, stores }));
    }

    /// Runs on the device and returns the outputs as doubles.
    pub fn run(&self) -> Result<Vec<Vec<f64>>, Error> {
        let device = CpuDevice::new();
        let executable = device.load(Arc::new(self.program.clone()))?;
        let (inputs, outputs) = self.memories(&device);
        executable.run(&inputs, &self.parameters, &outputs)?;
        Ok(self.read(&device, &inputs, &outputs))
    }

    pub fn memories(&self, device: &CpuDevice) -> (Vec<(Memory, usize)>, Vec<Memory>) {
        let filled = |(spec, data): (&Spec, &Vec<f64>)| {
            let bytes: Vec<u8> = data.iter().flat_map(|&x| encode(spec.dtype, x)).collect();
            let memory = device.allocate(bytes.len()).unwrap();
            device.write(&memory, 0, &bytes);
            (memory, 0)
        };
        let fresh =
            |output: &ProgramOutput| device.allocate(output.spec.len * output.spec.dtype.size()).unwrap();
        let inputs = self.program.inputs.iter().zip(&self.data).map(filled).collect();
        (inputs, self.program.outputs.iter().map(fresh).collect())
    }

    pub fn read(&self, device: &CpuDevice, inputs: &[(Memory, usize)], outputs: &[Memory]) -> Vec<Vec<f64>> {
        let read = |(i, output): (usize, &ProgramOutput)| {
            let memory = output.donor.map_or(&outputs[i], |donor| &inputs[donor].0);
            let bytes = device.read(memory, 0, output.spec.len * output.spec.dtype.size());
            bytes.chunks_exact(output.spec.dtype.size()).map(|b| decode(output.spec.dtype, b)).collect()
        };
        self.program.outputs.iter().enumerate().map(read).collect()
    }

    /// The expected outputs, from the reference.
    pub fn meaning(&self) -> Vec<Vec<f64>> {
        let device = farad_reference::ReferenceDevice::new(None);
        let filled = |(spec, data): (&Spec, &Vec<f64>)| {
            let bytes: Vec<u8> = data.iter().flat_map(|&x| encode(spec.dtype, x)).collect();
            let memory = device.allocate(bytes.len()).unwrap();
            device.write(&memory, &bytes).unwrap();
            memory
        };
        let fresh =
            |output: &ProgramOutput| device.allocate(output.spec.len * output.spec.dtype.size()).unwrap();
        let inputs: Vec<Memory> = self.program.inputs.iter().zip(&self.data).map(filled).collect();
        let outputs: Vec<Memory> = self.program.outputs.iter().map(fresh).collect();
        let executable = device.load(Arc::new(self.program.clone()));
        // A bad index is clamped, and reported at the end of the run.
        match executable.run(&inputs, &self.parameters, &outputs) {
            Ok(()) | Err(farad_reference::Error::Index { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        let read = |(n, output): (usize, &ProgramOutput)| {
            let memory = output.donor.map_or(&outputs[n], |donor| &inputs[donor]);
            let numbers = device.numbers(memory, output.spec.dtype, output.spec.len).unwrap();
            match output.spec.dtype {
                // The reference stores these as bits.
                DType::I64 => numbers.iter().map(|x| x.to_bits() as i64 as f64).collect(),
                DType::U64 => numbers.iter().map(|x| x.to_bits() as f64).collect(),
                _ => numbers,
            }
        };
        self.program.outputs.iter().enumerate().map(read).collect()
    }

    /// Runs and compares, norm-wise over every output.
    #[track_caller]
    pub fn check(&self, tolerance: f64) -> Vec<Vec<f64>> {
        let got = self.run().expect("the program runs");
        for (i, (got, want)) in got.iter().zip(self.meaning()).enumerate() {
            compare(got, &want, tolerance, &format!("output {i}"));
        }
        got
    }
}

/// Fails where a difference exceeds `tolerance` times the largest magnitude (taken as at least 0.05).
#[track_caller]
pub fn compare(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().filter(|w| w.is_finite()).fold(0.05, |m: f64, w| m.max(w.abs()));
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let same = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= tolerance * scale;
        assert!(same, "{what}, element {i}: {g} is not {w} (scale {scale}, tolerance {tolerance:e})");
    }
}

pub fn encode(dtype: DType, x: f64) -> Vec<u8> {
    match dtype {
        DType::F32 => (x as f32).to_le_bytes().to_vec(),
        DType::F16 => half::f16::from_f32(x as f32).to_le_bytes().to_vec(),
        DType::BF16 => half::bf16::from_f32(x as f32).to_le_bytes().to_vec(),
        DType::F64 => x.to_le_bytes().to_vec(),
        DType::I32 => (x as i64 as i32).to_le_bytes().to_vec(),
        DType::U32 | DType::Bool => (x as i64 as u32).to_le_bytes().to_vec(),
        DType::I64 | DType::U64 => (x as i64).to_le_bytes().to_vec(),
        DType::U8 | DType::I8 => vec![x as i64 as u8],
        DType::U16 | DType::I16 => (x as i64 as u16).to_le_bytes().to_vec(),
    }
}

pub fn decode(dtype: DType, b: &[u8]) -> f64 {
    match dtype {
        DType::F32 => f32::from_le_bytes(b.try_into().unwrap()) as f64,
        DType::F16 => half::f16::from_le_bytes(b.try_into().unwrap()).to_f64(),
        DType::BF16 => half::bf16::from_le_bytes(b.try_into().unwrap()).to_f64(),
        DType::F64 => f64::from_le_bytes(b.try_into().unwrap()),
        DType::I32 => i32::from_le_bytes(b.try_into().unwrap()) as f64,
        DType::U32 | DType::Bool => u32::from_le_bytes(b.try_into().unwrap()) as f64,
        DType::I64 => i64::from_le_bytes(b.try_into().unwrap()) as f64,
        DType::U64 => u64::from_le_bytes(b.try_into().unwrap()) as f64,
        DType::U8 => b[0] as f64,
        DType::I8 => b[0] as i8 as f64,
        DType::U16 => u16::from_le_bytes(b.try_into().unwrap()) as f64,
        DType::I16 => i16::from_le_bytes(b.try_into().unwrap()) as f64,
    }
}

/// All coordinates, row-major.
pub fn positions(axes: &[usize]) -> Vec<Vec<usize>> {
    axes.iter().fold(vec![vec![]], |all, &n| {
        all.iter().flat_map(|i| (0..n).map(move |c| [&i[..], &[c]].concat())).collect()
    })
}
