//! The two ops of attention: its result, and the gradients at queries, keys and values.

use farad_ir::{CustomKernel, CustomLimits, CustomOp, DType, Exact, OpError, Shape, Var, Words};

use super::extent::{AttentionExtent, Sight};
use super::{cpu, gpu, reference, second};

/// The widest heads that the kernels take.
pub const WIDEST: usize = 128;

/// The logarithm of a sum of nothing, as far as `f32` reaches without infinities.
pub const NOTHING: f32 = -1e30;

/// Queries `[heads, queries, width]`, keys and values `[key heads, keys, width]`, and perhaps a mask
/// `[masks, keys]` -> the result, like the queries, and the logarithm of each query's sum.
#[derive(Clone, Copy, Debug, Hash)]
pub struct AttentionOp {
    pub scale: Exact,
    /// How many keys beyond its own place a query sees; `None`: it sees all.
    pub offset: Option<usize>,
}

/// Queries, keys, values, gradients at the result, logarithms of the sums, shares (the sum of result times gradient,
/// a query), perhaps a mask -> gradients at the queries, and at keys and values in one array.
#[derive(Clone, Copy, Debug, Hash)]
struct AttentionGradients(AttentionOp);

impl AttentionOp {
    /// How far a query sees ahead.
    pub fn ahead(&self, extent: &AttentionExtent) -> usize {
        self.offset.unwrap_or(extent.keys)
    }

    fn sight<'a>(&self, extent: AttentionExtent, mask: Option<&&'a [u32]>) -> Sight<'a> {
        Sight { extent, ahead: self.ahead(&extent), mask: mask.copied() }
    }

    /// Pairs of a query and a key that it sees, without masks.
    fn pairs(&self, extent: &AttentionExtent) -> u64 {
        let sight = self.sight(*extent, None);
        extent.heads as u64 * (0..extent.queries).map(|query| sight.limit(query) as u64).sum::<u64>()
    }
}

fn words(shapes: &[Shape]) -> u64 {
    shapes.iter().map(|shape| shape.numel() as u64).sum()
}

fn floats(words: &[u32]) -> &[f32] {
    bytemuck::cast_slice(words)
}

impl CustomOp for AttentionOp {
    fn name(&self) -> &str {
        "attention"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let extent = AttentionExtent::check(operands)?;
        Ok(vec![(extent.q(), DType::F32), (extent.rows(), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let mask = operands.get(3).map(|mask| reference::truth(mask));
        let sight =
            self.sight(AttentionExtent::of(&shapes[0], &shapes[1], shapes.get(3)), mask.as_deref().as_ref());
        reference::forward(&sight, self.scale.0, [&operands[0], &operands[1], &operands[2]])
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let sight = self.sight(AttentionExtent::of(&shapes[0], &shapes[1], shapes.get(3)), operands.get(3));
        let [y, sums] = results else { unreachable!("two results") };
        let given = [floats(operands[0]), floats(operands[1]), floats(operands[2])];
        let (y, sums) = (bytemuck::cast_slice_mut(y), bytemuck::cast_slice_mut(sums));
        cpu::forward(&sight, self.scale.0 as f32, given, y, sums);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let extent = AttentionExtent::of(&shapes[0], &shapes[1], shapes.get(3));
        gpu::forward(self, &extent, shapes.len() > 3, limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let extent = AttentionExtent::of(&shapes[0], &shapes[1], shapes.get(3));
        let bytes = 4 * (words(shapes) + words(&[extent.q(), extent.rows()]));
        Some((bytes, 4 * self.pairs(&extent) * extent.width as u64))
    }

    fn gradient<'g>(
        &self,
        operands: &[Var<'g>],
        results: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        let (&[q, k, v], rest) = operands.split_first_chunk().expect("checked by infer");
        let extent =
            AttentionExtent::of(&q.shape(), &k.shape(), rest.first().map(|mask| mask.shape()).as_ref());
        let shares = (results[0] * upstream[0]).sum(&[2]).reshape(extent.rows()) - upstream[1];
        let mut given = vec![q, k, v, upstream[0], results[1], shares];
        given.extend(rest);
        let found = Var::custom(AttentionGradients(*self), &given)?;
        let (queries, both) = (found[0], found[1]);
        let (keys, values) = (second::half(both, &extent, 0), second::half(both, &extent, 1));
        let mut found = vec![Some(queries), Some(keys), Some(values)];
        found.extend(rest.iter().map(|_| None));
        Ok(found)
    }
}

impl CustomOp for AttentionGradients {
    fn name(&self) -> &str {
        "attention_gradients"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let extent = AttentionExtent::of(&operands[0].0, &operands[1].0, operands.get(6).map(|mask| &mask.0));
        Ok(vec![(extent.q(), DType::F32), (extent.both(), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let mask = operands.get(6).map(|mask| reference::truth(mask));
        let extent = AttentionExtent::of(&shapes[0], &shapes[1], shapes.get(6));
        let sight = self.0.sight(extent, mask.as_deref().as_ref());
        let given = std::array::from_fn(|n| &operands[n][..]);
        reference::backward(&sight, self.0.scale.0, given)
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let extent = AttentionExtent::of(&shapes[0], &shapes[1], shapes.get(6));
        let sight = self.0.sight(extent, operands.get(6));
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
        let extent = AttentionExtent::of(&shapes[0], &shapes[1], shapes.get(6));
        gpu::backward(&self.0, &extent, shapes.len() > 6, limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let extent = AttentionExtent::of(&shapes[0], &shapes[1], shapes.get(6));
        let bytes = 4 * (words(shapes) + words(&[extent.q(), extent.both()]));
        Some((bytes, 10 * self.0.pairs(&extent) * extent.width as u64))
    }

    fn gradient<'g>(
        &self,
        operands: &[Var<'g>],
        _: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        second::gradient(&self.0, operands, upstream)
    }
}
