//! The optimizers by name, for all kinds of training: rows of [`farad_nn::optim::OPTIMIZERS`].

use farad_nn::layers::Parameter;
use farad_nn::optim::{AnyOptimizer, Clip, Common, OPTIMIZERS, OptimizerRow};

/// What an optimizer is made of, beside its parameters.
#[derive(Clone, Copy, Debug, Default)]
pub struct OptimizerOptions {
    /// How gradients are clipped.
    pub clip: Option<Clip>,
    /// The decays of the first and the second moment, of optimizers that have both; their own if none.
    pub betas: Option<(f32, f32)>,
}

/// Makes an optimizer by name; the first row's if there is no such name. Groups of parameters have their own decay of
/// weights; there is at least one. The learning rate is set before every step.
pub fn optimizer(
    name: &str,
    groups: Vec<(Vec<Parameter>, f32)>,
    options: OptimizerOptions,
) -> Box<dyn AnyOptimizer> {
    let groups = groups.into_iter().map(|(parameters, decay)| (parameters, decay.into())).collect();
    let betas = options.betas.map(|(first, second)| (first.into(), second.into()));
    let common = Common { clip: options.clip.unwrap_or(Clip::None), betas, ..Common::default() };
    OptimizerRow::of(name).unwrap_or(&OPTIMIZERS[0]).optimizer(groups, &common)
}

/// Numbers that an optimizer remembers for each that it learns.
pub fn moments(name: &str) -> u32 {
    OptimizerRow::of(name).map_or(1, |row| row.moments)
}
