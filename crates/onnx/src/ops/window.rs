//! Ops with windows over spatial axes: convolutions, transposed convolutions, pooling.

use farad_tensor::{ConvOptions, Device, Tensor};

use super::Default::{AnInt, Int, Ints, Text};
use super::{Row, one, row};
use crate::call::Call;
use crate::error::Result;
use crate::kind::Kind;
use crate::pointwise::BinaryFunction;
use crate::reduce::Fold;
use crate::refuse;
use crate::value::{Value, shape_of};

/// The most elements of a window that is processed element by element.
const MOST_TAPS: usize = 1 << 12;

pub const CONV: &[(&str, super::Default)] = &[
    ("auto_pad", Text("NOTSET")),
    ("dilations", Ints),
    ("group", Int(1)),
    ("kernel_shape", Ints),
    ("pads", Ints),
    ("strides", Ints),
    ("output_padding", Ints),
    ("output_shape", Ints),
];
const POOL: &[(&str, super::Default)] = &[
    ("auto_pad", Text("NOTSET")),
    ("ceil_mode", Int(0)),
    ("count_include_pad", Int(0)),
    ("dilations", Ints),
    ("kernel_shape", Ints),
    ("p", Int(2)),
    ("pads", Ints),
    ("storage_order", AnInt),
    ("strides", Ints),
];

pub const ROWS: &[Row] = &[
    row("Conv", (2, 3), CONV, conv),
    row("ConvTranspose", (2, 3), CONV, conv_transpose),
    row("MaxPool", (1, 1), POOL, |call| {
        let x = call.input(0)?;
        let windows = PoolWindows::of(call, &x.shape()?)?;
        let least = if x.kind()?.is_float() { f64::NEG_INFINITY } else { x.kind()?.range().0 as f64 };
        let y = windows.largest(x, least)?;
        if !call.wants(1) {
            return one(y);
        }
        let by_columns = call.has("storage_order") && call.flag("storage_order")?;
        let places = super::unpool::largest(x, &windows.outputs, by_columns, |flat| windows.taps(flat))?;
        Ok(vec![y, places])
    }),
    row("AveragePool", (1, 1), POOL, |call| {
        let x = call.input(0)?;
        let windows = PoolWindows::of(call, &x.shape()?)?;
        let counts = windows.counts(call.flag("count_include_pad")?)?;
        let counts = crate::array::Array::floats(x.kind()?, windows.outputs.clone(), counts);
        one(windows.fold(x, 0.0, BinaryFunction::Add)?.div(&counts.into())?)
    }),
    row("LpPool", (1, 1), POOL, |call| {
        let x = call.input(0)?;
        let windows = PoolWindows::of(call, &x.shape()?)?;
        let p = call.int("p")? as f64;
        let powered = x.apply(|x| x.abs().powf(p), |x| if p == 2.0 { x.square() } else { x.abs().pow(p) })?;
        one(windows
            .fold(&powered, 0.0, BinaryFunction::Add)?
            .apply(|x| x.powf(1.0 / p), |x| if p == 2.0 { x.sqrt() } else { x.pow(1.0 / p) })?)
    }),
    row("GlobalAveragePool", (1, 1), &[], |call| global(call.input(0)?, Fold::Mean)),
    row("GlobalMaxPool", (1, 1), &[], |call| global(call.input(0)?, Fold::Max)),
    row("GlobalLpPool", (1, 1), &[("p", Int(2))], |call| {
        let p = call.int("p")? as f64;
        let powered = call.input(0)?.apply(|x| x.abs().powf(p), |x| x.abs().pow(p))?;
        let sum = global(&powered, Fold::Sum)?;
        one(sum[0].apply(|x| x.powf(1.0 / p), |x| x.pow(1.0 / p))?)
    }),
];

fn global(x: &Value, fold: Fold) -> Result<Vec<Value>> {
    let rank = x.rank()?;
    if rank < 3 {
        refuse!("there are no spatial axes: {:?}", x.shape()?);
    }
    one(x.fold(fold, &(2..rank).collect::<Vec<_>>(), true)?)
}

/// How a window moves over the spatial axes.
struct PoolWindows {
    sizes: Vec<usize>,
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    before: Vec<usize>,
    after: Vec<usize>,
    outputs: Vec<usize>,
}

fn numbers(call: &Call, name: &str, axes: usize, default: usize, least: usize) -> Result<Vec<usize>> {
    let Some(list) = call.ints(name) else { return Ok(vec![default; axes]) };
    let list = super::movement::sizes(list)?;
    if list.len() != axes || list.iter().any(|&n| n < least || n > 1 << 24) {
        refuse!("{name} do not match {axes} axes: {list:?}");
    }
    Ok(list)
}

