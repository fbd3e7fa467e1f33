//! Residual networks that others have published: files of weights under torchvision's names.
//!
//! A [`PublishedNetwork`] classifies pictures after the preprocessing that such weights are made for: the shorter side
//! becomes 256 pixels, the middle 224 × 224 of these are taken and normalized by ImageNet's colors. Training may begin from
//! such a file, too; its last layer then stays new if there are other classes.
//!
//! Invariant: sizes come from the file, so a narrow network of the same names is read as well.

use std::path::Path;

use farad_data::Array;
use farad_nn::StateDict;
use farad_nn::layers::{Layer, Module, ResNet, ResNetOptions};
use farad_tensor::{DType, Device, Tensor};
use farad_train::{Inputs, Outputs, Prediction, Predictor, Signature};

use crate::error::{FitError, Result};
use crate::models::ModelKind;

/// Means and deviations of ImageNet's colors, by which published weights take pictures.
pub const COLORS: [[f64; 3]; 2] = [[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]];
/// Pixels per side that published weights take.
pub const SIDE: usize = 224;
/// Pixels of the shorter side before the middle is taken.
const SHORTER: usize = 256;
/// The ending of files of weights.
const ENDING: &str = "safetensors";
/// What torchvision counts beside weights.
const COUNTS: &str = "**num_batches_tracked";
/// The last layer.
const LAST: &str = "fc.*";

/// Whether a path is a file of weights.
pub fn is_published(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING) && path.is_file()
}

/// Weights and the sizes of the network that they are of.
pub struct PublishedWeights {
    weights: StateDict,
    options: ResNetOptions,
    path: String,
}

impl PublishedWeights {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<PublishedWeights> {
        let weights = StateDict::read(path)?;
        let path = path.display().to_string();
        match sizes(&weights) {
            Ok(options) => Ok(PublishedWeights { weights, options, path }),
            Err(what) => Err(FitError::PublishedWeights { path, what }.into()),
        }
    }

    /// The kind of network.
    pub fn model(&self) -> ModelKind {
        if self.options.bottleneck { ModelKind::ResNet50 } else { ModelKind::ResNet18 }
    }

    /// Its sizes as settings have them: channels, then blocks of each stage.
    pub fn sizes(&self) -> Vec<usize> {
        [self.options.width].into_iter().chain(self.options.blocks).collect()
    }

    /// Puts the weights into a network, but for a last layer of other classes.
    pub fn load_into(&self, model: &(impl Module + ?Sized), classes: usize) -> Result<()> {
        let weights = self.weights.clone().ignore(COUNTS);
        if classes == self.options.classes {
            return weights.load_exactly(model);
        }
        let difference = weights.ignore(LAST).load_into(model)?;
        let missing = difference.missing.iter().find(|name| !name.starts_with("fc."));
        let what = match (missing, difference.mismatched.first(), difference.unexpected.first()) {
            (Some(name), ..) => format!("there is no {name}"),
            (_, Some(other), _) => format!("{} has another shape than the network's", other.name),
            (_, _, Some(name)) => format!("{name} is no part of the network"),
            _ => return Ok(()),
        };
        Err(FitError::PublishedWeights { path: self.path.clone(), what }.into())
    }
}

/// The sizes that names and shapes tell.
fn sizes(weights: &StateDict) -> std::result::Result<ResNetOptions, String> {
    let size = |name: &str, rank: usize| match weights.get(name) {
        Some(tensor) if tensor.rank() == rank => Ok(tensor.shape()[0]),
        Some(tensor) => Err(format!("{name} has another shape than a ResNet's: {}", tensor.shape())),
        None => Err(format!("there is no {name}")),
    };
    let (width, classes) = (size("conv1.weight", 4)?, size("fc.weight", 2)?);
    let has =
        |stage: usize, block: usize| weights.get(&format!("layer{stage}.{block}.conv1.weight")).is_some();
    let blocks = std::array::from_fn(|stage| (0..).take_while(|&block| has(stage + 1, block)).count());
    if let Some(stage) = blocks.iter().position(|&count| count == 0) {
        return Err(format!("there is no layer{}.0.conv1.weight", stage + 1));
    }
    let bottleneck = weights.get("layer1.0.conv3.weight").is_some();
    Ok(ResNetOptions { blocks, width, bottleneck, classes })
}

/// A published network in use, on a device.
pub struct PublishedNetwork {
    model: ResNet,
    signature: Signature,
    device: Device,
}

impl PublishedNetwork {
    /// Reads a file. Classes are numbers, unless a file `classes.txt` beside it has a name per line.
    ///
    /// ```no_run
    /// use farad::fit::PublishedNetwork;
    /// use farad::prelude::*;
    /// let network = PublishedNetwork::open("resnet18.safetensors", &Device::best())?;
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, device: &Device) -> Result<PublishedNetwork> {
        let path = path.as_ref();
        let published = PublishedWeights::read(path)?;
        let model = ResNet::new(&published.options);
        published.load_into(&model, published.options.classes)?;
        let model = model.try_to_device(device)?;
        model.eval();
        let classes = names(path, published.options.classes)?;
        let inputs = Inputs::Pictures { channels: 3, height: SIDE, width: SIDE };
        let signature = Signature { inputs, outputs: Outputs::Classes(classes) };
        Ok(PublishedNetwork { model, signature, device: device.clone() })
    }

    /// What it gives before probabilities: pictures `[samples, 3, height, width]`, levels from 0 to 1 -> `[samples, classes]`.
    pub fn logits(&self, samples: &Tensor) -> Result<Tensor> {
        let [means, deviations] = COLORS.map(|colors| colors.map(|color| color as f32));
        let color = |colors: &[f32; 3]| Tensor::try_from_vec(colors, [1, 3, 1, 1], &self.device);
        let x = samples.to_device(&self.device)?.cast(DType::F32);
        Ok(self.model.forward(&((x - color(&means)?) / color(&deviations)?)))
    }
}

