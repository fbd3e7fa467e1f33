//! The whole model.

use farad::loss::{CrossEntropy, Reduction};
use farad::nn::{Dropout, Embedding, Layer, LearnedPositions, Linear, Module, Parameter, init};
use farad::optim::AdamW;
use farad::{DType, Device, Tensor};

use super::format::computed;
use super::{Block, FeatureNorm, ModelOptions, Positions, Projection};
use crate::data::IGNORED;
use crate::error::Result;

/// A decoder transformer: norms before the parts, causal, as GPT-2.
///
/// Weights begin as GPT-2's: normal with deviation 0.02, those that end a residual path divided by `√(2 · layers)`,
/// biases zero; so the loss begins near `ln(vocabulary)`. They are drawn from the CPU's random numbers.
///
/// ```
/// use farad::prelude::*;
/// use farad_lm::{ModelOptions, Transformer};
///
/// let options = ModelOptions { layers: 2, heads: 2, width: 16, context: 8, vocabulary: 32, ..Default::default() };
/// let model = Transformer::new(&options)?;
/// let tokens = Tensor::from_vec(vec![1, 2, 3, 4], [1, 4], &Device::cpu());
/// assert_eq!(model.forward(&tokens).shape()[..], [1, 4, 32]);
/// let mut adam = model.optimizer(1e-3, 0.1);
/// let targets = Tensor::from_vec(vec![2, 3, 4, 5], [1, 4], &Device::cpu());
/// adam.step(&model.loss(&tokens, &targets))?;
/// # Ok::<(), farad_lm::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Transformer {
    /// A row for every token, `[vocabulary, width]`.
    pub wte: Embedding,
    /// A row for every place, `[context, width]`, if they are learned.
    pub wpe: Option<LearnedPositions>,
    /// The blocks.
    pub h: Vec<Block>,
    /// Before the logits.
    pub ln_f: FeatureNorm,
    /// What gives the logits, `[vocabulary, width]`, unless the table of tokens does.
    pub lm_head: Option<Linear>,
    dropout: Dropout,
    checkpoints: bool,
    #[module(skip)]
    options: ModelOptions,
}

impl Transformer {
    /// The decays of Adam's moments that suit these models.
    pub const BETAS: (f32, f32) = (0.9, 0.95);

    /// A model on the CPU with new weights.
    pub fn new(options: &ModelOptions) -> Result<Transformer> {
        let model = Transformer::unsettled(options)?;
        model.settle()?;
        Ok(model)
    }

    /// The same before the weights are drawn, for those who bring others.
    pub(crate) fn unsettled(options: &ModelOptions) -> Result<Transformer> {
        options.check()?;
        let ModelOptions { width, context, vocabulary, .. } = *options;
        let table = |weight: &Parameter| init::normal(weight, 0.0, super::DEVIATION);
        let wte = Embedding::new(vocabulary, width);
        table(&wte.weight)?;
        let wpe = (options.positions == Positions::Learned).then(|| LearnedPositions::new(context, width));
        wpe.iter().try_for_each(|positions| table(&positions.weight))?;
        let h = (0..options.layers).map(|layer| Block::new(options, layer)).collect::<Result<_>>()?;
        let lm_head = (!options.tied).then(|| Linear::new(width, vocabulary).without_bias());
        lm_head.iter().try_for_each(|head| table(&head.weight))?;
        let dropout = Dropout::new(options.dropout.into());
        let ln_f = FeatureNorm::new(options);
        Ok(Transformer { wte, wpe, h, ln_f, lm_head, dropout, checkpoints: false, options: options.clone() })
    }

    /// Draws the weights now: pending, they would be drawn again whenever they are used before the first step.
    fn settle(&self) -> Result<()> {
        let parameters = self.parameters();
        let values: Vec<Tensor> = parameters.iter().map(Parameter::value).collect();
        Tensor::compute_all(&values.iter().collect::<Vec<_>>())?;
        for (parameter, value) in parameters.iter().zip(&values) {
            parameter.set(value.detach()?);
        }
        Ok(())
    }

    /// What it was made from.
    pub fn options(&self) -> &ModelOptions {
        &self.options
    }

    /// Where its weights are.
    pub fn device(&self) -> Device {
        self.wte.weight.value().device().clone()
    }

    /// How many numbers it has learned.
    pub fn parameter_count(&self) -> usize {
        self.named_parameters().iter().map(|(_, parameter)| parameter.value().numel()).sum()
    }

    /// Logits of the next token at every place: `[batch, time] -> [batch, time, vocabulary]`. Panics if there are more
    /// tokens than the context has places.
    #[track_caller]
    pub fn forward(&self, tokens: &Tensor) -> Tensor {
        self.logits(&self.features(tokens))
    }