impl PoolWindows {
    fn of(call: &Call, shape: &[usize]) -> Result<PoolWindows> {
        let Some(kernel) = call.ints("kernel_shape") else { refuse!("kernel_shape is missing") };
        PoolWindows::with(call, shape, super::movement::sizes(kernel)?)
    }

    fn with(call: &Call, shape: &[usize], kernel: Vec<usize>) -> Result<PoolWindows> {
        let axes = kernel.len();
        if shape.len() != axes + 2 || kernel.iter().any(|&size| size == 0 || size > 1 << 24) {
            refuse!("the kernel {kernel:?} does not fit {shape:?}");
        }
        let sizes = shape[2..].to_vec();
        let (strides, dilations) =
            (numbers(call, "strides", axes, 1, 1)?, numbers(call, "dilations", axes, 1, 1)?);
        let pads = numbers(call, "pads", 2 * axes, 0, 0)?;
        let (mut before, mut after) = (pads[..axes].to_vec(), pads[axes..].to_vec());
        let auto = call.text("auto_pad")?;
        let ceil =
            call.row.attributes.iter().any(|(name, _)| *name == "ceil_mode") && call.flag("ceil_mode")?;
        let mut outputs = Vec::new();
        for axis in 0..axes {
            let reach = dilations[axis] * (kernel[axis] - 1) + 1;
            if auto.starts_with("SAME") {
                let wanted = sizes[axis].div_ceil(strides[axis]);
                let missing = ((wanted.max(1) - 1) * strides[axis] + reach).saturating_sub(sizes[axis]);
                let (less, more) = (missing / 2, missing - missing / 2);
                (before[axis], after[axis]) = if auto == "SAME_UPPER" { (less, more) } else { (more, less) };
            } else if auto == "VALID" {
                (before[axis], after[axis]) = (0, 0);
            }
            let padded = sizes[axis] + before[axis] + after[axis];
            let Some(room) = padded.checked_sub(reach) else {
                refuse!("the kernel does not fit: {shape:?} axis {} ({reach} vs {padded})", axis + 2);
            };
            let stride = strides[axis];
            let mut count = room / stride + 1;
            // If sizes are rounded up, a last window that starts inside counts.
            if ceil && !room.is_multiple_of(stride) && count * stride < sizes[axis] + before[axis] {
                count += 1;
            }
            outputs.push(count);
        }
        Ok(PoolWindows { sizes, kernel, strides, dilations, before, after, outputs })
    }

    /// The largest of every window: axis by axis, which is fewer comparisons than tap by tap.
    fn largest(&self, x: &Value, around: f64) -> Result<Value> {
        let mut largest = x.clone();
        for axis in (0..self.kernel.len()).rev() {
            let only = |own: &[usize], other: usize| {
                (0..own.len()).map(|at| if at == axis { own[at] } else { other }).collect::<Vec<usize>>()
            };
            let sizes = largest.shape()?[2..].to_vec();
            if (self.kernel[axis], self.strides[axis], self.before[axis]) == (1, 1, 0)
                && self.outputs[axis] == sizes[axis]
            {
                continue;
            }
            let line = PoolWindows {
                kernel: only(&self.kernel, 1),
                strides: only(&self.strides, 1),
                dilations: only(&self.dilations, 1),
                before: only(&self.before, 0),
                after: only(&self.after, 0),
                outputs: (0..sizes.len())
                    .map(|at| if at == axis { self.outputs[at] } else { sizes[at] })
                    .collect(),
                sizes,
            };
            largest = line.fold(&largest, around, BinaryFunction::Max)?;
        }
        Ok(largest)
    }

    /// Every tap's part of the padded input, folded.
    fn fold(&self, x: &Value, around: f64, op: BinaryFunction) -> Result<Value> {
        let taps: usize = self.kernel.iter().product();
        if taps > MOST_TAPS {
            refuse!("windows are too large: {:?}", self.kernel);
        }
        let axes = self.kernel.len();
        let mut widths = vec![(0, 0); 2];
        for axis in 0..axes {
            let reach = self.dilations[axis] * (self.kernel[axis] - 1) + 1;
            let end = self.outputs[axis].saturating_sub(1) * self.strides[axis] + reach;
            let after = (end as i64 - (self.sizes[axis] + self.before[axis]) as i64).max(0);
            widths.push((self.before[axis] as i64, after));
        }
        let padded = x.pad(&widths, around)?;
        let shape = padded.shape()?;
        let kernel = crate::host::strides(&self.kernel);
        let mut folded: Option<Value> = None;
        for tap in 0..taps {
            let (mut starts, mut steps, mut counts) = (vec![0; 2], vec![1; 2], shape[..2].to_vec());
            for (axis, stride) in kernel.iter().enumerate() {
                starts.push(tap / stride % self.kernel[axis] * self.dilations[axis]);
                steps.push(self.strides[axis] as isize);
                counts.push(self.outputs[axis]);
            }
            let part = padded.slice(&starts, &steps, &counts)?;
            folded = Some(match folded {
                Some(so_far) => so_far.binary(op, &part)?,
                None => part,
            });
        }
        match folded {
            Some(folded) => Ok(folded),
            None => refuse!("a window has no elements"),
        }
    }

