//! Ops of recipes across elements: movement, concatenation, reductions, products, indices.

use farad::Tensor;
use farad::{Order, kept};
use farad_ir::{DType, Shape};

use super::ErrorRule;
use super::float::stored;
use super::grow::Growth;
use super::layout::{Build, movement};

impl Growth {
    pub(super) fn moved(&mut self) -> Option<usize> {
        let x = self.value(|_| true)?;
        let (of, dtype, bound) = (self.step(x).shape, self.step(x).dtype, self.step(x).bound);
        let (name, build, shape) = movement(&mut self.sample, &of, self.limits.elements)?;
        Some(self.made(name, &[x], shape, dtype, bound, ErrorRule::Moves, build))
    }

    pub(super) fn joined(&mut self) -> Option<usize> {
        let a = self.value(|s| s.shape.rank() > 0)?;
        let (shape, dtype) = (self.step(a).shape, self.step(a).dtype);
        let axis = self.sample.below(shape.rank());
        let size = 1 + self.sample.below(3);
        let to = shape.with(axis, 2 * shape[axis] + size);
        if to.numel() > self.limits.elements {
            return None;
        }
        let b = self.leaf(dtype, shape.with(axis, size));
        let bound = self.step(a).bound.max(self.step(b).bound);
        Some(self.made(
            format!("concat {axis}"),
            &[a, b, a],
            to,
            dtype,
            bound,
            ErrorRule::Moves,
            Box::new(move |x| Tensor::concat(x, axis as isize)),
        ))
    }

    pub(super) fn reduced(&mut self) -> Option<usize> {
        let x = self.value(|s| s.shape.rank() > 0 && s.dtype != DType::Bool)?;
        let (shape, dtype, exact) = (self.step(x).shape, self.step(x).dtype, self.step(x).exact);
        let axis = self.sample.below(shape.rank());
        let (terms, rest) = (shape[axis], shape.without(&[axis]));
        let kind = self.sample.pick(&[
            "sum",
            "prod",
            "mean",
            "max",
            "min",
            "argmax",
            "argmin",
            "softmax",
            "normalize",
        ]);
        let position = ["argmax", "argmin"].contains(&kind);
        let jumps = position && !exact;
        let kinked = self.limits.smooth && (position || ["max", "min"].contains(&kind));
        let floats = ["mean", "softmax", "normalize"].contains(&kind) && !dtype.is_float();
        let nothing = terms == 0 && !["sum", "prod"].contains(&kind);
        if jumps || kinked || floats || nothing || rest.numel() > self.limits.elements {
            return None;
        }
        let to = match kind {
            "min" => shape.with(axis, 1),
            "softmax" | "normalize" => shape,
            _ => rest,
        };
        let (bound, rule) = reduction(kind, terms, dtype, self.step(x).bound);
        let dtype = if position { DType::I32 } else { dtype };
        Some(self.made(format!("{kind} {axis}"), &[x], to, dtype, bound, rule, reduce(kind, axis as isize)))
    }

    /// A sorted axis, its first elements, or its argsort if nothing was rounded before it.
    pub(super) fn sorted(&mut self) -> Option<usize> {
        let x = self.value(|s| s.shape.rank() > 0)?;
        let (shape, exact) = (self.step(x).shape, self.step(x).exact);
        let (dtype, bound) = (self.step(x).dtype, self.step(x).bound);
        let (axis, descending) = (self.sample.below(shape.rank()), self.sample.once_in(2));
        let (a, way) = (axis as isize, if descending { "down" } else { "up" });
        Some(if exact && self.sample.once_in(2) {
            let build: Build = Box::new(move |x| x[0].argsort(a, order(descending)));
            let bound = shape[axis] as f64;
            self.made(
                format!("argsort {axis} {way}"),
                &[x],
                shape,
                DType::I32,
                bound,
                ErrorRule::Moves,
                build,
            )
        } else if self.sample.once_in(2) {
            let k = self.sample.below(shape[axis] + 1);
            let build: Build = Box::new(move |x| x[0].topk(k, a, order(descending)).0);
            let to = shape.with(axis, k);
            self.made(format!("topk {k} {axis} {way}"), &[x], to, dtype, bound, ErrorRule::Moves, build)
        } else {
            let build: Build = Box::new(move |x| x[0].sort(a, order(descending)).0);
            self.made(format!("sort {axis} {way}"), &[x], shape, dtype, bound, ErrorRule::Moves, build)
        })
    }

