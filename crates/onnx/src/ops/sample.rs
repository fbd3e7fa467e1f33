//! Ops that sample images between pixels: grid sampling, and deformable convolutions.
//!
//! Positions are floats on the device. Each point is a weighted sum of its neighbors, so gradients reach the
//! image and the positions.

use farad_tensor::{DType, Tensor};

use super::Default::{Int, Ints, Text};
use super::{Row, one, row};
use crate::array::Array;
use crate::call::Call;
use crate::error::Result;
use crate::kind::Kind;
use crate::refuse;
use crate::value::{Value, shape_of};

pub const ROWS: &[Row] = &[
    row(
        "GridSample",
        (2, 2),
        &[("align_corners", Int(0)), ("mode", Text("linear")), ("padding_mode", Text("zeros"))],
        grid_sample,
    )
    .since(16),
    row(
        "DeformConv",
        (3, 5),
        &[
            ("dilations", Ints),
            ("group", Int(1)),
            ("kernel_shape", Ints),
            ("offset_group", Int(1)),
            ("pads", Ints),
            ("strides", Ints),
        ],
        deform_conv,
    )
    .since(19),
];

/// How pixels outside of the image are handled.
#[derive(Clone, Copy, PartialEq)]
enum Outside {
    Zeros,
    Border,
    Reflection,
}

/// How a point is interpolated from its neighbors.
#[derive(Clone, Copy, PartialEq)]
enum Between {
    Nearest,
    Linear,
    Cubic,
}

/// How an axis of an image is sampled.
struct SampleAxis {
    size: usize,
    /// Where reflections occur.
    ends: (f64, f64),
    outside: Outside,
    between: Between,
}

impl SampleAxis {
    /// Moves positions outside of the image inside.
    fn inside(&self, at: &Tensor) -> Tensor {
        let (low, high) = self.ends;
        let moved = match self.outside {
            Outside::Zeros => return at.clone(),
            Outside::Border => at.maximum(0.0).minimum((self.size - 1) as f64),
            Outside::Reflection if high <= low => at.full_like(low),
            Outside::Reflection => {
                let turn = (at - low).abs().remainder(2.0 * (high - low));
                turn.minimum(&(2.0 * (high - low) - &turn)) + low
            }
        };
        at.less(low).or(at.greater(high)).select(&moved, at)
    }

    /// The neighbors of positions, with their weights.
    fn neighbors(&self, at: &Tensor) -> Vec<(Tensor, Tensor)> {
        let at = if self.between == Between::Nearest { at.round() } else { at.clone() };
        // For cubic interpolation only the neighbors are moved inside, as in PyTorch.
        let at = if self.between == Between::Cubic { at } else { self.inside(&at) };
        let low = at.floor();
        let rest = &at - &low;
        let weights = match self.between {
            Between::Nearest => vec![(0.0, at.full_like(1.0))],
            Between::Linear => vec![(0.0, 1.0 - &rest), (1.0, rest)],
            Between::Cubic => {
                let near = |x: &Tensor| (x * 1.25 - 2.25) * x * x + 1.0;
                let far = |x: &Tensor| ((x * -0.75 + 3.75) * x - 6.0) * x + 3.0;
                let back = 1.0 - &rest;
                vec![
                    (-1.0, far(&(&rest + 1.0))),
                    (0.0, near(&rest)),
                    (1.0, near(&back)),
                    (2.0, far(&(&back + 1.0))),
                ]
            }
        };
        let last = (self.size - 1) as f64;
        let neighbor = |(step, weight): (f64, Tensor)| {
            let place = self.inside(&(&low + step));
            let weight = match self.outside {
                Outside::Zeros => {
                    let seen = place.greater_equal(0.0).and(place.less_equal(last));
                    seen.select(&weight, &weight.full_like(0.0))
                }
                _ => weight,
            };
            (place.maximum(0.0).minimum(last).cast(DType::I32), weight)
        };
        weights.into_iter().map(neighbor).collect()
    }
}