    /// The positions of a window in the spatial axes, `None` outside.
    fn taps(&self, flat: usize) -> Vec<Option<usize>> {
        let (outputs, kernel, own) =
            [&self.outputs, &self.kernel, &self.sizes].map(|sizes| crate::host::strides(sizes)).into();
        let place = |tap: usize| {
            let mut place = 0;
            for axis in 0..self.kernel.len() {
                let at = flat / outputs[axis] % self.outputs[axis] * self.strides[axis]
                    + tap / kernel[axis] % self.kernel[axis] * self.dilations[axis];
                let at = at.checked_sub(self.before[axis]).filter(|&at| at < self.sizes[axis])?;
                place += at * own[axis];
            }
            Some(place)
        };
        (0..self.kernel.iter().product()).map(place).collect()
    }

    /// The divisor of each output of average pooling.
    fn counts(&self, padding: bool) -> Result<Vec<f64>> {
        let along = |axis: usize, output: usize| {
            let start = output * self.strides[axis];
            let taps = (0..self.kernel[axis]).map(|tap| start + tap * self.dilations[axis]);
            let (low, high) = match padding {
                true => (0, self.before[axis] + self.sizes[axis] + self.after[axis]),
                false => (self.before[axis], self.before[axis] + self.sizes[axis]),
            };
            taps.filter(|at| (low..high).contains(at)).count() as f64
        };
        let n = crate::array::count(&self.outputs)?;
        let strides = crate::host::strides(&self.outputs);
        let axes = 0..self.outputs.len();
        Ok((0..n)
            .map(|flat| {
                axes.clone().map(|axis| along(axis, flat / strides[axis] % self.outputs[axis])).product()
            })
            .collect())
    }
}

/// The input and the weight of a convolution. Those of `f64` go to the CPU, which computes in it.
fn operands(call: &Call) -> Result<(Tensor, Tensor)> {
    let double = |value: &Value| -> Result<Tensor> {
        let array = value.host()?;
        Ok(Tensor::from_f64(&array.to_floats()?, shape_of(&array.shape)?, &Device::cpu()))
    };
    match (call.on_device(0)?, call.on_device(1)?) {
        (Value::Device(x, Kind::F32 | Kind::F16), Value::Device(weight, Kind::F32 | Kind::F16)) => {
            Ok((x, weight))
        }
        (x, weight) if x.kind()? == Kind::F64 && weight.kind()? == Kind::F64 => {
            Ok((double(&x)?, double(&weight)?))
        }
        (x, _) => refuse!("convolutions are of floats of 16, 32 or 64 bits ({})", x.kind()?),
    }
}

/// What was convolved; `f64` goes back to the host, where its values live.
fn settled(y: Value) -> Result<Value> {
    if y.kind()? == Kind::F64 { Ok(Value::Host(y.host()?)) } else { Ok(y) }
}

/// The number of groups, if input and weight fit.
fn groups(call: &Call, x: &Tensor, weight: &Tensor, transposed: bool) -> Result<usize> {
    let (input, kernel) = (x.shape(), weight.shape());
    let group = super::movement::sizes(&[call.int("group")?])?[0];
    if !(3..=5).contains(&input.rank()) || kernel.rank() != input.rank() {
        refuse!("one to three spatial axes are needed: {input}, {kernel}");
    }
    let channels = if transposed { kernel[0] } else { kernel[1].saturating_mul(group) };
    let divided = if group == 0 { 1 } else { kernel[0] % group };
    if group == 0 || divided != 0 || channels != input[1] || kernel[2..].contains(&0) {
        refuse!("channels differ: {input}, {kernel} in {group} groups ({} vs {channels})", input[1]);
    }
    Ok(group)
}

/// Adds one number per channel.
fn biased(call: &Call, y: Value) -> Result<Vec<Value>> {
    let Some(bias) = call.optional(2) else { return one(y) };
    let mut shape = vec![1; y.rank()?];
    shape[1] = y.size(1)?;
    one(y.add(&bias.reshape(&shape)?)?)
}

