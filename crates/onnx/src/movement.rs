//! Moving values: reshape, permute, slice, and elements by position.

use farad_tensor::{Part, Tensor};

use crate::array::{Array, Data, count};
use crate::error::Result;
use crate::host::{broadcast, strides};
use crate::kind::Kind;
use crate::refuse;
use crate::value::{Value, shape_of};

/// Means "no element" among positions, which gives zero.
pub const NONE: usize = usize::MAX;

impl Value {
    /// The same elements in another shape.
    pub fn reshape(&self, shape: &[usize]) -> Result<Value> {
        let own = self.shape()?;
        if shape_of(shape)?.count() != shape_of(&own)?.count() {
            refuse!("element counts differ: {own:?} as {shape:?}");
        }
        match self {
            Value::Device(tensor, kind) => Ok(Value::Device(tensor.reshape(shape.to_vec()), *kind)),
            _ => Ok(self.host()?.reshaped(shape.to_vec()).into()),
        }
    }

    /// Permutes the axes.
    pub fn permute(&self, order: &[usize]) -> Result<Value> {
        let rank = self.rank()?;
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if sorted != (0..rank).collect::<Vec<_>>() {
            refuse!("not a permutation of {rank} axes: {order:?}");
        }
        match self {
            Value::Device(tensor, kind) => {
                let order: Vec<isize> = order.iter().map(|&axis| axis as isize).collect();
                Ok(Value::Device(tensor.permute(&order), *kind))
            }
            _ => Ok(self.host()?.permuted(order).into()),
        }
    }

    /// Swaps two axes.
    pub fn swap(&self, a: usize, b: usize) -> Result<Value> {
        let mut order: Vec<usize> = (0..self.rank()?).collect();
        if a.max(b) >= order.len() {
            refuse!("no axes {a} and {b} in rank {}", order.len());
        }
        order.swap(a, b);
        self.permute(&order)
    }

    /// Broadcasts to a larger shape.
    pub fn spread(&self, shape: &[usize]) -> Result<Value> {
        let own = self.shape()?;
        if broadcast(&own, shape)? != shape {
            refuse!("{own:?} does not broadcast to {shape:?}");
        }
        match self {
            Value::Device(tensor, kind) => Ok(Value::Device(tensor.broadcast_to(shape_of(shape)?), *kind)),
            _ => Ok(self.host()?.spread(shape)?.into()),
        }
    }

    /// A slice: per axis a start, a nonzero step and a count.
    pub fn slice(&self, starts: &[usize], steps: &[isize], counts: &[usize]) -> Result<Value> {
        let shape = self.shape()?;
        for axis in 0..shape.len() {
            let (start, step, count) = (starts[axis] as isize, steps[axis], counts[axis] as isize);
            let last =
                count.checked_sub(1).and_then(|n| n.checked_mul(step)).and_then(|n| n.checked_add(start));
            let inside = |at: isize| (0..shape[axis] as isize).contains(&at);
            if count > 0 && !(inside(start) && last.is_some_and(inside)) || step == 0 {
                refuse!(
                    "a slice out of range: {shape:?} axis {axis} (from {start} by {step}, {count} of them)"
                );
            }
        }
        let Value::Device(tensor, kind) = self else {
            return Ok(self.host()?.sliced(starts, steps, counts).into());
        };
        let mut parts = Vec::new();
        let mut flipped = Vec::new();
        for axis in 0..shape.len() {
            let (start, step, count) = (starts[axis], steps[axis], counts[axis]);
            let width = step.unsigned_abs();
            let first = match step {
                _ if count == 0 => 0,
                step if step > 0 => start,
                _ => start - (count - 1) * width,
            };
            if step < 0 {
                flipped.push(axis as isize);
            }
            let end = if count == 0 { 0 } else { first + (count - 1) * width + 1 };
            parts.push(if width == 1 {
                Part::Range(first, Some(end))
            } else {
                Part::Step(first, Some(end), width)
            });
        }
        let part = if parts.is_empty() { tensor.clone() } else { tensor.slice(parts) };
        Ok(Value::Device(if flipped.is_empty() { part } else { part.flip(&flipped) }, *kind))
    }

