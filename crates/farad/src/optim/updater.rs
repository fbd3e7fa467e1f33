//! An optimiser: parameters in one array and a rule that updates them.

use farad_ir::DType;

use super::{Clip, Flat, LossScale, Optimiser, Rule};
use crate::error::Result;
use crate::nn::Parameter;
use crate::tensor::Tensor;

/// Parameters and the rule that updates them. [`Sgd`](super::Sgd) and [`AdamW`](super::AdamW) are
/// this with their rules; a rule of your own makes another.
pub struct Updater<R> {
    flat: Flat,
    pub(super) rule: R,
}

impl<R: Rule> Updater<R> {
    /// For these parameters, by this rule.
    pub fn with_rule(parameters: Vec<Parameter>, rule: R) -> Updater<R> {
        Updater { flat: Flat::new(parameters), rule }
    }

    /// The learning rate.
    pub fn learning_rate(mut self, rate: f32) -> Updater<R> {
        self.rule.set_rate(rate);
        self
    }

    /// What happens to gradients before the update.
    pub fn clip(mut self, clip: Clip) -> Updater<R> {
        self.flat.clip = clip;
        self
    }

    /// How the loss scale begins and grows, if the loss is computed with halves
    /// ([`Precision::Mixed`](crate::Precision)).
    pub fn scaling(mut self, settings: LossScale) -> Updater<R> {
        self.flat.scaling.settings = settings;
        self
    }

    /// The loss scale of the next step. Waits for the device.
    pub fn loss_scale(&self) -> Result<f32> {
        Ok(self.flat.scaling.read(&self.flat.device()?)?[0])
    }

    /// How many steps were skipped because a gradient was not finite. Waits for the device, and warns if
    /// there are new ones.
    pub fn overflows(&self) -> Result<u32> {
        Ok(self.flat.scaling.read(&self.flat.device()?)?[2] as u32)
    }

    /// The gradients that [`Optimiser::step`] would use, for clipping or accumulation by hand: taken of the scaled
    /// loss and divided by the scale. [`Optimiser::apply`] skips those that are not finite.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let w = Parameter::new(Tensor::full(1e-4, [1, 1], &Device::cpu()));
    /// let mut sgd = Sgd::new(vec![w.clone()]).learning_rate(1.0);
    /// // 1e-8 is zero as a half; times the scale it is not.
    /// let loss = Precision::Mixed.scope(|| w.value().matmul(&w.value()).sum()) * 1e-4;
    /// let gradients = sgd.gradients(&loss)?;
    /// sgd.apply(&gradients)?;
    /// assert!((gradients[0].to_vec::<f32>()?[0] / 2e-8 - 1.0).abs() < 1e-3);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn gradients(&mut self, loss: &Tensor) -> Result<Vec<Tensor>> {
        let scale = self.flat.scale()?;
        let scaled = loss.cast(DType::F32) * &scale;
        let divisor = scale.recip();
        Ok(scaled.gradients(self.flat.parameters())?.iter().map(|g| g.cast(DType::F32) * &divisor).collect())
    }

    /// Steps taken so far; skipped ones count.
    pub fn steps(&self) -> u64 {
        self.flat.steps()
    }
}

impl<R: Rule> Optimiser for Updater<R> {
    #[track_caller]
    fn step(&mut self, loss: &Tensor) -> Result<()> {
        self.flat.step(&self.rule, loss)
    }

    #[track_caller]
    fn apply(&mut self, gradients: &[Tensor]) -> Result<()> {
        self.flat.apply(&self.rule, gradients)
    }

    fn set_learning_rate(&mut self, rate: f32) {
        self.rule.set_rate(rate);
    }

    fn parameters(&self) -> &[Parameter] {
        self.flat.parameters()
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        self.flat.state()
    }

    #[track_caller]
    fn restore(&mut self, state: &[(String, Tensor)]) -> Result<()> {
        self.flat.restore(self.rule.states(), state)
    }
}
