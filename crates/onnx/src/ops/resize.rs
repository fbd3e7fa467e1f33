//! Resize: along every axis, a product with a matrix of weights, or a gather of the nearest positions.

use super::Default::{Float, Floats, Int, Ints, Text};
use super::{Row, one, row};
use crate::array::Array;
use crate::call::Call;
use crate::error::Result;
use crate::refuse;
use crate::value::Value;

pub const ROWS: &[Row] = &[
    row(
        "Resize",
        (2, 4),
        &[
            ("antialias", Int(0)),
            ("axes", Ints),
            ("coordinate_transformation_mode", Text("half_pixel")),
            ("cubic_coeff_a", Float(-0.75)),
            ("exclude_outside", Int(0)),
            ("extrapolation_value", Float(0.0)),
            ("keep_aspect_ratio_policy", Text("stretch")),
            ("mode", Text("nearest")),
            ("nearest_mode", Text("round_prefer_floor")),
        ],
        resize,
    )
    .fixed(&[1, 2]),
    row("Upsample", (1, 2), &[("mode", Text("nearest")), ("scales", Floats)], |call| {
        let x = call.input(0)?;
        let scales = match call.optional(1) {
            Some(scales) => scales.floats()?,
            None => call.floats("scales").map(|scales| scales.to_vec()).unwrap_or_default(),
        };
        if scales.len() != x.rank()? {
            refuse!("one scale per axis ({} vs {})", scales.len(), x.rank()?);
        }
        let mut y = x.clone();
        for (axis, &scale) in scales.iter().enumerate() {
            let size = y.size(axis)?;
            let axis_of =
                ResizeAxis { size, scale, target: size_of(size as f64 * scale)?, region: (0.0, 1.0) };
            let rule = ResizeRule {
                coordinates: "asymmetric",
                mode: call.text("mode")?,
                nearest: "floor",
                ..ResizeRule::plain()
            };
            y = rule.apply(&y, axis, &axis_of)?;
        }
        one(y)
    })
    .fixed(&[1]),
];

/// One axis: its size, its scale, its target size, and the region that is used.
struct ResizeAxis {
    size: usize,
    scale: f64,
    target: usize,
    region: (f64, f64),
}

struct ResizeRule<'a> {
    coordinates: &'a str,
    mode: &'a str,
    nearest: &'a str,
    cubic: f64,
    inside_only: bool,
    antialias: bool,
    outside: f64,
}

fn size_of(size: f64) -> Result<usize> {
    if !(0.0..1e9).contains(&size) {
        refuse!("not a size: {size}");
    }
    Ok(size.floor() as usize)
}