    /// A contiguous range along an axis.
    pub fn narrow(&self, axis: usize, start: usize, count: usize) -> Result<Value> {
        let shape = self.shape()?;
        let mut starts = vec![0; shape.len()];
        let mut counts = shape.clone();
        if axis >= shape.len() {
            refuse!("no axis {axis} in {shape:?}");
        }
        (starts[axis], counts[axis]) = (start, count);
        self.slice(&starts, &vec![1; shape.len()], &counts)
    }

    /// One position of an axis, which is removed.
    pub fn at(&self, axis: usize, place: usize) -> Result<Value> {
        let mut shape = self.shape()?;
        let part = self.narrow(axis, place, 1)?;
        shape.remove(axis);
        part.reshape(&shape)
    }

    /// Inserts a new axis of size one.
    pub fn unsqueeze(&self, axis: usize) -> Result<Value> {
        let mut shape = self.shape()?;
        if axis > shape.len() {
            refuse!("no position {axis} for a new axis in {shape:?}");
        }
        shape.insert(axis, 1);
        self.reshape(&shape)
    }

    /// Concatenates values along an axis.
    pub fn concat(parts: &[Value], axis: usize) -> Result<Value> {
        let Some(first) = parts.first() else { refuse!("nothing to concatenate") };
        let (kind, mut shape) = (first.kind()?, first.shape()?);
        if axis >= shape.len() {
            refuse!("no axis {axis} in {shape:?}");
        }
        shape[axis] = 0;
        for part in parts {
            let mut other = part.shape()?;
            if other.len() != shape.len() || part.kind()? != kind {
                refuse!("parts differ: {} {other:?} beside {kind} {shape:?}", part.kind()?);
            }
            shape[axis] += std::mem::replace(&mut other[axis], shape[axis]);
            if (0..shape.len()).any(|other_axis| other_axis != axis && other[other_axis] != shape[other_axis])
            {
                refuse!("parts differ along another axis than {axis}: {other:?} beside {shape:?}");
            }
        }
        if let Some(Value::Device(tensor, _)) = parts.iter().find(|part| matches!(part, Value::Device(..)))
            && kind.dtype() == Some(tensor.dtype())
        {
            let device = tensor.device().clone();
            let tensors = parts.iter().map(|part| part.tensor(&device)).collect::<Result<Vec<Tensor>>>()?;
            let joined = Tensor::concat(&tensors.iter().collect::<Vec<_>>(), axis as isize);
            return Ok(Value::Device(joined, kind));
        }
        count(&shape)?;
        let inner: usize = shape[axis + 1..].iter().product();
        let outer: usize = shape[..axis].iter().product();
        let arrays = parts.iter().map(|part| part.host()).collect::<Result<Vec<_>>>()?;
        macro_rules! joined {
            ($variant:ident) => {{
                let mut all = Vec::with_capacity(outer * shape[axis] * inner);
                for row in 0..outer {
                    for array in &arrays {
                        let Data::$variant(data) = &array.data else { refuse!("kinds differ") };
                        let width = array.shape[axis] * inner;
                        all.extend_from_slice(&data[row * width..][..width]);
                    }
                }
                Data::$variant(all)
            }};
        }
        let data = match arrays[0].data {
            Data::Float(_) => joined!(Float),
            Data::Int(_) => joined!(Int),
            Data::Text(_) => joined!(Text),
        };
        Ok(Array::new(kind, shape, data).into())
    }

