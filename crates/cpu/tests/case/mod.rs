//! What programs mean, in double precision and one element at a time, and how they are built and run in tests.
#![allow(dead_code)] // every test file uses its part

use std::collections::HashMap;
use std::sync::Arc;

use farad_compile::program::{
    Buffer, BufferId, Code, Fused, Instr, Kernel, Keys, Level, Output, Place, Product, Program, Reg, Scatter,
    Sort, Spec, Step, Store, View,
};
use farad_cpu::{Device, Error, Memory};
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
        self.program.outputs.push(Output { spec, donor: None });
        self.buffer(Place::Output(self.program.outputs.len() - 1), 0, spec)
    }
    pub fn block(&mut self, dtype: DType, len: usize) -> u32 {
        self.program.blocks.push(len * dtype.size());
        self.buffer(Place::Block(self.program.blocks.len() - 1), 0, Spec { dtype, len })
    }
    pub fn buffer(&mut self, place: Place, offset: usize, spec: Spec) -> u32 {
        self.program.buffers.push(Buffer { place, offset, dtype: spec.dtype, len: spec.len });
        self.program.buffers.len() as u32 - 1
    }
    pub fn step(&mut self, kernel: Kernel) {
        let wave = self.program.steps.len();
        self.program.steps.push(Step { wave, label: format!("step {wave}"), kernel });
    }
    pub fn fused(&mut self, axes: &[usize], outer: usize, tape: Tape, stores: Vec<Store>) {
        self.step(Kernel::Fused(Fused { axes: axes.to_vec(), outer, tape: tape.0, stores }));
    }

    /// Runs on the device and gives the outputs as doubles.
    pub fn run(&self) -> Result<Vec<Vec<f64>>, Error> {
        let device = Device::new();
        let executable = device.load(Arc::new(self.program.clone()))?;
        let (inputs, outputs) = self.memories(&device);
        executable.run(&inputs, &self.parameters, &outputs)?;
        Ok(self.read(&device, &inputs, &outputs))
    }

    pub fn memories(&self, device: &Device) -> (Vec<(Memory, usize)>, Vec<Memory>) {
        let filled = |(spec, data): (&Spec, &Vec<f64>)| {
            let bytes: Vec<u8> = data.iter().flat_map(|&x| encode(spec.dtype, x)).collect();
            let memory = device.allocate(bytes.len()).unwrap();
            device.write(&memory, 0, &bytes);
            (memory, 0)
        };
        let fresh = |output: &Output| device.allocate(output.spec.len * output.spec.dtype.size()).unwrap();
        let inputs = self.program.inputs.iter().zip(&self.data).map(filled).collect();
        (inputs, self.program.outputs.iter().map(fresh).collect())
    }

    pub fn read(&self, device: &Device, inputs: &[(Memory, usize)], outputs: &[Memory]) -> Vec<Vec<f64>> {
        let read = |(i, output): (usize, &Output)| {
            let memory = output.donor.map_or(&outputs[i], |donor| &inputs[donor].0);
            let bytes = device.read(memory, 0, output.spec.len * output.spec.dtype.size());
            bytes.chunks_exact(output.spec.dtype.size()).map(|b| decode(output.spec.dtype, b)).collect()
        };
        self.program.outputs.iter().enumerate().map(read).collect()
    }

    /// What the outputs should be.
    pub fn meaning(&self) -> Vec<Vec<f64>> {
        let mut world = World::new(self);
        world.steps(&self.program.steps);
        let place = |(i, output): (usize, &Output)| output.donor.map_or(Place::Output(i), Place::Input);
        let outputs = self.program.outputs.iter().enumerate();
        outputs.map(|o| world.memory[&place(o)][..o.1.spec.len].to_vec()).collect()
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
        DType::I64 => (x as i64).to_le_bytes().to_vec(),
        DType::U8 => vec![x as i64 as u8],
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
        DType::U8 => b[0] as f64,
    }
}

/// A value as the dtype holds it.
pub fn stored(dtype: DType, x: f64) -> f64 {
    decode(dtype, &encode(dtype, x))
}

/// Memory by place; elements of any dtype are kept as doubles, at element offsets (tests use one dtype a place).
struct World<'a> {
    case: &'a Case,
    memory: HashMap<Place, Vec<f64>>,
    /// By buffer: the buffer that is meant, and elements by which it is further on.
    meant: Vec<(usize, usize)>,
}

