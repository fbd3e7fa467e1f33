//! Convolutions: forward, and with the gradients at image and weight.

use farad::prelude::*;

use super::case::{CaseWork, Workload, uniform};
use super::reference::{NormDifference, spread};

/// Elements of each result that are compared with f64.
const SAMPLES: usize = 64;

/// `[batch, inputs, side, side] × [outputs, inputs / groups, window, window]`, padded by half a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvolutionSize {
    pub batch: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub side: usize,
    pub window: usize,
    pub stride: usize,
    pub groups: usize,
}

impl ConvolutionSize {
    fn image(&self) -> [usize; 4] {
        [self.batch, self.inputs, self.side, self.side]
    }

    fn weight(&self) -> [usize; 4] {
        [self.outputs, self.own_inputs(), self.window, self.window]
    }

    fn result(&self) -> [usize; 4] {
        let side = self.result_side();
        [self.batch, self.outputs, side, side]
    }

    fn result_side(&self) -> usize {
        (self.side + 2 * self.padding() - self.window) / self.stride + 1
    }

    fn padding(&self) -> usize {
        self.window / 2
    }

    /// Channels of a group.
    fn own_inputs(&self) -> usize {
        self.inputs / self.groups
    }

    fn own_outputs(&self) -> usize {
        self.outputs / self.groups
    }

    /// Multiplications and additions of the forward pass.
    pub fn flops(&self) -> f64 {
        let terms = self.own_inputs() * self.window * self.window;
        2.0 * self.result().iter().product::<usize>() as f64 * terms as f64
    }

    /// Image, weight and result, each once.
    pub fn bytes(&self) -> f64 {
        [self.image(), self.weight(), self.result()]
            .iter()
            .map(|s| 4.0 * s.iter().product::<usize>() as f64)
            .sum()
    }

    fn convolve(&self, x: &Tensor, weight: &Tensor) -> Tensor {
        let options = ConvOptions::new().padding(self.padding()).stride(self.stride).groups(self.groups);
        x.conv2d(weight, options)
    }
}

/// The forward pass alone.
pub fn forward(size: ConvolutionSize, device: &Device) -> farad::Result<Workload> {
    let inputs = vec![uniform(&size.image(), device)?, uniform(&size.weight(), device)?];
    let work = CaseWork { flops: size.flops(), ..CaseWork::default() };
    let error = move |inputs: &[Tensor], y: &Tensor| {
        let sample = HostOperands::read(size, &inputs[0], &inputs[1], None)?;
        sample.difference(y, |sample, at| sample.result(at))
    };
    Ok(Workload::expression(inputs, work, move |x| size.convolve(&x[0], &x[1]), error))
}

/// The forward pass and the gradients at both operands.
pub fn both(size: ConvolutionSize, device: &Device) -> farad::Result<Workload> {
    let (x, weight) = (uniform(&size.image(), device)?, uniform(&size.weight(), device)?);
    let upstream = uniform(&size.result(), device)?;
    let compute = move || -> farad::Result<[Tensor; 3]> {
        let y = size.convolve(&x, &weight);
        let gradients = (&y * &upstream).sum().gradients_at(&[&x, &weight])?;
        let [dx, dw] = [gradients[0].clone(), gradients[1].clone()];
        Tensor::compute_all(&[&y, &dx, &dw])?;
        Ok([y, dx, dw])
    };
    let again = compute.clone();
    let device = device.clone();
    let error = move || {
        // On fewer images, so that the host can follow.
        let size = ConvolutionSize { batch: size.batch.min(2), ..size };
        let (x, weight) = (uniform(&size.image(), &device)?, uniform(&size.weight(), &device)?);
        let upstream = uniform(&size.result(), &device)?;
        let y = size.convolve(&x, &weight);
        let gradients = (&y * &upstream).sum().gradients_at(&[&x, &weight])?;
        let sample = HostOperands::read(size, &x, &weight, Some(&upstream))?;
        let errors = [
            sample.difference(&y, |sample, at| sample.result(at))?,
            sample.difference(&gradients[0], |sample, at| sample.image_gradient(at))?,
            sample.difference(&gradients[1], |sample, at| sample.weight_gradient(at))?,
        ];
        Ok(errors.into_iter().fold(0.0, f64::max))
    };
    Ok(Workload {
        iterate: Box::new(move || again().map(|_| ())),
        error: Box::new(error),
        work: CaseWork { flops: 3.0 * size.flops(), ..CaseWork::default() },
    })
}

