//! Changed copies of the training pictures, made on all cores before training.

use farad::data::{Array, Elements, Motion, Random, Transform, Warp};
use rayon::prelude::*;

use super::data::{HostSamples, Levels};
use super::settings::ClassifierSettings;
use crate::error::Result;

/// The random stream of the copies.
const COPIES: u32 = 0x6c63_6f70;

/// The kinds of changes in copies.
fn warp(settings: &ClassifierSettings) -> Warp {
    let elastic =
        Motion::Elastic { alpha: settings.elastic_alpha as f32, sigma: settings.elastic_sigma as f32 };
    let rows = [
        (settings.rotate, Motion::Rotate(settings.rotate as f32)),
        (settings.shear, Motion::Shear(settings.shear as f32)),
        (settings.scale, Motion::Scale(settings.scale as f32)),
        (settings.elastic_alpha, elastic),
    ];
    Warp::new(rows.into_iter().filter(|row| row.0 > 0.0).map(|row| row.1).collect::<Vec<_>>())
}

/// The copies that the settings ask for, one set of pictures after another; `None` if there are none, or if the
/// samples are not pictures. A copy depends only on the seed, its number and that of its picture.
pub fn copies(settings: &ClassifierSettings, part: &HostSamples) -> Result<Option<HostSamples>> {
    let (warp, count) = (warp(settings), settings.copies as usize);
    let Levels::Bytes(bytes) = &part.levels else { return Ok(None) };
    if count == 0 {
        return Ok(None);
    }
    let (features, samples) = (part.features(), part.len());
    let mut copied = vec![0u8; count * bytes.len()];
    copied.par_chunks_exact_mut(features).enumerate().try_for_each(|(place, copy)| {
        let picture = &bytes[place % samples * features..][..features];
        let mut random = Random::at(settings.seed as u64, COPIES, place as u64);
        let changed = warp.apply(Array::new(picture.to_vec(), part.shape), &mut random)?;
        match changed.elements() {
            Elements::U8(levels) => copy.copy_from_slice(levels),
            _ => unreachable!("bytes stay bytes"),
        }
        farad::Result::Ok(())
    })?;
    let labels = part.labels.repeat(count);
    Ok(Some(HostSamples { levels: Levels::Bytes(copied), labels, shape: part.shape }))
}