impl<'a> World<'a> {
    fn new(case: &'a Case) -> World<'a> {
        let mut memory = HashMap::new();
        for (i, (spec, data)) in case.program.inputs.iter().zip(&case.data).enumerate() {
            memory.insert(Place::Input(i), data.iter().map(|&x| stored(spec.dtype, x)).collect());
        }
        for (i, output) in case.program.outputs.iter().enumerate() {
            memory.insert(Place::Output(i), vec![0.0; output.spec.len]);
        }
        for (i, &bytes) in case.program.blocks.iter().enumerate() {
            memory.insert(Place::Block(i), vec![0.0; bytes]);
        }
        World { case, memory, meant: (0..case.program.buffers.len()).map(|i| (i, 0)).collect() }
    }

    fn at(&self, id: BufferId, index: i64) -> (Place, usize, DType) {
        let (buffer, ahead) = self.meant[id.0 as usize];
        let buffer = self.case.program.buffers[buffer];
        let index = usize::try_from(index).expect("no negative index") + ahead;
        assert!(index < buffer.len, "index {index} of {}", buffer.len);
        (buffer.place, buffer.offset / buffer.dtype.size() + index, buffer.dtype)
    }

    fn read(&self, id: BufferId, index: i64) -> f64 {
        let (place, index, _) = self.at(id, index);
        self.memory[&place][index]
    }

    fn write(&mut self, id: BufferId, index: i64, value: f64) {
        let (place, index, dtype) = self.at(id, index);
        self.memory.get_mut(&place).unwrap()[index] = stored(dtype, value);
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match &step.kernel {
                Kernel::Fused(fused) => self.fused(fused, None),
                Kernel::Product(product) => self.product(product),
                Kernel::Scatter(scatter) => self.scatter(scatter),
                Kernel::Sums(sums) => sums.apart().iter().for_each(|sum| self.fused(sum, None)),
                Kernel::Sort(sort) => self.sort(sort),
                Kernel::Custom(custom) => {
                    let read = |id: &BufferId| {
                        let len = self.case.program.buffers[id.0 as usize].len;
                        (0..len as i64).map(|i| self.read(*id, i)).collect::<Vec<_>>()
                    };
                    let operands: Vec<Vec<f64>> = custom.operands.iter().map(read).collect();
                    let results = custom.op.reference(&operands, &custom.shapes);
                    for (id, values) in custom.results.iter().zip(results) {
                        values.iter().enumerate().for_each(|(i, &v)| self.write(*id, i as i64, v));
                    }
                }
                Kernel::Loop(of) => {
                    let meant = self.meant.clone();
                    for trip in 0..of.trips {
                        let position = if of.reverse { of.trips - 1 - trip } else { trip };
                        self.meant = meant.clone();
                        of.slots
                            .iter()
                            .for_each(|(id, stride)| self.meant[id.0 as usize].1 = position * stride);
                        if trip % 2 == 1 {
                            of.swaps.iter().for_each(|(a, b)| self.meant.swap(a.0 as usize, b.0 as usize));
                        }
                        self.steps(&of.steps);
                    }
                    self.meant = meant;
                }
            }
        }
    }

    fn fused(&mut self, fused: &Fused, accumulator: Option<&dyn Fn(&[usize]) -> f64>) {
        let mut writes = Vec::new();
        for outer in positions(&fused.axes[..fused.outer]) {
            let mut point = Point { world: self, fused, accumulator, reduced: HashMap::new() };
            for store in &fused.stores {
                let full = fused.tape[store.value.0 as usize].level == Level::Full;
                let inner: &[usize] = if full { &fused.axes[fused.outer..] } else { &[] };
                for inner in positions(inner) {
                    let mut i = [&outer[..], &inner[..]].concat();
                    i.resize(fused.axes.len(), 0);
                    let value = point.value(store.value, &i);
                    writes.push((store.buffer, locate(&store.view, &i).unwrap(), value));
                }
            }
        }
        writes.into_iter().for_each(|(buffer, index, value)| self.write(buffer, index, value));
    }

