//! Ops that read and write elements by position: gather, scatter and their relatives.
//!
//! Positions that are already on a device stay there for `Gather` and `GatherElements` (tokens, argmax); others
//! are read and checked on the host. A scatter is inverted: for every element of the result, the host finds
//! where it comes from. So everything is a gather, including gradients.

use farad_tensor::{DType, Tensor};

use super::Default::{AnInt, Int, Text};
use super::{Row, one, row};
use crate::array::{Array, Data};
use crate::call::Call;
use crate::error::Result;
use crate::host::{StridedPositions, strides};
use crate::kind::Kind;
use crate::movement::NONE;
use crate::pointwise::BinaryFunction;
use crate::refuse;
use crate::value::Value;

pub const ROWS: &[Row] = &[
    row("Gather", (2, 2), &[("axis", Int(0))], |call| {
        let (x, index) = (call.input(0)?, call.input(1)?);
        let axis = x.axis(call.int("axis")?)?;
        let shape = x.shape()?;
        let taken = [&shape[..axis], &index.shape()?, &shape[axis + 1..]].concat();
        if let Some((tensor, kind, index)) = on_device(x, index, shape[axis]) {
            crate::value::shape_of(&taken)?;
            let flat = tensor.index_select(axis as isize, &index.reshape([index.numel()]));
            return one(Value::Device(flat, kind).reshape(&taken)?);
        }
        let places = places(&index.ints()?, shape[axis])?;
        one(x.take(axis, &places)?.reshape(&taken)?)
    }),
    row("GatherElements", (2, 2), &[("axis", Int(0))], |call| {
        let (x, index) = (call.input(0)?, call.input(1)?);
        let axis = x.axis(call.int("axis")?)?;
        let (own, shape) = (x.shape()?, index.shape()?);
        let along = own.len() == shape.len() && (0..own.len()).all(|a| a == axis || own[a] == shape[a]);
        if let (true, Some((tensor, kind, index))) = (along, on_device(x, index, own[axis])) {
            return one(Value::Device(tensor.gather(axis as isize, &index), kind));
        }
        let flat = elements(&own, &shape, &index.ints()?, axis)?;
        one(x.pick(&shape, &flat)?)
    }),
    row("GatherND", (2, 2), &[("batch_dims", Int(0))], |call| {
        let (x, index) = (call.input(0)?, call.input(1)?);
        let batch = super::movement::sizes(&[call.int("batch_dims")?])?[0];
        let (starts, shape, inner) = tuples(&x.shape()?, index, batch)?;
        let flat: Vec<usize> =
            starts.iter().flat_map(|&start| (0..inner).map(move |at| start + at)).collect();
        one(x.pick(&shape, &flat)?)
    }),
    row("Scatter", (3, 3), &[("axis", Int(0))], scatter_elements),
    row("ScatterElements", (3, 3), &[("axis", Int(0)), ("reduction", Text("none"))], scatter_elements),
    row("ScatterND", (3, 3), &[("reduction", Text("none"))], |call| {
        let (x, index, updates) = (call.input(0)?, call.input(1)?, call.input(2)?);
        let (starts, shape, inner) = tuples(&x.shape()?, index, 0)?;
        if updates.shape()? != shape {
            refuse!("updates do not match: {:?} vs {shape:?}", updates.shape()?);
        }
        let targets: Vec<usize> =
            starts.iter().flat_map(|&start| (0..inner).map(move |at| start + at)).collect();
        one(put(x, &targets, updates, call.text("reduction")?)?)
    }),
    row("TensorScatter", (2, 3), &[("axis", Int(-2)), ("mode", Text("linear"))], tensor_scatter),
    row("Compress", (2, 2), &[("axis", AnInt)], |call| {
        let x = call.input(0)?;
        let truths = call.input(1)?.truths()?;
        let (x, axis) = if call.has("axis") {
            (x.clone(), x.axis(call.int("axis")?)?)
        } else {
            (x.reshape(&[x.len()?])?, 0)
        };
        let places: Vec<usize> = (0..truths.len()).filter(|&place| truths[place]).collect();
        one(x.take(axis, &places)?)
    }),
    row("ReverseSequence", (2, 2), &[("batch_axis", Int(1)), ("time_axis", Int(0))], |call| {
        let x = call.input(0)?;
        let (batch, time) = (x.axis(call.int("batch_axis")?)?, x.axis(call.int("time_axis")?)?);
        let (shape, lengths) = (x.shape()?, super::movement::sizes(&call.input(1)?.ints()?)?);
        if lengths.len() != shape[batch]
            || lengths.iter().any(|&length| length > shape[time])
            || batch == time
        {
            refuse!("one length per batch, at most {}: {lengths:?}", shape[time]);
        }
        let strides = strides(&shape);
        let from = |flat: usize| {
            let length = lengths[flat / strides[batch] % shape[batch]];
            let at = flat / strides[time] % shape[time];
            if at < length { flat - at * strides[time] + (length - 1 - at) * strides[time] } else { flat }
        };
        one(x.pick(&shape, &(0..x.len()?).map(from).collect::<Vec<_>>())?)
    }),
    row("Unique", (1, 1), &[("axis", AnInt), ("sorted", Int(1))], unique),
    row("ArrayFeatureExtractor", (2, 2), &[], |call| {
        let x = call.input(0)?;
        let places = places(&call.input(1)?.ints()?, x.size(x.rank()?.saturating_sub(1))?)?;
        one(x.take(x.rank()? - 1, &places)?)
    })
    .of("ai.onnx.ml"),
];