impl ResizeRule<'_> {
    fn plain() -> ResizeRule<'static> {
        ResizeRule {
            coordinates: "half_pixel",
            mode: "nearest",
            nearest: "round_prefer_floor",
            cubic: -0.75,
            inside_only: false,
            antialias: false,
            outside: 0.0,
        }
    }

    /// The position of an output element in the input; `None` outside of the region.
    fn place(&self, axis: &ResizeAxis, at: usize) -> Result<Option<f64>> {
        let (x, size, scale) = (at as f64, axis.size as f64, axis.scale);
        let width = scale * size;
        Ok(Some(match self.coordinates {
            "align_corners" if width == 1.0 => 0.0,
            "align_corners" => x * (size - 1.0) / (width - 1.0),
            "asymmetric" => x / scale,
            "pytorch_half_pixel" if width == 1.0 => -0.5,
            "pytorch_half_pixel" | "half_pixel" => (x + 0.5) / scale - 0.5,
            "half_pixel_symmetric" => {
                size / 2.0 * (1.0 - axis.target as f64 / width) + (x + 0.5) / scale - 0.5
            }
            "tf_crop_and_resize" => {
                let (start, end) = axis.region;
                let own = match width {
                    1.0 => (end - start) * (size - 1.0) / 2.0,
                    _ => x * (end - start) * (size - 1.0) / (width - 1.0),
                } + start * (size - 1.0);
                if own < 0.0 || own > size - 1.0 {
                    return Ok(None);
                }
                own
            }
            other => refuse!("no such coordinate mode: {other}"),
        }))
    }

    /// The nearest element.
    fn nearest(&self, place: f64, size: usize) -> Result<usize> {
        let low = place.floor();
        let rest = place - low;
        let at = match self.nearest {
            _ if rest == 0.0 => low,
            "round_prefer_floor" => {
                if rest <= 0.5 {
                    low
                } else {
                    low + 1.0
                }
            }
            "round_prefer_ceil" => {
                if rest < 0.5 {
                    low
                } else {
                    low + 1.0
                }
            }
            "floor" => low,
            "ceil" => low + 1.0,
            other => refuse!("no such rounding mode: {other}"),
        };
        Ok(at.clamp(0.0, size as f64 - 1.0) as usize)
    }

    /// The weight of an element at this distance.
    fn weight(&self, distance: f64) -> f64 {
        let (x, a) = (distance.abs(), self.cubic);
        match self.mode {
            "cubic" if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
            "cubic" if x < 2.0 => ((x - 5.0) * x + 8.0) * x * a - 4.0 * a,
            "cubic" => 0.0,
            _ => (1.0 - x).max(0.0),
        }
    }

    fn apply(&self, x: &Value, axis: usize, of: &ResizeAxis) -> Result<Value> {
        if of.target == of.size && of.scale == 1.0 && self.coordinates != "tf_crop_and_resize" {
            return Ok(x.clone());
        }
        if of.size == 0 {
            refuse!("nothing to resize along axis {axis}");
        }
        let places = (0..of.target).map(|at| self.place(of, at)).collect::<Result<Vec<Option<f64>>>>()?;
        if self.mode == "nearest" {
            let near = places.iter().map(|place| self.nearest(place.unwrap_or(0.0), of.size));
            let y = x.take(axis, &near.collect::<Result<Vec<usize>>>()?)?;
            return self.filled(y, axis, &places);
        }
        if !x.kind()?.is_float() {
            refuse!("interpolation needs floats ({})", x.kind()?);
        }
        let reach = if self.mode == "cubic" { 2.0 } else { 1.0 };
        let stretch = if self.antialias { of.scale.min(1.0) } else { 1.0 };
        if reach / stretch > 4096.0 {
            refuse!("too many elements are merged into one along axis {axis}: {} to {}", of.size, of.target);
        }
        // The sources of each element of the result, with their weights.
        let mut sources: Vec<Vec<(usize, f64)>> = Vec::with_capacity(of.target);
        for place in &places {
            let Some(place) = *place else {
                sources.push(Vec::new());
                continue;
            };
            let (first, last) =
                ((place - reach / stretch).floor() as i64, (place + reach / stretch).ceil() as i64);
            let mut taps: Vec<(i64, f64)> =
                (first..=last).map(|at| (at, self.weight((at as f64 - place) * stretch))).collect();
            if self.inside_only {
                taps.retain(|(at, _)| (0..of.size as i64).contains(at));
            }
            let sum: f64 = taps.iter().map(|(_, weight)| weight).sum();
            let sum = if self.inside_only || self.antialias { sum } else { 1.0 };
            let taps = taps.into_iter().filter(|(_, weight)| *weight != 0.0);
            let inside = |at: i64| at.clamp(0, of.size as i64 - 1) as usize;
            sources.push(taps.map(|(at, weight)| (inside(at), weight / sum)).collect());
        }
        self.filled(mixed(x, axis, of.size, &sources)?, axis, &places)
    }

    /// Elements outside of the region get a fixed number.
    fn filled(&self, y: Value, axis: usize, places: &[Option<f64>]) -> Result<Value> {
        if places.iter().all(|place| place.is_some()) {
            return Ok(y);
        }
        let mut shape = vec![1; y.rank()?];
        shape[axis] = places.len();
        let inside =
            Array::ints(crate::kind::Kind::Bool, shape, places.iter().map(|p| p.is_some() as i64).collect());
        Value::from(inside).select(&y, &y.full_like(&[], self.outside)?)
    }
}

