//! Training steps of a decoder transformer on tokens that stay the same.

use farad::nn::{Embedding, LayerNorm, LearnedPositions, TransformerActivation};
use farad::nn::{TransformerEncoderLayer, TransformerOptions};
use farad::prelude::*;
use farad::{Attention, Precision};

use super::case::{Work, Workload};

/// What a model is made of, and how many tokens a step sees.
#[derive(Clone, Copy)]
pub struct Size {
    pub layers: usize,
    pub heads: usize,
    pub width: usize,
    pub time: usize,
    pub batch: usize,
    pub vocabulary: usize,
}

#[derive(Module)]
struct Decoder {
    tokens: Embedding,
    positions: LearnedPositions,
    blocks: Vec<TransformerEncoderLayer>,
    norm: LayerNorm,
    head: Linear,
}

impl Decoder {
    fn new(size: Size) -> Decoder {
        let options = TransformerOptions::new(size.width, size.heads)
            .hidden(4 * size.width)
            .dropout(0.0)
            .activation(TransformerActivation::Gelu)
            .norm_first(true);
        Decoder {
            tokens: Embedding::new(size.vocabulary, size.width),
            positions: LearnedPositions::new(size.time, size.width),
            blocks: (0..size.layers).map(|_| TransformerEncoderLayer::new(&options)).collect(),
            norm: LayerNorm::new(size.width),
            head: Linear::new(size.width, size.vocabulary).without_bias(),
        }
    }

    /// The mean loss of the next tokens.
    fn loss(&self, tokens: &Tensor, next: &Tensor) -> Tensor {
        let mut x = self.positions.forward(&self.tokens.forward(tokens));
        let causal = Attention::new().causal();
        for block in &self.blocks {
            x = block.forward(&x, &causal);
        }
        let logits = self.head.forward(&self.norm.forward(&x));
        let [count, vocabulary] = [next.numel(), logits.size(-1)];
        logits.reshape([count, vocabulary]).cross_entropy(&next.reshape([count]))
    }
}

struct Training {
    model: Decoder,
    optimiser: AdamW,
    tokens: Tensor,
    next: Tensor,
    precision: Precision,
}

impl Training {
    fn new(size: Size, precision: Precision, device: &Device) -> farad::Result<Training> {
        Device::cpu().seed(1);
        let model = Decoder::new(size).try_to_device(device)?;
        let optimiser = AdamW::new(model.parameters()).learning_rate(3e-4);
        let draw = |salt: usize| {
            let count = size.batch * size.time;
            let tokens = (0..count).map(|n| (n * 7919 + salt) * 104_729 / 31 % size.vocabulary);
            Tensor::from_vec(tokens.map(|n| n as i32).collect(), [size.batch, size.time], device)
        };
        Ok(Training { model, optimiser, tokens: draw(1), next: draw(77), precision })
    }

    fn step(&mut self) -> farad::Result<Tensor> {
        let loss = self.precision.scope(|| self.model.loss(&self.tokens, &self.next));
        self.optimiser.step(&loss)?;
        Ok(loss)
    }
}

/// Steps with AdamW and cross-entropy.
pub fn train(size: Size, precision: Precision, device: &Device) -> farad::Result<Workload> {
    let mut training = Training::new(size, precision, device)?;
    let work = Work { items: (size.batch * size.time) as f64, ..Work::default() };
    let device = device.clone();
    Ok(Workload {
        iterate: Box::new(move || training.step().map(|_| ())),
        error: Box::new(move || error(size, precision, &device)),
        work,
    })
}

/// How far losses of a few steps of a smaller model are from those on the CPU.
fn error(size: Size, precision: Precision, device: &Device) -> farad::Result<f64> {
    let size = Size { batch: 2, layers: 2, vocabulary: 512, ..size };
    let losses = |precision, device: &Device| -> farad::Result<Vec<f64>> {
        let mut training = Training::new(size, precision, device)?;
        (0..4).map(|_| training.step()?.item().map(f64::from)).collect()
    };
    let (got, wanted) = (losses(precision, device)?, losses(Precision::Single, &Device::cpu())?);
    Ok(got.iter().zip(&wanted).map(|(a, b)| ((a - b) / b).abs()).fold(0.0, f64::max))
}
