//! Limits on gradients, inside an optimiser's step or by hand.

use farad_ir::{Binary, DType, Graph, NodeId, Reduce, Shape, Unary};

use crate::tensor::Tensor;

/// What happens to gradients before the update. Limits may change from step to step without a new
/// program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Clip {
    /// Nothing.
    #[default]
    None,
    /// Every element is kept within ± this.
    Value(f32),
    /// All gradients together are scaled down to at most this norm.
    Norm(f32),
}

impl Clip {
    pub(crate) fn kind(&self) -> String {
        match self {
            Clip::None => "none".into(),
            Clip::Value(_) => "value".into(),
            Clip::Norm(_) => "norm".into(),
        }
    }

    pub(crate) fn numbers(&self) -> Vec<f32> {
        match self {
            Clip::None => vec![],
            Clip::Value(limit) | Clip::Norm(limit) => vec![*limit],
        }
    }

    pub(crate) fn apply(&self, graph: &mut Graph, g: NodeId, numbers: &[NodeId]) -> NodeId {
        let shape = graph.shape(g);
        match self {
            Clip::None => g,
            Clip::Value(_) => {
                let limit = graph.spread(numbers[0], shape);
                let low = graph.neg(limit);
                let g = graph.binary(Binary::Max, g, low);
                graph.binary(Binary::Min, g, limit)
            }
            Clip::Norm(_) => {
                let square = graph.mul(g, g);
                let sum = graph.reduce(Reduce::Sum, square, &[0]);
                let norm = graph.unary(Unary::Sqrt, sum);
                let small = graph.fill(farad_ir::Scalar::float(DType::F32, 1e-6), Shape::scalar());
                let norm = graph.add(norm, small);
                let ratio = graph.div(numbers[0], norm);
                let one = graph.fill_like(ratio, 1.0);
                let ratio = graph.binary(Binary::Min, ratio, one);
                let ratio = graph.spread(ratio, shape);
                graph.mul(g, ratio)
            }
        }
    }
}

/// Every element of every gradient kept within ± `limit`.
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
    gradients.iter().map(|g| g.clamp(-limit, limit)).collect()
}

/// All gradients together scaled down to at most this norm.
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
    let ratio = (norm.recip() * limit).minimum(1.0);
    gradients.iter().map(|g| g * &ratio).collect()
}