macro_rules! by_axes {
    ($axes:expr, $n:ident => $body:expr) => {
        match $axes {
            1 => {
                const $n: usize = 1;
                $body
            }
            2 => {
                const $n: usize = 2;
                $body
            }
            _ => {
                const $n: usize = 3;
                $body
            }
        }
    };
}

fn array<const N: usize>(list: &[usize]) -> [usize; N] {
    std::array::from_fn(|axis| list[axis])
}

fn conv(call: &Call) -> Result<Vec<Value>> {
    let (x, weight) = operands(call)?;
    biased(call, settled(convolved(call, x, weight)?)?)
}

/// The convolution that a node's attributes describe.
pub fn convolved(call: &Call, x: Tensor, weight: Tensor) -> Result<Value> {
    let group = groups(call, &x, &weight, false)?;
    let windows = PoolWindows::with(call, &x.shape(), weight.shape()[2..].to_vec())?;
    if call.ints("kernel_shape").is_some()
        && numbers(call, "kernel_shape", windows.kernel.len(), 1, 1)? != windows.kernel
    {
        refuse!("kernel_shape differs from the weight: {:?}", weight.shape());
    }
    shape_of(&[&[x.shape()[0], weight.shape()[0]], &windows.outputs[..]].concat())?;
    let mut x = Value::of(x);
    let even = windows.before == windows.after;
    if !even {
        let widths =
            windows.before.iter().zip(&windows.after).map(|(&before, &after)| (before as i64, after as i64));
        x = x.pad(&[(0, 0), (0, 0)].into_iter().chain(widths).collect::<Vec<_>>(), 0.0)?;
    }
    let padding = if even { windows.before.clone() } else { vec![0; windows.kernel.len()] };
    let x = x.tensor(call.device)?;
    let y = by_axes!(windows.kernel.len(), N => {
        let options = ConvOptions::<N>::new()
            .stride(array(&windows.strides))
            .padding(array(&padding))
            .dilation(array(&windows.dilations))
            .groups(group);
        x.convolve("conv", &weight, &options)
    });
    Ok(Value::of(y))
}

fn conv_transpose(call: &Call) -> Result<Vec<Value>> {
    let (x, weight) = operands(call)?;
    let group = groups(call, &x, &weight, true)?;
    let (input, kernel) = (x.shape(), weight.shape());
    let axes = input.rank() - 2;
    let (strides, dilations) =
        (numbers(call, "strides", axes, 1, 1)?, numbers(call, "dilations", axes, 1, 1)?);
    let extra = numbers(call, "output_padding", axes, 0, 0)?;
    let pads = numbers(call, "pads", 2 * axes, 0, 0)?;
    if input[2..].contains(&0) {
        refuse!("an empty input: {input}");
    }
    let mut whole = vec![input[0], kernel[1].saturating_mul(group)];
    whole.extend((0..axes).map(|axis| {
        let reach = dilations[axis].saturating_mul(kernel[axis + 2] - 1);
        (input[axis + 2] - 1).saturating_mul(strides[axis]).saturating_add(reach + 1)
    }));
    shape_of(&whole)?;
    let y = by_axes!(axes, N => {
        let options = ConvOptions::<N>::new().stride(array(&strides)).dilation(array(&dilations)).groups(group);
        x.convolve_transposed("conv_transpose", &weight, &options)
    });
    // The complete result, whose edges are cut off or padded with zeros.
    let mut widths = vec![(0, 0); 2];
    let wanted = call.ints("output_shape").map(super::movement::sizes).transpose()?;
    for axis in 0..axes {
        let whole = whole[axis + 2] + extra[axis];
        let auto = call.text("auto_pad")?;
        let target = match &wanted {
            Some(list) if list.len() < axes => refuse!("output_shape does not fit {axes} axes: {list:?}"),
            Some(list) => Some(list[list.len() - axes + axis]),
            None if auto.starts_with("SAME") => Some(input[axis + 2] * strides[axis]),
            None => None,
        };
        let (before, after) = match target {
            Some(size) => {
                let cut = whole as i64 - size as i64;
                let (less, more) = (cut.div_euclid(2), cut - cut.div_euclid(2));
                if auto == "SAME_UPPER" { (less, more) } else { (more, less) }
            }
            None => (pads[axis] as i64, pads[axis + axes] as i64),
        };
        widths.push((-before, extra[axis] as i64 - after));
    }
    biased(call, settled(Value::of(y).pad(&widths, 0.0)?)?)
}
