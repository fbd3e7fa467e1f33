//! An optimizer: parameters in one array and a rule that updates them.

use std::panic::Location;

use farad_ir::DType;

use super::flat::{Flat, StepSource};
use super::rule::AnyRule;
use super::schedule::Schedule;
use super::{Clip, GradientNoise, LossScale, Optimizer, RankOptions, UpdateRule};
use crate::error::Result;
use crate::layers::Parameter;
use farad_group::Group;
use farad_tensor::Tensor;

/// Parameters in groups, and the rules that update them. [`Sgd`](super::Sgd), [`AdamW`](super::AdamW) and the
/// others are this with their rules; a rule of your own makes another.
pub struct Updater<R> {
    flat: Flat,
    groups: Vec<RuleGroup<R>>,
    schedule: Option<Box<dyn Schedule + Send + Sync>>,
}

/// The rule of a group and the learning rate that it was set up with.
struct RuleGroup<R> {
    rule: R,
    base: f32,
}

impl<R: UpdateRule + Clone> Updater<R> {
    /// For these parameters, by this rule.
    pub fn with_rule(parameters: Vec<Parameter>, rule: R) -> Updater<R> {
        let mut flat = Flat::default();
        flat.add(parameters, 0);
        let base = rule.rate();
        Updater { flat, groups: vec![RuleGroup { rule, base }], schedule: None }
    }

    /// More parameters, with numbers of their own: they begin as those so far, and what is set from here on
    /// is theirs alone. Parameters that are in a group already stay there. All groups are updated together.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let (body, head) = (Linear::new(4, 4), Linear::new(4, 2));
    /// let mut adam = AdamW::new(body.parameters())
    ///     .learning_rate(0.125)
    ///     .group(head.parameters())
    ///     .learning_rate(0.5)
    ///     .weight_decay(0.0);
    /// // Groups keep the ratio of their rates.
    /// adam.set_learning_rate(0.25);
    /// assert_eq!(adam.learning_rates(), [0.25, 1.0]);
    /// ```
    pub fn group(mut self, parameters: Vec<Parameter>) -> Updater<R> {
        self.flat.add(parameters, self.groups.len());
        let rule = self.own().clone();
        self.groups.push(RuleGroup { base: rule.rate(), rule });
        self
    }

    /// The rule of the group that is being set up.
    pub(super) fn own(&mut self) -> &mut R {
        &mut self.groups.last_mut().expect("there is a first group").rule
    }

    /// Sets what is the same in all groups.
    pub(super) fn all(mut self, set: impl Fn(&mut R)) -> Updater<R> {
        self.groups.iter_mut().for_each(|group| set(&mut group.rule));
        self
    }

    /// The learning rate, of the last group if there are several.
    pub fn learning_rate(mut self, rate: impl Into<f64>) -> Updater<R> {
        let rate = rate.into() as f32;
        self.own().set_rate(rate);
        self.groups.last_mut().expect("there is a first group").base = rate;
        self
    }

    /// The learning rates of all groups.
    pub fn learning_rates(&self) -> Vec<f32> {
        self.groups.iter().map(|group| group.rule.rate()).collect()
    }

    /// Sets the learning rate before every step to the schedule's for the number of steps taken so far; whatever
    /// else was set is overruled. It needs no saving: the number of steps is saved.
    pub fn schedule(mut self, schedule: impl Schedule + Send + Sync + 'static) -> Updater<R> {
        self.schedule = Some(Box::new(schedule));
        self
    }

    /// Adds noise to gradients, after clipping.
    pub fn noise(mut self, noise: GradientNoise) -> Updater<R> {
        self.flat.noise = Some(noise);
        self
    }

    /// What happens to gradients before the update. A step that clips changes nothing where a gradient is not finite:
    /// see [`Clip`].
    pub fn clip(mut self, clip: Clip) -> Updater<R> {
        self.flat.clip = clip;
        self
    }

    /// How the loss scale begins and grows, if the loss is computed with `f16`
    /// ([`Precision::Mixed`](farad_tensor::Precision)).
    pub fn scaling(mut self, settings: LossScale) -> Updater<R> {
        self.flat.scaling.settings = settings;
        self
    }

