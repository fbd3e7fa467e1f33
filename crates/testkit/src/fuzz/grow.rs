//! Grows recipes: picks ops that fit the existing values, and adds new leaves where needed.

use farad_ir::{DType, Shape};

use super::float::stored;
use super::layout::{Build, broadcastable, shape};
use super::{ErrorRule, FuzzLimits, FuzzOp, FuzzRecipe, FuzzStep, ROUNDING, ValueSource};
use crate::case::{Input, all_of, float, half, int, truth, unsigned};
use crate::sample::NumberStream;

/// A value beyond this is scaled down before it is used.
const LARGEST: f64 = 40.0;

/// A recipe under construction. Its methods return `None` if there is nothing to grow from.
pub(super) struct Growth {
    pub recipe: FuzzRecipe,
    pub sample: NumberStream,
    pub limits: FuzzLimits,
}

impl FuzzRecipe {
    /// The recipe of a seed.
    pub fn grow(seed: u64, limits: FuzzLimits) -> FuzzRecipe {
        let recipe = FuzzRecipe { seed, steps: Vec::new(), outputs: Vec::new() };
        let mut growth =
            Growth { recipe, sample: NumberStream::new(seed.wrapping_mul(0x9E37_79B9) ^ 0xfa4ad), limits };
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
    pub(super) fn step(&self, n: usize) -> &FuzzStep {
        &self.recipe.steps[n]
    }

    pub(super) fn push(&mut self, step: FuzzStep) -> usize {
        self.recipe.steps.push(step);
        self.recipe.steps.len() - 1
    }

    pub(super) fn leaf(&mut self, dtype: DType, shape: Shape) -> usize {
        let (input, bound): (Input, f64) = match dtype {
            DType::F16 => (half(shape, (-2.0, 2.0)), 2.0),
            dtype if dtype.is_int() && self.sample.once_in(4) => (all_of(shape, dtype), f64::INFINITY),
            dtype if dtype.is_signed_int() => (int(shape, -20, 20).stored(dtype), 20.0),
            dtype if dtype.is_int() => (unsigned(shape, 0, 20).stored(dtype), 20.0),
            DType::F64 => (float(shape, (-2.0, 2.0)).stored(dtype), 2.0),
            DType::Bool => (truth(shape), 1.0),
            _ => (float(shape, (-2.0, 2.0)), 2.0),
        };
        self.push(FuzzStep {
            source: ValueSource::Leaf(input),
            operands: vec![],
            shape,
            dtype,
            bound,
            exact: true,
        })
    }

    pub(super) fn index(&mut self, shape: Shape, size: usize) -> usize {
        let input = if self.sample.once_in(3) {
            unsigned(shape, 0, size as u32 - 1)
        } else {
            int(shape, 0, size as i32 - 1)
        };
        let dtype = input.dtype;
        self.push(FuzzStep {
            source: ValueSource::Leaf(input),
            operands: vec![],
            shape,
            dtype,
            bound: size as f64,
            exact: true,
        })
    }

    /// Adds an op's value; a float that may have become large is scaled down after it.
    pub(super) fn made(
        &mut self,
        name: impl Into<String>,
        operands: &[usize],
        shape: Shape,
        dtype: DType,
        bound: f64,
        error: ErrorRule,
        build: Build,
    ) -> usize {
        let moves = matches!(error, ErrorRule::Moves);
        let exact = operands.iter().all(|&n| self.step(n).exact) && (moves || !dtype.is_float());
        let operands = operands.to_vec();
        let made = self.push(FuzzStep {
            source: ValueSource::Op(FuzzOp { name: name.into(), build, error }),
            operands,
            shape,
            dtype,
            bound,
            exact,
        });
        if !dtype.is_float() || bound <= LARGEST {
            return made;
        }
        let factor = 1.0 / bound;
        let build: Build = Box::new(move |x| x[0] * factor);
        let op = FuzzOp {
            name: format!("times {factor:.3e}"),
            build,
            error: ErrorRule::Slope(factor, ROUNDING + stored(dtype)),
        };
        self.push(FuzzStep {
            source: ValueSource::Op(op),
            operands: vec![made],
            shape,
            dtype,
            bound: 1.0,
            exact: false,
        })
    }

    /// Whether some op uses the value.
    fn used(&self, n: usize) -> bool {
        self.recipe.steps.iter().any(|s| s.operands.contains(&n))
    }

    /// A value with a property, preferably one that nothing uses yet: so chains grow long, and few values are
    /// read at the end.
    pub(super) fn value(&mut self, fits: impl Fn(&FuzzStep) -> bool) -> Option<usize> {
        let found: Vec<usize> = (0..self.recipe.steps.len()).filter(|&n| fits(self.step(n))).collect();
        let loose: Vec<usize> = found.iter().copied().filter(|&n| !self.used(n)).collect();
        match (found.is_empty(), loose.is_empty() || self.sample.once_in(4)) {
            (true, _) => None,
            (_, true) => Some(self.sample.pick(&found)),
            _ => Some(self.sample.pick(&loose)),
        }
    }

    /// A value that broadcasts with another to a shape that is not too large, or a new leaf.
    pub(super) fn beside(&mut self, n: usize, exact: bool) -> (usize, Shape) {
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
        match self.sample.below(23) {
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
            21 => self.sorted(),
            _ => self.fresh(),
        }
    }

    /// All computed values that nothing uses, and sometimes an intermediate value.
    fn choose_outputs(&mut self) {
        let made: Vec<usize> = (0..self.recipe.steps.len())
            .filter(|&n| !matches!(self.step(n).source, ValueSource::Leaf(_)))
            .collect();
        for n in made {
            if !self.used(n) || self.sample.once_in(8) {
                self.recipe.outputs.push(n);
            }
        }
    }
}
