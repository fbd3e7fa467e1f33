//! The optimizers by name, for all kinds of training.

use farad_nn::layers::Parameter;
use farad_nn::optim::{Adagrad, Adam, AdamW, Clip, Lion, Muon, Optimizer, RmsProp, Rule, Sgd, Updater};
use farad_tensor::Tensor;

use crate::error::Result;

/// The optimizers by name.
pub const OPTIMIZERS: [&str; 7] = ["adamw", "adam", "sgd", "rmsprop", "adagrad", "lion", "muon"];

/// An optimizer of whatever rule.
pub trait AnyOptimizer: Optimizer + Send {
    /// The gradients of a loss as [`Optimizer::apply`] takes them, scaled where halves are in between.
    fn gradients(&mut self, loss: &Tensor) -> Result<Vec<Tensor>>;
}

impl<R: Rule + Clone + Send> AnyOptimizer for Updater<R> {
    fn gradients(&mut self, loss: &Tensor) -> Result<Vec<Tensor>> {
        Updater::gradients(self, loss)
    }
}

/// What an optimizer is made of, beside its parameters.
#[derive(Clone, Copy, Debug, Default)]
pub struct OptimizerOptions {
    /// How gradients are clipped.
    pub clip: Option<Clip>,
    /// The decays of the first and the second moment, for adamw, adam and lion; their own if none.
    pub betas: Option<(f32, f32)>,
}

/// Makes an optimizer by name. Groups of parameters have their own decay of weights; there is at least one. The learning
/// rate is set before every step.
pub fn optimizer(
    name: &str,
    groups: Vec<(Vec<Parameter>, f32)>,
    options: OptimizerOptions,
) -> Box<dyn AnyOptimizer> {
    let mut groups = groups.into_iter();
    let (first, decay) = groups.next().unwrap_or_default();
    macro_rules! made {
        ($made:expr) => {{
            let grouped = groups.fold($made.weight_decay(decay), |all, (parameters, decay)| {
                all.group(parameters).weight_decay(decay)
            });
            let clipped = match options.clip {
                Some(clip) => grouped.clip(clip),
                None => grouped,
            };
            Box::new(clipped)
        }};
        ($made:expr, $default:expr) => {{
            let (first, second) = options.betas.unwrap_or($default);
            made!($made.betas(first, second))
        }};
    }
    match name {
        "adam" => made!(Adam::new(first), (0.9, 0.999)),
        "sgd" => made!(Sgd::new(first).momentum(0.9)),
        "rmsprop" => made!(RmsProp::new(first)),
        "adagrad" => made!(Adagrad::new(first)),
        "lion" => made!(Lion::new(first), (0.9, 0.99)),
        "muon" => made!(Muon::new(first)),
        _ => made!(AdamW::new(first), (0.9, 0.999)),
    }
}

/// Numbers that an optimizer remembers for each that it learns.
pub fn moments(name: &str) -> u32 {
    match name {
        "adamw" | "adam" => 2,
        _ => 1,
    }
}
