//! Random fused kernels compared with the reference: any views, any ops, with and without reductions.

mod case;

use case::{Case, Rng, Tape, strided};
use farad_compile::program::verify::verify;
use farad_compile::program::{BufferId, Code, Guard, Instr, Level, Reg, Store, Target, View};
use farad_ir::{Binary, DType, Reduce, Scalar, Unary};

/// Number of kernels to try.
const KERNELS: u64 = 1500;

/// Axes of a kernel: mostly small, sometimes long enough for every layout.
fn axes(rng: &mut Rng) -> Vec<usize> {
    let rank = rng.below(5);
    let mut axes: Vec<usize> = (0..rank).map(|_| rng.pick(&[1, 2, 3, 4, 5, 7])).collect();
    if rank > 0 && rng.below(2) == 0 {
        let axis = rng.below(rank);
        axes[axis] = rng.pick(&[16, 33, 100, 520, 1025]);
    }
    axes
}

/// A view over the first `used` axes: permuted, broadcast, strided, reversed, padded; with the number of
/// elements that its buffer needs.
fn view(rng: &mut Rng, axes: &[usize], used: usize) -> (View, usize) {
    let mut order: Vec<usize> = (0..used).collect();
    if rng.below(3) == 0 {
        (1..used).for_each(|i| order.swap(i, rng.below(i + 1)));
    }
    let step = if rng.below(6) == 0 { 2 } else { 1 };
    let (mut strides, mut next) = (vec![0i64; axes.len()], step);
    let mut offset = rng.below(3) as i64;
    for &axis in order.iter().rev() {
        if rng.below(5) == 0 {
            continue;
        }
        strides[axis] = next;
        next *= axes[axis] as i64;
        if rng.below(6) == 0 {
            offset += strides[axis] * (axes[axis] as i64 - 1);
            strides[axis] *= -1;
        }
    }
    let mut view = View { offset, strides, guards: vec![] };
    if used > 0 && rng.below(4) == 0 {
        // Guards only remove elements here, so the buffer stays large enough.
        let axis = rng.below(used);
        let mut coefficients = vec![0; axes.len()];
        coefficients[axis] = rng.pick(&[1, 1, 2, -1]);
        let other = rng.below(used);
        coefficients[other] += (other != axis && rng.below(2) == 0) as i64;
        let offset = rng.below(4) as i64 - 2;
        view.guards.push(Guard {
            coefficients,
            offset,
            divisor: rng.pick(&[1, 1, 2, 3]),
            size: axes[axis] as i64,
            stride: 0,
        });
    }
    (view, next as usize + 3)
}

struct Maker {
    rng: Rng,
    case: Case,
    axes: Vec<usize>,
    outer: usize,
    tape: Tape,
}

impl Maker {
    fn level(&self, registers: &[Reg]) -> Level {
        registers.iter().map(|r| self.tape.0[r.0 as usize].level).max().unwrap()
    }

    fn load(&mut self) -> Reg {
        let dtype = self.rng.pick(&[
            DType::F32,
            DType::F32,
            DType::F16,
            DType::I32,
            DType::U32,
            DType::Bool,
            DType::U8,
        ]);
        let level =
            if self.outer < self.axes.len() && self.rng.below(3) == 0 { Level::Outer } else { Level::Full };
        let used = if level == Level::Outer { self.outer } else { self.axes.len() };
        let (view, len) = view(&mut self.rng, &self.axes, used);
        let data = match dtype {
            DType::Bool => self.rng.wholes(len, 2),
            DType::I32 => self.rng.wholes(len, 20).iter().map(|x| x - 10.0).collect(),
            DType::F32 | DType::F16 => self.rng.floats(len, -1.5, 1.5),
            _ => self.rng.wholes(len, 9),
        };
        let buffer = self.case.input(dtype, data);
        self.tape.push(Code::Load(BufferId(buffer), view), dtype.register(), level)
    }

    fn pick(&mut self, dtype: DType) -> Reg {
        let fits = |(_, instr): &(usize, &Instr)| instr.dtype == dtype;
        let found: Vec<usize> = self.tape.0.iter().enumerate().filter(fits).map(|(i, _)| i).collect();
        if found.is_empty() || self.rng.below(8) == 0 {
            let value = Scalar::of(dtype, self.rng.pick(&[0.0, 1.0, 2.0, 0.5]));
            let level = if self.outer < self.axes.len() { Level::Outer } else { Level::Full };
            return self.tape.push(Code::Constant(value), dtype, level);
        }
        Reg(self.rng.pick(&found) as u32)
    }

