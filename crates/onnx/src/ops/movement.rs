//! Ops that move elements: reshape, transpose, slices, padding, blocks.

use super::Default::{AFloat, AnInt, Int, Ints, Text};
use super::{MANY, Row, one, row};
use crate::call::Call;
use crate::error::Result;
use crate::refuse;
use crate::value::{Value, resolve};

pub const ROWS: &[Row] = &[
    row("Identity", (1, 1), &[], |call| one(call.input(0)?.clone())),
    row("Reshape", (2, 2), &[("allowzero", Int(0))], |call| {
        let x = call.input(0)?;
        let shape = reshaped(&x.shape()?, &call.input(1)?.ints()?, call.flag("allowzero")?)?;
        one(x.reshape(&shape)?)
    }),
    row("Flatten", (1, 1), &[("axis", Int(1))], |call| {
        let x = call.input(0)?;
        let (shape, axis) = (x.shape()?, call.int("axis")?);
        let axis = if axis == shape.len() as i64 { shape.len() } else { x.axis(axis)? };
        one(x.reshape(&[shape[..axis].iter().product(), shape[axis..].iter().product()])?)
    }),
    row("Squeeze", (1, 2), &[("axes", Ints)], |call| {
        let x = call.input(0)?;
        let shape = x.shape()?;
        let axes: Vec<usize> = match call.axes("axes", 1)? {
            Some(axes) => axes.iter().map(|&axis| x.axis(axis)).collect::<Result<_>>()?,
            None => (0..shape.len()).filter(|&axis| shape[axis] == 1).collect(),
        };
        if let Some(&axis) = axes.iter().find(|&&axis| shape[axis] != 1) {
            refuse!("only axes of size one can be removed: {shape:?} axis {axis} ({} vs 1)", shape[axis]);
        }
        let left: Vec<usize> =
            (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect();
        one(x.reshape(&left)?)
    }),
    row("Unsqueeze", (1, 2), &[("axes", Ints)], |call| {
        let x = call.input(0)?;
        let Some(axes) = call.axes("axes", 1)? else { refuse!("axes are missing") };
        let rank = x.rank()? + axes.len();
        let mut places = axes.iter().map(|&axis| resolve(axis, rank)).collect::<Result<Vec<usize>>>()?;
        places.sort_unstable();
        let mut shape = x.shape()?;
        for place in places {
            if place > shape.len() {
                refuse!("an axis is named twice: {axes:?}");
            }
            shape.insert(place, 1);
        }
        one(x.reshape(&shape)?)
    }),
    row("Transpose", (1, 1), &[("perm", Ints)], |call| {
        let x = call.input(0)?;
        let rank = x.rank()?;
        let order = match call.ints("perm") {
            Some(order) => order.iter().map(|&axis| resolve(axis, rank)).collect::<Result<Vec<usize>>>()?,
            None => (0..rank).rev().collect(),
        };
        one(x.permute(&order)?)
    }),
    row("Expand", (2, 2), &[], |call| {
        let x = call.input(0)?;
        let shape = sizes(&call.input(1)?.ints()?)?;
        one(x.spread(&crate::host::broadcast(&x.shape()?, &shape)?)?)
    }),
    row("Tile", (2, 2), &[], |call| {
        let x = call.input(0)?;
        let (shape, repeats) = (x.shape()?, sizes(&call.input(1)?.ints()?)?);
        if repeats.len() != shape.len() {
            refuse!("one count per axis: {shape:?} ({} vs {})", repeats.len(), shape.len());
        }
        let whole: Vec<usize> =
            shape.iter().zip(&repeats).map(|(&size, &n)| size.saturating_mul(n)).collect();
        if whole.contains(&0) {
            return one(x.full_like(&whole, 0.0)?);
        }
        let mut y = x.clone();
        // One axis at a time, so that the rank stays small.
        for (axis, &times) in repeats.iter().enumerate().filter(|(_, times)| **times > 1) {
            y = Value::concat(&vec![y.clone(); times.min(1 << 16)], axis)?;
        }
        if y.shape()? != whole {
            refuse!("too many copies: {repeats:?}");
        }
        one(y)
    }),
    row("Concat", (1, MANY), &[("axis", Int(1))], |call| {
        let parts = call.all()?;
        one(Value::concat(&parts, parts[0].axis(call.int("axis")?)?)?)
    }),
    row("Split", (1, 2), &[("axis", Int(0)), ("split", Ints), ("num_outputs", AnInt)], |call| {
        let x = call.input(0)?;
        let axis = x.axis(call.int("axis")?)?;
        let size = x.size(axis)?;
        let sizes = match call.axes("split", 1)? {
            Some(sizes) => self::sizes(&sizes)?,
            None => {
                let count = call.wanted.len().max(1);
                let each = size.div_ceil(count);
                (0..count).map(|place| each.min(size.saturating_sub(each * place))).collect()
            }
        };
        if sizes.iter().try_fold(0usize, |sum, &part| sum.checked_add(part)) != Some(size) {
            refuse!("sizes of the parts do not add up: {sizes:?} ({size})");
        }
        let mut start = 0;
        let mut parts = Vec::new();
        for part in sizes {
            parts.push(x.narrow(axis, start, part)?);
            start += part;
        }
        Ok(parts)
    }),
    row("Slice", (1, 5), &[("axes", Ints), ("starts", Ints), ("ends", Ints)], slice),
    row("Pad", (1, 4), &[("mode", Text("constant")), ("pads", Ints), ("value", AFloat)], pad).fixed(&[2]),
    row("DepthToSpace", (1, 1), &[("blocksize", AnInt), ("mode", Text("DCR"))], |call| {
        let x = call.input(0)?;
        let (n, c, h, w, block) = picture(call)?;
        if block == 0 || !c.is_multiple_of(block * block) {
            refuse!("blocks do not divide the channels ({c} vs {})", block * block);
        }
        let c = c / block / block;
        let moved = match call.text("mode")? {
            "DCR" => x.reshape(&[n, block, block, c, h, w])?.permute(&[0, 3, 4, 1, 5, 2])?,
            _ => x.reshape(&[n, c, block, block, h, w])?.permute(&[0, 1, 4, 2, 5, 3])?,
        };
        one(moved.reshape(&[n, c, h * block, w * block])?)
    }),
    row("SpaceToDepth", (1, 1), &[("blocksize", AnInt), ("mode", Text("DCR"))], |call| {
        let (n, c, h, w, block) = picture(call)?;
        if block == 0 || !h.is_multiple_of(block) || !w.is_multiple_of(block) {
            refuse!("blocks do not divide the image ({h} × {w} by {block})");
        }
        let (h, w) = (h / block, w / block);
        let x = call.input(0)?.reshape(&[n, c, h, block, w, block])?;
        let order = if call.text("mode")? == "DCR" { [0, 3, 5, 1, 2, 4] } else { [0, 1, 3, 5, 2, 4] };
        one(x.permute(&order)?.reshape(&[n, c * block * block, h, w])?)
    }),
    row("CenterCropPad", (2, 2), &[("axes", Ints)], |call| {
        let x = call.input(0)?;
        let wanted = sizes(&call.input(1)?.ints()?)?;
        let axes = match call.ints("axes") {
            Some(axes) => axes.iter().map(|&axis| x.axis(axis)).collect::<Result<Vec<usize>>>()?,
            None => (0..x.rank()?).collect(),
        };
        if axes.len() != wanted.len() {
            refuse!("one size per axis ({} vs {})", wanted.len(), axes.len());
        }
        let mut widths = vec![(0, 0); x.rank()?];
        for (&axis, &wanted) in axes.iter().zip(&wanted) {
            let missing = wanted as i64 - x.size(axis)? as i64;
            let before = missing.div_euclid(2);
            let before = if missing < 0 { -((-missing) / 2) } else { before };
            widths[axis] = (before, missing - before);
        }
        one(x.pad(&widths, 0.0)?)
    }),
];

/// Sizes, checked to be nonnegative.
pub fn sizes(list: &[i64]) -> Result<Vec<usize>> {
    let mut sizes = Vec::with_capacity(list.len());
    for &size in list {
        match usize::try_from(size) {
            Ok(size) if size <= 1 << 40 => sizes.push(size),
            _ => refuse!("not a size: {size} in {list:?}"),
        }
    }
    Ok(sizes)
}

fn reshaped(own: &[usize], wanted: &[i64], zero: bool) -> Result<Vec<usize>> {
    let mut shape = Vec::with_capacity(wanted.len());
    let mut free = None;
    for (place, &size) in wanted.iter().enumerate() {
        match size {
            -1 if free.is_none() => {
                free = Some(place);
                shape.push(1);
            }
            0 if !zero => match own.get(place) {
                Some(&size) => shape.push(size),
                None => refuse!("no axis {place} to copy the size from: {own:?} as {wanted:?}"),
            },
            _ => shape.extend(sizes(&[size])?),
        }
    }
    if let Some(place) = free {
        let (count, others): (usize, usize) = (
            own.iter().product(),
            shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)).unwrap_or(0),
        );
        if others == 0 || count % others != 0 {
            refuse!("element counts differ: {own:?} as {wanted:?} ({count} vs {others})");
        }
        shape[place] = count / others;
    }
    Ok(shape)
}

