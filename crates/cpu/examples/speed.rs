//! Times a few kernels: `cargo run --release -p farad-cpu --example speed [part of a name]`.

use std::sync::Arc;
use std::time::Instant;

use farad_compile::program::{
    BufferId, Code, Fused, Guard, Instr, Kernel, Level, Place, Product, ProductOperand, Program,
    ProgramBuffer, ProgramOutput, ProgramStep, Reg, Spec, Store, View,
};
use farad_cpu::{CpuDevice, Memory};
use farad_ir::{Binary, DType, Reduce, Scalar, Unary};

/// How often a kernel is timed; the best and the median are printed.
const REPEATS: usize = 60;

/// A tape under construction.
#[derive(Default)]
struct Tape(Vec<Instr>);

impl Tape {
    fn push(&mut self, code: Code, level: Level) -> Reg {
        self.0.push(Instr { code, dtype: DType::F32, level });
        Reg(self.0.len() as u32 - 1)
    }
    fn constant(&mut self, value: f32) -> Reg {
        self.push(Code::Constant(Scalar::f32(value)), Level::Full)
    }
    fn binary(&mut self, op: Binary, a: Reg, b: Reg) -> Reg {
        self.push(Code::Binary(op, a, b), Level::Full)
    }
    fn with(&mut self, op: Binary, a: Reg, value: f32) -> Reg {
        let value = self.constant(value);
        self.binary(op, a, value)
    }
    fn unary(&mut self, op: Unary, a: Reg) -> Reg {
        self.push(Code::Unary(op, a), Level::Full)
    }
}

/// A program of one kernel that reads inputs of these lengths and writes one output.
fn program(inputs: &[usize], output: usize, kernel: Kernel) -> Program {
    let spec = |len| Spec { dtype: DType::F32, len };
    let places = (0..inputs.len()).map(Place::Input).chain([Place::Output(0)]);
    let lens = inputs.iter().copied().chain([output]);
    Program {
        inputs: inputs.iter().map(|&len| spec(len)).collect(),
        outputs: vec![ProgramOutput { spec: spec(output), donor: None }],
        buffers: places
            .zip(lens)
            .map(|(place, len)| ProgramBuffer { place, offset: 0, dtype: DType::F32, len })
            .collect(),
        steps: vec![ProgramStep { wave: 0, label: "kernel".into(), kernel }],
        ..Program::default()
    }
}

fn store(buffer: u32, value: Reg, axes: &[usize]) -> Store {
    Store { buffer: BufferId(buffer), value, view: View::contiguous(axes) }
}

/// `gelu(1.1 x + 0.1) · sigmoid(x)`
fn chain(n: usize) -> Program {
    let mut tape = Tape::default();
    let x = tape.push(Code::Load(BufferId(0), View::contiguous(&[n])), Level::Full);
    let y = tape.with(Binary::Mul, x, 1.1);
    let y = tape.with(Binary::Add, y, 0.1);
    let e = tape.with(Binary::Mul, y, std::f32::consts::FRAC_1_SQRT_2);
    let e = tape.unary(Unary::Erf, e);
    let e = tape.with(Binary::Add, e, 1.0);
    let half = tape.with(Binary::Mul, y, 0.5);
    let gelu = tape.binary(Binary::Mul, half, e);
    let t = tape.with(Binary::Mul, x, 0.5);
    let t = tape.unary(Unary::Tanh, t);
    let t = tape.with(Binary::Mul, t, 0.5);
    let sigmoid = tape.with(Binary::Add, t, 0.5);
    let out = tape.binary(Binary::Mul, gelu, sigmoid);
    let stores = vec![store(1, out, &[n])];
    program(&[n], n, Kernel::Fused(Fused { axes: vec![n], outer: 1, tape: tape.0, stores }))
}

fn softmax(rows: usize, columns: usize) -> Program {
    let axes = vec![rows, columns];
    let mut tape = Tape::default();
    let x = tape.push(Code::Load(BufferId(0), View::contiguous(&axes)), Level::Full);
    let max = tape.push(Code::Reduce(Reduce::Max, x), Level::Outer);
    let shifted = tape.binary(Binary::Sub, x, max);
    let e = tape.unary(Unary::Exp, shifted);
    let sum = tape.push(Code::Reduce(Reduce::Sum, e), Level::Outer);
    let out = tape.binary(Binary::Div, e, sum);
    let stores = vec![store(1, out, &axes)];
    program(&[rows * columns], rows * columns, Kernel::Fused(Fused { axes, outer: 1, tape: tape.0, stores }))
}

