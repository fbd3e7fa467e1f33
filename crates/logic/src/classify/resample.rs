//! What happens to neurons with candidates between steps: they redraw candidates while they learn, and freeze
//! afterwards.

use std::collections::HashMap;

use farad::Tensor;
use farad::nn::Module;
use farad::train::AnyOptimizer;

use super::settings::ClassifierSettings;
use crate::error::Result;
use crate::network::neurons::CANDIDATES;
use crate::network::{CompactLayer, LogicNetwork, NetworkBlock, Review};

/// Most steps between two reviews: a review waits for the device.
const MOST_STEPS: u64 = 500;

/// Reviews the neurons of a network after `steps` of `in_all` steps, if it is due.
pub fn after_step(
    settings: &ClassifierSettings,
    steps: u64,
    in_all: u64,
    network: &LogicNetwork,
    optimizer: &mut dyn AnyOptimizer,
) -> Result<()> {
    let every = (settings.resample_patience as u64 / 2).clamp(1, MOST_STEPS);
    if !steps.is_multiple_of(every) || steps == in_all {
        return Ok(());
    }
    let drawing = (steps as f64) < settings.resample_until * in_all as f64;
    let patience = drawing.then_some(settings.resample_patience as u64);
    let review = Review { number: steps / every, steps: every, patience };
    let mut cleared: Vec<(usize, Vec<usize>)> = vec![];
    let mut may_freeze = !drawing && settings.freeze_layers;
    // The last layer learns to the end; otherwise there would be nothing left to train.
    let last = network.layers().len().saturating_sub(1);
    let layers = network.layers().iter().enumerate();
    for (n, layer) in layers.filter_map(|(n, block)| Some((n, compact(block)?))) {
        if layer.is_frozen()? {
            continue;
        }
        let reviewed = layer.review(&review)?;
        if !reviewed.redrawn.is_empty() {
            let place = place_of(layer, optimizer);
            cleared.extend(place.map(|place| (place, reviewed.redrawn)));
        }
        // Only the first layer that still learns freezes: the layers after it have to adapt.
        if may_freeze && reviewed.still && n < last {
            layer.freeze()?;
        }
        may_freeze = false;
    }
    clear(optimizer, &cleared)
}

fn compact(block: &NetworkBlock) -> Option<&CompactLayer> {
    match block {
        NetworkBlock::Compact(layer) => Some(layer),
        _ => None,
    }
}

/// The index of a layer's logits among the optimizer's parameters.
fn place_of(layer: &CompactLayer, optimizer: &dyn AnyOptimizer) -> Option<usize> {
    let own = layer.parameters();
    optimizer.parameters().iter().position(|parameter| own.iter().any(|logits| logits.is(parameter)))
}

/// Clears the optimizer's state for some rows of some parameters.
fn clear(optimizer: &mut dyn AnyOptimizer, cleared: &[(usize, Vec<usize>)]) -> Result<()> {
    if cleared.is_empty() {
        return Ok(());
    }
    let rows: HashMap<String, &Vec<usize>> = cleared
        .iter()
        .flat_map(|(place, rows)| [0, 1].map(|n| (format!("moment.{n}.{place}"), rows)))
        .collect();
    optimizer.gather()?;
    let mut state = optimizer.state()?;
    for (name, tensor) in &mut state {
        let Some(rows) = rows.get(name) else { continue };
        let mut numbers = tensor.to_vec::<f32>()?;
        rows.iter().for_each(|row| numbers[row * CANDIDATES..][..CANDIDATES].fill(0.0));
        *tensor = Tensor::try_from_vec(&numbers, tensor.shape().to_vec(), tensor.device())?;
    }
    Ok(optimizer.restore(&state)?)
}
