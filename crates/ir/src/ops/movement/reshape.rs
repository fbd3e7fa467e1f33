//! Reshape: the same elements in another shape. Positions do not change.

use crate::error::OpError;
use crate::shape::Shape;
use crate::var::Var;

pub(crate) fn shape(from: Shape, to: Shape) -> Result<Shape, OpError> {
    let Some(numel) = to.count() else {
        return Err(OpError::TooLarge { op: "reshape".into(), shape: to, numel: to.about() });
    };
    if from.numel() != numel {
        return Err(OpError::Reshape { from, to, a: from.numel(), b: numel });
    }
    Ok(to)
}

pub(crate) fn gradient<'g>(x: Var<'g>, g: Var<'g>) -> Var<'g> {
    g.reshape(x.shape())
}
