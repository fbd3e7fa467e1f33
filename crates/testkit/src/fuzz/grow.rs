//! Grows recipes: picks ops that fit what is there, and adds fresh leaves where they need them.

use farad::Tensor;
use farad_ir::{DType, Shape};

use super::float::{COMPARISONS, MAPS, PAIRS, stored};
use super::layout::{Build, broadcastable, movement, shape};
use super::{Limits, Op, ROUNDING, Recipe, Rule, Source, Step, whole};
use crate::case::{Input, float, half, int, truth, unsigned};
use crate::sample::Sample;

/// Beyond this a value is brought down again before it is used.
const LARGEST: f64 = 40.0;

struct Growth {
    recipe: Recipe,
    sample: Sample,
    limits: Limits,
}

impl Recipe {
    /// The recipe of a seed.
    pub fn grow(seed: u64, limits: Limits) -> Recipe {
        let recipe = Recipe { seed, steps: Vec::new(), outputs: Vec::new() };
        let mut growth = Growth { recipe, sample: Sample::new(seed.wrapping_mul(0x9E37_79B9) ^ 0xfa4ad), limits };
        let wanted = 3 + growth.sample.below(limits.ops - 2);
        let first = shape(&mut growth.sample, limits.elements);
        growth.leaf(DType::F32, first);
        let mut ops = 0;
        for _ in 0..20 * wanted {
            if ops == wanted {
                break;
            }
            ops += growth.op().is_some() as usize;
        }
        growth.choose_outputs();
        growth.recipe
    }
}

impl Growth {
    fn step(&self, n: usize) -> &Step {
        &self.recipe.steps[n]
    }

    fn push(&mut self, step: Step) -> usize {
        self.recipe.steps.push(step);
        self.recipe.steps.len() - 1
    }

    fn leaf(&mut self, dtype: DType, shape: Shape) -> usize {
        let (input, bound): (Input, f64) = match dtype {
            DType::F16 => (half(shape, (-2.0, 2.0)), 2.0),
            DType::I32 if self.sample.once_in(4) => (int(shape, i32::MIN, i32::MAX), f64::INFINITY),
            DType::I32 => (int(shape, -20, 20), 20.0),
            DType::U32 if self.sample.once_in(4) => (unsigned(shape, 0, u32::MAX), f64::INFINITY),
            DType::U32 => (unsigned(shape, 0, 20), 20.0),
            DType::Bool => (truth(shape), 1.0),
            _ => (float(shape, (-2.0, 2.0)), 2.0),
        };
        self.push(Step { source: Source::Leaf(input), operands: vec![], shape, dtype, bound, exact: true })
    }

    fn index(&mut self, shape: Shape, size: usize) -> usize {
        let input = if self.sample.once_in(3) { unsigned(shape, 0, size as u32 - 1) } else { int(shape, 0, size as i32 - 1) };
        let dtype = input.dtype;
        self.push(Step { source: Source::Leaf(input), operands: vec![], shape, dtype, bound: size as f64, exact: true })
    }

    /// An op's value; a float that may have grown large is scaled down after it.
    fn made(&mut self, name: impl Into<String>, operands: &[usize], shape: Shape, dtype: DType, bound: f64, error: Rule, build: Build) -> usize {
        let moves = matches!(error, Rule::Moves);
        let exact = operands.iter().all(|&n| self.step(n).exact) && (moves || !dtype.is_float());
        let operands = operands.to_vec();
        let made = self.push(Step { source: Source::Op(Op { name: name.into(), build, error }), operands, shape, dtype, bound, exact });
        if !dtype.is_float() || bound <= LARGEST {
            return made;
        }
        let factor = 1.0 / bound;
        let build: Build = Box::new(move |x| x[0] * factor);
        let op = Op { name: format!("times {factor:.3e}"), build, error: Rule::Slope(factor, ROUNDING + stored(dtype)) };
        self.push(Step { source: Source::Op(op), operands: vec![made], shape, dtype, bound: 1.0, exact: false })
    }