    fn product(&mut self, product: &Product) {
        let [left, right, all] = product.axes();
        let operand = |operand: &farad_compile::program::Operand, axes: Vec<usize>| {
            let fused = Fused { outer: axes.len(), axes, tape: operand.tape.clone(), stores: vec![] };
            let mut point = Point { world: self, fused: &fused, accumulator: None, reduced: HashMap::new() };
            positions(&fused.axes).iter().map(|i| point.value(operand.value, i)).collect::<Vec<_>>()
        };
        let (lhs, rhs) = (operand(&product.lhs, left), operand(&product.rhs, right));
        let (rows, columns, terms) = (product.rows(), product.columns(), product.terms());
        let sum = |i: &[usize]| {
            let flat = |i: &[usize], axes: &[usize]| i.iter().zip(axes).fold(0, |at, (&c, &n)| at * n + c);
            let (batch, rest) = i.split_at(product.batch.len());
            let (row, column) = rest.split_at(product.m.len());
            let batch = flat(batch, &product.batch);
            let left = (batch * rows + flat(row, &product.m)) * terms;
            let right = batch * terms * columns + flat(column, &product.n);
            (0..terms).map(|k| lhs[left + k] * rhs[right + k * columns]).sum::<f64>()
        };
        let fused = Fused {
            outer: all.len(),
            axes: all,
            tape: product.epilogue.clone(),
            stores: product.stores.clone(),
        };
        self.fused(&fused, Some(&sum));
    }

    fn sort(&mut self, sort: &Sort) {
        for row in 0..sort.rows {
            let start = (row * sort.len) as i64;
            let x: Vec<f64> = (0..sort.len as i64).map(|i| self.read(sort.operand, start + i)).collect();
            let key = |i: usize| match sort.keys {
                Keys::Below(size) if !(0.0..size as f64).contains(&x[i]) => size as f64,
                _ if x[i].is_nan() => f64::INFINITY,
                _ => x[i],
            };
            let compare = |a: usize, b: usize| {
                let ordering = key(a).partial_cmp(&key(b)).unwrap().then(x[a].is_nan().cmp(&x[b].is_nan()));
                if sort.keys == Keys::Descending { ordering.reverse() } else { ordering }
            };
            let mut order: Vec<usize> = (0..sort.len).collect();
            order.sort_by(|&a, &b| compare(a, b));
            order.iter().zip(start..).for_each(|(&at, i)| self.write(sort.order, i, at as f64));
        }
    }

    fn scatter(&mut self, scatter: &Scatter) {
        let mut sizes = scatter.axes.clone();
        sizes[scatter.axis] = scatter.size;
        let len: usize = sizes.iter().product();
        let mut sums = vec![0.0; len];
        for i in positions(&scatter.axes) {
            let value = locate(&scatter.source.1, &i).map_or(0.0, |x| self.read(scatter.source.0, x));
            let index = locate(&scatter.index.1, &i).map_or(0.0, |x| self.read(scatter.index.0, x));
            if index < 0.0 || index >= scatter.size as f64 {
                continue;
            }
            let mut to = i.clone();
            to[scatter.axis] = index as usize;
            sums[to.iter().zip(&sizes).fold(0, |at, (&c, &n)| at * n + c)] += value;
        }
        sums.into_iter().enumerate().for_each(|(i, sum)| self.write(scatter.target, i as i64, sum));
    }
}

/// All coordinates, row-major.
pub fn positions(axes: &[usize]) -> Vec<Vec<usize>> {
    axes.iter().fold(vec![vec![]], |all, &n| {
        all.iter().flat_map(|i| (0..n).map(move |c| [&i[..], &[c]].concat())).collect()
    })
}

/// The next coordinates, row-major; after the last come the first again.
fn advance(i: &mut [usize], axes: &[usize]) {
    for (c, &n) in i.iter_mut().zip(axes).rev() {
        *c += 1;
        if *c < n {
            return;
        }
        *c = 0;
    }
}

fn locate(view: &View, i: &[usize]) -> Option<i64> {
    let sum = |values: &[i64]| values.iter().zip(i).map(|(v, &c)| v * c as i64).sum::<i64>();
    view.guards.iter().try_fold(view.offset + sum(&view.strides), |index, guard| {
        let c = guard.offset + sum(&guard.coefficients);
        let exists = c % guard.divisor == 0 && (0..guard.size).contains(&(c / guard.divisor));
        exists.then(|| index + guard.stride * (c / guard.divisor))
    })
}

struct Point<'a, 'b> {
    world: &'a World<'b>,
    fused: &'a Fused,
    accumulator: Option<&'a dyn Fn(&[usize]) -> f64>,
    reduced: HashMap<usize, f64>,
}

