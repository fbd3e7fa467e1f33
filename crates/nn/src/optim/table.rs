//! The optimizers by name, as settings and commands know them.
//!
//! Rows stand in `optim/mod.rs`. Start at [`Named`].

use super::{Clip, Optimizer, Rule, Updater};
use crate::layers::Parameter;

/// A row of [`OPTIMIZERS`](super::OPTIMIZERS).
#[derive(Clone, Copy)]
pub struct Named {
    /// As settings call it, such as `adamw`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// How many moments it keeps of every weight at least; for counting memory.
    pub moments: u32,
    pub(super) make: fn(Vec<Parameter>, &Common) -> Box<dyn Optimizer + Send>,
}

/// What can be set of every optimizer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Common {
    /// The learning rate of the first step.
    pub learning_rate: f64,
    /// The weight decay, wherever the optimizer has it.
    pub weight_decay: f64,
    /// What happens to gradients before the update.
    pub clip: Clip,
}

impl Named {
    /// The row of this name.
    ///
    /// ```
    /// use farad::optim::{Clip, Common, Named};
    /// use farad::prelude::*;
    /// let weight = Parameter::new(Tensor::ones([2], &Device::cpu()));
    /// let common = Common { learning_rate: 0.25, weight_decay: 0.0, clip: Clip::None };
    /// let row = Named::of("lion").expect("a row");
    /// row.optimizer(vec![weight.clone()], &common).step(&weight.value().sum())?;
    /// assert_eq!(weight.value().to_vec::<f32>()?, [0.75, 0.75]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn of(name: &str) -> Option<&'static Named> {
        super::OPTIMIZERS.iter().find(|row| row.name == name)
    }

    /// The names of all rows.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        super::OPTIMIZERS.iter().map(|row| row.name)
    }

    /// The optimizer, for these parameters.
    pub fn optimizer(&self, parameters: Vec<Parameter>, common: &Common) -> Box<dyn Optimizer + Send> {
        (self.make)(parameters, common)
    }
}

impl Common {
    /// Sets what every optimizer has in the same way.
    pub(super) fn set<R: Rule + Clone + Send>(&self, optimizer: Updater<R>) -> Box<dyn Optimizer + Send> {
        Box::new(optimizer.learning_rate(self.learning_rate).clip(self.clip))
    }
}