    /// Trains with all ranks of a group: every step is made with the mean of their gradients. All ranks take the
    /// parameters of rank 0 now. Clipping, the loss scale and skipped steps go by the mean, so they are the same everywhere.
    /// A group of one changes nothing.
    ///
    /// ```
    /// use farad::group::Group;
    /// use farad::prelude::*;
    /// let weight = Parameter::new(Tensor::ones([1], &Device::cpu()));
    /// let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(0.5).distributed(&Group::world()?)?;
    /// sgd.step(&weight.value().sum())?;
    /// assert_eq!(weight.value().to_vec::<f32>()?, [0.5]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn distributed(self, group: &Group) -> Result<Updater<R>> {
        self.distributed_with(group, RankOptions::default())
    }

    /// The same in another way. Fails if moments should be sharded and the rule needs whole parameters, as Muon's does.
    ///
    /// ```
    /// use farad::group::{Group, WireFormat};
    /// use farad::optim::RankOptions;
    /// use farad::prelude::*;
    /// let weight = Parameter::new(Tensor::ones([1], &Device::cpu()));
    /// let options = RankOptions { wire: WireFormat::Half, sharded: true, ..RankOptions::default() };
    /// let mut sgd = Sgd::new(vec![weight.clone()]).distributed_with(&Group::world()?, options)?;
    /// sgd.step(&weight.value().sum())?;
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn distributed_with(mut self, group: &Group, options: RankOptions) -> Result<Updater<R>> {
        self.distribute_later(group, options)?;
        self.flat.synchronize()?;
        Ok(self)
    }

    pub(super) fn distribute_later(&mut self, group: &Group, options: RankOptions) -> Result<()> {
        let rules: Vec<&dyn AnyRule> = self.groups.iter().map(|group| &group.rule as &dyn AnyRule).collect();
        self.flat.distribute(&rules, group, options)
    }

    /// The loss scale of the next step. Waits for the device.
    pub fn loss_scale(&self) -> Result<f32> {
        Ok(self.flat.scaling.read()?[0])
    }

    /// How many steps were skipped because a gradient was not finite: in mixed precision, and where gradients are
    /// clipped. Waits for the device, and warns if there are new ones. What clipping skipped in `f32` is not part of
    /// [`Optimizer::state`].
    pub fn overflows(&self) -> Result<u32> {
        self.flat.scaling.overflows()
    }

    /// The gradients that [`Optimizer::step`] would use, for clipping or accumulation by hand: taken of the scaled
    /// loss and divided by the scale; zeros for frozen parameters. [`Optimizer::apply`] skips those that are not finite.
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
        let fine = |x: &Tensor| if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let scaled = loss.cast(fine(loss)) * &scale;
        let divisor = scale.recip();
        let trained: Vec<Parameter> = self.parameters().iter().filter(|p| !p.is_frozen()).cloned().collect();
        let mut found = scaled.gradients(&trained)?.into_iter();
        let mut gradients = Vec::with_capacity(self.parameters().len());
        for parameter in self.parameters() {
            gradients.push(match parameter.is_frozen() {
                true => parameter.value().full_like(0.0),
                false => {
                    let gradient = found.next().expect("one a trained parameter");
                    gradient.cast(fine(&gradient)) * &divisor
                }
            });
        }
        Ok(gradients)
    }

    /// Steps taken so far; skipped ones count.
    pub fn steps(&self) -> u64 {
        self.flat.step
    }

    #[track_caller]
    fn run(&mut self, source: StepSource) -> Result<()> {
        if let Some(rate) = self.schedule.as_ref().map(|schedule| schedule.rate(self.flat.step)) {
            self.set_learning_rate(rate);
        }
        let rules: Vec<&dyn AnyRule> = self.groups.iter().map(|group| &group.rule as &dyn AnyRule).collect();
        self.flat.run(&rules, source, Location::caller())
    }
}

impl<R: UpdateRule + Clone> Optimizer for Updater<R> {
    #[track_caller]
    fn step(&mut self, loss: &Tensor) -> Result<()> {
        self.run(StepSource::Loss(loss))
    }

    #[track_caller]
    fn apply(&mut self, gradients: &[Tensor]) -> Result<()> {
        self.run(StepSource::Gradients(gradients))
    }

    fn set_learning_rate(&mut self, rate: f32) {
        let first = self.groups[0].base;
        for (n, group) in self.groups.iter_mut().enumerate() {
            let ratio = if n == 0 || first == 0.0 { 1.0 } else { group.base as f64 / first as f64 };
            group.rule.set_rate((rate as f64 * ratio) as f32);
        }
    }

    fn parameters(&self) -> &[Parameter] {
        &self.flat.parameters
    }

    fn synchronize(&mut self) -> Result<()> {
        self.flat.synchronize()
    }

    fn gather(&mut self) -> Result<()> {
        self.flat.gather()
    }

    fn state(&self) -> Result<Vec<(String, Tensor)>> {
        self.flat.state(&self.groups[0].rule)
    }

    #[track_caller]
    fn restore(&mut self, state: &[(String, Tensor)]) -> Result<()> {
        self.flat.restore(&self.groups[0].rule, state, Location::caller())
    }
}