/// The sum over all axes from index `outer` on, of a tensor with these strides.
fn sum(axes: &[usize], outer: usize, strides: &[i64]) -> Program {
    let mut tape = Tape::default();
    let view = View { offset: 0, strides: strides.to_vec(), guards: vec![] };
    let x = tape.push(Code::Load(BufferId(0), view), Level::Full);
    let out = tape.push(Code::Reduce(Reduce::Sum, x), Level::Outer);
    let mut kept = View::contiguous(&axes[..outer]);
    kept.strides.resize(axes.len(), 0);
    let stores = vec![Store { buffer: BufferId(1), value: out, view: kept }];
    let (n, m) = (axes.iter().product(), axes[..outer].iter().product());
    program(&[n], m, Kernel::Fused(Fused { axes: axes.to_vec(), outer, tape: tape.0, stores }))
}

/// A dropout mask: random bits, compared with a threshold.
fn mask(n: usize) -> Program {
    let mut tape = Tape::default();
    let word = |tape: &mut Tape, x| {
        let reg = tape.push(Code::Constant(Scalar::u32(x)), Level::Full);
        tape.0[reg.0 as usize].dtype = DType::U32;
        reg
    };
    let key = [1, 2, 3, 4].map(|x| word(&mut tape, x));
    let bits = tape.push(Code::Random(key, None, View::contiguous(&[n])), Level::Full);
    tape.0[bits.0 as usize].dtype = DType::U32;
    let x = tape.push(Code::Cast(bits, DType::F32), Level::Full);
    let stores = vec![store(0, x, &[n])];
    program(&[], n, Kernel::Fused(Fused { axes: vec![n], outer: 1, tape: tape.0, stores }))
}

fn transpose(m: usize, n: usize) -> Program {
    let mut tape = Tape::default();
    let view = View { offset: 0, strides: vec![1, m as i64], guards: vec![] };
    let x = tape.push(Code::Load(BufferId(0), view), Level::Full);
    let stores = vec![store(1, x, &[m, n])];
    program(&[m * n], m * n, Kernel::Fused(Fused { axes: vec![m, n], outer: 2, tape: tape.0, stores }))
}

fn bias(m: usize, n: usize) -> Program {
    let mut tape = Tape::default();
    let x = tape.push(Code::Load(BufferId(0), View::contiguous(&[m, n])), Level::Full);
    let b = tape
        .push(Code::Load(BufferId(1), View { offset: 0, strides: vec![0, 1], guards: vec![] }), Level::Full);
    let sum = tape.binary(Binary::Add, x, b);
    let stores = vec![store(2, sum, &[m, n])];
    program(&[m * n, n], m * n, Kernel::Fused(Fused { axes: vec![m, n], outer: 2, tape: tape.0, stores }))
}

/// A padded 3×3 convolution of `[batch, inputs, size, size]` images.
fn convolution(batch: usize, inputs: usize, outputs: usize, size: usize) -> Program {
    let (i, s) = (inputs as i64, size as i64);
    let axes = vec![batch, outputs, size, size, inputs, 3, 3];
    let guard = |axis: usize| {
        let mut coefficients = vec![0; 7];
        (coefficients[axis], coefficients[axis + 3]) = (1, 1);
        Guard { coefficients, offset: -1, divisor: 1, size: s, stride: 0 }
    };
    let strides = vec![i * s * s, 0, s, 1, s * s, s, 1];
    let image = View { offset: -s - 1, strides, guards: vec![guard(2), guard(3)] };
    let kernel = View { offset: 0, strides: vec![0, 9 * i, 0, 0, 9, 3, 1], guards: vec![] };
    let mut tape = Tape::default();
    let a = tape.push(Code::Load(BufferId(0), image), Level::Full);
    let b = tape.push(Code::Load(BufferId(1), kernel), Level::Full);
    let product = tape.binary(Binary::Mul, a, b);
    let sum = tape.push(Code::Reduce(Reduce::Sum, product), Level::Outer);
    let mut view = View::contiguous(&axes[..4]);
    view.strides.resize(7, 0);
    let stores = vec![Store { buffer: BufferId(2), value: sum, view }];
    let plane = batch * size * size;
    let kernel = Kernel::Fused(Fused { axes, outer: 4, tape: tape.0, stores });
    program(&[plane * inputs, 9 * inputs * outputs], plane * outputs, kernel)
}

