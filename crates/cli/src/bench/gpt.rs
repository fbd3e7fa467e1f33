//! Training steps of a decoder transformer on tokens that stay the same.

use farad::Precision;
use farad::prelude::*;
use farad_lm::{ModelOptions, Transformer};

use super::case::{CaseWork, Workload};

/// What a model is made of, and how many tokens a step sees.
#[derive(Clone, Copy)]
pub struct GptSize {
    pub layers: usize,
    pub heads: usize,
    pub width: usize,
    pub time: usize,
    pub batch: usize,
    pub vocabulary: usize,
}

impl GptSize {
    /// As others time it: biases everywhere, a product of its own for the logits.
    pub fn options(&self) -> ModelOptions {
        ModelOptions {
            layers: self.layers,
            heads: self.heads,
            width: self.width,
            context: self.time,
            vocabulary: self.vocabulary,
            tied: false,
            ..ModelOptions::default()
        }
    }

    /// Products of a step, forward and twice as much backward: those with weights, and those of queries with the keys
    /// that they see. What a backward pass computes again does not count.
    fn flops(&self) -> f64 {
        let GptSize { layers, width, time, batch, vocabulary, .. } = *self;
        let weights = layers * 12 * width * width + vocabulary * width;
        let pairs = layers * time.div_ceil(2) * 2 * width;
        6.0 * (batch * time) as f64 * (weights + pairs) as f64
    }
}

struct GptTraining {
    model: Transformer,
    optimizer: AdamW,
    tokens: Tensor,
    next: Tensor,
    precision: Precision,
}

impl GptTraining {
    fn new(size: GptSize, precision: Precision, device: &Device) -> farad::Result<GptTraining> {
        farad::seed(1);
        let model = Transformer::new(&size.options()).expect("the sizes are sound").try_to_device(device)?;
        // All parameters decay, as with the peers.
        let optimizer = AdamW::new(model.parameters()).learning_rate(3e-4);
        let draw = |salt: usize| {
            let count = size.batch * size.time;
            let tokens = (0..count).map(|n| (n * 7919 + salt) * 104_729 / 31 % size.vocabulary);
            Tensor::from_vec(tokens.map(|n| n as i32).collect(), [size.batch, size.time], device)
        };
        Ok(GptTraining { model, optimizer, tokens: draw(1), next: draw(77), precision })
    }

    fn step(&mut self) -> farad::Result<Tensor> {
        let loss = self.precision.scope(|| self.model.loss(&self.tokens, &self.next));
        self.optimizer.step(&loss)?;
        Ok(loss)
    }
}

/// Steps with AdamW and cross-entropy.
pub fn train(size: GptSize, precision: Precision, device: &Device) -> farad::Result<Workload> {
    let mut training = GptTraining::new(size, precision, device)?;
    let work =
        CaseWork { items: (size.batch * size.time) as f64, flops: size.flops(), ..CaseWork::default() };
    let device = device.clone();
    Ok(Workload {
        iterate: Box::new(move || training.step().map(|_| ())),
        error: Box::new(move || error(size, precision, &device)),
        work,
    })
}

/// How far losses of a few steps of a smaller model are from those on the CPU.
fn error(size: GptSize, precision: Precision, device: &Device) -> farad::Result<f64> {
    let size = GptSize { batch: 2, layers: 2, vocabulary: 512, ..size };
    let losses = |precision, device: &Device| -> farad::Result<Vec<f64>> {
        let mut training = GptTraining::new(size, precision, device)?;
        (0..4).map(|_| training.step()?.item().map(f64::from)).collect()
    };
    let (got, wanted) = (losses(precision, device)?, losses(Precision::Single, &Device::cpu())?);
    Ok(got.iter().zip(&wanted).map(|(a, b)| ((a - b) / b).abs()).fold(0.0, f64::max))
}