    pub(super) fn product(&mut self) -> Option<usize> {
        let x = self.value(|s| s.shape.rank() >= 2 && s.dtype != DType::Bool)?;
        let (shape, dtype, bound) = (self.step(x).shape, self.step(x).dtype, self.step(x).bound);
        let (rank, n) = (shape.rank(), self.sample.pick(&[1, 2, 5, 17, 33]));
        let (m, k) = (shape[rank - 2], shape[rank - 1]);
        let batch = self.sample.once_in(2);
        let lead: Vec<usize> = shape[..if batch { rank - 2 } else { 0 }].to_vec();
        let turned = self.sample.once_in(2);
        let last = if turned { [n, k] } else { [k, n] };
        let weight = Shape::new(&lead.iter().copied().chain(last).collect::<Vec<_>>());
        let to = shape.with(rank - 1, n);
        if to.numel().max(weight.numel()) > self.limits.elements || m * k * n > 40_000 {
            return None;
        }
        let other = self.leaf(dtype, weight);
        let build: Build = Box::new(move |x| {
            let other = if turned { x[1].transpose(-1, -2) } else { x[1].clone() };
            x[0].matmul(&other)
        });
        let bound = if dtype.is_int() { f64::INFINITY } else { bound * self.step(other).bound * k as f64 };
        Some(self.made(
            format!("matmul {m}x{k}x{n}"),
            &[x, other],
            to,
            dtype,
            bound,
            ErrorRule::Product(k),
            build,
        ))
    }

    pub(super) fn indexed(&mut self) -> Option<usize> {
        let x = self.value(|s| s.shape.rank() > 0)?;
        let (shape, dtype, bound) = (self.step(x).shape, self.step(x).dtype, self.step(x).bound);
        let axis = self.sample.below(shape.rank());
        let (a, size, count) = (axis as isize, shape[axis], self.sample.pick(&[1, 3, 6]));
        let to = shape.with(axis, count);
        if size == 0 || to.numel() > self.limits.elements {
            return None;
        }
        Some(match self.sample.below(3) {
            0 => {
                let index = self.index(to, size);
                self.made(
                    format!("gather {axis}"),
                    &[x, index],
                    to,
                    dtype,
                    bound,
                    ErrorRule::Moves,
                    Box::new(move |x| x[0].gather(a, x[1])),
                )
            }
            1 => {
                let index = self.index(Shape::new(&[count]), size);
                self.made(
                    format!("index_select {axis}"),
                    &[x, index],
                    to,
                    dtype,
                    bound,
                    ErrorRule::Moves,
                    Box::new(move |x| x[0].index_select(a, x[1])),
                )
            }
            _ if dtype == DType::Bool => return None,
            _ => {
                let index = self.index(shape, count);
                let base = self.leaf(dtype, to);
                let bound = bound * size as f64 + self.step(base).bound;
                let rule = if dtype.is_float() { ErrorRule::Sum(size + 1) } else { ErrorRule::Moves };
                self.made(
                    format!("scatter_add {axis}"),
                    &[base, x, index],
                    to,
                    dtype,
                    bound,
                    rule,
                    Box::new(move |x| x[0].scatter_add(a, x[2], x[1])),
                )
            }
        })
    }
}

/// A bound on a reduction's result, and its error rule.
fn reduction(kind: &str, terms: usize, dtype: DType, bound: f64) -> (f64, ErrorRule) {
    let (half, many) = (stored(dtype), terms as f64);
    match kind {
        "sum" if dtype.is_float() => (bound * many, ErrorRule::Sum(terms)),
        "mean" => (bound, ErrorRule::Slope(1.0, 3e-6 + half)),
        "softmax" => (1.0, ErrorRule::Slope(2.0, 1e-5 + 8.0 * half)),
        "normalize" => {
            (2.0 * bound, ErrorRule::Slope(3.0 * (1.0 + many.sqrt()), 1e-5 + 8.0 * half * (1.0 + bound)))
        }
        "prod" if dtype.is_float() => (3.0, ErrorRule::Slope(2.72, 1e-5 + 8.0 * half * (1.0 + many))),
        "prod" => (f64::INFINITY, ErrorRule::Moves),
        "argmax" | "argmin" => (many, ErrorRule::Moves),
        "sum" => (bound * many, ErrorRule::Moves),
        _ => (bound, ErrorRule::Moves),
    }
}

fn reduce(kind: &'static str, axis: isize) -> Build {
    Box::new(move |x| match kind {
        "sum" => x[0].sum_axes([axis]),
        // Factors so close to 1 that their product is at most e.
        "prod" if x[0].dtype().is_float() => {
            let terms = x[0].size(axis).max(1) as f64;
            (x[0].tanh() * (1.0 / terms) + 1.0).prod_axes([axis])
        }
        "prod" => x[0].prod_axes([axis]),
        "argmin" => x[0].argmin(axis),
        "mean" => x[0].mean_axes([axis]),
        "max" => x[0].max_axes([axis]),
        "min" => x[0].min_axes(kept([axis])),
        "argmax" => x[0].argmax(axis),
        "softmax" => x[0].softmax(axis),
        _ => {
            let centered = x[0] - x[0].mean_axes(kept([axis]));
            &centered * (centered.square().mean_axes(kept([axis])) + 0.5).rsqrt()
        }
    })
}

fn order(descending: bool) -> Order {
    if descending { Order::Descending } else { Order::Ascending }
}
