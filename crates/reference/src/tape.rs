//! What instructions mean: a tape is evaluated at many positions at once, instruction by instruction.

use std::cmp::Ordering;

use farad_compile::program::{Code, Instr, Level, Reg};
use farad_ir::{DType, Reduce, philox, wrap};

use crate::machine::Machine;
use crate::number::{cast, from_whole, given, to_whole};
use crate::view::{Coordinates, locate};

/// The positions at which a tape is evaluated: some rows, each with all positions that are reduced over.
pub struct RowSpan<'a> {
    /// The outer position of every row.
    pub rows: &'a Coordinates,
    /// Every position; those of one row are adjacent.
    pub points: &'a Coordinates,
    /// Positions per row.
    pub row: usize,
    /// Whether outer-level values have one entry per row.
    pub reduces: bool,
    /// The matrix product's element at every position, in an epilogue.
    pub accumulators: &'a [f64],
    /// Every carry at every position, in a recurrence.
    pub carried: &'a [Vec<f64>],
}

impl<'a> RowSpan<'a> {
    /// Positions that nothing is reduced over.
    pub fn at(points: &'a Coordinates, accumulators: &'a [f64], carried: &'a [Vec<f64>]) -> RowSpan<'a> {
        RowSpan { rows: points, points, row: 1, reduces: false, accumulators, carried }
    }

    /// Whether a value of this level has one entry per row.
    pub fn once(&self, level: Level) -> bool {
        self.reduces && level == Level::Outer
    }
}

/// The values of every register; outer-level registers have one value per row.
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
        Code::Constant(scalar) => given(instr.dtype.register(), *scalar),
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
            dtype if dtype.is_float() => (op.row().value)(get(*x)),
            dtype => whole(dtype, op.whole(dtype, to_whole(dtype, get(*x)))),
        },
        Code::Binary(op, a, b) => match typed(*a) {
            dtype if dtype.is_float() => (op.row().value)(get(*a), get(*b)),
            dtype => {
                let y = op.whole(dtype, to_whole(dtype, get(*a)), to_whole(dtype, get(*b)));
                whole(if op.compares() { DType::Bool } else { dtype }, y)
            }
        },
        Code::Select(condition, a, b) => get(if get(*condition) != 0.0 { *a } else { *b }),
        Code::Cast(x, to) => cast(typed(*x), *to, get(*x)),
        Code::Reduce(..) | Code::Accumulator | Code::Carry(_) => unreachable!("evaluated for a whole span"),
    }
}

/// The order of two numbers of a dtype; unordered numbers (NaN) count as equal.
pub(crate) fn compare(dtype: DType, a: f64, b: f64) -> Ordering {
    match dtype {
        DType::I64 => to_whole(dtype, a).cmp(&to_whole(dtype, b)),
        DType::U64 => a.to_bits().cmp(&b.to_bits()),
        _ => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
    }
}

fn is_first_nan(dtype: DType, new: f64, old: f64) -> bool {
    dtype.is_float() && new.is_nan() && !old.is_nan()
}

/// An integer result as a register holds it. Panics where the op is not defined for integers: programs contain
/// no such op.
fn whole(dtype: DType, value: Option<i64>) -> f64 {
    from_whole(dtype, value.expect("the op is defined for integers"))
}

fn reduce(op: Reduce, dtype: DType, values: &[f64]) -> f64 {
    // NaN wins over all numbers, and the first NaN over later ones.
    let best = |better: Ordering| {
        let wins = |new: f64, old: f64| compare(dtype, new, old) == better || is_first_nan(dtype, new, old);
        (1..values.len()).fold(0, |best, n| if wins(values[n], values[best]) { n } else { best })
    };
    let fold = |first: i64, combine: fn(i64, i64) -> i64| {
        let all = |all, &x: &f64| wrap(dtype, combine(all, to_whole(dtype, x)));
        from_whole(dtype, values.iter().fold(first, all))
    };
    match op {
        Reduce::Sum if dtype.is_float() => values.iter().sum(),
        Reduce::Sum => fold(0, i64::wrapping_add),
        Reduce::Prod if dtype.is_float() => values.iter().product(),
        Reduce::Prod => fold(1, i64::wrapping_mul),
        Reduce::Max => values[best(Ordering::Greater)],
        Reduce::Min => values[best(Ordering::Less)],
        Reduce::ArgMax => best(Ordering::Greater) as f64,
        Reduce::ArgMin => best(Ordering::Less) as f64,
    }
}
