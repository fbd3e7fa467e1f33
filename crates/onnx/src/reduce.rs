//! Reductions along axes, and matrix products.

use farad_tensor::{Tensor, kept};

use crate::array::{Array, Data, count};
use crate::error::Result;
use crate::host::{StridedPositions, broadcast, strides};
use crate::kind::Kind;
use crate::refuse;
use crate::value::{Value, shape_of};

/// The kinds of reductions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the names are self-explanatory
pub enum Fold {
    Sum,
    Mean,
    Product,
    Max,
    Min,
}

impl Fold {
    fn start(self, kind: Kind) -> (f64, i64) {
        let (least, most) = if kind.is_float() { (0, 0) } else { kind.range() };
        match self {
            Fold::Sum | Fold::Mean => (0.0, 0),
            Fold::Product => (1.0, 1),
            Fold::Max => (f64::NEG_INFINITY, least as i64),
            Fold::Min => (f64::INFINITY, most as i64),
        }
    }

    fn on_device(self, tensor: &Tensor, axes: &[usize]) -> Tensor {
        let axes = kept(axes.iter().map(|&axis| axis as isize).collect::<Vec<isize>>());
        match self {
            Fold::Sum => tensor.sum_axes(axes),
            Fold::Mean => tensor.mean_axes(axes),
            Fold::Product => tensor.prod_axes(axes),
            Fold::Max => tensor.max_axes(axes),
            Fold::Min => tensor.min_axes(axes),
        }
    }

    /// Folds every number into `results`, at the place that `targets` says; `terms` of them make one result.
    fn floats(
        self,
        data: &[f64],
        targets: StridedPositions,
        mut results: Vec<f64>,
        terms: usize,
    ) -> Vec<f64> {
        for (&x, at) in data.iter().zip(targets) {
            let so_far = results[at];
            results[at] = match self {
                Fold::Sum | Fold::Mean => so_far + x,
                Fold::Product => so_far * x,
                _ if so_far.is_nan() || x.is_nan() => f64::NAN,
                Fold::Max => so_far.max(x),
                Fold::Min => so_far.min(x),
            };
        }
        if self == Fold::Mean {
            results.iter_mut().for_each(|sum| *sum /= terms as f64);
        }
        results
    }

    /// The same of integers, as bits of `u64` if `unsigned`.
    fn ints(
        self,
        data: &[i64],
        targets: StridedPositions,
        mut results: Vec<i64>,
        terms: usize,
        unsigned: bool,
    ) -> Vec<i64> {
        for (&x, at) in data.iter().zip(targets) {
            let so_far = results[at];
            let larger = if unsigned { x as u64 > so_far as u64 } else { x > so_far };
            results[at] = match self {
                Fold::Sum | Fold::Mean => so_far.wrapping_add(x),
                Fold::Product => so_far.wrapping_mul(x),
                Fold::Max if larger => x,
                Fold::Min if !larger => x,
                Fold::Max | Fold::Min => so_far,
            };
        }
        if self == Fold::Mean {
            results.iter_mut().for_each(|sum| *sum /= terms.max(1) as i64);
        }
        results
    }
}

