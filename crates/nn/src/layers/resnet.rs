//! Residual networks under torchvision's names.
//!
//! Invariant: the names and shapes of the state are those of `torchvision.models.resnet18` and its like, so their files load.

use farad_tensor::Tensor;

use super::{BatchNorm2d, Conv2d, Layer, Linear, MaxPool2d, Module, Sequential};
use crate::error::Result;
use crate::state_dict::StateDict;

/// Sizes of a [`ResNet`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResNetOptions {
    /// Blocks of each of the four stages.
    pub blocks: [usize; 4],
    /// Channels of the first stage; each later one has twice as many.
    pub width: usize,
    /// Whether blocks have three convolutions and give four times as many channels (ResNet-50).
    pub bottleneck: bool,
    /// Outputs of the last layer.
    pub classes: usize,
}

impl ResNetOptions {
    /// ResNet-18.
    pub fn resnet18(classes: usize) -> ResNetOptions {
        ResNetOptions { blocks: [2; 4], width: 64, bottleneck: false, classes }
    }

    /// ResNet-50.
    pub fn resnet50(classes: usize) -> ResNetOptions {
        ResNetOptions { blocks: [3, 4, 6, 3], width: 64, bottleneck: true, classes }
    }
}

/// A residual network: `[batch, 3, height, width] -> [batch, classes]`.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::{ResNet, ResNetOptions};
/// let model = ResNet::new(&ResNetOptions { width: 4, ..ResNetOptions::resnet18(10) });
/// model.eval();
/// let y = model.forward(&Tensor::zeros([1, 3, 32, 32], &Device::cpu()));
/// assert_eq!(y.shape()[..], [1, 10]);
/// ```
#[derive(Module)]
pub struct ResNet {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    layer1: Vec<ResidualBlock>,
    layer2: Vec<ResidualBlock>,
    layer3: Vec<ResidualBlock>,
    layer4: Vec<ResidualBlock>,
    /// The last layer, which is another for other classes.
    pub fc: Linear,
}

/// Convolutions whose result is added to what went in.
#[derive(Module)]
struct ResidualBlock {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    conv3: Option<Conv2d>,
    bn3: Option<BatchNorm2d>,
    downsample: Option<Sequential>,
}

impl ResNet {
    /// With new weights.
    #[track_caller]
    pub fn new(options: &ResNetOptions) -> ResNet {
        let (width, mut inputs) = (options.width, options.width);
        let [layer1, layer2, layer3, layer4] = std::array::from_fn(|stage| {
            let (channels, count) = (width << stage, options.blocks[stage]);
            let block = |n: usize| {
                let stride = if stage > 0 && n == 0 { 2 } else { 1 };
                let block = ResidualBlock::new(inputs, channels, stride, options.bottleneck);
                inputs = channels * if options.bottleneck { 4 } else { 1 };
                block
            };
            (0..count).map(block).collect()
        });
        ResNet {
            conv1: Conv2d::new(3, width, 7).stride(2).padding(3).without_bias(),
            bn1: BatchNorm2d::new(width),
            layer1,
            layer2,
            layer3,
            layer4,
            fc: Linear::new(inputs, options.classes),
        }
    }

    /// Loads all weights under torchvision's names. Its counts of batches are left out. If one is missing or does not fit,
    /// it is an error and nothing changes.
    pub fn load(&self, weights: StateDict) -> Result<()> {
        weights.ignore("**num_batches_tracked").load_exactly(self)
    }
}

impl Layer for ResNet {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.bn1.forward(&self.conv1.forward(x)).relu();
        let x = MaxPool2d::new(3).stride(2).padding(1).forward(&x);
        let stages = [&self.layer1, &self.layer2, &self.layer3, &self.layer4];
        let x = stages.into_iter().flatten().fold(x, |x, block| block.forward(&x));
        let (batch, channels) = (x.size(0), x.size(1));
        let area = x.size(2) * x.size(3);
        self.fc.forward(&x.reshape([batch, channels, area]).mean_axes([2]))
    }
}

impl ResidualBlock {
    #[track_caller]
    fn new(inputs: usize, channels: usize, stride: usize, bottleneck: bool) -> ResidualBlock {
        let near = |inputs, stride| Conv2d::new(inputs, channels, 3).stride(stride).padding(1).without_bias();
        let point = |inputs, outputs| Conv2d::new(inputs, outputs, 1).without_bias();
        let outputs = channels * if bottleneck { 4 } else { 1 };
        let (conv1, conv2) = match bottleneck {
            true => (point(inputs, channels), near(channels, stride)),
            false => (near(inputs, stride), near(channels, 1)),
        };
        let changes = stride != 1 || inputs != outputs;
        ResidualBlock {
            conv1,
            bn1: BatchNorm2d::new(channels),
            conv2,
            bn2: BatchNorm2d::new(channels),
            conv3: bottleneck.then(|| point(channels, outputs)),
            bn3: bottleneck.then(|| BatchNorm2d::new(outputs)),
            downsample: changes
                .then(|| Sequential::new((point(inputs, outputs).stride(stride), BatchNorm2d::new(outputs)))),
        }
    }

    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.bn1.forward(&self.conv1.forward(x)).relu();
        let y = self.bn2.forward(&self.conv2.forward(&y));
        let y = match (&self.conv3, &self.bn3) {
            (Some(conv), Some(norm)) => norm.forward(&conv.forward(&y.relu())),
            _ => y,
        };
        match &self.downsample {
            Some(downsample) => (y + downsample.forward(x)).relu(),
            None => (y + x).relu(),
        }
    }
}
