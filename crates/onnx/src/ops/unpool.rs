//! Ops that invert windows: max unpooling, and images from columns.

use super::Default::Ints;
use super::{Row, one, row};
use crate::array::{Array, Data, count};
use crate::call::Call;
use crate::error::Result;
use crate::host::strides;
use crate::kind::Kind;
use crate::movement::NONE;
use crate::refuse;
use crate::value::Value;

pub const ROWS: &[Row] = &[
    row("MaxUnpool", (2, 3), &[("kernel_shape", Ints), ("pads", Ints), ("strides", Ints)], max_unpool),
    row("Col2Im", (3, 3), &[("dilations", Ints), ("pads", Ints), ("strides", Ints)], col2im),
];

fn numbers(call: &Call, name: &str, count: usize, default: i64) -> Result<Vec<usize>> {
    let list = super::movement::sizes(call.ints(name).unwrap_or(&vec![default; count]))?;
    if list.len() != count || list.iter().any(|&n| n > 1 << 24) {
        refuse!("{name} do not match ({} vs {count})", list.len());
    }
    Ok(list)
}

fn max_unpool(call: &Call) -> Result<Vec<Value>> {
    let (x, places) = (call.input(0)?, call.input(1)?);
    let shape = x.shape()?;
    let Some(kernel) = call.ints("kernel_shape") else { refuse!("kernel_shape is missing") };
    let (kernel, axes) = (super::movement::sizes(kernel)?, kernel.len());
    if shape.len() != axes + 2 || places.shape()? != shape || shape.contains(&0) {
        refuse!("positions do not match: {:?} for {shape:?}", places.shape()?);
    }
    let (steps, pads) = (numbers(call, "strides", axes, 1)?, numbers(call, "pads", 2 * axes, 0)?);
    let mut whole = shape[..2].to_vec();
    for axis in 0..axes {
        let grown = (shape[axis + 2] - 1).saturating_mul(steps[axis]).saturating_add(kernel[axis]);
        let Some(size) = grown.checked_sub(pads[axis] + pads[axis + axes]) else {
            refuse!("pads are larger than the result: {pads:?}");
        };
        whole.push(size);
    }
    let mut from = vec![NONE; count(&whole)?];
    for (n, at) in places.ints()?.into_iter().enumerate() {
        match usize::try_from(at).ok().and_then(|at| from.get_mut(at)) {
            Some(place) => *place = n,
            None => refuse!("a position out of range: {at} of {whole:?}"),
        }
    }
    let y = x.pick(&whole, &from)?;
    let Some(wanted) = call.optional(2) else { return one(y) };
    let wanted = super::movement::sizes(&wanted.ints()?)?;
    if wanted.len() != whole.len() {
        refuse!("the shape of the result does not match: {wanted:?} for {whole:?}");
    }
    let more = wanted.iter().zip(&whole).map(|(&wanted, &own)| (0, wanted as i64 - own as i64));
    one(y.pad(&more.collect::<Vec<_>>(), 0.0)?)
}

fn col2im(call: &Call) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let (image, block) =
        (super::movement::sizes(&call.input(1)?.ints()?)?, super::movement::sizes(&call.input(2)?.ints()?)?);
    let (axes, taps) = (image.len(), count(&block)?);
    let [n, rows, columns] = x.shape()?[..] else { refuse!("three axes are needed: {:?}", x.shape()?) };
    let (steps, dilations, pads) = (
        numbers(call, "strides", axes, 1)?,
        numbers(call, "dilations", axes, 1)?,
        numbers(call, "pads", 2 * axes, 0)?,
    );
    if axes == 0
        || block.len() != axes
        || taps == 0
        || taps > 1 << 12
        || rows % taps != 0
        || steps.contains(&0)
    {
        refuse!("blocks do not match: {block:?} for {:?}", x.shape()?);
    }
    let mut windows = Vec::new();
    for axis in 0..axes {
        let reach = dilations[axis].saturating_mul(block[axis] - 1).saturating_add(1);
        match (image[axis] + pads[axis] + pads[axis + axes]).checked_sub(reach) {
            Some(room) => windows.push(room / steps[axis] + 1),
            None => refuse!("the block does not fit: {block:?} in {image:?}"),
        }
    }
    if count(&windows)? != columns {
        refuse!("columns do not match: {columns} vs {windows:?}");
    }
    let (channels, space) = (rows / taps, count(&image)?);
    let x = x.reshape(&[n, channels, taps, columns])?;
    let (of_image, of_block, of_windows) = (strides(&image), strides(&block), strides(&windows));
    let mut sum: Option<Value> = None;
    for tap in 0..taps {
        // At this offset in the block, every pixel is in at most one window.
        let window = |point: usize| {
            let mut flat = 0;
            for axis in 0..axes {
                let at = point / of_image[axis] % image[axis] + pads[axis];
                let moved = at.checked_sub(tap / of_block[axis] % block[axis] * dilations[axis])?;
                if moved % steps[axis] != 0 || moved / steps[axis] >= windows[axis] {
                    return None;
                }
                flat += moved / steps[axis] * of_windows[axis];
            }
            Some(flat)
        };
        let places: Vec<usize> = (0..space).map(|point| window(point).unwrap_or(columns)).collect();
        let part = x.at(2, tap)?.pad(&[(0, 0), (0, 0), (0, 1)], 0.0)?.take(2, &places)?;
        sum = Some(sum.map_or(Ok(part.clone()), |sum| sum.add(&part))?);
    }
    match sum {
        Some(sum) => one(sum.reshape(&[&[n, channels], &image[..]].concat())?),
        None => refuse!("a block has no elements"),
    }
}

/// The position of the largest element of each window in the whole input. `taps` returns the positions of a
/// window in the spatial axes, with `None` where it extends outside.
pub fn largest(
    x: &Value,
    outputs: &[usize],
    by_columns: bool,
    taps: impl Fn(usize) -> Vec<Option<usize>>,
) -> Result<Value> {
    let (array, shape) = (x.host()?, x.shape()?);
    let space: usize = shape[2..].iter().product();
    let data: Vec<f64> = match &array.data {
        Data::Int(data) => data.iter().map(|&x| x as f64).collect(),
        _ => array.to_floats()?,
    };
    let windows = count(outputs)?;
    let result = [&shape[..2], outputs].concat();
    let mut places = Vec::with_capacity(count(&result)?);
    let own = strides(&shape[2..]);
    // A position counted with the first spatial axis fastest.
    let turned = |place: usize| {
        let (mut flat, mut width) = (0, 1);
        for axis in 0..own.len() {
            flat += place / own[axis] % shape[axis + 2] * width;
            width *= shape[axis + 2];
        }
        flat
    };
    let all: Vec<Vec<Option<usize>>> = (0..windows).map(taps).collect();
    for slab in 0..shape[0] * shape[1] {
        for window in &all {
            let value = |place: usize| data[slab * space + place];
            let inside = window.iter().flatten().copied();
            // The first of equal elements.
            let best = inside.reduce(|best, place| if value(place) > value(best) { place } else { best });
            let Some(best) = best else { refuse!("a window lies completely outside") };
            places.push((slab * space + if by_columns { turned(best) } else { best }) as i64);
        }
    }
    Ok(Array::ints(Kind::I64, result, places).into())
}
