//! Encoder and decoder of small pictures: convolutions, for many agents at once.
//!
//! Invariant: pictures are numbers from 0 to 1, `[agents, rows, channels · height · width]`; height and width are multiples
//! of eight. The agents' channels are groups of one convolution.

use farad::{ConvOptions, PoolOptions, Tensor, kept};

use super::layers::{Dense, NormedSilu, WeightLayout, WeightStart, normed_silu};

/// Channels of the stages, times the size's depth; a stage halves height and width.
const STAGES: [usize; 3] = [2, 3, 4];
/// Height and width of a convolution's window.
const KERNEL: usize = 5;

/// A convolution that keeps height and width.
#[derive(Clone, Debug, PartialEq)]
struct Window {
    weight: usize,
    bias: usize,
}

impl Window {
    fn new(layout: &mut WeightLayout, name: &str, inputs: usize, outputs: usize) -> Window {
        let start = WeightStart::Normal { scale: 1.0, inputs: inputs * KERNEL * KERNEL };
        Window {
            weight: layout.add(format!("{name}.weight"), &[outputs, inputs, KERNEL, KERNEL], start),
            bias: layout.add(format!("{name}.bias"), &[outputs, 1, 1], WeightStart::Constant(0.0)),
        }
    }

    /// `[rows, agents · inputs, height, width] -> [rows, agents · outputs, height, width]`.
    fn apply(&self, weights: &[Tensor], x: &Tensor) -> Tensor {
        let (weight, bias) = (&weights[self.weight], &weights[self.bias]);
        let [agents, outputs, inputs] = [0, 1, 2].map(|n| weight.shape()[n]);
        let options = ConvOptions::new().padding(KERNEL / 2).groups(agents);
        let y = x.conv2d(&weight.reshape([agents * outputs, inputs, KERNEL, KERNEL]), options);
        y + bias.reshape([agents * outputs, 1, 1])
    }
}

/// Channels divided by the root of their mean square at every place, times learned factors, through SiLU.
fn normalized(weights: &[Tensor], scale: usize, x: &Tensor) -> Tensor {
    let scale = &weights[scale];
    let (agents, channels) = (scale.shape()[0], scale.shape()[1]);
    let [rows, _, height, width] = [0, 1, 2, 3].map(|n| x.shape()[n]);
    let x = x.reshape([rows, agents, channels, height, width]);
    let square = x.square().mean_axes(kept([2]));
    normed_silu(&x, &square, scale).reshape([rows, agents * channels, height, width])
}

/// `[agents, rows, numbers]` as `[rows, agents · channels, height, width]`.
fn unfolded(x: &Tensor, [channels, height, width]: [usize; 3]) -> Tensor {
    let (agents, rows) = (x.shape()[0], x.shape()[1]);
    x.permute(&[1, 0, 2]).reshape([rows, agents * channels, height, width])
}

/// The inverse of [`unfolded`].
fn folded(x: &Tensor, agents: usize) -> Tensor {
    let rows = x.shape()[0];
    x.reshape([rows, agents, x.numel() / (rows * agents)]).permute(&[1, 0, 2])
}

/// The channels of all stages, and height and width after them.
fn stages(depth: usize, [_, height, width]: [usize; 3]) -> ([usize; 3], [usize; 2]) {
    let parts = 1 << STAGES.len();
    assert!(
        height.is_multiple_of(parts) && width.is_multiple_of(parts),
        "dreamer: height and width of pictures are multiples of {parts} ({height} vs {width})"
    );
    (STAGES.map(|stage| stage * depth), [height / parts, width / parts])
}

/// Pictures as features.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ImageEncoder {
    image: [usize; 3],
    layers: Vec<(Window, usize)>,
}

impl ImageEncoder {
    /// For pictures of channels, height and width; and the number of features.
    pub fn new(layout: &mut WeightLayout, image: [usize; 3], depth: usize) -> (ImageEncoder, usize) {
        let (channels, [height, width]) = stages(depth, image);
        let mut inputs = image[0];
        let mut layers = vec![];
        for (n, outputs) in channels.into_iter().enumerate() {
            let name = format!("encoder.{n}");
            let window = Window::new(layout, &name, inputs, outputs);
            let scale = layout.add(format!("{name}.scale"), &[outputs, 1, 1], WeightStart::Constant(1.0));
            layers.push((window, scale));
            inputs = outputs;
        }
        (ImageEncoder { image, layers }, inputs * height * width)
    }

    /// Features `[agents, rows, features]`.
    pub fn apply(&self, weights: &[Tensor], pictures: &Tensor) -> Tensor {
        let begun = unfolded(&(pictures - 0.5), self.image);
        let halved = |x: &Tensor| x.max_pool2d(PoolOptions::new(2));
        let all = self.layers.iter().fold(begun, |x, (window, scale)| {
            normalized(weights, *scale, &halved(&window.apply(weights, &x)))
        });
        folded(&all, pictures.shape()[0])
    }
}

/// Features of latent states as pictures.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ImageDecoder {
    /// Channels, height and width at the start.
    begun: [usize; 3],
    first: (Dense, NormedSilu),
    layers: Vec<(Window, Option<usize>)>,
}

impl ImageDecoder {
    pub fn new(layout: &mut WeightLayout, image: [usize; 3], features: usize, depth: usize) -> ImageDecoder {
        let (channels, [height, width]) = stages(depth, image);
        let [first, second, third] = channels;
        let numbers = third * height * width;
        let begin = (
            Dense::new(layout, "decoder.first", features, numbers, 1.0),
            NormedSilu::new(layout, "decoder.first", numbers),
        );
        let mut layers = vec![];
        for (n, (inputs, outputs)) in
            [(third, second), (second, first), (first, image[0])].into_iter().enumerate()
        {
            let name = format!("decoder.{n}");
            let window = Window::new(layout, &name, inputs, outputs);
            let scale = (n < 2)
                .then(|| layout.add(format!("{name}.scale"), &[outputs, 1, 1], WeightStart::Constant(1.0)));
            layers.push((window, scale));
        }
        ImageDecoder { begun: [third, height, width], first: begin, layers }
    }

    /// Pictures `[agents, rows, channels · height · width]`.
    pub fn apply(&self, weights: &[Tensor], features: &Tensor) -> Tensor {
        let (dense, norm) = &self.first;
        let x = norm.apply(weights, &dense.apply(weights, features));
        let all = self.layers.iter().fold(unfolded(&x, self.begun), |x, (window, scale)| {
            let (height, width) = (x.shape()[2], x.shape()[3]);
            let y = window.apply(weights, &x.resize_nearest([2 * height, 2 * width]));
            match scale {
                Some(scale) => normalized(weights, *scale, &y),
                None => y.sigmoid(),
            }
        });
        folded(&all, features.shape()[0])
    }
}
