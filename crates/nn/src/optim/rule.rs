//! What tells optimizers apart: a rule, from parameters and gradients to new parameters.

use std::any::TypeId;
use std::hash::{Hash, Hasher};

use farad_ir::Shape;

use super::{Slot, Var};

/// How an optimizer turns parameters and gradients into new parameters. All its groups have the same kind of
/// rule, each with its own numbers.
///
/// ```
/// use farad::optim::{UpdateRule, Update, Updater, Var};
/// use farad::prelude::*;
///
/// /// `p ← p - rate · g / (|g| + 1)`
/// #[derive(Clone)]
/// struct Soft {
///     rate: f32,
/// }
///
/// impl UpdateRule for Soft {
///     type Form = ();
///     fn form(&self) {}
///     fn rate(&self) -> f32 {
///         self.rate
///     }
///     fn set_rate(&mut self, rate: f32) {
///         self.rate = rate;
///     }
///     fn states(&self) -> usize {
///         0
///     }
///     fn numbers(&self, _: u64, _: usize) -> Vec<f32> {
///         vec![self.rate]
///     }
///     fn update<'g>(_: &(), u: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>) {
///         let [rate] = u.numbers();
///         (u.p - rate * u.g / (u.g.abs() + 1.0), vec![])
///     }
/// }
///
/// let weight = Parameter::new(Tensor::full(3.0, [2], &Device::cpu()));
/// let mut soft = Updater::with_rule(vec![weight.clone()], Soft { rate: 1.0 });
/// soft.step(&weight.value().sum())?;
/// assert_eq!(weight.value().to_vec::<f32>()?, [2.5, 2.5]);
/// # Ok::<(), farad::Error>(())
/// ```
pub trait UpdateRule: 'static {
    /// What decides the formula. [`UpdateRule::update`] sees nothing else of the rule, and all of it is part of the program's
    /// key, so no two rules can get each other's program.
    type Form: Hash;

    /// What decides the formula of this one; numbers that may change from step to step do not.
    fn form(&self) -> Self::Form;

    /// The learning rate.
    fn rate(&self) -> f32;

    /// The learning rate from the next step on.
    fn set_rate(&mut self, rate: f32);

    /// How many moments it keeps.
    fn states(&self) -> usize;

    /// What every element of a moment begins with.
    fn start(&self, _state: usize) -> f32 {
        0.0
    }

    /// What kind of parameter one of this shape is, if the rule treats them differently. Lower ones come
    /// first in the arrays.
    fn class(&self, _shape: Shape) -> usize {
        0
    }

    /// Whether parameters of a class have a moment. The array of a moment ends with the last class that has it.
    fn keeps(&self, _state: usize, _class: usize) -> bool {
        true
    }

    /// The numbers of step `step` (counted from 1) for parameters of a class, given with every run. There are
    /// equally many for every class.
    fn numbers(&self, step: u64, class: usize) -> Vec<f32>;

    /// Whether an element of a parameter needs nothing but its own gradient, moments and numbers. If so, ranks may update a share
    /// of the elements each ([`RankOptions::sharded`](super::RankOptions::sharded)).
    fn is_elementwise(&self) -> bool {
        false
    }

    /// The formula: new parameters and moments from the old ones.
    fn update<'g>(form: &Self::Form, update: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>);
}

/// What an [`UpdateRule`] is given to write the update of all parameters: nodes of one axis, with a place for every
/// element of every parameter.
pub struct Update<'g> {
    /// The parameters.
    pub p: Var<'g>,
    /// Their gradients.
    pub g: Var<'g>,
    /// The moments.
    pub states: Vec<Var<'g>>,
    /// The rule's numbers, each as long as the parameters.
    pub(super) numbers: Vec<Var<'g>>,
    /// Where each parameter lies.
    pub slots: &'g [Slot],
}

impl<'g> Update<'g> {
    /// The rule's numbers ([`UpdateRule::numbers`]), each as long as the parameters.
    #[track_caller]
    pub fn numbers<const N: usize>(&self) -> [Var<'g>; N] {
        let count = self.numbers.len();
        self.numbers[..]
            .try_into()
            .unwrap_or_else(|_| panic!("rule: numbers differ in count: ({count} vs {N})"))
    }
}

/// A rule of any type, as the parts of an optimizer see it.
pub(super) trait AnyRule {
    /// Puts everything that decides the program into a hash.
    fn identify(&self, state: &mut dyn Hasher);
    fn states(&self) -> usize;
    fn start(&self, state: usize) -> f32;
    fn class(&self, shape: Shape) -> usize;
    fn keeps(&self, state: usize, class: usize) -> bool;
    fn numbers(&self, step: u64, class: usize) -> Vec<f32>;
    fn is_elementwise(&self) -> bool;
    fn update<'g>(&self, update: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>);
}

impl<R: UpdateRule> AnyRule for R {
    fn identify(&self, mut state: &mut dyn Hasher) {
        (TypeId::of::<R>(), self.form()).hash(&mut state);
    }

    fn states(&self) -> usize {
        UpdateRule::states(self)
    }

    fn start(&self, state: usize) -> f32 {
        UpdateRule::start(self, state)
    }

    fn class(&self, shape: Shape) -> usize {
        UpdateRule::class(self, shape)
    }

    fn keeps(&self, state: usize, class: usize) -> bool {
        UpdateRule::keeps(self, state, class)
    }

    fn numbers(&self, step: u64, class: usize) -> Vec<f32> {
        UpdateRule::numbers(self, step, class)
    }

    fn is_elementwise(&self) -> bool {
        UpdateRule::is_elementwise(self)
    }

    fn update<'g>(&self, update: &Update<'g>) -> (Var<'g>, Vec<Var<'g>>) {
        R::update(&self.form(), update)
    }
}
