//! Ops on boxes: non-maximum suppression and region pooling. The host reads the boxes.

use super::Default::{Float, Int, Text};
use super::{Row, one, row};
use crate::array::{Array, count};
use crate::call::Call;
use crate::error::Result;
use crate::kind::Kind;
use crate::refuse;
use crate::value::Value;

pub const ROWS: &[Row] = &[
    row("NonMaxSuppression", (2, 5), &[("center_point_box", Int(0))], suppressed),
    row(
        "RoiAlign",
        (3, 3),
        &[
            ("coordinate_transformation_mode", Text("half_pixel")),
            ("mode", Text("avg")),
            ("output_height", Int(1)),
            ("output_width", Int(1)),
            ("sampling_ratio", Int(0)),
            ("spatial_scale", Float(1.0)),
        ],
        aligned,
    )
    .since(10),
];

/// A box by its corners: minimum and maximum along both axes.
fn corners(numbers: &[f64], centered: bool) -> [f64; 4] {
    let [a, b, c, d] = [numbers[0], numbers[1], numbers[2], numbers[3]];
    if centered {
        [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0]
    } else {
        [a.min(c), b.min(d), a.max(c), b.max(d)]
    }
}

/// Intersection over union of two boxes.
fn overlap(a: &[f64; 4], b: &[f64; 4]) -> f64 {
    let side = |axis: usize| a[axis + 2].min(b[axis + 2]) - a[axis].max(b[axis]);
    let area = |x: &[f64; 4]| (x[2] - x[0]) * (x[3] - x[1]);
    let common = side(0).max(0.0) * side(1).max(0.0);
    let whole = area(a) + area(b) - common;
    if common > 0.0 && whole > 0.0 { common / whole } else { 0.0 }
}

fn suppressed(call: &Call) -> Result<Vec<Value>> {
    let (boxes, scores) = (call.input(0)?, call.input(1)?);
    let ([batch, many, 4], [other, classes, same]) = (&boxes.shape()?[..], &scores.shape()?[..]) else {
        refuse!("boxes are [batch, boxes, 4], scores [batch, classes, boxes]: {:?}", boxes.shape()?);
    };
    if batch != other || many != same {
        refuse!("boxes and scores differ: {:?}, {:?}", boxes.shape()?, scores.shape()?);
    }
    let number = |place: usize| call.optional(place).map(|value| value.float()).transpose();
    let most = number(2)?.unwrap_or(0.0).max(0.0) as usize;
    let (limit, least) = (number(3)?.unwrap_or(0.0), number(4)?);
    let centered = call.flag("center_point_box")?;
    let (boxes, scores) = (boxes.floats()?, scores.floats()?);
    let mut chosen: Vec<i64> = Vec::new();
    for n in 0..*batch {
        let own: Vec<[f64; 4]> =
            (0..*many).map(|place| corners(&boxes[(n * many + place) * 4..][..4], centered)).collect();
        for class in 0..*classes {
            let score = |place: usize| scores[(n * classes + class) * many + place];
            let mut order: Vec<usize> =
                (0..*many).filter(|&place| least.is_none_or(|least| score(place) > least)).collect();
            order.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
            let mut kept: Vec<usize> = Vec::new();
            for place in order {
                if kept.len() == most {
                    break;
                }
                if kept.iter().all(|&other| overlap(&own[place], &own[other]) <= limit) {
                    kept.push(place);
                    chosen.extend([n as i64, class as i64, place as i64]);
                }
            }
        }
    }
    one(Array::ints(Kind::I64, vec![chosen.len() / 3, 3], chosen).into())
}

/// The four neighbors of a point of an image, with their weights; zero weights if it is outside.
fn neighbors(y: f64, x: f64, height: usize, width: usize) -> [(usize, f64); 4] {
    if y < -1.0 || y > height as f64 || x < -1.0 || x > width as f64 || y.is_nan() || x.is_nan() {
        return [(0, 0.0); 4];
    }
    let along = |at: f64, size: usize| {
        let low = (at.max(0.0) as usize).min(size - 1);
        let high = (low + 1).min(size - 1);
        (low, high, if low == high { 0.0 } else { at.max(0.0) - low as f64 })
    };
    let ((top, bottom, down), (left, right, over)) = (along(y, height), along(x, width));
    [
        (top * width + left, (1.0 - down) * (1.0 - over)),
        (top * width + right, (1.0 - down) * over),
        (bottom * width + left, down * (1.0 - over)),
        (bottom * width + right, down * over),
    ]
}

fn aligned(call: &Call) -> Result<Vec<Value>> {
    let (x, rois) = (call.input(0)?, call.input(1)?);
    let ([batch, channels, height, width], [many, 4]) = (&x.shape()?[..], &rois.shape()?[..]) else {
        refuse!(
            "an image with four axes and boxes of four numbers are needed: {:?}, {:?}",
            x.shape()?,
            rois.shape()?
        );
    };
    let (batch, channels, height, width, many) = (*batch, *channels, *height, *width, *many);
    let sizes = ["output_height", "output_width", "sampling_ratio"].map(|name| call.int(name));
    let [rows, columns, ratio] = sizes;
    let sizes = super::movement::sizes(&[rows?, columns?, ratio?])?;
    let [rows, columns, ratio] = [sizes[0], sizes[1], sizes[2]];
    let pictures = call.input(2)?.ints()?;
    if pictures.len() != many || pictures.iter().any(|&n| n < 0 || n >= batch as i64) || height * width == 0 {
        refuse!("boxes refer to missing images: {pictures:?} of {batch}");
    }
    let total = count(&[many, channels, rows, columns])?;
    let half = call.version >= 16 && call.text("coordinate_transformation_mode")? == "half_pixel";
    let (scale, largest) = (call.float("spatial_scale")?, call.text("mode")? == "max");
    let (kind, data, boxes) = (x.kind()?, x.floats()?, rois.floats()?);
    let mut result = Vec::with_capacity(total);
    for n in 0..many {
        let edge = |place: usize| boxes[n * 4 + place] * scale - if half { 0.5 } else { 0.0 };
        let (left, top) = (edge(0), edge(1));
        let side = |length: f64| if half { length } else { length.max(1.0) };
        let (wide, high) = (side(edge(2) - left), side(edge(3) - top));
        let points = |length: f64, bins: usize| {
            if ratio > 0 { ratio } else { (length / bins as f64).ceil().clamp(0.0, 4096.0) as usize }
        };
        let (down, over) = (points(high, rows), points(wide, columns));
        count(&[rows, columns, down, over])?;
        for channel in 0..channels {
            let picture =
                &data[(pictures[n] as usize * channels + channel) * height * width..][..height * width];
            for bin in 0..rows * columns {
                let at = |start: f64, length: f64, bins: usize, bin: usize, point: usize, points: usize| {
                    start + length / bins as f64 * (bin as f64 + (point as f64 + 0.5) / points as f64)
                };
                let near = (0..down * over).map(|point| {
                    let y = at(top, high, rows, bin / columns, point / over, down);
                    let x = at(left, wide, columns, bin % columns, point % over, over);
                    neighbors(y, x, height, width).map(|(place, weight)| weight * picture[place])
                });
                result.push(if largest {
                    near.flatten().reduce(f64::max).unwrap_or(0.0)
                } else {
                    near.flatten().sum::<f64>() / (down * over).max(1) as f64
                });
            }
        }
    }
    one(Value::from(Array::floats(kind, vec![many, channels, rows, columns], result)).on(call.device)?)
}