    /// Whether some op takes the value.
    fn used(&self, n: usize) -> bool {
        self.recipe.steps.iter().any(|s| s.operands.contains(&n))
    }

    /// A value that something is true of, rather one that nothing uses yet: chains grow long, and
    /// little is read at the end.
    fn value(&mut self, fits: impl Fn(&Step) -> bool) -> Option<usize> {
        let found: Vec<usize> = (0..self.recipe.steps.len()).filter(|&n| fits(self.step(n))).collect();
        let loose: Vec<usize> = found.iter().copied().filter(|&n| !self.used(n)).collect();
        match (found.is_empty(), loose.is_empty() || self.sample.once_in(4)) {
            (true, _) => None,
            (_, true) => Some(self.sample.pick(&found)),
            _ => Some(self.sample.pick(&loose)),
        }
    }

    /// A value that broadcasts with another to a shape that is not too large, or a fresh leaf.
    fn beside(&mut self, n: usize, exact: bool) -> (usize, Shape) {
        let (of, dtype, most) = (self.step(n).shape, self.step(n).dtype, self.limits.elements);
        let joint = move |s: &Shape| of.broadcast(s).ok().filter(|j| j.numel() <= most && j.rank() <= 6);
        let other = match self.sample.once_in(3) {
            true => None,
            false => self.value(|s| s.dtype == dtype && (s.exact || !exact) && joint(&s.shape).is_some()),
        };
        let other = other.unwrap_or_else(|| {
            let shape = broadcastable(&mut self.sample, &of);
            self.leaf(dtype, shape)
        });
        (other, joint(&self.step(other).shape).expect("checked above"))
    }

    fn op(&mut self) -> Option<usize> {
        if self.limits.smooth {
            return match self.sample.below(10) {
                0..=2 => self.map(),
                3 | 4 => self.pair(),
                5 | 6 => self.moved(),
                7 => self.reduced(),
                8 => self.product(),
                _ => self.indexed(),
            };
        }
        match self.sample.below(22) {
            0..=3 => self.map(),
            4..=6 => self.pair(),
            7 => self.compared(),
            8 => self.selected(),
            9 | 10 => self.cast(),
            11..=13 => self.moved(),
            14 => self.joined(),
            15 | 16 => self.reduced(),
            17 => self.product(),
            18 => self.indexed(),
            19 | 20 => self.whole(),
            _ => self.fresh(),
        }
    }

    fn map(&mut self) -> Option<usize> {
        let smooth = self.limits.smooth;
        let x = self.value(|s| s.dtype.is_float())?;
        let map = &MAPS[self.sample.below(MAPS.len())];
        if (smooth && !map.smooth) || (map.jumps && !self.step(x).exact) {
            return None;
        }
        let (shape, dtype, bound, build) = (self.step(x).shape, self.step(x).dtype, self.step(x).bound, map.build);
        // Halves round inside an op as well as after it.
        let rule = match map.rule() {
            Rule::Slope(slope, own) => Rule::Slope(slope, own + 2.0 * (1.0 + bound) * stored(dtype)),
            rule => rule,
        };
        Some(self.made(map.name, &[x], shape, dtype, (map.bound)(bound), rule, Box::new(move |x| build(x[0]))))
    }

    fn pair(&mut self) -> Option<usize> {
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
        Some(self.made(pair.name, &[a, b], shape, dtype, bound, pair.rule, Box::new(move |x| build(x[0], x[1]))))
    }

    fn compared(&mut self) -> Option<usize> {
        let a = self.value(|s| s.dtype.is_float() && s.exact)?;
        let (b, shape) = self.beside(a, true);
        let (name, build) = COMPARISONS[self.sample.below(COMPARISONS.len())];
        Some(self.made(name, &[a, b], shape, DType::Bool, 1.0, Rule::Moves, Box::new(move |x| build(x[0], x[1]))))
    }