fn resize(call: &Call) -> Result<Vec<Value>> {
    let x = call.input(0)?;
    let rank = x.rank()?;
    let old = call.version < 11;
    let axes = match call.ints("axes") {
        Some(axes) => axes.iter().map(|&axis| x.axis(axis)).collect::<Result<Vec<usize>>>()?,
        None => (0..rank).collect(),
    };
    let given = |place: usize| call.optional(place).filter(|value| value.len().is_ok_and(|len| len > 0));
    let scales = given(if old { 1 } else { 2 }).map(|scales| scales.floats()).transpose()?;
    let sizes = given(3).map(|sizes| sizes.ints()).transpose()?;
    let region = if old { None } else { given(1).map(|region| region.floats()).transpose()? };
    let mut rule = ResizeRule {
        coordinates: if old { "asymmetric" } else { call.text("coordinate_transformation_mode")? },
        mode: call.text("mode")?,
        nearest: if old { "floor" } else { call.text("nearest_mode")? },
        cubic: call.float("cubic_coeff_a")?,
        inside_only: call.flag("exclude_outside")?,
        antialias: call.flag("antialias")?,
        outside: call.float("extrapolation_value")?,
    };
    if rule.mode == "bilinear" {
        rule.mode = "linear";
    }
    let own = axes.iter().map(|&axis| x.size(axis)).collect::<Result<Vec<usize>>>()?;
    let mut plans = Vec::new();
    match (scales, sizes) {
        (Some(scales), None) if scales.len() == axes.len() => {
            for (&size, &scale) in own.iter().zip(&scales) {
                plans.push((scale, size_of(size as f64 * scale)?));
            }
        }
        (None, Some(sizes)) if sizes.len() == axes.len() => {
            let mut wanted = super::movement::sizes(&sizes)?;
            let ratios = || wanted.iter().zip(&own).map(|(&wanted, &own)| wanted as f64 / own.max(1) as f64);
            let common = match call.text("keep_aspect_ratio_policy")? {
                "not_larger" => Some(ratios().fold(f64::INFINITY, f64::min)),
                "not_smaller" => Some(ratios().fold(0.0, f64::max)),
                _ => None,
            };
            if let Some(scale) = common {
                wanted = own.iter().map(|&size| (scale * size as f64 + 0.5).floor() as usize).collect();
            }
            for (&size, &wanted) in own.iter().zip(&wanted) {
                plans.push((common.unwrap_or(wanted as f64 / size.max(1) as f64), wanted));
            }
        }
        _ => refuse!("either scales or sizes are needed, one per axis"),
    }
    let mut y = x.clone();
    for (n, (&axis, (scale, target))) in axes.iter().zip(plans).enumerate() {
        let region = match &region {
            Some(region) if region.len() == 2 * axes.len() => (region[n], region[n + axes.len()]),
            _ => (0.0, 1.0),
        };
        y = rule.apply(&y, axis, &ResizeAxis { size: own[n], scale, target, region })?;
    }
    one(y)
}

/// Elements along an axis as weighted sums of others: by gathers if there are few sources, otherwise as a
/// product.
fn mixed(x: &Value, axis: usize, size: usize, sources: &[Vec<(usize, f64)>]) -> Result<Value> {
    let (kind, most) = (x.kind()?, sources.iter().map(|taps| taps.len()).max().unwrap_or(0));
    if most > 4 {
        crate::array::count(&[size, sources.len()])?;
        let mut matrix = vec![0.0; size * sources.len()];
        for (column, taps) in sources.iter().enumerate() {
            taps.iter().for_each(|&(row, weight)| matrix[row * sources.len() + column] += weight);
        }
        let matrix = Array::floats(kind, vec![size, sources.len()], matrix);
        let last = x.rank()? - 1;
        return x.swap(axis, last)?.matmul(&matrix.into())?.swap(axis, last);
    }
    let mut along = vec![1; x.rank()?];
    along[axis] = sources.len();
    let mut sum: Option<Value> = None;
    for tap in 0..most.max(1) {
        let own: Vec<(usize, f64)> =
            sources.iter().map(|taps| taps.get(tap).copied().unwrap_or((0, 0.0))).collect();
        let places: Vec<usize> = own.iter().map(|&(place, _)| place).collect();
        let weights = own.iter().map(|&(_, weight)| weight).collect();
        let part = x.take(axis, &places)?.mul(&Array::floats(kind, along.clone(), weights).into())?;
        sum = Some(sum.map_or(Ok(part.clone()), |sum| sum.add(&part))?);
    }
    sum.map_or_else(|| Ok(x.clone()), Ok)
}
