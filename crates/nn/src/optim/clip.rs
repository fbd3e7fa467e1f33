//! Limits on gradients, inside an optimizer's step or by hand.

use farad_ir::{Binary, DType, Graph, NodeId, Reduce, Unary};

use super::scale::all_finite;
use farad_tensor::Tensor;

/// What happens to gradients before the update. Limits may change from step to step without a new
/// program.
///
/// Nothing sensible can be made of a gradient that is not finite. So a step that clips is skipped where there is one:
/// parameters and moments stay as they are, and it is counted ([`Updater::overflows`](super::Updater::overflows)), as in
/// mixed precision. Without clipping, in `f32`, such a gradient reaches the parameters, where it is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Clip {
    /// Nothing.
    #[default]
    None,
    /// Every element is kept within ± this.
    Value(f32),
    /// All gradients together are scaled down to at most this norm. A norm beyond what `f32` holds is not finite.
    Norm(f32),
}

impl Clip {
    pub(crate) fn numbers(&self) -> Vec<f32> {
        match self {
            Clip::None => vec![],
            Clip::Value(limit) | Clip::Norm(limit) => vec![*limit],
        }
    }

    /// The gradients clipped, and whether they were finite: a bool value, if anything is clipped. If `g` is a share of the
    /// gradients, `norm` is that of all of them.
    pub(crate) fn apply(
        &self,
        graph: &mut Graph,
        g: NodeId,
        norm: Option<NodeId>,
        numbers: &[NodeId],
    ) -> (NodeId, Option<NodeId>) {
        let shape = graph.shape(g);
        match self {
            Clip::None => (g, None),
            _ if shape.numel() == 0 => (g, None),
            Clip::Value(_) => {
                let fine = all_finite(graph, norm.unwrap_or(g));
                let limit = graph.cast(numbers[0], graph.dtype(g));
                let limit = graph.spread(limit, shape);
                let low = graph.neg(limit);
                let g = graph.binary(Binary::Max, g, low);
                (graph.binary(Binary::Min, g, limit), Some(fine))
            }
            Clip::Norm(_) => {
                let norm = match norm {
                    Some(norm) => graph.cast(norm, graph.dtype(g)),
                    None => {
                        let square = graph.mul(g, g);
                        let sum = graph.reduce(Reduce::Sum, square, &[0]);
                        graph.unary(Unary::Sqrt, sum)
                    }
                };
                // One element that is not finite makes the norm so.
                let fine = graph.unary(Unary::Finite, norm);
                let fine = graph.cast(fine, DType::Bool);
                let small = graph.fill_like(norm, 1e-6);
                let norm = graph.add(norm, small);
                let limit = graph.cast(numbers[0], graph.dtype(g));
                let ratio = graph.div(limit, norm);
                let one = graph.fill_like(ratio, 1.0);
                let ratio = graph.binary(Binary::Min, ratio, one);
                let ratio = graph.spread(ratio, shape);
                (graph.mul(g, ratio), Some(fine))
            }
        }
    }
}

/// Every element of every gradient kept within ± `limit`. What is not finite stays as it is.
///
/// ```
/// use farad::prelude::*;
/// let g = Tensor::from_vec(vec![-200.0, -50.0, 0.0, 50.0, 200.0], [5], &Device::cpu());
/// let clipped = farad::optim::clip_by_value(&[g], 100.0);
/// assert_eq!(clipped[0].to_vec::<f32>()?, [-100.0, -50.0, 0.0, 50.0, 100.0]);
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn clip_by_value(gradients: &[Tensor], limit: f64) -> Vec<Tensor> {
    let mut clipped = Vec::with_capacity(gradients.len());
    for g in gradients {
        clipped.push(g.is_finite().select(&g.clamp(-limit, limit), g));
    }
    clipped
}

/// All gradients together scaled down to at most this norm. If it is not finite, neither are they afterwards.
///
/// ```
/// use farad::prelude::*;
/// let g = Tensor::from_vec(vec![3.0, 4.0], [2], &Device::cpu());
/// let clipped = farad::optim::clip_by_norm(&[g], 1.0);
/// assert!((clipped[0].to_vec::<f32>()?[1] - 0.8).abs() < 1e-5);
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn clip_by_norm(gradients: &[Tensor], limit: f64) -> Vec<Tensor> {
    let mut squares = gradients.iter().map(|g| g.square().sum());
    let Some(first) = squares.next() else { return vec![] };
    let norm = squares.fold(first, |sum, square| sum + square).sqrt() + 1e-6;
    let ratio = norm.is_finite().select(&(norm.recip() * limit).minimum(1.0), &norm);
    gradients.iter().map(|g| g * &ratio).collect()
}
