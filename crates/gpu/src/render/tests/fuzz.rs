//! Random kernels: any layout of operands and results, guards, levels and dtypes.

use farad_ir::Reduce;

use super::*;

const F32: DType = DType::F32;

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// The axes in random order.
    fn order(&mut self, rank: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rank).collect();
        (1..rank).for_each(|at| order.swap(at, self.below(at + 1)));
        if self.below(2) == 0 { (0..rank).collect() } else { order }
    }
}

/// A load of a new buffer over `axes`: permuted, broadcast, flipped, strided or padded; without the `inner`
/// axes.
fn operand(case: &mut Case, numbers: &mut Numbers, axes: &[usize], inner: std::ops::Range<usize>) -> Reg {
    let level = if inner.is_empty() { Level::Full } else { Level::Outer };
    let dtype = numbers.pick(&[F32, F32, F32, DType::F16, DType::I32, DType::Bool]);
    let mut view = View { offset: 0, strides: vec![0; axes.len()], guards: vec![] };
    let mut stride = 1i64;
    for axis in numbers.order(axes.len()).into_iter().rev().filter(|axis| !inner.contains(axis)) {
        let (size, kind) = (axes[axis] as i64, numbers.below(12));
        match kind {
            0 => continue,
            1 => {
                view.strides[axis] = -stride;
                view.offset += stride * (size - 1);
                stride *= size;
            }
            2 => {
                view.strides[axis] = 2 * stride;
                stride *= 2 * size;
            }
            3 if size > 2 && view.guards.is_empty() => {
                // One zero before, one after.
                let mut coefficients = vec![0; axes.len()];
                coefficients[axis] = 1;
                view.guards.push(Guard { coefficients, offset: -1, divisor: 1, size: size - 2, stride: 0 });
                view.strides[axis] = stride;
                view.offset -= stride;
                stride *= size - 2;
            }
            _ => {
                view.strides[axis] = stride;
                stride *= size;
            }
        }
    }
    let buffer = case.input(dtype, stride as usize);
    let x = case.push(Code::Load(buffer, view), dtype, level);
    if dtype.register() == F32 { x } else { case.push(Code::Cast(x, F32), F32, level) }
}

/// A store to a new buffer over the first `kept` of the axes, in random order.
fn result(case: &mut Case, numbers: &mut Numbers, axes: &[usize], kept: usize, value: Reg) {
    let dtype = match case.tape[value.0 as usize].dtype {
        F32 => numbers.pick(&[F32, F32, DType::F16]),
        other => other,
    };
    let mut strides = vec![0; axes.len()];
    let mut stride = 1;
    for axis in numbers.order(kept).into_iter().rev() {
        strides[axis] = stride;
        stride *= axes[axis] as i64;
    }
    let offset = numbers.pick(&[0, 0, 1, 4]);
    let buffer = case.output(dtype, (stride + offset) as usize);
    case.store(buffer, value, view(offset, &strides));
}

fn mix(case: &mut Case, numbers: &mut Numbers, a: Reg, b: Reg) -> Reg {
    let op = numbers.pick(&[Binary::Add, Binary::Sub, Binary::Mul, Binary::Max, Binary::Min]);
    let y = case.binary(op, a, b);
    if numbers.below(3) == 0 { case.unary(Unary::Tanh, y) } else { y }
}

fn kernel(seed: u64) -> (Case, Kernel) {
    let (mut case, mut numbers) = (Case::default(), Numbers(seed));
    let sizes = [1, 2, 3, 4, 5, 7, 8, 12, 16, 33, 64];
    let mut axes: Vec<usize> = (0..1 + numbers.below(4)).map(|_| numbers.pick(&sizes)).collect();
    while axes.iter().product::<usize>() > 20_000 {
        axes.pop();
    }
    let rank = axes.len();
    let outer = if numbers.below(2) == 0 { rank } else { numbers.below(rank) };
    let none = rank..rank;
    let mut x = operand(&mut case, &mut numbers, &axes, none.clone());
    if outer < rank && numbers.below(4) == 0 {
        let place = case.push(
            Code::Reduce(numbers.pick(&[Reduce::ArgMax, Reduce::ArgMin]), x),
            DType::I32,
            Level::Outer,
        );
        result(&mut case, &mut numbers, &axes, outer, place);
    }
    for _ in 0..numbers.below(3) {
        let y = operand(&mut case, &mut numbers, &axes, none.clone());
        x = mix(&mut case, &mut numbers, x, y);
    }
    for _ in 0..if outer < rank { 1 + numbers.below(2) } else { 0 } {
        let op = numbers.pick(&[Reduce::Sum, Reduce::Max, Reduce::Min]);
        let mut total = case.push(Code::Reduce(op, x), F32, Level::Outer);
        if numbers.below(2) == 0 {
            let bias = operand(&mut case, &mut numbers, &axes, outer..rank);
            total = case.binary(Binary::Add, total, bias);
        }
        if numbers.below(2) == 0 {
            result(&mut case, &mut numbers, &axes, outer, total);
        }
        let small = case.unary(Unary::Tanh, total);
        x = mix(&mut case, &mut numbers, x, small);
    }
    result(&mut case, &mut numbers, &axes, rank, x);
    let kernel = case.fused(&axes, outer);
    (case, kernel)
}

#[test]
fn random_kernels_mean_what_they_say() {
    for seed in 0..120 {
        let (case, kernel) = kernel(seed * 7_919 + 13);
        if kernel.touches().0.len() + kernel.touches().1.len() <= 8 {
            let run = std::panic::AssertUnwindSafe(|| case.check(&kernel, 2e-5));
            if let Err(cause) = std::panic::catch_unwind(run) {
                eprintln!("seed {seed}: {kernel:?}");
                std::panic::resume_unwind(cause);
            }
        }
    }
}
