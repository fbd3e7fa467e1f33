//! What a network of pictures looks for first: the filters of its first convolution, or the weights of the first units of
//! an MLP, as pictures.
//!
//! Invariant: gray is zero, and every picture is scaled by its own largest weight. Start at [`sheet`].

use farad_ir::DType;
use farad_tensor::Tensor;
use farad_train::run::{Sheet, Thumbnail, counted};

use crate::error::Result;
use crate::samples::picture;

/// Filters on a sheet at most.
const SHOWN: usize = 64;
/// The side of a picture on the sheet.
const SIDE: f64 = 56.0;

/// Draws the weights that meet samples of this shape first, if they are pictures.
pub fn sheet(state: &[(String, Tensor)], samples: &[usize], about: &str) -> Result<Option<Sheet>> {
    let Some((what, unit, weight, shape)) = first(state, samples) else { return Ok(None) };
    let (values, size) = (weight.to_vec::<f32>()?, shape.iter().product::<usize>());
    let all = weight.shape()[0];
    let shown = all.min(SHOWN);
    let of = if shown < all { format!("the first {shown} of ") } else { String::new() };
    let mut sheet = Sheet::new(&format!("{what}: {of}{}", counted(all, unit)), (SIDE, SIDE)).about(about);
    for filter in values.chunks_exact(size.max(1)).take(shown) {
        let most = filter.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let gray: Vec<f32> = filter.iter().map(|value| 0.5 + 0.5 * value / most).collect();
        let Some(picture) = picture(&gray, &shape) else { return Ok(None) };
        sheet = sheet.tile(Thumbnail::new(picture.png(), &[] as &[&str]));
    }
    Ok(Some(sheet))
}

/// The first weight that can be drawn, what it is and has, and the shape of one filter: channels, height, width.
fn first<'a>(
    state: &'a [(String, Tensor)],
    samples: &[usize],
) -> Option<(&'static str, &'static str, &'a Tensor, [usize; 3])> {
    let &[channels, height, width] = samples else { return None };
    let (_, weight) = state.iter().find(|(name, _)| name.ends_with("weight"))?;
    let shape = weight.shape();
    match shape[..] {
        _ if (channels != 1 && channels != 3) || weight.dtype() != DType::F32 => None,
        [_, read, high, wide] if read == channels && high * wide > 1 => {
            Some(("The first convolution", "filter", weight, [channels, high, wide]))
        }
        [_, read] if read == channels * height * width => {
            Some(("The first layer", "unit", weight, [channels, height, width]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad_tensor::Device;

    #[test]
    fn first_weights_are_drawn_and_only_they() {
        let ones = |shape: &[usize]| Tensor::ones(shape, &Device::cpu());
        let drawn = |name: &str, shape: &[usize], samples: &[usize]| {
            let state = [("stages.0.bias".to_string(), ones(&[1])), (name.to_string(), ones(shape))];
            sheet(&state, samples, "a run").unwrap().map(|sheet| sheet.svg())
        };
        let svg = drawn("stages.0.weight", &[8, 3, 3, 3], &[3, 32, 32]).unwrap();
        assert!(svg.contains("The first convolution: 8 filters") && svg.matches("<image ").count() == 8);
        let svg = drawn("layers.0.weight", &[100, 784], &[1, 28, 28]).unwrap();
        assert!(svg.contains("The first layer: the first 64 of 100 units"));
        for (shape, samples) in [
            (&[8, 16][..], &[16][..]),
            (&[8, 2, 3, 3], &[2, 32, 32]),
            (&[8, 3, 1, 1], &[3, 32, 32]),
            (&[64, 28], &[1, 28, 28]),
        ] {
            assert_eq!(drawn("weight", shape, samples), None, "{shape:?}");
        }
    }
}
