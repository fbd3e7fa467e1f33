//! Elementwise ops of recipes: floats, comparisons, casts, integers.

use farad_ir::DType;

use super::float::{COMPARISONS, MAPS, PAIRS, stored};
use super::grow::Growth;
use super::layout::shape;
use super::{ErrorRule, FuzzStep, ROUNDING, ValueSource, largest, whole};

impl Growth {
    pub(super) fn map(&mut self) -> Option<usize> {
        let smooth = self.limits.smooth;
        let x = self.value(|s| s.dtype.is_float())?;
        let map = &MAPS[self.sample.below(MAPS.len())];
        if (smooth && !map.smooth) || (map.jumps && !self.step(x).exact) {
            return None;
        }
        let (shape, dtype, bound, build) =
            (self.step(x).shape, self.step(x).dtype, self.step(x).bound, map.build);
        // f16 is rounded inside of an op as well as after it.
        let rule = match map.rule() {
            ErrorRule::Slope(slope, own) => {
                ErrorRule::Slope(slope, own + 2.0 * (1.0 + bound) * stored(dtype))
            }
            rule => rule,
        };
        Some(self.made(
            map.name,
            &[x],
            shape,
            dtype,
            (map.bound)(bound),
            rule,
            Box::new(move |x| build(x[0])),
        ))
    }

    pub(super) fn pair(&mut self) -> Option<usize> {
        let smooth = self.limits.smooth;
        let a = self.value(|s| s.dtype.is_float())?;
        let pair = &PAIRS[self.sample.below(PAIRS.len())];
        if smooth && !pair.smooth {
            return None;
        }
        let (b, shape) = self.beside(a, false);
        let (a, b) = if self.sample.once_in(2) { (a, b) } else { (b, a) };
        let (dtype, build) = (self.step(a).dtype, pair.build);
        let bound = (pair.bound)(self.step(a).bound, self.step(b).bound);
        Some(self.made(
            pair.name,
            &[a, b],
            shape,
            dtype,
            bound,
            pair.rule,
            Box::new(move |x| build(x[0], x[1])),
        ))
    }

    pub(super) fn compared(&mut self) -> Option<usize> {
        let a = self.value(|s| s.dtype.is_float() && s.exact)?;
        let (b, shape) = self.beside(a, true);
        let (name, build) = COMPARISONS[self.sample.below(COMPARISONS.len())];
        Some(self.made(
            name,
            &[a, b],
            shape,
            DType::Bool,
            1.0,
            ErrorRule::Moves,
            Box::new(move |x| build(x[0], x[1])),
        ))
    }

    pub(super) fn selected(&mut self) -> Option<usize> {
        let a = self.value(|s| s.dtype != DType::Bool)?;
        let (b, shape) = self.beside(a, false);
        let mask = match self.value(|s| s.dtype == DType::Bool && shape.broadcast(&s.shape) == Ok(shape)) {
            Some(mask) => mask,
            None => self.leaf(DType::Bool, shape),
        };
        let (dtype, bound) = (self.step(a).dtype, self.step(a).bound.max(self.step(b).bound));
        Some(self.made(
            "select",
            &[mask, a, b],
            shape,
            dtype,
            bound,
            ErrorRule::Moves,
            Box::new(|x| x[0].select(x[1], x[2])),
        ))
    }

    pub(super) fn cast(&mut self) -> Option<usize> {
        let to = self.sample.pick(self.limits.dtypes);
        let x = self.value(|s| s.dtype != to && (to.is_float() || s.exact))?;
        let (shape, from, bound) = (self.step(x).shape, self.step(x).dtype, self.step(x).bound);
        let rule = match (from.is_float(), to) {
            (true, DType::F32) if from != DType::F64 => ErrorRule::Moves,
            // Numbers that fit are not rounded.
            (false, DType::F32) if bound <= 1e6 => ErrorRule::Moves,
            (_, DType::F32) => ErrorRule::Slope(1.0, ROUNDING),
            (_, DType::F16) if bound > 1000.0 => return None,
            (_, DType::F16) => ErrorRule::Slope(1.0, stored(to)),
            _ => ErrorRule::Moves,
        };
        let bound = match to {
            // It may wrap, and a negative number is a huge unsigned one.
            to if to.is_int() && from.is_int() => largest(to),
            _ => bound.min(largest(from)).min(largest(to)),
        };
        Some(self.made(format!("cast {to}"), &[x], shape, to, bound, rule, Box::new(move |x| x[0].cast(to))))
    }

    pub(super) fn whole(&mut self) -> Option<usize> {
        let a = self.value(|s| !s.dtype.is_float())?;
        let (shape, dtype) = (self.step(a).shape, self.step(a).dtype);
        if self.sample.once_in(4) {
            let table = whole::unary(dtype);
            let (name, build) = table[self.sample.below(table.len())];
            return Some(self.made(
                name,
                &[a],
                shape,
                dtype,
                f64::INFINITY,
                ErrorRule::Moves,
                Box::new(move |x| build(x[0])),
            ));
        }
        let (b, shape) = self.beside(a, true);
        let table = whole::binary(dtype);
        let (name, build) = table[self.sample.below(table.len())];
        let dtype = if whole::compares(name) { DType::Bool } else { dtype };
        Some(self.made(
            name,
            &[a, b],
            shape,
            dtype,
            f64::INFINITY,
            ErrorRule::Moves,
            Box::new(move |x| build(x[0], x[1])),
        ))
    }

    pub(super) fn fresh(&mut self) -> Option<usize> {
        let shape = shape(&mut self.sample, self.limits.elements);
        if self.sample.once_in(3) {
            return Some(self.push(FuzzStep {
                source: ValueSource::Random,
                operands: vec![],
                shape,
                dtype: DType::F32,
                bound: 1.0,
                exact: true,
            }));
        }
        let dtype = self.sample.pick(self.limits.dtypes);
        self.leaf(dtype, shape);
        None
    }
}
