//! Ops that reduce axes: sums and their relatives, argmax, top-k, cumulative sums, softmax.

use farad_tensor::Tensor;

use super::Default::{AnInt, Int, Ints};
use super::{Row, one, row};
use crate::array::{Array, Data};
use crate::call::Call;
use crate::error::Result;
use crate::host::strides;
use crate::kind::Kind;
use crate::reduce::Fold;
use crate::refuse;
use crate::value::Value;

macro_rules! fold {
    ($name:literal, $before:expr, $fold:ident, $after:expr) => {
        row(
            $name,
            (1, 2),
            &[("axes", Ints), ("keepdims", Int(1)), ("noop_with_empty_axes", Int(0))],
            |call| {
                let x = call.input(0)?;
                let before: fn(&Value) -> Result<Value> = $before;
                let after: fn(&Value) -> Result<Value> = $after;
                match axes(call)? {
                    None => one(after(&before(x)?)?),
                    Some(axes) => {
                        one(after(&before(x)?.fold(Fold::$fold, &axes, call.flag("keepdims")?)?)?)
                    }
                }
            },
        )
    };
}

pub const ROWS: &[Row] = &[
    fold!("ReduceSum", same, Sum, same),
    fold!("ReduceMean", same, Mean, same),
    fold!("ReduceProd", same, Product, same),
    row("ReduceMax", (1, 2), EXTREME, |call| extreme(call, Fold::Max)),
    row("ReduceMin", (1, 2), EXTREME, |call| extreme(call, Fold::Min)),
    fold!("ReduceL1", absolute, Sum, same),
    fold!("ReduceL2", Value::squared, Sum, root),
    fold!("ReduceSumSquare", Value::squared, Sum, same),
    fold!("ReduceLogSum", same, Sum, logarithm),
    row("ReduceLogSumExp", (1, 2), EXTREME, |call| {
        let x = call.input(0)?;
        let Some(axes) = axes(call)? else { return one(x.clone()) };
        one(log_sum_exp(x, &axes, call.flag("keepdims")?)?)
    }),
    row("ArgMax", (1, 1), ARG, |call| argument(call, true)),
    row("ArgMin", (1, 1), ARG, |call| argument(call, false)),
    row(
        "TopK",
        (1, 2),
        &[("k", AnInt), ("axis", Int(-1)), ("largest", Int(1)), ("sorted", Int(1))],
        |call| {
            let x = call.input(0)?;
            let k = match call.optional(1) {
                Some(k) => k.int()?,
                None => call.int("k")?,
            };
            let (axis, largest) = (x.axis(call.int("axis")?)?, call.flag("largest")?);
            let Ok(k) = usize::try_from(k) else { refuse!("k is negative ({k})") };
            let (values, places) = x.top(axis, k, largest)?;
            Ok(vec![values, places])
        },
    ),
    row("CumSum", (2, 2), &[("exclusive", Int(0)), ("reverse", Int(0))], |call| running(call, false)),
    row("CumProd", (2, 2), &[("exclusive", Int(0)), ("reverse", Int(0))], |call| running(call, true)),
    row("Softmax", (1, 1), &[("axis", AnInt)], |call| {
        soft(call, |x, axis| {
            x.apply_along(
                axis,
                |x, axis| x.softmax(axis),
                |x, axis| {
                    let shifted = x.sub(&x.fold(Fold::Max, &[axis], true)?)?.exp()?;
                    shifted.div(&shifted.fold(Fold::Sum, &[axis], true)?)
                },
            )
        })
    }),
    row("LogSoftmax", (1, 1), &[("axis", AnInt)], |call| soft(call, log_softmax)),
    row("Hardmax", (1, 1), &[("axis", AnInt)], |call| {
        soft(call, |x, axis| {
            let places = x.arg(axis, true, false)?;
            let size = x.size(axis)?;
            let mut shape = vec![1; x.rank()?];
            shape[axis] = size;
            let range = Array::ints(Kind::I64, shape, (0..size as i64).collect());
            let hit = Value::from(range).compare(crate::pointwise::Compare::Equal, &places)?;
            hit.cast(x.kind()?, true)
        })
    }),
];

