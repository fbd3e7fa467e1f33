//! Optimizers: gradients and update of all parameters in one program and one submission.
//!
//! All parameters of an optimizer lie in one array, gradients in another, moments in more, so the update is
//! one kernel. Parameters are parts of the array, and the forward pass reads them there.
//!
//! An optimizer is one file, with its formula as an [`UpdateRule`], and one row of the table below. What they share:
//! `updater` is what users hold, `flat` runs a step from end to end, and `program` builds its graph with the
//! IR's `Var`. `layout` and `array` say where parameters lie, `scale` is the loss scale, and `state` is what
//! is saved. `distributed` cuts a step in two where ranks reduce gradients between them, in `buckets`; with `shard` each of
//! them keeps a share of the moments.

mod accumulate;
mod adagrad;
mod adam;
mod adamw;
mod array;
mod average;
mod buckets;
mod clip;
mod distributed;
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
mod shard;
mod state;
mod table;
mod updater;

pub use accumulate::Accumulator;
pub use average::WeightAverage;
pub use clip::{Clip, clip_by_norm, clip_by_value};
pub use distributed::RankOptions;
pub use farad_ir::{Var, VarOperand};
pub use layout::Slot;
pub use noise::GradientNoise;
pub use rule::{Update, UpdateRule};
pub use scale::LossScale;
pub use table::{AnyOptimizer, Common, Decayed, OptimizerRow};
pub use updater::Updater;

use crate::error::Result;
use crate::layers::Parameter;
use farad_tensor::Tensor;

/// One row per optimizer: its file and type, its name in settings, what it is, how many moments it keeps of every
/// weight at least, and how it is made from parameters. Decay, rate and clipping are set for all alike.
macro_rules! optimizers {
    ($($file:ident $type:ident, $name:literal, $about:literal, $moments:literal, $make:expr;)*) => {
        $(pub use $file::*;)*

        /// The types of all optimizers, for a prelude.
        pub mod types {
            $(pub use super::$file::$type;)*
        }

        /// All optimizers, as settings name them; the first is what is usual.
        pub const OPTIMIZERS: &[OptimizerRow] = &[$(OptimizerRow {
            name: $name,
            about: $about,
            moments: $moments,
            make: |groups, common| {
                let make: fn(Vec<Parameter>, &Common) -> $type = $make;
                let mut groups = groups.into_iter();
                let (first, decay) = groups.next().unwrap_or_default();
                let made = make(first, common).learning_rate(common.learning_rate).weight_decay(decay);
                let grouped = groups.fold(made, |all, (parameters, decay)| all.group(parameters).weight_decay(decay));
                Box::new(grouped.clip(common.clip))
            },
        }),*];
    };
}

#[rustfmt::skip]
optimizers! {
    adamw AdamW, "adamw", "Moments of gradients with bias correction; decay shrinks weights directly.", 2, |p, c| { let (a, b) = c.betas.unwrap_or((0.9, 0.999)); AdamW::new(p).betas(a, b) };
    adam Adam, "adam", "Moments of gradients with bias correction; decay is part of the gradient.", 2, |p, c| { let (a, b) = c.betas.unwrap_or((0.9, 0.999)); Adam::new(p).betas(a, b) };
    sgd Sgd, "sgd", "Stochastic gradient descent with a momentum of 0.9.", 1, |p, _| Sgd::new(p).momentum(0.9);
    rmsprop RmsProp, "rmsprop", "Gradients divided by the root of their running mean square.", 1, |p, _| RmsProp::new(p);
    adagrad Adagrad, "adagrad", "Gradients divided by the root of the sum of their squares so far.", 1, |p, _| Adagrad::new(p);
    lion Lion, "lion", "Every weight moves by the rate, in the direction of the sign of a mean of gradients.", 1, |p, c| { let (a, b) = c.betas.unwrap_or((0.9, 0.99)); Lion::new(p).betas(a, b) };
    muon Muon, "muon", "Momentum of matrices made orthogonal; AdamW for all other parameters.", 1, |p, _| Muon::new(p);
}

/// What updates parameters.
pub trait Optimizer {
    /// Gradients of the loss and the update, together: one submission, no waiting. Afterwards the
    /// loss, and every other tensor in hand that it was computed from, are values without history.
    fn step(&mut self, loss: &Tensor) -> Result<()>;

    /// The update from gradients made elsewhere ([`Tensor::gradients`]), one per parameter: for
    /// clipping by hand, accumulation, several losses. In mixed precision take them with
    /// [`Updater::gradients`], which scales the loss.
    fn apply(&mut self, gradients: &[Tensor]) -> Result<()>;

    /// The learning rate from the next step on. Changing it compiles nothing. Where there are groups it is the
    /// first one's, and the others keep their ratio to it.
    fn set_learning_rate(&mut self, rate: f32);

    /// The parameters, in order.
    fn parameters(&self) -> &[Parameter];

    /// Gives all ranks that train together the parameters of rank 0. All of them call it; alone it does nothing.
    fn synchronize(&mut self) -> Result<()> {
        Ok(())
    }

    /// Brings what other ranks remember of their shares to this one, for [`Optimizer::state`]. All ranks call it; it does
    /// nothing where moments are not sharded.
    fn gather(&mut self) -> Result<()> {
        Ok(())
    }

    /// What the optimizer remembers apart from the parameters themselves, as named tensors: steps,
    /// moments, and the loss scale if it is in use. For checkpoints.
    fn state(&self) -> Result<Vec<(String, Tensor)>>;

    /// Restores what [`Optimizer::state`] gave, for the same parameters in the same order. Set the
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

impl<O: Optimizer + ?Sized> Optimizer for Box<O> {
    #[track_caller]
    fn step(&mut self, loss: &Tensor) -> Result<()> {
        (**self).step(loss)
    }

    #[track_caller]
    fn apply(&mut self, gradients: &[Tensor]) -> Result<()> {
        (**self).apply(gradients)
    }

    fn set_learning_rate(&mut self, rate: f32) {
        (**self).set_learning_rate(rate);
    }

    fn parameters(&self) -> &[Parameter] {
        (**self).parameters()
    }

    fn synchronize(&mut self) -> Result<()> {
        (**self).synchronize()
    }

    fn gather(&mut self) -> Result<()> {
        (**self).gather()
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        (**self).state()
    }

    #[track_caller]
    fn restore(&mut self, state: &[(String, Tensor)]) -> Result<()> {
        (**self).restore(state)
    }
}
