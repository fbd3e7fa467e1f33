//! What kernels mean, in `f64` and one element at a time: what the rendered text is tested against.

use farad_compile::program::{Code, Fused, Instr, Kernel, Keys, Level, Product, Reg, Scatter, Sort, View};
use farad_ir::{DType, Reduce, philox, wrap};

/// The elements of every buffer (integers and truth values as exact floats).
pub type Memory = Vec<Vec<f64>>;

/// Runs a kernel. `parameters` are register values; `slots` are added to indices.
pub struct Meaning<'a> {
    /// The numbers given with the run.
    pub parameters: &'a [f64],
    /// Elements by which each buffer is further on.
    pub slots: &'a [usize],
    /// Element types of buffers.
    pub dtypes: &'a [DType],
}

/// Every index of these axes, row-major.
pub fn positions(axes: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let (axes, total) = (axes.to_vec(), axes.iter().product::<usize>());
    (0..total).map(move |linear| {
        let (mut index, mut rest) = (vec![0; axes.len()], linear);
        for axis in (0..axes.len()).rev() {
            index[axis] = rest % axes[axis];
            rest /= axes[axis];
        }
        index
    })
}

/// The index that a view gives, or `None` where a guard fails.
fn place(view: &View, index: &[usize]) -> Option<i64> {
    let dot = |factors: &[i64]| -> i64 { factors.iter().zip(index).map(|(f, &i)| f * i as i64).sum() };
    let mut at = view.offset + dot(&view.strides);
    for guard in &view.guards {
        let c = guard.offset + dot(&guard.coefficients);
        if c % guard.divisor != 0 || !(0..guard.size).contains(&(c / guard.divisor)) || c < 0 {
            return None;
        }
        at += guard.stride * (c / guard.divisor);
    }
    Some(at)
}

/// The value as a register or storage of `dtype` holds it.
fn settle(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::F16 => half::f16::from_f32(value as f32).to_f64(),
        DType::F32 => value,
        _ => wrap(dtype, value as i64) as f64,
    }
}

