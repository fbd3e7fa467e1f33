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
///
/// The levels are those of torchvision's `Resize` and `CenterCrop` for pictures of Pillow, which has levels of 8 bits between
/// and after the two directions. Newer versions of Pillow sometimes go down first; then a level may differ by one.
pub fn middle(picture: &Array, pixels: usize, [height, width]: [usize; 2]) -> Result<Array> {
    let shape = picture.shape();
    let (channels, tall, wide) = (shape[0], shape[1], shape[2]);
    let shorter = tall.min(wide).max(1);
    let pixels = pixels.max(height).max(width);
    let [new_tall, new_wide] = [tall, wide].map(|side| (side * pixels / shorter).max(1));
    let levels: Vec<u8> = picture.to_f32().iter().map(|level| (level * 255.0).round() as u8).collect();
    let (top, left) = (half(new_tall - height), half(new_wide - width));
    let rows: Vec<Shares> = (top..top + height).map(|at| shares(at, new_tall, tall)).collect();
    let columns: Vec<Shares> = (left..left + width).map(|at| shares(at, new_wide, wide)).collect();
    let mut cut = Vec::with_capacity(channels * height * width);
    for plane in levels.chunks_exact(tall * wide) {
        // First across, for the rows that are needed; then down.
        let across: Vec<u8> = plane
            .chunks_exact(wide)
            .flat_map(|row| columns.iter().map(move |shares| shares.of(|column| row[column])))
            .collect();
        for shares in &rows {
            let row = (0..width).map(|column| shares.of(|row| across[row * width + column]));
            cut.extend(row.map(|level| f32::from(level) / 255.0));
        }
    }
    Ok(Array::new(cut, [channels, height, width]))
}

/// Half of a number; halves between go to the even neighbor.
fn half(number: usize) -> usize {
    number / 2 + usize::from(number % 4 == 3)
}

/// Bits behind the point of a share.
const BITS: u32 = 22;

/// What old pixels have part in a new one, from the first on, as whole numbers of 2⁻²².
struct Shares {
    first: usize,
    shares: Vec<i32>,
}

impl Shares {
    fn of(&self, level: impl Fn(usize) -> u8) -> u8 {
        let part = |(n, share): (usize, &i32)| i64::from(*share) * i64::from(level(self.first + n));
        let sum: i64 = self.shares.iter().enumerate().map(part).sum();
        ((sum + (1 << (BITS - 1))) >> BITS).clamp(0, 255) as u8
    }
}

/// Linear between neighbors, and over as many pixels as fall on one where a picture gets smaller.
fn shares(at: usize, new: usize, old: usize) -> Shares {
    let scale = old as f64 / new as f64;
    let reach = scale.max(1.0);
    let center = (at as f64 + 0.5) * scale;
    let first = (center - reach + 0.5).max(0.0) as usize;
    let last = ((center + reach + 0.5) as usize).min(old).max(first + 1);
    let share = |pixel: usize| (1.0 - ((pixel as f64 - center + 0.5) * (1.0 / reach)).abs()).max(0.0);
    let all: Vec<f64> = (first..last).map(share).collect();
    let sum: f64 = all.iter().sum();
    let whole = |share: &f64| (share / sum.max(f64::MIN_POSITIVE) * f64::from(1 << BITS)).round() as i32;
    Shares { first, shares: all.iter().map(whole).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside the bytes that torchvision 0.29 and Pillow 13 give for the same pictures.
    #[test]
    fn the_middle_of_a_picture_is_that_of_torchvision() {
        let cut = |[tall, wide]: [usize; 2], side: usize| {
            let levels: Vec<f32> =
                (0..tall * wide).map(|n| ((n * 7919 + n * n % 31) % 256) as f32 / 255.0).collect();
            let cut = middle(&Array::new(levels, [1, tall, wide]), 8, [side; 2]).expect("pixels");
            cut.to_f32().iter().map(|level| (level * 255.0).round() as u8).collect::<Vec<u8>>()
        };
        #[rustfmt::skip]
        assert_eq!(cut([5, 7], 6), [
            188, 183, 173, 161, 159, 153, 116, 126, 119, 102, 104, 98, 59, 164, 202, 189, 185, 177,
            69, 167, 206, 198, 187, 178, 146, 135, 131, 129, 111, 101, 79, 62, 104, 189, 175, 165,
        ]);
        #[rustfmt::skip]
        assert_eq!(cut([17, 23], 8), [
            160, 119, 131, 148, 115, 105, 166, 146, 137, 112, 156, 145, 112, 127, 153, 120,
            119, 98, 148, 126, 99, 134, 138, 104, 102, 119, 155, 115, 92, 147, 123, 94,
            86, 109, 142, 98, 117, 144, 108, 109, 88, 142, 130, 104, 160, 142, 96, 102,
            151, 149, 115, 99, 152, 125, 98, 137, 155, 123, 94, 126, 153, 122, 147, 144,
        ]);
        assert_eq!([0, 1, 2, 3, 4, 5, 7].map(half), [0, 0, 1, 2, 2, 2, 4]);
    }
}
