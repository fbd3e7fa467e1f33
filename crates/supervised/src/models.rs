//! The networks by name. Each takes any input of its kind; sizes come from the settings.

use farad_data::{NamedSet, SampleForm};
use farad_ir::Shape;
use farad_nn::layers::{Conv2d, Layer, Linear, Lstm, MaxPool2d, Mode, Module, ResNet, ResNetOptions};
use farad_tensor::Tensor;
use farad_train::{Need, moments};

use crate::error::{FitError, Result};
use crate::settings::SupervisedSettings;

/// A network by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// Fully connected layers.
    Mlp,
    /// Convolutions and pooling.
    Cnn,
    /// The rows of a picture through an LSTM.
    Rnn,
    /// A residual network of torchvision's names, with two convolutions per block.
    ResNet18,
    /// The same with three.
    ResNet50,
}

impl ModelKind {
    /// All of them.
    pub const ALL: [ModelKind; 5] =
        [ModelKind::Mlp, ModelKind::Cnn, ModelKind::Rnn, ModelKind::ResNet18, ModelKind::ResNet50];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            ModelKind::Mlp => "mlp",
            ModelKind::Cnn => "cnn",
            ModelKind::Rnn => "rnn",
            ModelKind::ResNet18 => "resnet18",
            ModelKind::ResNet50 => "resnet50",
        }
    }

    /// What it is, for lists.
    pub fn about(self) -> &'static str {
        match self {
            ModelKind::Mlp => "Fully connected layers",
            ModelKind::Cnn => "Convolutions and pooling",
            ModelKind::Rnn => "The rows of a picture through an LSTM",
            ModelKind::ResNet18 => "A residual network, two convolutions per block",
            ModelKind::ResNet50 => "A residual network, three convolutions per block",
        }
    }

    /// The network for a set, if none is asked for.
    pub fn usual(set: &NamedSet) -> ModelKind {
        match set.form {
            SampleForm::Table => ModelKind::Mlp,
            SampleForm::Gray | SampleForm::Color => ModelKind::Cnn,
        }
    }

    /// Whether it is a residual network.
    pub fn is_residual(self) -> bool {
        matches!(self, ModelKind::ResNet18 | ModelKind::ResNet50)
    }

    /// The network of a name.
    pub fn named(name: &str) -> Option<ModelKind> {
        ModelKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A network.
pub type BoxedModel = Box<dyn Layer + Send + Sync>;

/// The network that the settings ask for.
pub fn build(settings: &SupervisedSettings, shape: Shape, outputs: usize) -> Result<BoxedModel> {
    let sizes = settings.sizes.iter().copied();
    let head = |inputs: usize| Head::new(inputs, outputs, settings.dropout);
    let wrong =
        |wanted| FitError::ModelInput { model: settings.model.clone(), shape: shape.to_string(), wanted };
    Ok(match (settings.model.as_str(), &shape[..]) {
        ("mlp", _) => {
            let widths: Vec<usize> = std::iter::once(shape.numel()).chain(sizes).collect();
            let layers = widths.windows(2).map(|pair| Linear::new(pair[0], pair[1])).collect();
            Box::new(Mlp { layers, head: head(widths[widths.len() - 1]) })
        }
        ("cnn", &[channels, height, width]) => {
            let stages = sizes.len() as u32;
            if height >> stages == 0 || width >> stages == 0 {
                return Err(wrong("pictures that can be halved as often as there are sizes").into());
            }
            let widths: Vec<usize> = std::iter::once(channels).chain(sizes).collect();
            let stages_of = widths.windows(2).map(|pair| Conv2d::new(pair[0], pair[1], 3).padding(1));
            let (last, area) = (widths[widths.len() - 1], (height >> stages) * (width >> stages));
            Box::new(Cnn {
                stages: stages_of.collect(),
                hidden: Linear::new(last * area, HIDDEN),
                head: head(HIDDEN),
            })
        }
        ("cnn", _) => return Err(wrong("pictures [channels, height, width]").into()),
        ("resnet18" | "resnet50", &[3, _, _]) => {
            let options = residual(settings, outputs);
            let options = options.ok_or_else(|| wrong("sizes of channels, then blocks of four stages"))?;
            Box::new(ResNet::new(&options))
        }
        ("resnet18" | "resnet50", _) => return Err(wrong("color pictures [3, height, width]").into()),
        (_, &[channels, _, width]) => {
            let units = settings.sizes[0];
            let lstm = Lstm::new(channels * width, units).layers(sizes.len()).batch_first();
            Box::new(PictureRows { lstm, head: head(units) })
        }
        _ => return Err(wrong("pictures [channels, height, width], row by row").into()),
    })
}

/// The sizes of a residual network: channels of the first stage, then blocks of each of the four.
fn residual(settings: &SupervisedSettings, classes: usize) -> Option<ResNetOptions> {
    let [width, blocks @ ..] = &settings.sizes[..] else { return None };
    let blocks = blocks.try_into().ok()?;
    let bottleneck = settings.model == ModelKind::ResNet50.name();
    Some(ResNetOptions { blocks, width: *width, bottleneck, classes })
}

/// Rows and columns of the weights of a residual network's blocks, and what a block gives, by stage.
fn residual_stages(options: &ResNetOptions) -> Vec<(usize, Vec<(u128, u128)>, u128)> {
    let wide = if options.bottleneck { 4 } else { 1 };
    let mut inputs = options.width as u128;
    let mut stages = vec![];
    for (stage, &blocks) in options.blocks.iter().enumerate() {
        let channels = (options.width as u128) << stage;
        let outputs = channels * wide;
        let mut all = vec![];
        for _ in 0..blocks {
            match options.bottleneck {
                true => all.extend([(inputs, channels), (9 * channels, channels), (channels, outputs)]),
                false => all.extend([(9 * inputs, channels), (9 * channels, channels)]),
            }
            if inputs != outputs {
                all.push((inputs, outputs));
            }
            inputs = outputs;
        }
        stages.push((stage, all, outputs));
    }
    stages
}

/// What training a network needs of memory, at least: by its sizes alone, since a large one cannot be built.
pub fn need(settings: &SupervisedSettings, shape: Shape, outputs: usize, samples: usize) -> Need {
    let sizes = weights(settings, &shape, outputs as u128);
    let (all, largest) = sizes.into_iter().fold((0u128, 0u128), |(all, largest), (rows, columns)| {
        let numbers = rows.saturating_mul(columns);
        (all.saturating_add(numbers), largest.max(numbers))
    });
    // A batch has no more samples than there are.
    let batch = (settings.batch as u128).min(samples as u128);
    let numbers = kept_a_sample(settings, &shape).saturating_mul(batch);
    let bytes = if settings.mixed { 2 } else { 4 };
    Need::training(all, moments(&settings.optimizer))
        .largest(largest)
        .activations(numbers.saturating_mul(bytes))
}

/// Rows and columns of every matrix of weights; nothing for what [`build`] refuses.
fn weights(settings: &SupervisedSettings, shape: &Shape, outputs: u128) -> Vec<(u128, u128)> {
    let sizes: Vec<u128> = settings.sizes.iter().map(|&size| size as u128).collect();
    let Some(&last) = sizes.last() else { return vec![] };
    let chain = |first: u128| -> Vec<(u128, u128)> {
        let widths: Vec<u128> = std::iter::once(first).chain(sizes.iter().copied()).collect();
        widths.windows(2).map(|pair| (pair[0], pair[1])).collect()
    };
    match (settings.model.as_str(), &shape[..]) {
        ("mlp", _) => [chain(shape.numel() as u128), vec![(last, outputs)]].concat(),
        ("cnn", &[channels, height, width]) => {
            let stages = sizes.len() as u32;
            let area = (height.unbounded_shr(stages) * width.unbounded_shr(stages)) as u128;
            let mut all: Vec<_> = chain(channels as u128).into_iter().map(|(a, b)| (9 * a, b)).collect();
            all.extend([(last * area, HIDDEN as u128), (HIDDEN as u128, outputs)]);
            all
        }
        ("rnn", &[channels, _, width]) => {
            let units = sizes[0];
            let below = |layer: usize| if layer == 0 { (channels * width) as u128 } else { units };
            let layers = (0..sizes.len()).flat_map(|layer| [(4 * units, below(layer)), (4 * units, units)]);
            layers.chain([(units, outputs)]).collect()
        }
        ("resnet18" | "resnet50", &[3, _, _]) => {
            let Some(options) = residual(settings, 0) else { return vec![] };
            let stages = residual_stages(&options);
            let last = stages.last().map_or(0, |(_, _, outputs)| *outputs);
            let blocks = stages.into_iter().flat_map(|(_, all, _)| all);
            [(147, options.width as u128), (last, outputs)].into_iter().chain(blocks).collect()
        }
        _ => vec![],
    }
}

/// Numbers that the backward pass reads again for every sample, at least: what each layer gives.
fn kept_a_sample(settings: &SupervisedSettings, shape: &Shape) -> u128 {
    let sizes = settings.sizes.iter().map(|&size| size as u128);
    match (settings.model.as_str(), &shape[..]) {
        ("cnn", &[_, height, width]) => {
            let stage = |(n, channels): (usize, u128)| channels * ((height >> n) * (width >> n)) as u128;
            sizes.enumerate().map(stage).sum()
        }
        ("resnet18" | "resnet50", &[3, height, width]) => {
            let Some(options) = residual(settings, 0) else { return 0 };
            let kept = |(stage, all, _): &(usize, Vec<(u128, u128)>, u128)| {
                let area = ((height >> (stage + 2)) * (width >> (stage + 2))) as u128;
                all.iter().map(|(_, outputs)| outputs * area).sum::<u128>()
            };
            residual_stages(&options).iter().map(kept).sum()
        }
        // A state for every row.
        ("rnn", &[_, height, _]) => sizes.map(|units| units * height as u128).sum(),
        _ => sizes.sum(),
    }
}

/// Units before a convolutional network's last layer.
const HIDDEN: usize = 128;

/// The last layer, with dropout before it in training.
#[derive(Module)]
struct Head {
    linear: Linear,
    dropout: f64,
    mode: Mode,
}

impl Head {
    fn new(inputs: usize, outputs: usize, dropout: f64) -> Head {
        Head { linear: Linear::new(inputs, outputs), dropout, mode: Mode::new() }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        match self.mode.is_training() && self.dropout > 0.0 {
            true => self.linear.forward(&x.dropout(self.dropout)),
            false => self.linear.forward(x),
        }
    }
}

/// Fully connected layers: `[batch, ..] -> [batch, outputs]`.
#[derive(Module)]
struct Mlp {
    layers: Vec<Linear>,
    head: Head,
}

impl Layer for Mlp {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = flat(x);
        self.head.forward(&self.layers.iter().fold(x, |x, layer| layer.forward(&x).relu()))
    }
}