    /// One more instruction. Floats stay small, so that errors stay small.
    fn step(&mut self) {
        let dtype = self.rng.pick(&[DType::F32, DType::F32, DType::F32, DType::I32, DType::U32, DType::Bool]);
        let a = self.pick(dtype);
        match self.rng.below(6) {
            0 => {
                let float =
                    [Unary::Tanh, Unary::Sin, Unary::Cos, Unary::Erf, Unary::Abs, Unary::Neg, Unary::Relu];
                let op = match dtype {
                    DType::F32 => self.rng.pick(&float),
                    DType::I32 => {
                        self.rng.pick(&[Unary::Neg, Unary::Abs, Unary::Sign, Unary::Not, Unary::Relu])
                    }
                    _ => Unary::Not,
                };
                self.tape.unary(op, a);
            }
            1 | 2 => {
                let b = self.pick(dtype);
                let all: Vec<Binary> = Binary::ALL.iter().copied().filter(|op| op.takes(dtype)).collect();
                let float = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Max, Binary::Min];
                let op = if dtype == DType::F32 { self.rng.pick(&float) } else { self.rng.pick(&all) };
                let y = self.tape.binary(op, a, b);
                if dtype == DType::F32 {
                    self.tape.unary(Unary::Tanh, y);
                }
            }
            3 => {
                let (condition, b) = (self.pick(DType::Bool), self.pick(dtype));
                let level = self.level(&[condition, a, b]);
                self.tape.push(Code::Select(condition, a, b), dtype, level);
            }
            4 if dtype != DType::F32 => {
                let to = self.rng.pick(&[DType::I32, DType::U32, DType::Bool, DType::U8]);
                let level = self.level(&[a]);
                self.tape.push(Code::Cast(a, to), to.register(), level);
            }
            5 if self.outer < self.axes.len()
                && dtype != DType::Bool
                && !self.axes[self.outer..].contains(&0) =>
            {
                if self.level(&[a]) == Level::Full {
                    let ops: &[Reduce] = if dtype == DType::F32 {
                        &[Reduce::Sum, Reduce::Max, Reduce::Min]
                    } else {
                        Reduce::ALL
                    };
                    let op = self.rng.pick(ops);
                    let y = self.tape.reduce(op, a);
                    if dtype == DType::F32 && op == Reduce::Sum {
                        let count: usize = self.axes[self.outer..].iter().product();
                        let scale = Scalar::f32(1.0 / count as f32);
                        let scale = self.tape.push(Code::Constant(scale), DType::F32, Level::Outer);
                        self.tape.binary(Binary::Mul, y, scale);
                    }
                }
            }
            _ => {
                self.load();
            }
        }
    }

    fn store(&mut self, value: Reg) -> Store {
        let instr = self.tape.0[value.0 as usize].clone();
        let used = if instr.level == Level::Full { self.axes.len() } else { self.outer };
        let mut order: Vec<usize> = (0..used).collect();
        if self.rng.below(3) == 0 {
            (1..used).for_each(|i| order.swap(i, self.rng.below(i + 1)));
        }
        let (mut strides, mut next) = (vec![0i64; self.axes.len()], 1);
        for &axis in order.iter().rev() {
            strides[axis] = next;
            next *= self.axes[axis] as i64;
        }
        let buffer = self.case.output(instr.dtype, next as usize);
        Store { buffer: BufferId(buffer), value, view: strided(0, &strides) }
    }
}

fn kernel(seed: u64) -> Case {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let axes = axes(&mut rng);
    let outer = if axes.is_empty() || rng.below(2) == 0 { axes.len() } else { rng.below(axes.len()) };
    let mut maker = Maker { rng, case: Case::default(), axes, outer, tape: Tape::default() };
    maker.load();
    for _ in 0..3 + maker.rng.below(14) {
        maker.step();
    }
    let count = 1 + maker.rng.below(3);
    let last = maker.tape.0.len();
    let stores = (0..count.min(last)).map(|i| maker.store(Reg((last - 1 - i) as u32))).collect();
    let (axes, outer, tape) = (maker.axes.clone(), maker.outer, maker.tape.clone());
    maker.case.fused(&axes, outer, tape, stores);
    maker.case
}

// Floats are never compared here: values that differ only by rounding could compare either way.
#[test]
fn random_kernels_do_what_they_mean() {
    for seed in 0..KERNELS {
        let case = kernel(seed);
        verify(&case.program, &Target::cpu())
            .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", case.program));
        let (got, want) = (case.run().unwrap_or_else(|e| panic!("seed {seed}: {e}")), case.meaning());
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            let tolerance = if case.program.outputs[i].spec.dtype == DType::F32 { 2e-5 } else { 0.0 };
            case::compare(got, want, tolerance, &format!("seed {seed}, output {i}"));
        }
    }
}