    /// Pads every axis with a number, before and after; negative widths cut off elements.
    pub fn pad(&self, widths: &[(i64, i64)], number: f64) -> Result<Value> {
        let mut value = self.clone();
        for (axis, &(before, after)) in widths.iter().enumerate() {
            let size = value.size(axis)?;
            let (cut, end) = ((-before).max(0) as usize, (-after).max(0) as usize);
            if cut + end > 0 {
                let Some(left) = size.checked_sub(cut).and_then(|left| left.checked_sub(end)) else {
                    refuse!("more is cut off than there is: axis {axis} ({} vs {size})", cut + end);
                };
                value = value.narrow(axis, cut, left)?;
            }
        }
        let positive: Vec<(usize, usize)> =
            widths.iter().map(|&(before, after)| (before.max(0) as usize, after.max(0) as usize)).collect();
        if positive.iter().all(|&width| width == (0, 0)) {
            return Ok(value);
        }
        let shape = value.shape()?;
        let padded: Option<Vec<usize>> = shape
            .iter()
            .zip(&positive)
            .map(|(&size, &(before, after))| {
                size.checked_add(before).and_then(|size| size.checked_add(after))
            })
            .collect();
        let Some(padded) = padded else { refuse!("too much padding around {shape:?}") };
        shape_of(&padded)?;
        if let (Value::Device(tensor, kind), true) = (&value, number == 0.0) {
            return Ok(Value::Device(tensor.pad(&positive), *kind));
        }
        for (axis, &(before, after)) in positive.iter().enumerate() {
            let mut shape = value.shape()?;
            let mut parts = Vec::new();
            shape[axis] = before;
            if before > 0 {
                parts.push(value.full_like(&shape, number)?);
            }
            parts.push(value.clone());
            shape[axis] = after;
            if after > 0 {
                parts.push(value.full_like(&shape, number)?);
            }
            value = if parts.len() == 1 { value } else { Value::concat(&parts, axis)? };
        }
        Ok(value)
    }

    /// Slices of an axis at these positions.
    pub fn take(&self, axis: usize, places: &[usize]) -> Result<Value> {
        let mut shape = self.shape()?;
        let size = self.size(axis)?;
        if let Some(place) = places.iter().find(|&&place| place >= size) {
            refuse!("a position out of range: {shape:?} axis {axis} ({place} vs {size})");
        }
        shape[axis] = places.len();
        if let Value::Device(tensor, kind) = self {
            shape_of(&shape)?;
            let index: Vec<i32> = places.iter().map(|&place| place as i32).collect();
            let index = Tensor::try_from_vec(&index, [index.len()], tensor.device())?;
            return Ok(Value::Device(tensor.index_select(axis as isize, &index), *kind));
        }
        count(&shape)?;
        let array = self.host()?;
        let own = strides(&array.shape);
        let inner = own[axis];
        let outer: usize = shape[..axis].iter().product();
        let picks = (0..outer).flat_map(|row| {
            places
                .iter()
                .flat_map(move |&place| (0..inner).map(move |at| Some((row * size + place) * inner + at)))
        });
        Ok(array.picked(shape, picks).into())
    }

    /// Elements at these positions of the flattened value; [`NONE`] gives zero.
    pub fn pick(&self, shape: &[usize], places: &[usize]) -> Result<Value> {
        let own = self.len()?;
        if shape_of(shape)?.count() != Some(places.len()) {
            refuse!("positions do not match {shape:?} ({})", places.len());
        }
        if places.iter().any(|&place| place != NONE && place >= own) {
            refuse!("a position out of range of {own} elements");
        }
        match self {
            Value::Device(..) => {
                let flat = self.reshape(&[own])?;
                if places.contains(&NONE) {
                    let zero = flat.pad(&[(0, 1)], 0.0)?;
                    let places: Vec<usize> =
                        places.iter().map(|&place| if place == NONE { own } else { place }).collect();
                    return zero.take(0, &places)?.reshape(shape);
                }
                flat.take(0, places)?.reshape(shape)
            }
            _ => {
                let places = places.iter().map(|&place| (place != NONE).then_some(place));
                Ok(self.host()?.picked(shape.to_vec(), places).into())
            }
        }
    }

    /// Reads booleans.
    pub fn truths(&self) -> Result<Vec<bool>> {
        if self.kind()? != Kind::Bool {
            refuse!("bool values are needed ({})", self.kind()?);
        }
        Ok(self.ints()?.into_iter().map(|x| x != 0).collect())
    }
}