/// Convolutions, each with a pooling that halves the picture: `[batch, channels, height, width] -> [batch, outputs]`.
#[derive(Module)]
struct Cnn {
    stages: Vec<Conv2d>,
    hidden: Linear,
    head: Head,
}

impl Layer for Cnn {
    fn forward(&self, x: &Tensor) -> Tensor {
        let pool = MaxPool2d::new(2);
        let x = self.stages.iter().fold(x.clone(), |x, stage| pool.forward(&stage.forward(&x)).relu());
        self.head.forward(&self.hidden.forward(&flat(&x)).relu())
    }
}

/// The rows of a picture, one after the other, through an LSTM: `[batch, channels, height, width] -> [batch, outputs]`.
#[derive(Module)]
struct PictureRows {
    lstm: Lstm,
    head: Head,
}

impl Layer for PictureRows {
    fn forward(&self, x: &Tensor) -> Tensor {
        let shape = x.shape();
        let rows = x.permute(&[0, 2, 1, 3]).reshape([shape[0], shape[2], shape[1] * shape[3]]);
        let (_, last) = self.lstm.forward(&rows);
        self.head.forward(&last[last.len() - 1].hidden)
    }
}

/// `[batch, ..] -> [batch, n]`
fn flat(x: &Tensor) -> Tensor {
    let shape = x.shape();
    x.reshape([shape[0], shape[1..].iter().product()])
}