/// Floats and positions that are both on a device; negative positions are resolved. The device reports
/// positions out of range.
fn on_device<'a>(x: &'a Value, index: &Value, size: usize) -> Option<(&'a Tensor, Kind, Tensor)> {
    match (x, index) {
        (Value::Device(x, kind @ (Kind::F32 | Kind::F16)), Value::Device(index, _))
            if index.dtype() == DType::I32
                && index.device() == x.device()
                && size > 0
                && index.numel() > 0 =>
        {
            let index = index.less(0).select(&(index + size as i32), index);
            Some((x, *kind, index))
        }
        _ => None,
    }
}

/// Positions, which may be negative (counted from the end), resolved and checked.
fn places(index: &[i64], size: usize) -> Result<Vec<usize>> {
    let mut places = Vec::with_capacity(index.len());
    for &at in index {
        let place = if at < 0 { at.wrapping_add(size as i64) } else { at };
        if !(0..size as i64).contains(&place) {
            refuse!("a position out of range ({at} of {size})");
        }
        places.push(place as usize);
    }
    Ok(places)
}

/// Flat positions in `own` for an index with its rank, along an axis.
fn elements(own: &[usize], shape: &[usize], index: &[i64], axis: usize) -> Result<Vec<usize>> {
    let fits = |other: usize| other == axis || shape[other] <= own[other];
    if shape.len() != own.len() || !(0..own.len()).all(fits) {
        refuse!("an index does not match: {shape:?} in {own:?} along axis {axis}");
    }
    let strides = strides(own);
    let places = places(index, own[axis])?;
    let mut steps: Vec<isize> = strides.iter().map(|&stride| stride as isize).collect();
    steps[axis] = 0;
    Ok(StridedPositions::new(shape, steps, 0)
        .zip(&places)
        .map(|(base, place)| base + place * strides[axis])
        .collect())
}

/// For an index of coordinate tuples: the offsets of the slices, the result's shape, and the size of a slice.
fn tuples(own: &[usize], index: &Value, batch: usize) -> Result<(Vec<usize>, Vec<usize>, usize)> {
    let shape = index.shape()?;
    let Some((&width, leading)) = shape.split_last() else {
        refuse!("an index needs an axis of coordinates")
    };
    if batch > leading.len() || batch + width > own.len() || shape[..batch] != own[..batch] {
        refuse!("an index does not match: {shape:?} in {own:?}");
    }
    let all = strides(own);
    let inner: usize = own[batch + width..].iter().product();
    let count: usize = leading.iter().product();
    let per: usize = leading[batch..].iter().product::<usize>().max(1);
    let slab: usize = own[batch..].iter().product();
    let index = index.ints()?;
    let mut starts = Vec::with_capacity(count);
    for row in 0..count {
        let mut start = row / per * slab;
        for column in 0..width {
            let axis = batch + column;
            start += places(&index[row * width + column..][..1], own[axis])?[0] * all[axis];
        }
        starts.push(start);
    }
    let result = [leading, &own[batch + width..]].concat();
    crate::value::shape_of(&result)?;
    Ok((starts, result, inner))
}

fn scatter_elements(call: &Call) -> Result<Vec<Value>> {
    let (x, index, updates) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let axis = x.axis(call.int("axis")?)?;
    let shape = index.shape()?;
    if updates.shape()? != shape {
        refuse!("updates do not match: {:?} vs {shape:?}", updates.shape()?);
    }
    let targets = elements(&x.shape()?, &shape, &index.ints()?, axis)?;
    let reduction = if call.row.name == "Scatter" { "none" } else { call.text("reduction")? };
    one(put(x, &targets, updates, reduction)?)
}

