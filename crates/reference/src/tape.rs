//! What instructions mean: a tape evaluated at many positions, one instruction after the other.

use farad_compile::program::{Code, Instr, Level, Reg};
use farad_ir::{DType, Reduce, philox, wrap};

use crate::machine::Machine;
use crate::number::{cast, stored};
use crate::view::{Coordinates, locate};

/// What a tape is evaluated at: some rows, each with as many positions as are reduced over.
pub struct RowSpan<'a> {
    /// The outer position of every row.
    pub rows: &'a Coordinates,
    /// Every position, those of a row side by side.
    pub points: &'a Coordinates,
    /// Positions of a row.
    pub row: usize,
    /// Whether values at outer level stand once a row.
    pub reduces: bool,
    /// The product's element at every position, in an epilogue.
    pub accumulators: &'a [f64],
    /// Every carry at every position, in a recurrence.
    pub carried: &'a [Vec<f64>],
}

impl<'a> RowSpan<'a> {
    /// Positions that nothing is reduced over.
    pub fn at(points: &'a Coordinates, accumulators: &'a [f64], carried: &'a [Vec<f64>]) -> RowSpan<'a> {
        RowSpan { rows: points, points, row: 1, reduces: false, accumulators, carried }
    }

    /// Whether a value of this level stands once a row.
    pub fn once(&self, level: Level) -> bool {
        self.reduces && level == Level::Outer
    }
}

/// The values of every register; those of outer level once a row.
pub fn evaluate(machine: &Machine, tape: &[Instr], span: &RowSpan) -> Vec<Vec<f64>> {
    let mut values: Vec<Vec<f64>> = Vec::with_capacity(tape.len());
    for instr in tape {
        let value = match &instr.code {
            Code::Reduce(op, x) => {
                let (dtype, x) = (tape[x.0 as usize].dtype.register(), &values[x.0 as usize]);
                let one = |row: usize| reduce(*op, dtype, &x[row * span.row..(row + 1) * span.row]);
                (0..span.rows.len()).map(one).collect()
            }
            Code::Accumulator => span.accumulators.to_vec(),
            Code::Carry(n) => span.carried[*n].clone(),
            _ if span.once(instr.level) => {
                let one = |(row, position): (usize, &[usize])| {
                    instruction(machine, tape, instr, position, |r: Reg| values[r.0 as usize][row])
                };
                span.rows.iter().enumerate().map(one).collect()
            }
            _ => {
                let one = |(n, position): (usize, &[usize])| {
                    let get = |r: Reg| {
                        let once = span.once(tape[r.0 as usize].level);
                        values[r.0 as usize][if once { n / span.row } else { n }]
                    };
                    instruction(machine, tape, instr, position, get)
                };
                span.points.iter().enumerate().map(one).collect()
            }
        };
        values.push(value);
    }
    values
}

fn instruction(
    machine: &Machine,
    tape: &[Instr],
    instr: &Instr,
    position: &[usize],
    get: impl Fn(Reg) -> f64,
) -> f64 {
    let typed = |r: Reg| tape[r.0 as usize].dtype.register();
    match &instr.code {
        Code::Constant(scalar) => stored(instr.dtype.register(), scalar.as_f64()),
        Code::Parameter(n) => machine.parameters[*n],
        Code::Load(buffer, view) => locate(view, position).map_or(0.0, |at| machine.read(*buffer, at)),
        Code::Take { buffer, view, position: register, stride, size, site } => {
            let asked = get(*register) as i64;
            let there = asked.clamp(0, *size as i64 - 1);
            if asked != there {
                machine.fault(*site, asked);
            }
            locate(view, position).map_or(0.0, |at| machine.read(*buffer, at + stride * there))
        }
        Code::Position(view) => locate(view, position).unwrap_or(0) as i32 as f64,
        Code::Random(keys, stream, view) => {
            let key = keys.map(|r| get(r) as u32);
            let stream = stream.map_or(0, |r| get(r) as u32);
            let element = locate(view, position).unwrap_or(0) as u32;
            philox::bits_within([key[0], key[1]], [key[2], key[3]], stream, element) as f64
        }
        Code::Unary(op, x) => match typed(*x) {
            DType::F32 => (op.row().value)(get(*x)),
            // On truth values `not` is logical: all bits of 1 inverted would still be true.
            DType::Bool => 1.0 - get(*x),
            dtype => whole(dtype, op.row().int.map(|int| int(get(*x) as i64))),
        },
        Code::Binary(op, a, b) => match typed(*a) {
            DType::F32 => (op.row().value)(get(*a), get(*b)),
            dtype => {
                let dtype = if op.compares() { DType::Bool } else { dtype };
                whole(dtype, op.row().int.map(|int| int(get(*a) as i64, get(*b) as i64)))
            }
        },
        Code::Select(condition, a, b) => get(if get(*condition) != 0.0 { *a } else { *b }),
        Code::Cast(x, to) => cast(typed(*x), *to, get(*x)),
        Code::Reduce(..) | Code::Accumulator | Code::Carry(_) => unreachable!("evaluated for a whole span"),
    }
}

/// A whole number as a register holds it. Programs have no op on whole numbers that has no meaning for them.
fn whole(dtype: DType, value: Option<i64>) -> f64 {
    wrap(dtype, value.expect("the op takes whole numbers")) as f64
}

fn reduce(op: Reduce, dtype: DType, values: &[f64]) -> f64 {
    // The first NaN is better than all numbers.
    let best = |better: fn(f64, f64) -> bool| {
        let wins = |new: f64, old: f64| better(new, old) || (new.is_nan() && !old.is_nan());
        (1..values.len()).fold(0, |best, n| if wins(values[n], values[best]) { n } else { best })
    };
    let fold = |first: i64, combine: fn(i64, i64) -> i64| {
        values.iter().fold(first, |all, &x| wrap(dtype, combine(all, x as i64))) as f64
    };
    match op {
        Reduce::Sum if dtype == DType::F32 => values.iter().sum(),
        Reduce::Sum => fold(0, i64::wrapping_add),
        Reduce::Prod if dtype == DType::F32 => values.iter().product(),
        Reduce::Prod => fold(1, i64::wrapping_mul),
        Reduce::Max => values[best(|a, b| a > b)],
        Reduce::Min => values[best(|a, b| a < b)],
        Reduce::ArgMax => best(|a, b| a > b) as f64,
        Reduce::ArgMin => best(|a, b| a < b) as f64,
    }
}
