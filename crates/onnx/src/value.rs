//! What a value is while a model runs.

use farad_tensor::Shape;

use crate::error::Result;
use crate::refuse;

/// The most axes that a tensor has.
const MOST_AXES: usize = 8;

/// A shape as tensors have it.
pub fn shape_of(sizes: &[usize]) -> Result<Shape> {
    if sizes.len() > MOST_AXES {
        refuse!("too many axes: {sizes:?} ({} vs at most {MOST_AXES})", sizes.len());
    }
    let shape = Shape::from(sizes);
    if shape.count().is_none() {
        refuse!("too many elements: {sizes:?}");
    }
    Ok(shape)
}