/// An image `[batch, channels, space]` sampled at positions `[batch, 1, points]` per axis:
/// `[batch, channels, points]`.
fn sample(x: &Tensor, axes: &[SampleAxis], at: &[Tensor]) -> Tensor {
    // Positions in the flattened image and weights, one axis after another.
    let mut points: Option<Vec<(Tensor, Tensor)>> = None;
    for (axis, at) in axes.iter().zip(at) {
        let neighbors = axis.neighbors(at);
        points = Some(match points {
            None => neighbors,
            Some(so_far) => so_far
                .iter()
                .flat_map(|(place, weight)| {
                    neighbors.iter().map(move |(next, own)| (place * axis.size as i32 + next, weight * own))
                })
                .collect(),
        });
    }
    let mut sum: Option<Tensor> = None;
    for (place, weight) in points.unwrap_or_default() {
        let part = x.gather(2, &place) * weight.cast(x.dtype());
        sum = Some(sum.map_or(part.clone(), |sum| sum + part));
    }
    sum.unwrap_or_else(|| x.clone())
}

/// A float operand that devices support, by index.
fn floats(call: &Call, place: usize) -> Result<(Tensor, Vec<usize>)> {
    match call.on_device(place)? {
        Value::Device(tensor, Kind::F32 | Kind::F16) => {
            let shape = tensor.shape().to_vec();
            Ok((tensor, shape))
        }
        other => refuse!("sampling needs floats of 16 or 32 bits ({})", other.kind()?),
    }
}

fn grid_sample(call: &Call) -> Result<Vec<Value>> {
    let ((x, shape), (grid, points)) = (floats(call, 0)?, floats(call, 1)?);
    let space = shape.len().saturating_sub(2);
    if !(1..=3).contains(&space)
        || points.len() != space + 2
        || points[space + 1] != space
        || points[0] != shape[0]
        || shape.contains(&0)
        || points.contains(&0)
    {
        refuse!("a grid does not match: {points:?} for {shape:?}");
    }
    let outside = match call.text("padding_mode")? {
        "zeros" => Outside::Zeros,
        "border" => Outside::Border,
        "reflection" => Outside::Reflection,
        other => refuse!("no such padding: {other}"),
    };
    let between = match call.text("mode")? {
        "nearest" => Between::Nearest,
        "linear" | "bilinear" => Between::Linear,
        "cubic" | "bicubic" => Between::Cubic,
        other => refuse!("no such mode: {other}"),
    };
    let corners = call.flag("align_corners")?;
    let count: usize = points[1..=space].iter().product();
    let result: Vec<usize> = shape[..2].iter().chain(&points[1..=space]).copied().collect();
    shape_of(&result)?;
    let grid = grid.cast(DType::F32).reshape([points[0], count, space]);
    let (mut axes, mut places) = (Vec::new(), Vec::new());
    for axis in 0..space {
        let size = shape[axis + 2];
        // The last coordinate of a point belongs to the first axis.
        let n = grid.narrow(2, space - 1 - axis, 1).reshape([points[0], 1, count]);
        let (ends, at) = if corners {
            ((0.0, size as f64 - 1.0), (n + 1.0) * (0.5 * (size as f64 - 1.0)))
        } else {
            ((-0.5, size as f64 - 0.5), ((n + 1.0) * size as f64 - 1.0) * 0.5)
        };
        axes.push(SampleAxis { size, ends, outside, between });
        places.push(at);
    }
    let flat = x.reshape([shape[0], shape[1], shape[2..].iter().product()]);
    let y = sample(&flat, &axes, &places);
    one(Value::of(y.reshape(result)))
}