    fn selected(&mut self) -> Option<usize> {
        let a = self.value(|s| s.dtype != DType::Bool)?;
        let (b, shape) = self.beside(a, false);
        let mask = match self.value(|s| s.dtype == DType::Bool && shape.broadcast(&s.shape) == Ok(shape)) {
            Some(mask) => mask,
            None => self.leaf(DType::Bool, shape),
        };
        let (dtype, bound) = (self.step(a).dtype, self.step(a).bound.max(self.step(b).bound));
        Some(self.made("select", &[mask, a, b], shape, dtype, bound, Rule::Moves, Box::new(|x| x[0].select(x[1], x[2]))))
    }

    fn cast(&mut self) -> Option<usize> {
        let to = self.sample.pick(&[DType::F32, DType::F16, DType::I32, DType::U32, DType::Bool]);
        let x = self.value(|s| s.dtype != to && (to.is_float() || s.exact))?;
        let (shape, from, bound) = (self.step(x).shape, self.step(x).dtype, self.step(x).bound);
        let rule = match (from.is_float(), to) {
            (true, DType::F32) => Rule::Moves,
            // Numbers that fit are not rounded.
            (false, DType::F32) if bound <= 1e6 => Rule::Moves,
            (_, DType::F32) => Rule::Slope(1.0, ROUNDING),
            (_, DType::F16) if bound > 1000.0 => return None,
            (_, DType::F16) => Rule::Slope(1.0, stored(to)),
            _ => Rule::Moves,
        };
        let bound = match to {
            DType::Bool => 1.0,
            // A negative number is a huge unsigned one.
            DType::U32 if from == DType::I32 => f64::INFINITY,
            _ => bound.min(4.3e9),
        };
        Some(self.made(format!("cast {to}"), &[x], shape, to, bound, rule, Box::new(move |x| x[0].cast(to))))
    }

    fn moved(&mut self) -> Option<usize> {
        let x = self.value(|_| true)?;
        let (of, dtype, bound) = (self.step(x).shape, self.step(x).dtype, self.step(x).bound);
        let (name, build, shape) = movement(&mut self.sample, &of, self.limits.elements)?;
        Some(self.made(name, &[x], shape, dtype, bound, Rule::Moves, build))
    }

    fn joined(&mut self) -> Option<usize> {
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
        Some(self.made(format!("concat {axis}"), &[a, b, a], to, dtype, bound, Rule::Moves, Box::new(move |x| Tensor::concat(x, axis as isize))))
    }

    fn reduced(&mut self) -> Option<usize> {
        let smooth = self.limits.smooth;
        let x = self.value(|s| s.shape.rank() > 0 && s.dtype != DType::Bool)?;
        let (shape, dtype, bound, exact) = (self.step(x).shape, self.step(x).dtype, self.step(x).bound, self.step(x).exact);
        let axis = self.sample.below(shape.rank());
        let (terms, a, rest) = (shape[axis], axis as isize, shape.without(&[axis]));
        let half = stored(dtype);
        let float = dtype.is_float();
        let kind = self.sample.below(7);
        if rest.numel() > self.limits.elements || terms == 0 && kind != 0 || smooth && [2, 3, 4].contains(&kind) {
            return None;
        }
        let sum = if float { Rule::Sum(terms) } else { Rule::Moves };
        Some(match kind {
            0 => self.made(format!("sum {axis}"), &[x], rest, dtype, bound * terms as f64, sum, Box::new(move |x| x[0].sum_axes(&[a], false))),
            1 if float => self.made(format!("mean {axis}"), &[x], rest, dtype, bound, Rule::Slope(1.0, 3e-6 + half), Box::new(move |x| x[0].mean_axes(&[a], false))),
            2 => self.made(format!("max {axis}"), &[x], rest, dtype, bound, Rule::Moves, Box::new(move |x| x[0].max_axes(&[a], false))),
            3 => self.made(format!("min {axis}"), &[x], shape.with(axis, 1), dtype, bound, Rule::Moves, Box::new(move |x| x[0].min_axes(&[a], true))),
            4 if exact => self.made(format!("argmax {axis}"), &[x], rest, DType::I32, terms as f64, Rule::Moves, Box::new(move |x| x[0].argmax(a))),
            5 if float => self.made(format!("softmax {axis}"), &[x], shape, dtype, 1.0, Rule::Slope(2.0, 1e-5 + 8.0 * half), Box::new(move |x| x[0].softmax(a))),
            6 if float => {
                let slope = 3.0 * (1.0 + (terms as f64).sqrt());
                let build: Build = Box::new(move |x| {
                    let centred = x[0] - x[0].mean_axes(&[a], true);
                    &centred * (centred.square().mean_axes(&[a], true) + 0.5).rsqrt()
                });
                self.made(format!("normalise {axis}"), &[x], shape, dtype, 2.0 * bound, Rule::Slope(slope, 1e-5 + 8.0 * half * (1.0 + bound)), build)
            }
            _ => return None,
        })
    }

