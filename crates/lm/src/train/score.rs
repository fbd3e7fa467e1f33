//! How well a model predicts a text, by protocol: every token once.

use farad::group::{Combine, Group};
use farad::loss::{CrossEntropy, Reduction};
use farad::nn::Module;
use farad::{Precision, Tensor};

use crate::data::{Coverage, IGNORED, Tokens};
use crate::error::Result;
use crate::model::Transformer;

/// Logits that a batch may have, so that large vocabularies do not fill the memory.
const MOST_LOGITS: usize = 1 << 26;
/// Windows a batch at most.
const MOST_WINDOWS: usize = 64;

/// How well a model predicts a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextScore {
    /// Tokens that were predicted.
    pub tokens: usize,
    /// The mean cross-entropy in nats.
    pub loss: f64,
}

impl TextScore {
    /// `e` to the power of the loss: as if the model chose evenly among this many tokens.
    pub fn perplexity(&self) -> f64 {
        self.loss.exp()
    }

    /// Goes through a text, or as much of it as `most` tokens and the rest of their batch; `watch` gets the number of batches
    /// done, and of all batches.
    pub fn of(
        model: &Transformer,
        precision: Precision,
        (tokens, name): (&Tokens, &str),
        most: usize,
        watch: impl FnMut(usize, usize),
    ) -> Result<TextScore> {
        TextScore::of_in(&Group::alone(), model, precision, (tokens, name), most, watch)
    }

    /// The same by several ranks, which take turns with the batches.
    pub fn of_in(
        group: &Group,
        model: &Transformer,
        precision: Precision,
        (tokens, name): (&Tokens, &str),
        most: usize,
        mut watch: impl FnMut(usize, usize),
    ) -> Result<TextScore> {
        let options = model.options();
        let windows = MOST_LOGITS / (options.context * options.vocabulary).max(1);
        let coverage = Coverage::new(tokens, name, windows.clamp(1, MOST_WINDOWS), options.context)?;
        let batches = coverage.batches().min(most.div_ceil(coverage.predicted_in(0)));
        let training = model.is_training();
        model.eval();
        let mut sums = Vec::with_capacity(batches);
        for n in (group.rank()..batches).step_by(group.size()) {
            let (x, y) = coverage.batch(n)?;
            let sum = precision.scope(|| summed(model, &x, &y));
            sum.compute()?;
            // Its value alone, so that no batch keeps what it was computed from.
            sums.push(sum.detach()?);
            watch(n + 1, batches);
        }
        if training {
            model.train();
        }
        // Losses are added up here: single precision would lose them over a long text.
        let mut total = 0.0;
        for sum in &sums {
            total += f64::from(sum.item()?);
        }
        let mut total = [total];
        group.all_reduce(&mut total, Combine::Sum)?;
        let tokens: usize = (0..batches).map(|n| coverage.counted_in(n)).sum();
        Ok(TextScore { tokens, loss: total[0] / tokens.max(1) as f64 })
    }
}

/// The cross-entropies of all targets that count.
fn summed(model: &Transformer, x: &Tensor, y: &Tensor) -> Tensor {
    let rows = x.numel();
    let logits = model.forward(x).reshape([rows, model.options().vocabulary]);
    let entropy = CrossEntropy::new().ignore(IGNORED).reduction(Reduction::Sum);
    entropy.loss(&logits, &y.reshape([rows]))
}