fn deform_conv(call: &Call) -> Result<Vec<Value>> {
    let ((x, shape), (weight, kernel), (offset, offsets)) =
        (floats(call, 0)?, floats(call, 1)?, floats(call, 2)?);
    let numbers = |name: &str, count: usize, default: i64| -> Result<Vec<usize>> {
        let list = super::movement::sizes(call.ints(name).unwrap_or(&vec![default; count]))?;
        if list.len() != count || list.iter().any(|&n| n > 1 << 16) {
            refuse!("{name} do not match: {list:?}");
        }
        Ok(list)
    };
    let ([n, channels, height, width], [outputs, own, rows, columns]) = (&shape[..], &kernel[..]) else {
        refuse!("four axes are needed: {shape:?}, {kernel:?}");
    };
    let (n, channels, height, width) = (*n, *channels, *height, *width);
    let (outputs, own, rows, columns) = (*outputs, *own, *rows, *columns);
    let (strides, dilations, pads) =
        (numbers("strides", 2, 1)?, numbers("dilations", 2, 1)?, numbers("pads", 4, 0)?);
    let groups = super::movement::sizes(&[call.int("group")?, call.int("offset_group")?])?;
    let ([group, parts], taps) = ([groups[0], groups[1]], rows * columns);
    if group == 0 || parts == 0 || strides.contains(&0) || taps == 0 || taps > 1 << 10 || shape.contains(&0) {
        refuse!("sizes do not match: {shape:?}, {kernel:?}");
    }
    let out = |axis: usize, size: usize, taps: usize| {
        let reach = dilations[axis] * (taps - 1) + 1;
        (size + pads[axis] + pads[axis + 2]).checked_sub(reach).map(|room| room / strides[axis] + 1)
    };
    let (Some(high), Some(wide)) = (out(0, height, rows), out(1, width, columns)) else {
        refuse!("the kernel does not fit: {shape:?}, {kernel:?}");
    };
    let mask = if call.optional(4).is_some() { Some(floats(call, 4)?) } else { None };
    if own * group != channels
        || outputs % group != 0
        || channels % parts != 0
        || offsets != [n, parts * taps * 2, high, wide]
        || mask.as_ref().is_some_and(|(_, shape)| *shape != [n, parts * taps, high, wide])
    {
        refuse!("offsets do not match: {offsets:?} for {shape:?}, {kernel:?} in {group} groups");
    }
    let count = high * wide;
    shape_of(&[n, channels, taps, count])?;
    let (x, offset) =
        (x.reshape([n, channels, height * width]), offset.reshape([n, parts * taps * 2, count]));
    let axis = |size: usize| SampleAxis {
        size,
        ends: (0.0, size as f64 - 1.0),
        outside: Outside::Zeros,
        between: Between::Linear,
    };
    let axes = [axis(height), axis(width)];
    let mut windows = Vec::new();
    for part in 0..parts {
        let own = x.narrow(1, part * (channels / parts), channels / parts);
        let mut read = Vec::new();
        for tap in 0..taps {
            let place = part * taps + tap;
            let at = [0, 1].map(|axis| {
                let base = base(axis, tap, columns, (&strides, &dilations, &pads), (high, wide));
                let base = Array::floats(Kind::F32, vec![1, 1, count], base);
                let moved = offset.narrow(1, 2 * place + axis, 1).cast(DType::F32);
                base.upload(x.device()).map(|base| base + moved)
            });
            let [rows, columns] = at;
            let mut y = sample(&own, &axes, &[rows?, columns?]);
            if let Some((mask, _)) = &mask {
                y = y * mask.reshape([n, parts * taps, count]).narrow(1, place, 1);
            }
            read.push(y.unsqueeze(2));
        }
        windows.push(Tensor::concat(&read.iter().collect::<Vec<_>>(), 2));
    }
    let windows =
        Tensor::concat(&windows.iter().collect::<Vec<_>>(), 1).reshape([n, group, own * taps, count]);
    let y = weight.reshape([group, outputs / group, own * taps]).matmul(&windows);
    let y = Value::of(y.reshape([n, outputs, high, wide]));
    match call.optional(3) {
        Some(bias) => one(y.add(&bias.reshape(&[1, outputs, 1, 1])?)?),
        None => one(y),
    }
}

/// The position that a tap of a window reads along an axis before its offset, for every output.
fn base(
    axis: usize,
    tap: usize,
    columns: usize,
    (strides, dilations, pads): (&[usize], &[usize], &[usize]),
    (high, wide): (usize, usize),
) -> Vec<f64> {
    let step = if axis == 0 { tap / columns } else { tap % columns };
    let at = |output: usize| {
        let along = if axis == 0 { output / wide } else { output % wide };
        (along * strides[axis] + step * dilations[axis]) as f64 - pads[axis] as f64
    };
    (0..high * wide).map(at).collect()
}