/// What the classes are called.
fn names(path: &Path, classes: usize) -> Result<Vec<String>> {
    let file = path.with_file_name("classes.txt");
    if !file.is_file() {
        return Ok((0..classes).map(|class| class.to_string()).collect());
    }
    let fail = |source| farad_tensor::Error::File { op: "classes", path: file.clone(), source };
    let text = std::fs::read_to_string(&file).map_err(fail)?;
    let names: Vec<String> = text.lines().map(|line| line.trim().to_string()).collect();
    if names.len() == classes {
        return Ok(names);
    }
    let what = format!("it names other classes than the weights have ({} vs {classes})", names.len());
    Err(FitError::PublishedWeights { path: file.display().to_string(), what }.into())
}

impl Predictor for PublishedNetwork {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn shorter_side(&self) -> Option<usize> {
        Some(SHORTER)
    }

    fn predict(&self, samples: &Tensor) -> Result<Vec<Prediction>> {
        let samples = self.signature.inputs.batch(samples)?;
        let mut said = vec![];
        // Large pictures: a few at a time.
        for from in (0..samples.shape()[0]).step_by(16) {
            let part = samples.narrow(0, from, 16.min(samples.shape()[0] - from));
            let probabilities = self.logits(&part)?.softmax(1);
            let width = probabilities.shape()[1].max(1);
            let rows = probabilities.to_vec::<f32>()?;
            said.extend(rows.chunks(width).map(|row| Prediction::likeliest(row.to_vec())));
        }
        Ok(said)
    }
}

/// The middle of a picture whose shorter side becomes so many pixels: `[channels, height, width]`, levels from 0 to 1.
pub fn middle(picture: &Array, pixels: usize, [height, width]: [usize; 2]) -> Result<Array> {
    let shape = picture.shape();
    let (channels, tall, wide) = (shape[0], shape[1], shape[2]);
    let shorter = tall.min(wide).max(1);
    let pixels = pixels.max(height).max(width);
    let [new_tall, new_wide] = [tall, wide].map(|side| (side * pixels / shorter).max(1));
    let levels = picture.to_f32();
    let (top, left) = ((new_tall - height).div_ceil(2), (new_wide - width).div_ceil(2));
    let rows: Vec<Shares> = (top..top + height).map(|at| shares(at, new_tall, tall)).collect();
    let columns: Vec<Shares> = (left..left + width).map(|at| shares(at, new_wide, wide)).collect();
    let mut cut = Vec::with_capacity(channels * height * width);
    for plane in levels.chunks_exact(tall * wide) {
        // First across, for the rows that are needed; then down.
        let across: Vec<f32> = plane
            .chunks_exact(wide)
            .flat_map(|row| columns.iter().map(move |shares| shares.of(|column| row[column])))
            .collect();
        for shares in &rows {
            cut.extend((0..width).map(|column| shares.of(|row| across[row * width + column])));
        }
    }
    Ok(Array::new(cut, [channels, height, width]))
}

/// What old pixels have part in a new one, from the first on.
struct Shares {
    first: usize,
    shares: Vec<f32>,
}

impl Shares {
    fn of(&self, level: impl Fn(usize) -> f32) -> f32 {
        self.shares.iter().enumerate().map(|(n, share)| share * level(self.first + n)).sum()
    }
}

/// Linear between neighbors, and over as many pixels as fall on one where a picture gets smaller.
fn shares(at: usize, new: usize, old: usize) -> Shares {
    let scale = old as f32 / new as f32;
    let reach = scale.max(1.0);
    let center = (at as f32 + 0.5) * scale;
    let first = (center - reach + 0.5).max(0.0) as usize;
    let last = ((center + reach + 0.5) as usize).min(old).max(first + 1);
    let share = |pixel: usize| (1.0 - ((pixel as f32 + 0.5 - center) / reach).abs()).max(0.0);
    let all: Vec<f32> = (first..last).map(share).collect();
    let sum: f32 = all.iter().sum();
    Shares { first, shares: all.iter().map(|share| share / sum.max(f32::MIN_POSITIVE)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_picture_is_taken() {
        // A ramp across stays a ramp; the shorter side, 4, becomes 8.
        let ramp: Vec<f32> = (0..4 * 8).map(|n| (n % 8) as f32 / 8.0).collect();
        let cut = middle(&Array::new(ramp, [1, 4, 8]), 8, [8, 8]).expect("pixels").to_f32();
        for (n, level) in cut.iter().enumerate() {
            let wanted = ((n % 8 + 4) as f32 + 0.5) / 16.0 - 1.0 / 16.0;
            assert!((level - wanted).abs() < 1e-6, "{n}: {level} vs {wanted}");
        }
        // Smaller: a new pixel is near the mean of those that fall on it.
        let board: Vec<f32> = (0..64 * 64).map(|n| ((n + n / 64) % 2) as f32).collect();
        let cut = middle(&Array::new(board, [1, 64, 64]), 8, [8, 8]).expect("pixels").to_f32();
        assert!(cut.iter().all(|level| (level - 0.5).abs() < 0.01), "{cut:?}");
    }
}