/// Operands on the host, for elements of results one by one.
struct HostOperands {
    size: ConvolutionSize,
    x: Vec<f32>,
    weight: Vec<f32>,
    upstream: Vec<f32>,
}

impl HostOperands {
    fn read(
        size: ConvolutionSize,
        x: &Tensor,
        weight: &Tensor,
        upstream: Option<&Tensor>,
    ) -> farad::Result<HostOperands> {
        let upstream = upstream.map_or(Ok(vec![]), |g| g.to_vec::<f32>())?;
        Ok(HostOperands { size, x: x.to_vec::<f32>()?, weight: weight.to_vec::<f32>()?, upstream })
    }

    /// The error of some elements of a result.
    fn difference(
        &self,
        result: &Tensor,
        wanted: impl Fn(&HostOperands, [usize; 4]) -> f64,
    ) -> farad::Result<f64> {
        let (shape, values) = (result.shape(), result.to_vec::<f32>()?);
        let mut difference = NormDifference::default();
        for flat in spread(values.len(), SAMPLES) {
            let mut rest = flat;
            let mut at = [0; 4];
            for axis in (0..4).rev() {
                (at[axis], rest) = (rest % shape[axis], rest / shape[axis]);
            }
            difference.add(values[flat], wanted(self, at));
        }
        Ok(difference.relative())
    }

    /// Where a window's element lies, if it is not padding.
    fn source(&self, y: usize, k: usize) -> Option<usize> {
        (y * self.size.stride + k).checked_sub(self.size.padding()).filter(|&at| at < self.size.side)
    }

    /// The result that reads an element through this part of its window.
    fn reader(&self, h: usize, k: usize) -> Option<usize> {
        let stride = self.size.stride;
        let corner =
            (h + self.size.padding()).checked_sub(k).filter(|corner| corner.is_multiple_of(stride))?;
        Some(corner / stride).filter(|&y| y < self.size.result_side())
    }

    fn x(&self, [b, c, h, w]: [usize; 4]) -> f64 {
        self.x[((b * self.size.inputs + c) * self.size.side + h) * self.size.side + w] as f64
    }

    fn weight(&self, [o, c, kh, kw]: [usize; 4]) -> f64 {
        let ConvolutionSize { window, .. } = self.size;
        self.weight[((o * self.size.own_inputs() + c) * window + kh) * window + kw] as f64
    }

    fn upstream(&self, [b, o, h, w]: [usize; 4]) -> f64 {
        let side = self.size.result_side();
        self.upstream[((b * self.size.outputs + o) * side + h) * side + w] as f64
    }

    /// The first input channel of an output's group.
    fn first_input(&self, output: usize) -> usize {
        output / self.size.own_outputs() * self.size.own_inputs()
    }

    fn result(&self, [b, o, h, w]: [usize; 4]) -> f64 {
        let mut sum = 0.0;
        for (kh, kw) in self.windows() {
            let (Some(y), Some(x)) = (self.source(h, kh), self.source(w, kw)) else { continue };
            let first = self.first_input(o);
            sum += (0..self.size.own_inputs())
                .map(|c| self.x([b, first + c, y, x]) * self.weight([o, c, kh, kw]))
                .sum::<f64>();
        }
        sum
    }

    fn image_gradient(&self, [b, c, h, w]: [usize; 4]) -> f64 {
        let (own, group) = (self.size.own_outputs(), c / self.size.own_inputs());
        let mut sum = 0.0;
        for (kh, kw) in self.windows() {
            let (Some(y), Some(x)) = (self.reader(h, kh), self.reader(w, kw)) else { continue };
            sum += (group * own..(group + 1) * own)
                .map(|o| self.upstream([b, o, y, x]) * self.weight([o, c % self.size.own_inputs(), kh, kw]))
                .sum::<f64>();
        }
        sum
    }

    fn weight_gradient(&self, [o, c, kh, kw]: [usize; 4]) -> f64 {
        let (side, input) = (self.size.result_side(), self.first_input(o) + c);
        let mut sum = 0.0;
        for (h, w) in (0..side).flat_map(|h| (0..side).map(move |w| (h, w))) {
            let (Some(y), Some(x)) = (self.source(h, kh), self.source(w, kw)) else { continue };
            sum += (0..self.size.batch)
                .map(|b| self.upstream([b, o, h, w]) * self.x([b, input, y, x]))
                .sum::<f64>();
        }
        sum
    }

    fn windows(&self) -> impl Iterator<Item = (usize, usize)> {
        let window = self.size.window;
        (0..window * window).map(move |at| (at / window, at % window))
    }
}