    fn product(&mut self) -> Option<usize> {
        let x = self.value(|s| s.shape.rank() >= 2 && s.dtype.is_float())?;
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
        let bound = bound * self.step(other).bound * k as f64;
        Some(self.made(format!("matmul {m}x{k}x{n}"), &[x, other], to, dtype, bound, Rule::Product(k), build))
    }

    fn indexed(&mut self) -> Option<usize> {
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
                self.made(format!("gather {axis}"), &[x, index], to, dtype, bound, Rule::Moves, Box::new(move |x| x[0].gather(a, x[1])))
            }
            1 => {
                let index = self.index(Shape::new(&[count]), size);
                self.made(format!("index_select {axis}"), &[x, index], to, dtype, bound, Rule::Moves, Box::new(move |x| x[0].index_select(a, x[1])))
            }
            _ if dtype == DType::Bool => return None,
            _ => {
                let index = self.index(shape, count);
                let base = self.leaf(dtype, to);
                let bound = bound * size as f64 + self.step(base).bound;
                let rule = if dtype.is_float() { Rule::Sum(size + 1) } else { Rule::Moves };
                self.made(format!("scatter_add {axis}"), &[base, x, index], to, dtype, bound, rule, Box::new(move |x| x[0].scatter_add(a, x[2], x[1])))
            }
        })
    }

    fn whole(&mut self) -> Option<usize> {
        let a = self.value(|s| !s.dtype.is_float())?;
        let (shape, dtype) = (self.step(a).shape, self.step(a).dtype);
        if self.sample.once_in(4) {
            let table = whole::unary(dtype);
            let (name, build) = table[self.sample.below(table.len())];
            return Some(self.made(name, &[a], shape, dtype, f64::INFINITY, Rule::Moves, Box::new(move |x| build(x[0]))));
        }
        let (b, shape) = self.beside(a, true);
        let table = whole::binary(dtype);
        let (name, build) = table[self.sample.below(table.len())];
        let dtype = if whole::compares(name) { DType::Bool } else { dtype };
        Some(self.made(name, &[a, b], shape, dtype, f64::INFINITY, Rule::Moves, Box::new(move |x| build(x[0], x[1]))))
    }

    fn fresh(&mut self) -> Option<usize> {
        let shape = shape(&mut self.sample, self.limits.elements);
        if self.sample.once_in(3) {
            return Some(self.push(Step { source: Source::Random, operands: vec![], shape, dtype: DType::F32, bound: 1.0, exact: true }));
        }
        let dtype = self.sample.pick(&[DType::F32, DType::F16, DType::I32, DType::U32, DType::Bool]);
        self.leaf(dtype, shape);
        None
    }

    /// Everything that ops made and nothing uses, and sometimes a value on the way.
    fn choose_outputs(&mut self) {
        let made: Vec<usize> = (0..self.recipe.steps.len()).filter(|&n| !matches!(self.step(n).source, Source::Leaf(_))).collect();
        for n in made {
            if !self.used(n) || self.sample.once_in(8) {
                self.recipe.outputs.push(n);
            }
        }
    }
}
