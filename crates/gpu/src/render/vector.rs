//! Products with a single row or column: memory-bound sums, rendered as kernels with reductions.

use farad_compile::program::{Code, Fused, Instr, Level, Product, Reg, Store, View};
use farad_ir::{Binary, DType, Reduce};

/// The product as a reduction over its terms, if one side of it has size 1.
pub(crate) fn fused(product: &Product) -> Option<Fused> {
    let ([m], [n], [k]) = (&product.m[..], &product.n[..], &product.k[..]) else { return None };
    let (left, right, result): (Pick, Pick, Pick) = match (m, n) {
        // From [batch.., m, k], [batch.., k, n] and [batch.., m, n] to axes [batch.., m, k].
        (_, 1) => ([Some(0), Some(1)], [None, Some(0)], [Some(0), None]),
        // The same to axes [batch.., n, k].
        (1, _) => ([None, Some(1)], [Some(1), Some(0)], [Some(1), None]),
        _ => return None,
    };
    let batch = product.batch.len();
    let mut tape = Vec::new();
    append(&mut tape, &product.lhs.tape, Level::Full, batch, left, None);
    let lhs = product.lhs.value;
    let rhs = Reg(tape.len() as u32 + product.rhs.value.0);
    append(&mut tape, &product.rhs.tape, Level::Full, batch, right, None);
    let f32 = |code: Code, level: Level| Instr { code, dtype: DType::F32, level };
    tape.push(f32(Code::Binary(Binary::Mul, lhs, rhs), Level::Full));
    tape.push(f32(Code::Reduce(Reduce::Sum, Reg(tape.len() as u32 - 1)), Level::Outer));
    let sum = Reg(tape.len() as u32 - 1);
    let base = tape.len() as u32;
    append(&mut tape, &product.epilogue, Level::Outer, batch, result, Some(sum));
    let stores = product.stores.iter().map(|store| Store {
        buffer: store.buffer,
        value: Reg(base + store.value.0),
        view: pick(&store.view, batch, result),
    });
    let mut axes = product.batch.clone();
    axes.extend([*m.max(n), *k]);
    Some(Fused { axes, outer: batch + 1, stores: stores.collect(), tape })
}

/// Which of a view's last two axes each of the new last two axes is.
type Pick = [Option<usize>; 2];

fn pick(view: &View, batch: usize, axes: Pick) -> View {
    let factors = |list: &[i64]| -> Vec<i64> {
        let last = axes.iter().map(|axis| axis.map_or(0, |axis| list[batch + axis]));
        list[..batch].iter().copied().chain(last).collect()
    };
    let mut view = view.clone();
    view.strides = factors(&view.strides);
    view.guards.iter_mut().for_each(|guard| guard.coefficients = factors(&guard.coefficients));
    view
}

/// Appends a tape over other axes, with its registers renumbered.
fn append(tape: &mut Vec<Instr>, more: &[Instr], level: Level, batch: usize, axes: Pick, sum: Option<Reg>) {
    let base = tape.len() as u32;
    let at = |register: &Reg| Reg(base + register.0);
    for instr in more {
        let code = match &instr.code {
            Code::Load(buffer, view) => Code::Load(*buffer, pick(view, batch, axes)),
            Code::Take { buffer, view, position, stride, size, site } => Code::Take {
                buffer: *buffer,
                view: pick(view, batch, axes),
                position: at(position),
                stride: *stride,
                size: *size,
                site: *site,
            },
            Code::Position(view) => Code::Position(pick(view, batch, axes)),
            Code::Random(keys, stream, view) => {
                let (keys, stream) = (keys.map(|key| at(&key)), stream.map(|key| at(&key)));
                Code::Random(keys, stream, pick(view, batch, axes))
            }
            Code::Unary(op, x) => Code::Unary(*op, at(x)),
            Code::Binary(op, a, b) => Code::Binary(*op, at(a), at(b)),
            Code::Select(c, a, b) => Code::Select(at(c), at(a), at(b)),
            Code::Cast(x, to) => Code::Cast(at(x), *to),
            // A cast to its own type copies the register.
            Code::Accumulator => Code::Cast(sum.unwrap_or(Reg(base)), DType::F32),
            Code::Reduce(op, x) => Code::Reduce(*op, at(x)),
            Code::Constant(_) | Code::Parameter(_) | Code::Carry(_) => instr.code.clone(),
        };
        tape.push(Instr { code, dtype: instr.dtype, level });
    }
}