    /// The mean cross-entropy of the next tokens `[batch, time]` given the tokens `[batch, time]`, in nats.
    #[track_caller]
    pub fn loss(&self, tokens: &Tensor, targets: &Tensor) -> Tensor {
        let features = self.features(tokens);
        // One row per token: axis 1 is the classes, and nothing needs to be moved for that.
        let rows = features.reshape([tokens.numel(), self.options.width]);
        self.logits(&rows).cross_entropy(&targets.reshape([targets.numel()]))
    }

    /// The same, of the targets that count: those that are [`IGNORED`](crate::data::IGNORED) do not.
    #[track_caller]
    pub fn loss_of_marked(&self, tokens: &Tensor, targets: &Tensor) -> Tensor {
        let rows = self.features(tokens).reshape([tokens.numel(), self.options.width]);
        let targets = targets.reshape([targets.numel()]);
        let entropy = CrossEntropy::new().ignore(IGNORED).reduction(Reduction::Sum);
        // A batch in which nothing counts has no loss, and no gradient.
        let count = targets.not_equal(IGNORED as f64).cast(DType::F32).sum().maximum(1.0);
        entropy.loss(&self.logits(&rows), &targets) / count
    }

    /// Every product of the blocks, with its path: `h.0.attn.c_attn`.
    pub(crate) fn products(&mut self) -> impl Iterator<Item = (String, &mut Projection)> {
        self.h.iter_mut().enumerate().flat_map(|(n, block)| {
            let parts = [
                ("attn.c_attn", &mut block.attn.c_attn),
                ("attn.c_proj", &mut block.attn.c_proj),
                ("mlp.c_fc", &mut block.mlp.c_fc),
                ("mlp.c_proj", &mut block.mlp.c_proj),
            ];
            parts.map(|(name, product)| (format!("h.{n}.{name}"), product))
        })
    }

    /// Adds all adapters to the weights and forgets them: the same model without them.
    pub fn merge(&mut self) -> Result<()> {
        self.products().try_for_each(|(_, product)| product.merge())
    }

    /// Blocks compute their values again in the backward pass instead of keeping them, if `checkpoints` is true.
    pub fn set_checkpoints(&mut self, checkpoints: bool) {
        self.checkpoints = checkpoints;
    }

    /// AdamW as it suits these models: moments of 0.9 and 0.95, decay of weights for matrices and tables only.
    pub fn optimizer(&self, learning_rate: f32, weight_decay: f32) -> AdamW {
        let [matrices, others] = self.groups();
        AdamW::new(matrices)
            .learning_rate(learning_rate)
            .betas(Transformer::BETAS.0, Transformer::BETAS.1)
            .weight_decay(weight_decay)
            .group(others)
            .weight_decay(0.0)
    }

    /// Its parameters that are trained: matrices and tables, and the rest (biases and norms).
    pub fn groups(&self) -> [Vec<Parameter>; 2] {
        let (matrices, others) =
            self.parameters().into_iter().partition(|parameter| parameter.value().rank() > 1);
        [matrices, others]
    }

    /// What the blocks make of tokens, `[batch, time, width]`, before the last norm.
    #[track_caller]
    fn features(&self, tokens: &Tensor) -> Tensor {
        let (time, context) = (tokens.size(-1), self.options.context);
        assert!(
            tokens.rank() == 2 && time <= context,
            "transformer: tokens are [batch, time] with at most {context} places: {} ({time} vs {context})",
            tokens.shape()
        );
        let x = computed(&self.wte.forward(tokens));
        let x = match &self.wpe {
            Some(positions) => positions.forward(&x),
            None => x,
        };
        self.h.iter().fold(self.dropout.forward(&x), |x, block| match self.checkpoints {
            true => farad::checkpoint(&x, |x| block.forward(x)),
            false => block.forward(&x),
        })
    }

    /// Rows of tokens `[1, time]` at places `[time]`.
    #[track_caller]
    pub(crate) fn embed_at(&self, tokens: &Tensor, places: &Tensor) -> Tensor {
        let x = computed(&self.wte.forward(tokens));
        match &self.wpe {
            Some(positions) => x + positions.weight.value().embedding(places),
            None => x,
        }
    }

    /// `[.., width] -> [.., vocabulary]`, with the last norm.
    #[track_caller]
    pub(crate) fn logits(&self, x: &Tensor) -> Tensor {
        let x = self.ln_f.forward(x);
        match &self.lm_head {
            Some(head) => x.matmul(&computed(&head.weight.value()).transpose(0, 1)),
            None => x.matmul(&computed(&self.wte.weight.value()).transpose(0, 1)),
        }
    }
}
