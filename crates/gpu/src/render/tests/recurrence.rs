//! Recurrences compared with the reference: carries that are swapped, both directions, every dtype, shared
//! random blocks.

use farad_compile::program::{Carry, Recurrence};

use super::*;

const F32: DType = DType::F32;

impl Case {
    fn recurrence(&mut self, axes: &[usize], carries: Vec<Carry>) -> Kernel {
        let (tape, stores) = (std::mem::take(&mut self.tape), std::mem::take(&mut self.stores));
        Kernel::Recurrence(Recurrence { axes: axes.to_vec(), tape, carries, stores })
    }

    fn outer(&mut self, buffer: BufferId, view: View) -> Reg {
        let dtype = self.program.buffers[buffer.0 as usize].dtype;
        self.push(Code::Load(buffer, view), dtype, Level::Outer)
    }
}

/// `x, y = y, 0.5·x + s[t] + b`, results `x·y` as `dtype` and whether x is larger, over `[rows, columns]`.
pub(super) fn exchange(
    rows: usize,
    columns: usize,
    trips: usize,
    dtype: DType,
    reverse: bool,
) -> (Case, Kernel) {
    let mut case = Case::default();
    let (len, c) = (rows * columns, columns as i64);
    let [a, b, s, bias] = [len, len, len * trips, columns].map(|len| case.input(F32, len));
    let [u, v, y, z] = [(F32, len), (F32, len), (dtype, len * trips), (DType::Bool, len * trips)]
        .map(|(d, len)| case.output(d, len));
    let along = |stride: i64| match reverse {
        true => view(stride * (trips as i64 - 1), &[c, 1, -stride]),
        false => view(0, &[c, 1, stride]),
    };
    let once = view(0, &[c, 1, 0]);
    let starts = [a, b].map(|buffer| case.outer(buffer, once.clone()));
    let shift = case.outer(bias, view(0, &[0, 1, 0]));
    let half = case.push(Code::Constant(Scalar::f32(0.5)), F32, Level::Outer);
    let [first, second] = [0, 1].map(|n| case.full(Code::Carry(n), F32));
    let slice = case.load(s, along(len as i64));
    let less = case.binary(Binary::Mul, first, half);
    let more = case.binary(Binary::Add, less, slice);
    let next = case.binary(Binary::Add, more, shift);
    let product = case.binary(Binary::Mul, first, second);
    let larger = case.binary(Binary::Greater, first, second);
    case.store(y, product, along(len as i64));
    case.store(z, larger, along(len as i64));
    let carry = |start, next, buffer| Carry { start, next, last: Some((buffer, once.clone())) };
    let carries = vec![carry(starts[0], second, u), carry(starts[1], next, v)];
    let kernel = case.recurrence(&[rows, columns, trips], carries);
    (case, kernel)
}

#[test]
fn carries_change_places_in_both_directions() {
    for (rows, columns, trips) in [(1, 1, 1), (3, 5, 4), (2, 64, 3), (1, 130, 2)] {
        for (dtype, reverse) in [(F32, false), (F32, true), (DType::F16, false), (DType::F16, true)] {
            let (case, kernel) = exchange(rows, columns, trips, dtype, reverse);
            case.check(&kernel, 1e-6);
        }
    }
}

#[test]
fn a_scalar_is_one_element() {
    let mut case = Case::default();
    let (a, y) = (case.input(DType::I32, 1), case.output(DType::I32, 1));
    let start = case.outer(a, view(0, &[0]));
    let (carry, position) =
        (case.full(Code::Carry(0), DType::I32), case.full(Code::Position(view(3, &[2])), DType::I32));
    let next = case.binary(Binary::Add, carry, position);
    let kernel = case.recurrence(&[9], vec![Carry { start, next, last: Some((y, view(0, &[0]))) }]);
    case.check(&kernel, 0.0);
}

/// A sum of random numbers, with new ones at every position.
pub(super) fn walk(elements: usize, trips: usize) -> (Case, Kernel) {
    let mut case = Case::default();
    case.program.parameters = vec![DType::U32; 4];
    case.parameters = vec![5.0, 6.0, 7.0, 8.0];
    let y = case.output(DType::U32, elements);
    let key = [0, 1, 2, 3].map(|n| case.push(Code::Parameter(n), DType::U32, Level::Outer));
    let start = case.push(Code::Constant(Scalar::u32(3)), DType::U32, Level::Outer);
    let position = case.full(Code::Position(view(1, &[0, 1])), DType::I32);
    let stream = case.full(Code::Cast(position, DType::U32), DType::U32);
    let bits = case.full(Code::Random(key, Some(stream), view(0, &[1, 0])), DType::U32);
    let carry = case.full(Code::Carry(0), DType::U32);
    let next = case.binary(Binary::Add, carry, bits);
    let last = Some((y, view(0, &[1, 0])));
    let kernel = case.recurrence(&[elements, trips], vec![Carry { start, next, last }]);
    (case, kernel)
}

#[test]
fn draws_are_fresh_at_every_position() {
    for elements in [1, 7, 1 << 15, (1 << 15) + 3] {
        let (case, kernel) = walk(elements, 3);
        case.check(&kernel, 0.0);
    }
}
