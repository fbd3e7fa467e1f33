//! The two ops of attention: its result, and the gradients at queries, keys and values.

use farad_ir::{CustomKernel, CustomLimits, CustomOp, DType, Exact, OpError, Shape, Var, Words};

use super::dropout::AttentionDropout;
use super::extent::{AttentionExtent, Sight};
use super::matrices::Extras;
use super::reference::Chances;
use super::{cpu, gpu, matrices, reference, second};

/// The widest heads that the kernels take.
pub const WIDEST: usize = 128;

/// The logarithm of a sum of nothing, as far as `f32` reaches without infinities.
pub const NOTHING: f32 = -1e30;

/// Queries `[heads, queries, width]`, keys and values `[key heads, keys, width]`, and what the fields name -> the
/// result, like the queries, and the logarithm of each query's sum.
#[derive(Clone, Copy, Debug, Hash)]
pub struct AttentionOp {
    pub scale: Exact,
    /// How many keys beyond its own place a query sees; `None`: it sees all.
    pub offset: Option<usize>,
    /// Whether queries, keys, values and results are f16, which only tensor cores take.
    pub is_f16: bool,
    /// Whether there is a mask `[masks, keys]`.
    pub mask: bool,
    /// If `[biases, queries, keys]` is added to the scores: how many heads in a row share one of these. Tensor cores only.
    pub bias: Option<usize>,
    /// If weights are dropped, by a seed `[4]`. Tensor cores only.
    pub dropout: Option<AttentionDropout>,
}

/// Queries, keys, values, gradients at the result, logarithms of the sums, shares (the sum of result times gradient,
/// a query), and what the fields name -> gradients at the queries, and at keys and values in one array.
#[derive(Clone, Copy, Debug, Hash)]
struct AttentionGradients(AttentionOp);

/// Operands behind the first ones.
#[derive(Clone, Copy, Debug)]
pub struct ExtraOperands<T> {
    pub mask: Option<T>,
    pub bias: Option<T>,
    pub seed: Option<T>,
}

impl AttentionOp {
    /// How far a query sees ahead.
    pub fn ahead(&self, extent: &AttentionExtent) -> usize {
        self.offset.unwrap_or(extent.keys)
    }

    /// Which operands there are beyond queries, keys and values.
    pub fn extras(&self) -> Extras {
        Extras { mask: self.mask, bias: self.bias.is_some(), dropout: self.dropout.is_some() }
    }

    /// These operands, `given` of which come first.
    pub fn extra<T: Copy>(&self, operands: &[T], given: usize) -> ExtraOperands<T> {
        let mut rest = operands[given..].iter().copied();
        let mut take = |is: bool| if is { rest.next() } else { None };
        let extras = self.extras();
        ExtraOperands { mask: take(extras.mask), bias: take(extras.bias), seed: take(extras.dropout) }
    }

    fn dtype(&self) -> DType {
        if self.is_f16 { DType::F16 } else { DType::F32 }
    }

    fn extent(&self, shapes: &[Shape], given: usize) -> AttentionExtent {
        let ExtraOperands { mask, bias, .. } = self.extra(shapes, given);
        AttentionExtent::of(&shapes[0], &shapes[1], mask.as_ref(), bias.as_ref())
    }

    fn sight<'a>(&self, extent: AttentionExtent, mask: Option<&'a [u32]>) -> Sight<'a> {
        Sight { extent, ahead: self.ahead(&extent), mask }
    }

    /// Pairs of a query and a key that it sees, without masks.
    fn pairs(&self, extent: &AttentionExtent) -> u64 {
        let sight = self.sight(*extent, None);
        extent.heads as u64 * (0..extent.queries).map(|query| sight.limit(query) as u64).sum::<u64>()
    }

    /// Bytes that shapes take in memory, and their results.
    fn bytes(&self, shapes: &[Shape], results: &[Shape]) -> u64 {
        let words: usize = shapes.iter().chain(results).map(|shape| shape.numel()).sum();
        self.dtype().size() as u64 * words as u64
    }

    /// The meaning of the op, and of its gradients, for operands of which `given` come first.
    pub(super) fn meaning(&self, operands: &[Vec<f64>], shapes: &[Shape], given: usize) -> Vec<Vec<f64>> {
        let operands: Vec<&[f64]> = operands.iter().map(Vec::as_slice).collect();
        let extra = self.extra(&operands, given);
        let mask = extra.mask.map(reference::truth);
        let sight = self.sight(self.extent(shapes, given), mask.as_deref());
        let chances = Chances { op: self, bias: extra.bias, seed: extra.seed };
        match given {
            3 => reference::forward(&sight, self.scale.0, &chances, std::array::from_fn(|n| operands[n])),
            _ => reference::backward(&sight, self.scale.0, &chances, std::array::from_fn(|n| operands[n])),
        }
    }

    /// The same for words. CPUs record products and softmax for what is added and dropped, so that they come here only
    /// with the graph of another device; then time does not matter.
    fn slow(&self, operands: &[&[u32]], shapes: &[Shape], given: usize, results: &mut [Words]) {
        let extra = operands.len() - self.dropout.is_some() as usize;
        let mut values: Vec<Vec<f64>> = operands[..extra].iter().map(|words| doubles(words)).collect();
        values.extend(operands[extra..].iter().map(|words| words.iter().map(|&word| word as f64).collect()));
        if self.mask {
            values[given] = operands[given].iter().map(|&word| word as f64).collect();
        }
        for (to, from) in results.iter_mut().zip(self.meaning(&values, shapes, given)) {
            *to = from.into_iter().map(|x| (x as f32).to_bits()).collect();
        }
    }
}

