//! Optimizers: gradients and update of all parameters in one program and one submission. One file
//! an optimizer: a [`Rule`]. What they share: `updater` is what users hold, `flat` a step from end to end, `program`
//! its graph, `layout` and `array` where parameters lie, `state` what is saved.

mod accumulate;
mod adagrad;
mod adam;
mod adamw;
mod array;
mod average;
mod clip;
mod flat;
mod layout;
mod lion;
mod muon;
mod noise;
mod program;
mod rmsprop;
mod rule;
mod scale;
pub mod schedule;
mod sgd;
mod state;
mod updater;

pub use accumulate::Accumulator;
pub use adagrad::{Adagrad, AdagradRule};
pub use adam::{Adam, AdamRule, Coupled, Decay, Decoupled};
pub use adamw::AdamW;
pub use average::WeightAverage;
pub use clip::{Clip, clip_by_norm, clip_by_value};
pub use layout::Slot;
pub use lion::{Lion, LionRule};
pub use muon::{Muon, MuonRule};
pub use noise::GradientNoise;
pub use rmsprop::{RmsProp, RmsPropRule};
pub use rule::{Rule, Update};
pub use scale::LossScale;
pub use sgd::{Sgd, SgdRule};
pub use updater::Updater;

use crate::error::Result;
use crate::layers::Parameter;
use farad_tensor::Tensor;

/// What updates parameters.
pub trait Optimizer {
    /// Gradients of the loss and the update, together: one submission, no waiting. Afterwards the
    /// loss, and every other tensor in hand that it was computed from, are values without history.
    fn step(&mut self, loss: &Tensor) -> Result<()>;

    /// The update from gradients made elsewhere ([`Tensor::gradients`]), one a parameter: for
    /// clipping by hand, accumulation, several losses. In mixed precision take them with
    /// [`Updater::gradients`], which scales the loss.
    fn apply(&mut self, gradients: &[Tensor]) -> Result<()>;

    /// The learning rate from the next step on. Changing it compiles nothing. Where there are groups it is the
    /// first one's, and the others keep their ratio to it.
    fn set_learning_rate(&mut self, rate: f32);

    /// The parameters, in order.
    fn parameters(&self) -> &[Parameter];

    /// What the optimizer remembers apart from the parameters themselves, as named tensors: steps,
    /// moments, and the loss scale if it is in use. For checkpoints.
    fn state(&self) -> Result<Vec<(String, Tensor)>>;

    /// Takes over what [`Optimizer::state`] gave, for the same parameters in the same order. Set the
    /// parameters first: from here on, steps give the same bits as if nothing had been stored.
    /// Nothing changes if the state does not fit.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let start = || Parameter::new(Tensor::ones([2], &Device::cpu()));
    /// let (old, new) = (start(), start());
    /// let mut first = AdamW::new(vec![old.clone()]);
    /// first.step(&old.value().square().sum())?;
    /// new.set(old.value());
    /// let mut second = AdamW::new(vec![new.clone()]);
    /// second.restore(&first.state()?)?;
    /// first.step(&old.value().square().sum())?;
    /// second.step(&new.value().square().sum())?;
    /// assert_eq!(new.value().to_vec::<f32>()?, old.value().to_vec::<f32>()?);
    /// # Ok::<(), farad::Error>(())
    /// ```
    fn restore(&mut self, state: &[(String, Tensor)]) -> Result<()>;
}