const EXTREME: &[(&str, super::Default)] =
    &[("axes", Ints), ("keepdims", Int(1)), ("noop_with_empty_axes", Int(0))];
const ARG: &[(&str, super::Default)] =
    &[("axis", Int(0)), ("keepdims", Int(1)), ("select_last_index", Int(0))];

fn same(x: &Value) -> Result<Value> {
    Ok(x.clone())
}

fn absolute(x: &Value) -> Result<Value> {
    if x.kind()?.is_int() { x.apply_whole(i64::wrapping_abs) } else { x.apply(f64::abs, |x| x.abs()) }
}

/// Computes in floats, even for integers.
fn through(x: &Value, host: fn(f64) -> f64, device: fn(&Tensor) -> Tensor) -> Result<Value> {
    let kind = x.kind()?;
    if kind.is_float() {
        return x.apply(host, device);
    }
    x.cast(Kind::F64, true)?.apply(host, device)?.cast(kind, true)
}

fn root(x: &Value) -> Result<Value> {
    through(x, f64::sqrt, |x| x.sqrt())
}

fn logarithm(x: &Value) -> Result<Value> {
    through(x, f64::ln, |x| x.log())
}

impl Value {
    /// The exponential.
    pub fn exp(&self) -> Result<Value> {
        self.apply(f64::exp, |x| x.exp())
    }

    /// Along one axis: by a tensor op, or by the ops that it is composed of.
    fn apply_along(
        &self,
        axis: usize,
        device: fn(&Tensor, isize) -> Tensor,
        host: fn(&Value, usize) -> Result<Value>,
    ) -> Result<Value> {
        self.size(axis)?;
        match self {
            Value::Device(tensor, kind @ (Kind::F32 | Kind::F16)) if tensor.numel() > 0 => {
                Ok(Value::Device(device(tensor, axis as isize), *kind))
            }
            other => host(other, axis),
        }
    }
}

/// The logarithm of the softmax along an axis.
pub fn log_softmax(x: &Value, axis: usize) -> Result<Value> {
    x.apply_along(axis, |x, axis| x.log_softmax(axis), |x, axis| x.sub(&log_sum_exp(x, &[axis], true)?))
}

/// The softmax along an axis.
pub fn softmax(x: &Value, axis: usize) -> Result<Value> {
    x.apply_along(axis, |x, axis| x.softmax(axis), |x, axis| log_softmax(x, axis)?.exp())
}

fn log_sum_exp(x: &Value, axes: &[usize], keep: bool) -> Result<Value> {
    if let (Value::Device(tensor, kind @ (Kind::F32 | Kind::F16)), true) =
        (x, x.len()? > 0 && !axes.is_empty())
    {
        let signed: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
        let y = if keep { tensor.logsumexp(farad_tensor::kept(signed)) } else { tensor.logsumexp(signed) };
        return Ok(Value::Device(y, *kind));
    }
    let peak = x.fold(Fold::Max, axes, true)?;
    let peak = peak.apply(|x| if x.is_finite() { x } else { 0.0 }, |x| x.clone())?;
    let sum = x.sub(&peak)?.exp()?.fold(Fold::Sum, axes, true)?;
    let whole = logarithm(&sum)?.add(&peak)?;
    if keep { Ok(whole) } else { whole.fold(Fold::Sum, axes, false) }
}

/// The axes to reduce; `None` if there is nothing to do.
fn axes(call: &Call) -> Result<Option<Vec<usize>>> {
    let x = call.input(0)?;
    let rank = x.rank()?;
    match call.axes("axes", 1)? {
        Some(axes) if !axes.is_empty() => {
            let mut all = axes.iter().map(|&axis| x.axis(axis)).collect::<Result<Vec<usize>>>()?;
            all.sort_unstable();
            all.dedup();
            Ok(Some(all))
        }
        _ if call.flag("noop_with_empty_axes")? => Ok(None),
        _ => Ok(Some((0..rank).collect())),
    }
}