fn picture(call: &Call) -> Result<(usize, usize, usize, usize, usize)> {
    let shape = call.input(0)?.shape()?;
    let block = call.int("blocksize")?;
    let [n, c, h, w] = shape[..] else { refuse!("four axes are needed: {shape:?}") };
    match usize::try_from(block) {
        Ok(block) if block < 1 << 16 => Ok((n, c, h, w, block)),
        _ => refuse!("not a block size: {block}"),
    }
}

fn slice(call: &Call) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let shape = x.shape()?;
    let (Some(starts), Some(ends)) = (call.axes("starts", 1)?, call.axes("ends", 2)?) else {
        refuse!("starts or ends are missing");
    };
    let axes = call.axes("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = match call.optional(4) {
        Some(steps) => steps.ints()?,
        None => vec![1; starts.len()],
    };
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        refuse!("starts, ends, axes and steps differ in number");
    }
    let (mut from, mut by, mut count) = (vec![0; shape.len()], vec![1; shape.len()], shape.clone());
    for place in 0..starts.len() {
        let axis = x.axis(axes[place])?;
        let (size, step) = (shape[axis] as i64, steps[place]);
        if step == 0 {
            refuse!("a step is zero");
        }
        let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
        let inside = |at: i64| (if at < 0 { at.saturating_add(size) } else { at }).clamp(low, high);
        let (start, end) = (inside(starts[place]), inside(ends[place]));
        let distance = if step > 0 { end - start } else { start - end };
        let width = step.unsigned_abs().min(i64::MAX as u64) as i64;
        count[axis] = if distance <= 0 { 0 } else { (distance as u64).div_ceil(width as u64) as usize };
        from[axis] = start.max(0) as usize;
        by[axis] = if count[axis] <= 1 { 1 } else { step as isize };
    }
    one(x.slice(&from, &by, &count)?)
}

