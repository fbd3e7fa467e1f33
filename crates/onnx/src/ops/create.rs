//! Ops that make values from numbers or shapes: constants, ranges, shapes, masks.

use super::Default::{AFloat, AText, AnInt, Float, Floats, Int, Ints, Tensor, Texts};
use super::{Row, one, row};
use crate::array::{Array, Data};
use crate::call::Call;
use crate::error::Result;
use crate::kind::{Class, Kind};
use crate::refuse;
use crate::value::Value;

pub const ROWS: &[Row] = &[
    row(
        "Constant",
        (0, 0),
        &[
            ("value", Tensor),
            ("sparse_value", Tensor),
            ("value_float", AFloat),
            ("value_floats", Floats),
            ("value_int", AnInt),
            ("value_ints", Ints),
            ("value_string", AText),
            ("value_strings", Texts),
        ],
        constant,
    ),
    row("ConstantOfShape", (1, 1), &[("value", Tensor)], |call| {
        let shape = super::movement::sizes(&call.input(0)?.ints()?)?;
        let value = match call.tensor("value") {
            Some(value) => Value::Host(value.host()?).reshape(&[])?,
            None => Array::number(Kind::F32, 0.0).into(),
        };
        one(value.spread(&shape)?)
    }),
    row("Shape", (1, 1), &[("start", Int(0)), ("end", AnInt)], |call| {
        let shape = call.input(0)?.shape()?;
        let rank = shape.len() as i64;
        let inside = |at: i64| (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize;
        let start = inside(call.int("start")?);
        let end = if call.has("end") { inside(call.int("end")?) } else { shape.len() };
        let part = if start < end { &shape[start..end] } else { &[] };
        one(Array::list(part.iter().map(|&size| size as i64).collect()).into())
    }),
    row("Size", (1, 1), &[], |call| one(Array::whole(call.input(0)?.len()? as i64).into())),
    row("Range", (3, 3), &[("stash_type", AnInt)], |call| {
        let (start, end, step) = (call.input(0)?, call.input(1)?, call.input(2)?);
        let kind = start.kind()?;
        let by = step.float()?;
        if by == 0.0 {
            refuse!("a step is zero");
        }
        let count = ((end.float()? - start.float()?) / by).ceil().max(0.0);
        let count = crate::array::count(&[count as usize])?;
        one(if kind.is_float() {
            let (from, by) = (start.float()?, step.float()?);
            Array::floats(kind, vec![count], (0..count).map(|n| from + n as f64 * by).collect()).into()
        } else {
            let (from, by) = (start.int()?, step.int()?);
            let at = |n: usize| from.wrapping_add((n as i64).wrapping_mul(by));
            Array::ints(kind, vec![count], (0..count).map(at).collect()).into()
        })
    }),
    row("EyeLike", (1, 1), &[("dtype", AnInt), ("k", Int(0))], |call| {
        let x = call.input(0)?;
        let [rows, columns] = x.shape()?[..] else { refuse!("two axes are needed: {:?}", x.shape()?) };
        let (kind, k) = (call.kind("dtype")?.unwrap_or(x.kind()?), call.int("k")?);
        crate::array::count(&[rows, columns])?;
        let hit = |place: usize| ((place % columns) as i64 - (place / columns) as i64 == k) as i64;
        let data: Vec<i64> = (0..rows * columns).map(hit).collect();
        let eye = Value::from(Array::ints(Kind::I64, vec![rows, columns], data)).cast(kind, true)?;
        one(eye.on(call.device)?)
    }),
    row("OneHot", (3, 3), &[("axis", Int(-1))], one_hot).fixed(&[2]),
    row("Trilu", (1, 2), &[("upper", Int(1))], |call| {
        let x = call.input(0)?;
        let k = call.optional(1).map(|k| k.int()).transpose()?.unwrap_or(0);
        let shape = x.shape()?;
        let [.., rows, columns] = shape[..] else { refuse!("two axes are needed: {shape:?}") };
        let upper = call.flag("upper")?;
        crate::array::count(&[rows, columns])?;
        let kept = |place: usize| {
            let (row, column) = ((place / columns.max(1)) as i64, (place % columns.max(1)) as i64);
            let distance = (column - row).saturating_sub(k);
            (if upper { distance >= 0 } else { distance <= 0 }) as i64
        };
        let mask = Array::ints(Kind::Bool, vec![rows, columns], (0..rows * columns).map(kept).collect());
        one(Value::from(mask).select(x, &x.full_like(&[], 0.0)?)?)
    }),
    row("HannWindow", (1, 1), WINDOW, |call| window(call, [0.5, 0.5, 0.0])),
    row("HammingWindow", (1, 1), WINDOW, |call| window(call, [25.0 / 46.0, 21.0 / 46.0, 0.0])),
    row("BlackmanWindow", (1, 1), WINDOW, |call| window(call, [0.42, 0.5, 0.08])),
    row("NonZero", (1, 1), &[], |call| {
        let array = call.input(0)?.host()?;
        let hits: Vec<usize> = match &array.data {
            Data::Float(x) => (0..x.len()).filter(|&place| x[place] != 0.0).collect(),
            Data::Int(x) => (0..x.len()).filter(|&place| x[place] != 0).collect(),
            Data::Text(x) => (0..x.len()).filter(|&place| !x[place].is_empty()).collect(),
        };
        let strides = crate::host::strides(&array.shape);
        let axis = |axis: usize| hits.iter().map(move |_| axis);
        let mut data = Vec::with_capacity(hits.len() * strides.len());
        for at in 0..strides.len() {
            data.extend(
                hits.iter().zip(axis(at)).map(|(&hit, at)| (hit / strides[at] % array.shape[at]) as i64),
            );
        }
        one(Array::ints(Kind::I64, vec![strides.len(), hits.len()], data).into())
    }),
    row("MelWeightMatrix", (5, 5), &[("output_datatype", Int(1))], mel),
    row("Dropout", (1, 3), &[("seed", AnInt), ("ratio", Float(0.5))], |call| {
        let x = call.input(0)?;
        let training = call.optional(2).map(|flag| flag.int()).transpose()?.unwrap_or(0) != 0;
        let ratio = match call.optional(1) {
            Some(ratio) => ratio.float()?,
            None => call.float("ratio")?,
        };
        if !training || ratio == 0.0 {
            if !call.wants(1) {
                return one(x.clone());
            }
            let mask = Array::full(Kind::Bool, x.shape()?, 1.0)?;
            return Ok(vec![x.clone(), mask.into()]);
        }
        if !(0.0..1.0).contains(&ratio) {
            refuse!("a ratio must be at least zero and below one ({ratio})");
        }
        let Value::Device(tensor, kind) = call.on_device(0)? else {
            refuse!("dropout needs floats that devices support")
        };
        let mask = farad_tensor::Tensor::random_mask(1.0 - ratio, tensor.shape(), tensor.device())
            .cast(farad_tensor::DType::Bool);
        let y = mask.select(&(&tensor * (1.0 / (1.0 - ratio))), &tensor.full_like(0.0));
        Ok(vec![Value::Device(y, kind), Value::Device(mask, Kind::Bool)])
    })
    .fixed(&[1]),
];

const WINDOW: &[(&str, super::Default)] = &[("output_datatype", Int(1)), ("periodic", Int(1))];

fn constant(call: &Call) -> Result<Vec<Value>> {
    if let Some(value) = call.tensor("value").or_else(|| call.tensor("sparse_value")) {
        return one(value.clone());
    }
    let array = if call.has("value_float") {
        Array::number(Kind::F32, call.float("value_float")?)
    } else if call.has("value_int") {
        Array::whole(call.int("value_int")?)
    } else if let Some(data) = call.ints("value_ints") {
        Array::list(data.to_vec())
    } else if let Some(data) = call.floats("value_floats") {
        Array::floats(Kind::F32, vec![data.len()], data.to_vec())
    } else if let Some(data) = call.texts("value_strings") {
        Array::new(Kind::Text, vec![data.len()], Data::Text(data.to_vec()))
    } else if call.has("value_string") {
        Array::new(Kind::Text, vec![], Data::Text(vec![call.text("value_string")?.to_string()]))
    } else {
        refuse!("a constant needs a value");
    };
    one(array.into())
}

fn one_hot(call: &Call) -> Result<Vec<Value>> {
    let (places, values) = (call.input(0)?, call.input(2)?);
    let depth = super::movement::sizes(&call.input(1)?.ints()?)?;
    let [depth] = depth[..] else { refuse!("one depth is needed ({})", depth.len()) };
    let mut shape = places.shape()?;
    let axis = crate::value::resolve(call.int("axis")?, shape.len() + 1)?;
    // Floats are positions here, too.
    let own = Value::from(Array::ints(Kind::I64, shape.clone(), places.ints()?)).unsqueeze(axis)?;
    let own = own.apply_whole(|place| if place < 0 { place.wrapping_add(depth as i64) } else { place })?;
    shape = vec![1; shape.len() + 1];
    shape[axis] = crate::array::count(&[depth])?;
    let range = Array::ints(Kind::I64, shape, (0..depth as i64).collect());
    let hit = own.compare(crate::pointwise::Compare::Equal, &range.into())?;
    let values = Value::Host(values.host()?);
    let (off, on) = (values.at(0, 0)?, values.at(0, 1)?);
    one(hit.select(&on, &off)?.on(call.device)?)
}

fn window(call: &Call, [constant, first, second]: [f64; 3]) -> Result<Vec<Value>> {
    let size = super::movement::sizes(&[call.input(0)?.int()?])?[0];
    let kind = Kind::of(call.int("output_datatype")?).filter(|kind| kind.class() != Class::Text);
    let Some(kind) = kind else { refuse!("no such element type") };
    let whole = if call.flag("periodic")? { size } else { size.saturating_sub(1) }.max(1) as f64;
    crate::array::count(&[size])?;
    let turn = std::f64::consts::TAU / whole;
    let at = |n: usize| constant - first * (turn * n as f64).cos() + second * (2.0 * turn * n as f64).cos();
    let array = Array::floats(Kind::F64, vec![size], (0..size).map(at).collect());
    one(Value::from(array).cast(kind, true)?)
}

fn mel(call: &Call) -> Result<Vec<Value>> {
    let numbers = (0..5).map(|place| call.input(place)?.float()).collect::<Result<Vec<f64>>>()?;
    let [bins, length, rate, low, high] = numbers[..] else { refuse!("five numbers are needed") };
    let (bins, length) = (bins as usize, length as usize);
    let rows = length / 2 + 1;
    crate::array::count(&[rows, bins])?;
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let (bottom, top) = (mel(low), mel(high));
    let step = (top - bottom) / (bins + 2) as f64;
    let edge = |n: usize| {
        let hertz = 700.0 * (10f64.powf((bottom + n as f64 * step) / 2595.0) - 1.0);
        ((length + 1) as f64 * hertz / rate).floor() as i64
    };
    let mut data = vec![0.0; rows * bins];
    for bin in 0..bins {
        let (left, middle, right) = (edge(bin), edge(bin + 1), edge(bin + 2));
        for row in 0..rows {
            let at = row as i64;
            let up = if middle == left {
                (at == middle) as i64 as f64
            } else {
                (at - left) as f64 / (middle - left) as f64
            };
            let down = (right - at) as f64 / (right - middle).max(1) as f64;
            let inside = if at <= middle { at >= left } else { at < right };
            if inside {
                data[row * bins + bin] = if at <= middle { up } else { down };
            }
        }
    }
    let Some(kind) = Kind::of(call.int("output_datatype")?) else { refuse!("no such element type") };
    one(Value::from(Array::floats(Kind::F64, vec![rows, bins], data)).cast(kind, true)?)
}