/// `transposed`: which operands are stored with their axes swapped.
fn matmul(batch: usize, m: usize, k: usize, n: usize, transposed: (bool, bool)) -> Program {
    let operand = |buffer, rows: usize, columns: usize, transposed| {
        let plane = (rows * columns) as i64;
        let strides = if transposed { vec![plane, 1, rows as i64] } else { vec![plane, columns as i64, 1] };
        let code = Code::Load(BufferId(buffer), View { offset: 0, strides, guards: vec![] });
        ProductOperand { tape: vec![Instr { code, dtype: DType::F32, level: Level::Full }], value: Reg(0) }
    };
    let epilogue = vec![Instr { code: Code::Accumulator, dtype: DType::F32, level: Level::Full }];
    let product = Product {
        batch: vec![batch],
        m: vec![m],
        n: vec![n],
        k: vec![k],
        lhs: operand(0, m, k, transposed.0),
        rhs: operand(1, k, n, transposed.1),
        epilogue,
        stores: vec![store(2, Reg(0), &[batch, m, n])],
    };
    program(&[batch * m * k, batch * k * n], batch * m * n, Kernel::Product(product))
}

fn time(name: &str, device: &CpuDevice, program: Program) {
    if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let memory = |len: usize| {
        let memory = device.allocate(4 * len).expect("enough memory");
        let data: Vec<f32> = (0..len).map(|i| ((i * 7919) % 1000) as f32 / 250.0 - 2.0).collect();
        let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        device.write(&memory, 0, &bytes);
        memory
    };
    let inputs: Vec<(Memory, usize)> = program.inputs.iter().map(|spec| (memory(spec.len), 0)).collect();
    let outputs = [memory(program.outputs[0].spec.len)];
    let executable = device.load(Arc::new(program)).expect("a program that fits");
    let mut times: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            executable.run(&inputs, &[], &outputs).expect("good data");
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:<24} {:8.4} ms best {:8.4} ms median", times[0], times[REPEATS / 2]);
}

fn main() {
    let device = CpuDevice::new();
    time("chain 2^22", &device, chain(1 << 22));
    time("chain 2^12", &device, chain(1 << 12));
    time("softmax 1024x1024", &device, softmax(1024, 1024));
    time("softmax 4096x64", &device, softmax(4096, 64));
    time("softmax 16x65536", &device, softmax(16, 65536));
    time("row sum 1024x1024", &device, sum(&[1024, 1024], 1, &[1024, 1]));
    time("column sum 1024x1024", &device, sum(&[1024, 1024], 1, &[1, 1024]));
    time("column sum 65536x64", &device, sum(&[64, 65536], 1, &[1, 64]));
    time("sum 2^22", &device, sum(&[1 << 22], 0, &[1]));
    time("bias 65536x10", &device, bias(65536, 10));
    time("bias 4096x1024", &device, bias(4096, 1024));
    time("random 2^20", &device, mask(1 << 20));
    time("transpose 2048x2048", &device, transpose(2048, 2048));
    time("transpose 1000x3000", &device, transpose(1000, 3000));
    time("conv 32x16x28x28 to 32", &device, convolution(32, 16, 32, 28));
    time("conv 32x128x7x7 to 128", &device, convolution(32, 128, 128, 7));
    time("conv 64x1x28x28 to 8", &device, convolution(64, 1, 8, 28));
    time("matmul 1024", &device, matmul(1, 1024, 1024, 1024, (false, false)));
    time("matmul 1024 lhs'", &device, matmul(1, 1024, 1024, 1024, (true, false)));
    time("matmul 1024 rhs'", &device, matmul(1, 1024, 1024, 1024, (false, true)));
    time("matmul 64x784x128", &device, matmul(1, 64, 784, 128, (false, false)));
    for size in [4, 8, 12, 16, 24, 32, 64] {
        time(&format!("matmul {size}"), &device, matmul(1, size, size, size, (false, false)));
    }
    time("matmul 64 of 64", &device, matmul(64, 64, 64, 64, (false, true)));
    time("matvec 4096x4096", &device, matmul(1, 4096, 4096, 1, (false, false)));
    time("vecmat 4096x4096", &device, matmul(1, 1, 4096, 4096, (false, false)));
    time("vecmat 4096x4096 rhs'", &device, matmul(1, 1, 4096, 4096, (false, true)));
}