impl Meaning<'_> {
    /// What every buffer holds after the kernel.
    pub fn run(&self, kernel: &Kernel, memory: &Memory) -> Memory {
        let mut after = memory.clone();
        match kernel {
            Kernel::Fused(fused) => self.fused(fused, memory, &mut after),
            Kernel::Product(product) => self.product(product, memory, &mut after),
            Kernel::Scatter(scatter) => self.scatter(scatter, memory, &mut after),
            Kernel::Sums(sums) => sums.apart().iter().for_each(|sum| self.fused(sum, memory, &mut after)),
            Kernel::Sort(sort) => self.sort(sort, memory, &mut after),
            _ => unreachable!("tests render no others"),
        }
        after
    }

    fn fused(&self, k: &Fused, memory: &Memory, after: &mut Memory) {
        let reduced: Vec<Vec<usize>> = positions(&k.axes[k.outer..]).collect();
        let reduces = k.outer < k.axes.len();
        for outer in positions(&k.axes[..k.outer]) {
            let at = |inner: &[usize]| [&outer[..], inner].concat();
            let points: Vec<Vec<usize>> = reduced.iter().map(|inner| at(inner)).collect();
            let first = at(&vec![0; k.axes.len() - k.outer]);
            let mut values: Vec<Vec<f64>> = Vec::new();
            for instr in &k.tape {
                let value =
                    match &instr.code {
                        Code::Reduce(op, x) => vec![reduce(*op, &values[x.0 as usize])],
                        _ if reduces && instr.level == Level::Outer => {
                            vec![self.instruction(&k.tape, instr, &first, memory, |r: Reg| {
                                values[r.0 as usize][0]
                            })]
                        }
                        _ => {
                            let one = |(n, point): (usize, &Vec<usize>)| {
                                let pick = |r: Reg| {
                                    let list = &values[r.0 as usize];
                                    if reduces && k.tape[r.0 as usize].level == Level::Outer {
                                        list[0]
                                    } else {
                                        list[n]
                                    }
                                };
                                self.instruction(&k.tape, instr, point, memory, pick)
                            };
                            points.iter().enumerate().map(one).collect()
                        }
                    };
                values.push(value);
            }
            for store in &k.stores {
                let once = reduces && k.tape[store.value.0 as usize].level == Level::Outer;
                let here: &[Vec<usize>] = if once { std::slice::from_ref(&first) } else { &points };
                for (n, point) in here.iter().enumerate() {
                    self.write(
                        after,
                        store.buffer.0 as usize,
                        place(&store.view, point),
                        values[store.value.0 as usize][n],
                    );
                }
            }
        }
    }

    fn write(&self, after: &mut Memory, buffer: usize, at: Option<i64>, value: f64) {
        let at = at.expect("stores have no guards") as usize + self.slots[buffer];
        after[buffer][at] = settle(self.dtypes[buffer], value);
    }

    fn read(&self, memory: &Memory, buffer: usize, at: Option<i64>) -> f64 {
        at.map_or(0.0, |at| memory[buffer][at as usize + self.slots[buffer]])
    }

    fn tape(&self, tape: &[Instr], index: &[usize], memory: &Memory, accumulator: f64) -> Vec<f64> {
        let mut values: Vec<f64> = Vec::new();
        for instr in tape {
            let value = match instr.code {
                Code::Accumulator => accumulator,
                _ => self.instruction(tape, instr, index, memory, |r: Reg| values[r.0 as usize]),
            };
            values.push(value);
        }
        values
    }

    fn instruction(
        &self,
        tape: &[Instr],
        instr: &Instr,
        index: &[usize],
        memory: &Memory,
        get: impl Fn(Reg) -> f64,
    ) -> f64 {
        let typed = |r: Reg| tape[r.0 as usize].dtype.register();
        match &instr.code {
            Code::Constant(scalar) => match scalar.dtype.register() {
                DType::F32 => scalar.as_f64() as f32 as f64,
                _ => scalar.as_i64() as f64,
            },
            Code::Parameter(n) => self.parameters[*n],
            Code::Load(buffer, view) => self.read(memory, buffer.0 as usize, place(view, index)),
            Code::Take { buffer, view, position, stride, size, .. } => {
                let position = (get(*position) as i64).clamp(0, *size as i64 - 1);
                let at = place(view, index).map(|at| at + stride * position);
                self.read(memory, buffer.0 as usize, at)
            }
            Code::Position(view) => place(view, index).expect("positions have no guards") as i32 as f64,
            Code::Random(keys, view) => {
                let key = keys.map(|r| get(r) as u32);
                let element = place(view, index).expect("random numbers have no guards") as u32;
                philox::bits([key[0], key[1]], [key[2], key[3]], element) as f64
            }
            Code::Unary(op, x) => match typed(*x) {
                DType::F32 => (op.row().value)(get(*x)),
                DType::Bool => 1.0 - get(*x),
                dtype => wrap(dtype, op.row().int.expect("takes integers")(get(*x) as i64)) as f64,
            },
            Code::Binary(op, a, b) => match typed(*a) {
                DType::F32 => (op.row().value)(get(*a), get(*b)),
                dtype => {
                    let value = op.row().int.expect("takes integers")(get(*a) as i64, get(*b) as i64);
                    if op.compares() { value as f64 } else { wrap(dtype, value) as f64 }
                }
            },
            Code::Select(c, a, b) => {
                if get(*c) != 0.0 {
                    get(*a)
                } else {
                    get(*b)
                }
            }
            Code::Cast(x, to) => cast(typed(*x), *to, get(*x)),
            Code::Reduce(..) | Code::Accumulator => unreachable!("handled above"),
        }
    }

    fn product(&self, p: &Product, memory: &Memory, after: &mut Memory) {
        for batch in positions(&p.batch) {
            let operand = |tape: &[Instr], value: Reg, at: [&[usize]; 2]| {
                self.tape(tape, &[&batch[..], at[0], at[1]].concat(), memory, 0.0)[value.0 as usize]
            };
            let pairs = |first: &[usize], second: &[usize]| {
                let second: Vec<Vec<usize>> = positions(second).collect();
                let first: Vec<Vec<usize>> = positions(first).collect();
                first.into_iter().flat_map(move |a| second.clone().into_iter().map(move |b| (a.clone(), b)))
            };
            let left: Vec<f64> =
                pairs(&p.m, &p.k).map(|(m, k)| operand(&p.lhs.tape, p.lhs.value, [&m, &k])).collect();
            let right: Vec<f64> =
                pairs(&p.n, &p.k).map(|(n, k)| operand(&p.rhs.tape, p.rhs.value, [&k, &n])).collect();
            let (columns, terms) = (p.columns(), p.terms());
            for (number, (m, n)) in pairs(&p.m, &p.n).enumerate() {
                let (row, column) = (number / columns, number % columns);
                let (a, b) = (&left[row * terms..][..terms], &right[column * terms..][..terms]);
                let sum = a.iter().zip(b).map(|(a, b)| a * b).sum();
                let index = [&batch[..], &m, &n].concat();
                let values = self.tape(&p.epilogue, &index, memory, sum);
                for store in &p.stores {
                    self.write(
                        after,
                        store.buffer.0 as usize,
                        place(&store.view, &index),
                        values[store.value.0 as usize],
                    );
                }
            }
        }
    }

    fn sort(&self, k: &Sort, memory: &Memory, after: &mut Memory) {
        let (from, to) = (k.operand.0 as usize, k.order.0 as usize);
        for row in 0..k.rows {
            let start = self.slots[from] + row * k.len;
            let x = &memory[from][start..start + k.len];
            let key = |i: usize| match k.keys {
                Keys::Below(size) if !(0.0..size as f64).contains(&x[i]) => size as f64,
                _ => x[i],
            };
            let compare = |a: usize, b: usize| {
                let ordering = key(a).partial_cmp(&key(b)).unwrap_or(x[a].is_nan().cmp(&x[b].is_nan()));
                if k.keys == Keys::Descending { ordering.reverse() } else { ordering }
            };
            let mut order: Vec<usize> = (0..k.len).collect();
            order.sort_by(|&a, &b| compare(a, b));
            let to = &mut after[to][self.slots[to] + row * k.len..];
            to.iter_mut().zip(&order).for_each(|(to, &at)| *to = at as f64);
        }
    }

    fn scatter(&self, s: &Scatter, memory: &Memory, after: &mut Memory) {
        let mut sizes = s.axes.clone();
        sizes[s.axis] = s.size;
        let (target, strides) = (s.target.0 as usize, View::contiguous(&sizes));
        let mut sums = vec![0.0; sizes.iter().product()];
        for mut index in positions(&s.axes) {
            let position = self.read(memory, s.index.0.0 as usize, place(&s.index.1, &index));
            if !(0.0..s.size as f64).contains(&position) {
                continue;
            }
            let value = self.read(memory, s.source.0.0 as usize, place(&s.source.1, &index));
            index[s.axis] = position as usize;
            sums[place(&strides, &index).expect("no guards") as usize] += value;
        }
        for (at, sum) in sums.into_iter().enumerate() {
            self.write(after, target, Some(at as i64), sum);
        }
    }
}

fn cast(from: DType, to: DType, value: f64) -> f64 {
    match (from, to) {
        (_, DType::F16) => settle(to, value),
        (_, DType::F32) => value,
        (_, DType::Bool) => (value != 0.0) as u8 as f64,
        (DType::F32, DType::I32) => value as i32 as f64,
        (DType::F32, DType::U32) => value as u32 as f64,
        (_, to) => wrap(to, value as i64) as f64,
    }
}

fn reduce(op: Reduce, values: &[f64]) -> f64 {
    let extreme = |better: fn(f64, f64) -> bool| {
        values.iter().enumerate().fold((0, f64::NAN), |(at, best), (n, &value)| {
            if n == 0 || better(value, best) { (n, value) } else { (at, best) }
        })
    };
    match op {
        Reduce::Sum => values.iter().sum(),
        Reduce::Prod => values.iter().product(),
        Reduce::Max => extreme(|a, b| a > b).1,
        Reduce::Min => extreme(|a, b| a < b).1,
        Reduce::ArgMax => extreme(|a, b| a > b).0 as f64,
        Reduce::ArgMin => extreme(|a, b| a < b).0 as f64,
    }
}