fn extreme(call: &Call, fold: Fold) -> Result<Vec<Value>> {
    let Some(axes) = axes(call)? else { return one(call.input(0)?.clone()) };
    let x = call.input(0)?;
    // Booleans on a device are read by the host, because devices have no maximum of them.
    let x = if x.kind()? == Kind::Bool { Value::Host(x.host()?) } else { x.clone() };
    one(x.fold(fold, &axes, call.flag("keepdims")?)?)
}

fn argument(call: &Call, largest: bool) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let axis = x.axis(call.int("axis")?)?;
    let places = x.arg(axis, largest, call.flag("select_last_index")?)?;
    if call.flag("keepdims")? {
        return one(places);
    }
    let mut shape = places.shape()?;
    shape.remove(axis);
    one(places.reshape(&shape)?)
}

fn running(call: &Call, product: bool) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let axis = x.axis(call.input(1)?.int()?)?;
    let (exclusive, reverse) = (call.flag("exclusive")?, call.flag("reverse")?);
    let flipped = |x: &Value| -> Result<Value> {
        let shape = x.shape()?;
        let (mut starts, mut steps) = (vec![0; shape.len()], vec![1; shape.len()]);
        (starts[axis], steps[axis]) = (shape[axis].saturating_sub(1), -1);
        x.slice(&starts, &steps, &shape)
    };
    let x = if reverse { flipped(x)? } else { x.clone() };
    let size = x.size(axis)?;
    let shifted = if exclusive && size > 0 {
        let mut widths = vec![(0, 0); x.rank()?];
        widths[axis] = (1, -1);
        x.pad(&widths, if product { 1.0 } else { 0.0 })?
    } else {
        x
    };
    let y = match &shifted {
        Value::Device(tensor, kind @ (Kind::F32 | Kind::F16)) if tensor.numel() > 0 => {
            let along = if product { tensor.cumprod(axis as isize) } else { tensor.cumsum(axis as isize) };
            Value::Device(along, *kind)
        }
        _ => host_running(&*shifted.host()?, axis, product)?.into(),
    };
    one(if reverse { flipped(&y)? } else { y })
}

fn host_running(array: &Array, axis: usize, product: bool) -> Result<Array> {
    let (size, inner) = (array.shape[axis], strides(&array.shape)[axis]);
    macro_rules! run {
        ($data:ident, $add:expr, $mul:expr) => {{
            let mut y = $data.clone();
            for place in 0..y.len() {
                if place / inner % size > 0 {
                    y[place] = if product {
                        $mul(y[place - inner], y[place])
                    } else {
                        $add(y[place - inner], y[place])
                    };
                }
            }
            y
        }};
    }
    let shape = array.shape.clone();
    Ok(match &array.data {
        Data::Float(x) => {
            Array::floats(array.kind, shape, run!(x, |a: f64, b: f64| a + b, |a: f64, b: f64| a * b))
        }
        Data::Int(x) => Array::ints(array.kind, shape, run!(x, i64::wrapping_add, i64::wrapping_mul)),
        Data::Text(_) => refuse!("strings cannot be added"),
    })
}

/// Along one axis since version 13; before that, over all axes starting at one.
fn soft(call: &Call, rule: fn(&Value, usize) -> Result<Value>) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    if call.version >= 13 {
        let axis = if call.has("axis") { call.int("axis")? } else { -1 };
        return one(rule(x, x.axis(axis)?)?);
    }
    let axis = if call.has("axis") { call.int("axis")? } else { 1 };
    let shape = x.shape()?;
    let axis = if axis == shape.len() as i64 { shape.len() } else { x.axis(axis)? };
    let rows: usize = shape[..axis].iter().product();
    let columns: usize = shape[axis..].iter().product();
    one(rule(&x.reshape(&[rows, columns])?, 1)?.reshape(&shape)?)
}