fn doubles(words: &[u32]) -> Vec<f64> {
    floats(words).iter().map(|&x| x as f64).collect()
}

fn floats(words: &[u32]) -> &[f32] {
    bytemuck::cast_slice(words)
}

impl CustomOp for AttentionOp {
    fn name(&self) -> &str {
        "attention"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let least = 3 + self.extras().count();
        if operands.len() < least {
            return Err(OpError::Arity { op: "attention", got: operands.len(), least });
        }
        let ExtraOperands { mask, bias, .. } = self.extra(operands, 3);
        let extras = [mask, bias].map(|operand| operand.map(|(shape, _)| shape));
        let extent = AttentionExtent::check(operands, self.dtype(), extras)?;
        Ok(vec![(extent.q(), self.dtype()), (extent.rows(), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        self.meaning(operands, shapes, 3)
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        if self.bias.is_some() || self.dropout.is_some() {
            return self.slow(operands, shapes, 3, results);
        }
        let sight = self.sight(self.extent(shapes, 3), self.extra(operands, 3).mask);
        let [y, sums] = results else { unreachable!("two results") };
        let given = [floats(operands[0]), floats(operands[1]), floats(operands[2])];
        let (y, sums) = (bytemuck::cast_slice_mut(y), bytemuck::cast_slice_mut(sums));
        cpu::forward(&sight, self.scale.0 as f32, given, y, sums);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let extent = self.extent(shapes, 3);
        if matrices::takes(self, &extent, limits) {
            return matrices::forward(self, &extent, limits);
        }
        gpu::forward(self, &extent, self.mask, limits)
    }

    fn scratch(&self, _: &[Shape]) -> Vec<usize> {
        matrices::scratch(self)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let extent = self.extent(shapes, 3);
        let bytes = self.bytes(shapes, &[extent.q(), extent.rows()]);
        Some((bytes, 4 * self.pairs(&extent) * extent.width as u64))
    }

    fn gradient<'g>(
        &self,
        operands: &[Var<'g>],
        results: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        let (&[q, k, v], rest) = operands.split_first_chunk().expect("checked by infer");
        let shapes: Vec<Shape> = operands.iter().map(|x| x.shape()).collect();
        let extent = self.extent(&shapes, 3);
        let [y, g] = [results[0], upstream[0]].map(|x| x.cast(DType::F32));
        let shares = (y * g).sum(&[2]).reshape(extent.rows()) - upstream[1];
        let mut given = vec![q, k, v, upstream[0], results[1], shares];
        given.extend(rest);
        let found = Var::custom(AttentionGradients(*self), &given)?;
        let (queries, both) = (found[0], found[1]);
        let (keys, values) = (second::half(both, &extent, 0), second::half(both, &extent, 1));
        let mut found = vec![Some(queries), Some(keys), Some(values)];
        found.resize(operands.len(), None);
        if self.bias.is_some() {
            // Whoever learns what is added pays for all scores; nobody else does.
            found[3 + self.mask as usize] = Some(second::at_bias(self, &extent, &given));
        }
        Ok(found)
    }
}

impl CustomOp for AttentionGradients {
    fn name(&self) -> &str {
        "attention_gradients"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let shapes: Vec<Shape> = operands.iter().map(|(shape, _)| *shape).collect();
        let extent = self.0.extent(&shapes, 6);
        Ok(vec![(extent.q(), self.0.dtype()), (extent.both(), self.0.dtype())])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        self.0.meaning(operands, shapes, 6)
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        if self.0.bias.is_some() || self.0.dropout.is_some() {
            return self.0.slow(operands, shapes, 6, results);
        }
        let extent = self.0.extent(shapes, 6);
        let sight = self.0.sight(extent, self.0.extra(operands, 6).mask);
        let [queries, both] = results else { unreachable!("two results") };
        let (keys, values) = bytemuck::cast_slice_mut(both).split_at_mut(extent.k().numel());
        let given = std::array::from_fn(|n| floats(operands[n]));
        cpu::backward(
            &sight,
            self.0.scale.0 as f32,
            given,
            [bytemuck::cast_slice_mut(queries), keys, values],
        );
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let extent = self.0.extent(shapes, 6);
        if matrices::takes(&self.0, &extent, limits) {
            return matrices::backward(&self.0, &extent, limits);
        }
        gpu::backward(&self.0, &extent, self.0.mask, limits)
    }

    fn scratch(&self, _: &[Shape]) -> Vec<usize> {
        matrices::scratch(&self.0)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let extent = self.0.extent(shapes, 6);
        let bytes = self.0.bytes(shapes, &[extent.q(), extent.both()]);
        Some((bytes, 10 * self.0.pairs(&extent) * extent.width as u64))
    }

    fn gradient<'g>(
        &self,
        operands: &[Var<'g>],
        _: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        let shapes: Vec<Shape> = operands.iter().map(|x| x.shape()).collect();
        second::gradient(&self.0, &self.0.extent(&shapes, 6), operands, upstream)
    }
}