impl Value {
    /// Reduces axes, which are kept with size one if `keep`.
    pub fn fold(&self, fold: Fold, axes: &[usize], keep: bool) -> Result<Value> {
        let shape = self.shape()?;
        if let Some(axis) = axes.iter().find(|&&axis| axis >= shape.len()) {
            refuse!("no axis {axis} in {shape:?}");
        }
        if axes.is_empty() {
            return Ok(self.clone());
        }
        let ones: Vec<usize> =
            (0..shape.len()).map(|axis| if axes.contains(&axis) { 1 } else { shape[axis] }).collect();
        let left: Vec<usize> = if keep {
            ones.clone()
        } else {
            (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect()
        };
        if let Value::Device(tensor, kind @ (Kind::F32 | Kind::F16)) = self {
            if shape.contains(&0) {
                return self.full_like(&left, fold.start(*kind).0);
            }
            let y = fold.on_device(tensor, axes);
            return Value::Device(y, *kind).reshape(&left);
        }
        let array = self.host()?;
        let n: usize = count(&ones)?;
        // Every element of the input goes to one element of the result.
        let targets = StridedPositions::spread(&ones, &shape);
        let terms: usize = axes.iter().map(|&axis| shape[axis]).product();
        match &array.data {
            Data::Float(data) => {
                let y = fold.floats(data, targets, vec![fold.start(array.kind).0; n], terms);
                Ok(Array::floats(array.kind, left, y).into())
            }
            Data::Int(data) => {
                let unsigned = array.kind == Kind::U64;
                let y = fold.ints(data, targets, vec![fold.start(array.kind).1; n], terms, unsigned);
                Ok(Array::ints(array.kind, left, y).into())
            }
            Data::Text(_) => refuse!("strings cannot be reduced"),
        }
    }

    /// The matrix product, with broadcast batch axes; a vector is treated as a matrix of one row or column.
    pub fn matmul(&self, other: &Value) -> Result<Value> {
        let (a, b) = (self.shape()?, other.shape()?);
        if a.is_empty() || b.is_empty() {
            refuse!("a product needs axes: {a:?}, {b:?}");
        }
        if self.kind()? != other.kind()? {
            refuse!("kinds differ: {} vs {}", self.kind()?, other.kind()?);
        }
        let inner = (a[a.len() - 1], b[b.len().saturating_sub(2)]);
        if inner.0 != inner.1 {
            refuse!("inner sizes differ: {a:?}, {b:?} ({} vs {})", inner.0, inner.1);
        }
        let batch = broadcast(&a[..a.len().saturating_sub(2)], &b[..b.len().saturating_sub(2)])?;
        if let Some(Value::Device(tensor, kind)) = [self, other].into_iter().find(|value| value.is_device()) {
            let device = tensor.device().clone();
            shape_of(&[&batch[..], &[a[a.len().saturating_sub(2)], b[b.len() - 1]]].concat())?;
            return Ok(Value::Device(self.tensor(&device)?.matmul(&other.tensor(&device)?), *kind));
        }
        let lhs = if a.len() == 1 { self.unsqueeze(0)? } else { self.clone() };
        let rhs = if b.len() == 1 { other.unsqueeze(1)? } else { other.clone() };
        let (m, k, n) = (lhs.size(lhs.rank()? - 2)?, inner.0, rhs.size(rhs.rank()? - 1)?);
        let full = |last: [usize; 2]| [&batch[..], &last].concat();
        let (x, y) = (lhs.spread(&full([m, k]))?.host()?, rhs.spread(&full([k, n]))?.host()?);
        let mut shape = full([m, n]);
        count(&shape)?;
        let batches: usize = batch.iter().product();
        macro_rules! product {
            ($x:ident $y:ident $zero:expr, $add:expr) => {{
                let mut z = vec![$zero; batches * m * n];
                for b in 0..batches {
                    for i in 0..m {
                        let row = &mut z[(b * m + i) * n..][..n];
                        for l in 0..k {
                            let factor = $x[(b * m + i) * k + l];
                            for (sum, &right) in row.iter_mut().zip(&$y[(b * k + l) * n..][..n]) {
                                *sum = $add(*sum, factor, right);
                            }
                        }
                    }
                }
                z
            }};
        }
        let whole = match (&x.data, &y.data) {
            (Data::Float(p), Data::Float(q)) => Array::floats(
                x.kind,
                shape.clone(),
                product!(p q 0.0f64, |sum: f64, a: f64, b: f64| sum + a * b),
            ),
            (Data::Int(p), Data::Int(q)) => {
                let add = |sum: i64, a: i64, b: i64| sum.wrapping_add(a.wrapping_mul(b));
                Array::ints(x.kind, shape.clone(), product!(p q 0i64, add))
            }
            _ => refuse!("strings cannot be multiplied"),
        };
        if b.len() == 1 {
            shape.pop();
        }
        if a.len() == 1 {
            let last = shape.len() - if b.len() == 1 { 1 } else { 2 };
            shape.remove(last);
        }
        Value::from(whole).reshape(&shape)
    }

    /// Positions of the largest (or smallest) elements along an axis, which is kept with size one; with `last`,
    /// the last of equal elements.
    pub fn arg(&self, axis: usize, largest: bool, last: bool) -> Result<Value> {
        let size = self.size(axis)?;
        if size == 0 {
            refuse!("no elements along axis {axis}: {:?}", self.shape()?);
        }
        let mut shape = self.shape()?;
        shape[axis] = 1;
        if let (Value::Device(tensor, Kind::F32 | Kind::F16), false) = (self, last) {
            let at = if largest { tensor.argmax(axis as isize) } else { tensor.argmin(axis as isize) };
            return Value::positions(at).reshape(&shape);
        }
        let array = self.host()?;
        let order = sorted_rows(&array, axis, largest, last)?;
        let inner = strides(&array.shape)[axis];
        let outer: usize = shape[..axis].iter().product();
        let data = (0..outer * inner).map(|row| order[row][0] as i64).collect();
        Ok(Array::ints(Kind::I64, shape, data).into())
    }

    /// The first `k` elements of an axis in sorted order, and their positions.
    pub fn top(&self, axis: usize, k: usize, largest: bool) -> Result<(Value, Value)> {
        let mut shape = self.shape()?;
        if k > self.size(axis)? {
            refuse!("fewer elements than requested: {shape:?} axis {axis} ({k})");
        }
        if let Value::Device(tensor, kind @ (Kind::F32 | Kind::F16)) = self {
            let order =
                if largest { farad_tensor::Order::Descending } else { farad_tensor::Order::Ascending };
            let (values, places): (Tensor, Tensor) = tensor.topk(k, axis as isize, order);
            return Ok((Value::Device(values, *kind), Value::positions(places)));
        }
        let array = self.host()?;
        let order = sorted_rows(&array, axis, largest, false)?;
        let (size, inner) = (shape[axis], strides(&shape)[axis]);
        let outer: usize = shape[..axis].iter().product();
        shape[axis] = k;
        let mut places = Vec::with_capacity(outer * k * inner);
        let mut flat = Vec::with_capacity(outer * k * inner);
        for row in 0..outer {
            for rank in 0..k {
                for (column, sorted) in order[row * inner..][..inner].iter().enumerate() {
                    let at = sorted[rank];
                    places.push(at as i64);
                    flat.push((row * size + at) * inner + column);
                }
            }
        }
        let values = self.pick(&shape, &flat)?;
        Ok((values, Array::ints(Kind::I64, shape, places).into()))
    }
}

/// The argsort of every row along an axis.
fn sorted_rows(array: &Array, axis: usize, largest: bool, last: bool) -> Result<Vec<Vec<usize>>> {
    let (size, inner) = (array.shape[axis], strides(&array.shape)[axis]);
    let outer: usize = array.shape[..axis].iter().product();
    let unsigned = array.kind == Kind::U64;
    let compare = |a: usize, b: usize| match &array.data {
        Data::Float(x) => x[a].partial_cmp(&x[b]).unwrap_or_else(|| x[a].total_cmp(&x[b])),
        Data::Int(x) if unsigned => (x[a] as u64).cmp(&(x[b] as u64)),
        Data::Int(x) => x[a].cmp(&x[b]),
        Data::Text(x) => x[a].cmp(&x[b]),
    };
    let mut rows = Vec::with_capacity(outer * inner);
    for row in 0..outer {
        for column in 0..inner {
            let at = |place: usize| (row * size + place) * inner + column;
            let mut order: Vec<usize> = (0..size).collect();
            if last {
                order.reverse();
            }
            order.sort_by(|&a, &b| {
                let order = compare(at(a), at(b));
                if largest { order.reverse() } else { order }
            });
            rows.push(order);
        }
    }
    Ok(rows)
}