/// `x` with updates written at flat positions, in order.
fn put(x: &Value, targets: &[usize], updates: &Value, reduction: &str) -> Result<Value> {
    let (shape, size) = (x.shape()?, x.len()?);
    if x.kind()? != updates.kind()? {
        refuse!("kinds differ: {} vs {}", x.kind()?, updates.kind()?);
    }
    let op = match reduction {
        "none" => {
            // The last write wins.
            let mut from: Vec<usize> = (0..size).collect();
            targets.iter().enumerate().for_each(|(place, &target)| from[target] = size + place);
            let both = Value::concat(&[x.reshape(&[size])?, updates.reshape(&[targets.len()])?], 0)?;
            return both.pick(&shape, &from);
        }
        "add" => BinaryFunction::Add,
        "mul" => BinaryFunction::Mul,
        "max" => BinaryFunction::Max,
        "min" => BinaryFunction::Min,
        other => refuse!("no such reduction: {other}"),
    };
    // In rounds: each takes one update per element, or a neutral one where there is none.
    let mut y = x.clone();
    let mut left: Vec<(usize, usize)> = targets.iter().copied().enumerate().collect();
    while !left.is_empty() {
        let mut from = vec![NONE; size];
        left.retain(|&(place, target)| {
            let free = from[target] == NONE;
            if free {
                from[target] = place;
            }
            !free
        });
        let hit = from.iter().map(|&place| (place != NONE) as i64).collect();
        let hit = Value::from(Array::ints(Kind::Bool, shape.clone(), hit));
        let part = updates.reshape(&[targets.len()])?.pick(&shape, &from)?;
        y = hit.select(&y.binary(op, &part)?, &y)?;
    }
    Ok(y)
}

fn tensor_scatter(call: &Call) -> Result<Vec<Value>> {
    let (x, update) = (call.input(0)?, call.input(1)?);
    let (shape, new) = (x.shape()?, update.shape()?);
    let axis = x.axis(call.int("axis")?)?;
    let circular = call.text("mode")? == "circular";
    if axis == 0 || new.len() != shape.len() || (0..shape.len()).any(|a| a != axis && new[a] != shape[a]) {
        refuse!("an update does not match: {new:?} in {shape:?} along axis {axis}");
    }
    let starts = match call.optional(2) {
        Some(starts) => super::movement::sizes(&starts.ints()?)?,
        None => vec![0; shape[0]],
    };
    if starts.len() != shape[0] {
        refuse!("one start per batch ({} vs {})", starts.len(), shape[0]);
    }
    let (own, given) = (strides(&shape), strides(&new));
    let mut targets = Vec::with_capacity(update.len()?);
    for flat in 0..update.len()? {
        let at: Vec<usize> = (0..new.len()).map(|a| flat / given[a] % new[a]).collect();
        let mut place = at[axis] + starts[at[0]];
        if circular {
            place %= shape[axis].max(1);
        }
        if place >= shape[axis] {
            refuse!("an update goes beyond the end ({place} vs {})", shape[axis]);
        }
        targets.push((0..new.len()).map(|a| own[a] * if a == axis { place } else { at[a] }).sum());
    }
    one(put(x, &targets, update, "none")?)
}

fn unique(call: &Call) -> Result<Vec<Value>> {
    let x = Value::Host(call.input(0)?.host()?);
    let (x, axis) =
        if call.has("axis") { (x.clone(), x.axis(call.int("axis")?)?) } else { (x.reshape(&[x.len()?])?, 0) };
    // Every slice as a row that can be compared.
    let mut order: Vec<usize> = (0..x.rank()?).collect();
    order.remove(axis);
    order.insert(0, axis);
    let rows = x.permute(&order)?.host()?;
    let size = rows.shape[0];
    let width: usize = rows.shape[1..].iter().product();
    let compare = |a: usize, b: usize| match &rows.data {
        Data::Float(x) => {
            let pairs = x[a * width..][..width].iter().zip(&x[b * width..][..width]);
            pairs
                .map(|(x, y)| x.total_cmp(y))
                .find(|order| order.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        }
        Data::Int(x) => x[a * width..][..width].cmp(&x[b * width..][..width]),
        Data::Text(x) => x[a * width..][..width].cmp(&x[b * width..][..width]),
    };
    let mut sorted: Vec<usize> = (0..size).collect();
    sorted.sort_by(|&a, &b| compare(a, b));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in sorted {
        match groups.last_mut() {
            Some(group) if compare(group[0], place).is_eq() => group.push(place),
            _ => groups.push(vec![place]),
        }
    }
    if !call.flag("sorted")? {
        groups.sort_by_key(|group| group[0]);
    }
    let firsts: Vec<usize> = groups.iter().map(|group| group[0]).collect();
    let mut inverse = vec![0; size];
    groups
        .iter()
        .enumerate()
        .for_each(|(n, group)| group.iter().for_each(|&place| inverse[place] = n as i64));
    let list = |data: Vec<i64>| Value::from(Array::list(data));
    Ok(vec![
        x.take(axis, &firsts)?,
        list(firsts.iter().map(|&first| first as i64).collect()),
        list(inverse),
        list(groups.iter().map(|group| group.len() as i64).collect()),
    ])
}
