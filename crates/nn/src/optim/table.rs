//! The optimizers by name, as settings and commands know them.
//!
//! Rows stand in `optim/mod.rs`. Start at [`OptimizerRow`].

use super::{Clip, Optimizer, RankOptions, UpdateRule, Updater};
use crate::error::Result;
use crate::layers::Parameter;
use farad_group::Group;
use farad_tensor::Tensor;

/// A row of [`OPTIMIZERS`](super::OPTIMIZERS).
#[derive(Clone, Copy)]
pub struct OptimizerRow {
    /// As settings call it, such as `adamw`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// How many moments it keeps of every weight at least; for counting memory.
    pub moments: u32,
    pub(super) make: fn(Vec<Decayed>, &Common) -> Box<dyn AnyOptimizer>,
}

/// Parameters and their weight decay.
pub type Decayed = (Vec<Parameter>, f64);

/// An optimizer, whatever its rule.
pub trait AnyOptimizer: Optimizer + Send {
    /// The gradients of a loss as [`Optimizer::apply`] takes them, scaled if there is `f16` in between.
    fn gradients(&mut self, loss: &Tensor) -> Result<Vec<Tensor>>;

    /// As [`Updater::overflows`]: how many steps were skipped. Waits for the device.
    fn overflows(&self) -> Result<u32>;

    /// The learning rate, of the first group if there are several.
    fn learning_rate(&self) -> f32;

    /// As [`Updater::distributed_with`], but nothing is sent yet.
    fn distribute(&mut self, group: &Group, options: RankOptions) -> Result<()>;
}

impl<R: UpdateRule + Clone + Send> AnyOptimizer for Updater<R> {
    #[track_caller]
    fn gradients(&mut self, loss: &Tensor) -> Result<Vec<Tensor>> {
        Updater::gradients(self, loss)
    }

    fn overflows(&self) -> Result<u32> {
        Updater::overflows(self)
    }

    fn learning_rate(&self) -> f32 {
        self.learning_rates()[0]
    }

    fn distribute(&mut self, group: &Group, options: RankOptions) -> Result<()> {
        self.distribute_later(group, options)
    }
}

/// What can be set of every optimizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Common {
    /// The learning rate of the first step.
    pub learning_rate: f64,
    /// The decays of the first and the second moment, of optimizers that have both; their own if none.
    pub betas: Option<(f64, f64)>,
    /// What happens to gradients before the update.
    pub clip: Clip,
}

impl OptimizerRow {
    /// The row of this name.
    ///
    /// ```
    /// use farad::optim::{Common, OptimizerRow};
    /// use farad::prelude::*;
    /// let weight = Parameter::new(Tensor::ones([2], &Device::cpu()));
    /// let common = Common { learning_rate: 0.25, ..Common::default() };
    /// let row = OptimizerRow::of("lion").expect("a row");
    /// row.optimizer(vec![(vec![weight.clone()], 0.0)], &common).step(&weight.value().sum())?;
    /// assert_eq!(weight.value().to_vec::<f32>()?, [0.75, 0.75]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn of(name: &str) -> Option<&'static OptimizerRow> {
        super::OPTIMIZERS.iter().find(|row| row.name == name)
    }

    /// The names of all rows.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        super::OPTIMIZERS.iter().map(|row| row.name)
    }

    /// The optimizer, for these groups of parameters.
    pub fn optimizer(&self, groups: Vec<Decayed>, common: &Common) -> Box<dyn AnyOptimizer> {
        (self.make)(groups, common)
    }
}

impl Default for Common {
    fn default() -> Common {
        Common { learning_rate: 1e-3, clip: Clip::None, betas: None }
    }
}