fn pad(call: &Call) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let rank = x.rank()?;
    let Some(pads) = call.axes("pads", 1)? else { refuse!("pads are missing") };
    let axes = match call.optional(3) {
        Some(axes) => axes.ints()?.iter().map(|&axis| x.axis(axis)).collect::<Result<Vec<usize>>>()?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        refuse!("two widths per axis ({} vs {})", pads.len(), 2 * axes.len());
    }
    let mut widths = vec![(0, 0); rank];
    for (place, &axis) in axes.iter().enumerate() {
        let (before, after) = (pads[place], pads[place + axes.len()]);
        if before.max(after) > 1 << 40 || before.min(after) < -(1 << 40) {
            refuse!("too much padding around axis {axis} ({before}, {after})");
        }
        widths[axis] = (before, after);
    }
    let mode = call.text("mode")?;
    if mode == "constant" {
        let number = match call.optional(2) {
            Some(value) => value.float()?,
            None if call.has("value") => call.float("value")?,
            None => 0.0,
        };
        return one(x.pad(&widths, number)?);
    }
    let mut y = x.clone();
    for (axis, &(before, after)) in widths.iter().enumerate() {
        if (before, after) == (0, 0) {
            continue;
        }
        let size = y.size(axis)? as i64;
        if size == 0 {
            refuse!("nothing to repeat along axis {axis}");
        }
        let period = 2 * (size - 1).max(1);
        crate::value::shape_of(&[(size + before + after).max(0) as usize])?;
        let place = |at: i64| match mode {
            "edge" => Ok(at.clamp(0, size - 1) as usize),
            "wrap" => Ok(at.rem_euclid(size) as usize),
            "reflect" => {
                let at = at.rem_euclid(period);
                Ok((if at < size { at } else { period - at }).min(size - 1) as usize)
            }
            other => refuse!("no such mode: {other}"),
        };
        let places = (-before..size + after).map(place).collect::<Result<Vec<usize>>>()?;
        y = y.take(axis, &places)?;
    }
    one(y)
}