impl Point<'_, '_> {
    fn value(&mut self, register: Reg, i: &[usize]) -> f64 {
        let instr = &self.fused.tape[register.0 as usize];
        let register_type = |r: &Reg| self.fused.tape[r.0 as usize].dtype.register();
        match &instr.code {
            Code::Constant(scalar) => stored(instr.dtype.register(), scalar.as_f64()),
            Code::Parameter(n) => decode(instr.dtype, &self.world.case.parameters[*n].to_le_bytes()),
            Code::Load(buffer, view) => {
                let element = locate(view, i).map_or(0.0, |index| self.world.read(*buffer, index));
                stored(instr.dtype.register(), element)
            }
            Code::Take { buffer, view, position, stride, size, .. } => {
                let position = (self.value(*position, i) as i64).clamp(0, *size as i64 - 1);
                locate(view, i).map_or(0.0, |index| self.world.read(*buffer, index + stride * position))
            }
            Code::Position(view) => locate(view, i).unwrap() as i32 as f64,
            Code::Random(key, view) => {
                let key = key.map(|r| self.value(r, i) as u32);
                farad_ir::philox::bits([key[0], key[1]], [key[2], key[3]], locate(view, i).unwrap() as u32)
                    as f64
            }
            Code::Unary(op, a) => {
                let dtype = register_type(a);
                let x = self.value(*a, i);
                match dtype {
                    DType::F32 => (op.row().value)(x),
                    DType::Bool => 1.0 - x,
                    _ => farad_ir::wrap(dtype, (op.row().int.unwrap())(x as i64)) as f64,
                }
            }
            Code::Binary(op, a, b) => {
                let dtype = register_type(a);
                let (x, y) = (self.value(*a, i), self.value(*b, i));
                match dtype {
                    DType::F32 => (op.row().value)(x, y),
                    _ => farad_ir::wrap(instr.dtype, (op.row().int.unwrap())(x as i64, y as i64)) as f64,
                }
            }
            Code::Select(c, a, b) => {
                let which = if self.value(*c, i) != 0.0 { *a } else { *b };
                self.value(which, i)
            }
            Code::Cast(a, to) => {
                let float = register_type(a) == DType::F32;
                let x = self.value(*a, i);
                match to {
                    DType::Bool => (x != 0.0) as u8 as f64,
                    to if to.is_float() => stored(*to, x),
                    DType::I32 | DType::I64 if float => (x.trunc() as i32) as f64,
                    DType::U32 if float => (x.trunc() as u32) as f64,
                    DType::U8 if float => (x.trunc() as u8) as f64,
                    to => farad_ir::wrap(to.register(), farad_ir::wrap(*to, x as i64)) as f64,
                }
            }
            Code::Reduce(op, a) => {
                if let Some(&known) = self.reduced.get(&(register.0 as usize)) {
                    return known;
                }
                let outer = self.fused.outer;
                let mut at = i.to_vec();
                at[outer..].fill(0);
                let count: usize = self.fused.axes[outer..].iter().product();
                let mut values = Vec::with_capacity(count);
                for _ in 0..count {
                    values.push(self.value(*a, &at));
                    advance(&mut at[outer..], &self.fused.axes[outer..]);
                }
                let dtype = register_type(a);
                let result = reduce(*op, dtype, &values);
                self.reduced.insert(register.0 as usize, result);
                result
            }
            Code::Accumulator => self.accumulator.expect("an epilogue")(i),
        }
    }
}

fn reduce(op: Reduce, dtype: DType, values: &[f64]) -> f64 {
    let best = |better: fn(f64, f64) -> bool| {
        (1..values.len()).fold(0, |best, i| if better(values[i], values[best]) { i } else { best })
    };
    match op {
        Reduce::Sum if dtype == DType::F32 => values.iter().sum(),
        Reduce::Sum => values.iter().fold(0, |sum, &x| farad_ir::wrap(dtype, sum + x as i64)) as f64,
        _ if values.iter().any(|x| x.is_nan()) && !op.is_index() => f64::NAN,
        Reduce::Prod if dtype == DType::F32 => values.iter().product(),
        Reduce::Prod => values.iter().fold(1, |all, &x| farad_ir::wrap(dtype, all * x as i64)) as f64,
        Reduce::Max => values[best(|a, b| a > b)],
        Reduce::Min => values[best(|a, b| a < b)],
        Reduce::ArgMax => best(|a, b| a > b) as f64,
        Reduce::ArgMin => best(|a, b| a < b) as f64,
    }
}
