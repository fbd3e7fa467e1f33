//! Recipes that end with optimizer steps: the resulting parameters, compared between devices.
//!
//! A leaf is a parameter, or is made of two whose gradients are equal or multiples of each other, like those of
//! two biases that are added. Values that are read are kept alive during the step, so that it computes them as
//! well.

use farad::nn::Parameter;
use farad::optim::{Adagrad, Adam, AdamW, Clip, Optimizer, RmsProp, Sgd};
use farad::{Device, Result, Tensor};
use farad_ir::DType;
use farad_ir::reference::Values;

use super::check::describe;
use super::{FuzzRecipe, ValueSource};
use crate::compare::{Tolerance, compare, read};
use crate::driver::guarded;
use crate::sample::NumberStream;

/// How a leaf is made of parameters.
#[derive(Clone, Copy, Debug)]
enum LeafForm {
    /// It is a parameter.
    One,
    /// A sum: both have the same gradient.
    Sum,
    /// A sum with a multiple: one gradient is a multiple of the other.
    Multiple,
}

/// How a recipe is trained.
#[derive(Debug)]
struct TrainingPlan {
    /// Which leaves are trained, and how they are made.
    leaves: Vec<(usize, LeafForm)>,
    /// Which optimizer.
    optimizer: &'static str,
    /// How many steps; a single one is not clipped.
    steps: usize,
}

/// A constructor of an optimizer, by name. Adaptive ones divide by a root of squares: an epsilon of that size
/// keeps nearly zero gradients from deciding about signs.
type Constructor = fn(Vec<Parameter>, Clip) -> Box<dyn Optimizer>;

const OPTIMIZERS: &[(&str, Constructor)] = &[
    ("sgd", |p, clip| Box::new(Sgd::new(p).learning_rate(0.05).clip(clip))),
    ("momentum", |p, clip| {
        Box::new(Sgd::new(p).learning_rate(0.05).momentum(0.9).nesterov().weight_decay(0.01).clip(clip))
    }),
    ("adam", |p, clip| Box::new(Adam::new(p).learning_rate(0.05).epsilon(0.3).clip(clip))),
    ("adamw", |p, clip| Box::new(AdamW::new(p).learning_rate(0.05).epsilon(0.3).amsgrad().clip(clip))),
    ("rmsprop", |p, clip| {
        Box::new(RmsProp::new(p).learning_rate(0.05).epsilon(0.3).momentum(0.5).clip(clip))
    }),
    ("adagrad", |p, clip| Box::new(Adagrad::new(p).learning_rate(0.05).epsilon(0.3).clip(clip))),
];

impl TrainingPlan {
    /// A plan from the recipe's seed; `None` if there is nothing to train.
    fn of(recipe: &FuzzRecipe) -> Option<TrainingPlan> {
        let mut used = vec![false; recipe.steps.len()];
        let floats = recipe.outputs.iter().filter(|&&n| recipe.steps[n].dtype.is_float());
        floats.for_each(|&n| used[n] = true);
        for n in (0..used.len()).rev().filter(|&n| recipe.steps[n].dtype.is_float()) {
            if used[n] {
                recipe.steps[n].operands.iter().for_each(|&o| used[o] = true);
            }
        }
        let mut sample = NumberStream::new(recipe.seed ^ 0x57e9);
        let trained = |&n: &usize| {
            let step = &recipe.steps[n];
            used[n] && matches!(step.source, ValueSource::Leaf(_)) && step.dtype == DType::F32
        };
        let leaves: Vec<(usize, LeafForm)> = (0..used.len())
            .filter(trained)
            .map(|n| (n, sample.pick(&[LeafForm::One, LeafForm::One, LeafForm::Sum, LeafForm::Multiple])))
            .collect();
        let optimizer = sample.pick(OPTIMIZERS).0;
        (!leaves.is_empty()).then(|| TrainingPlan { leaves, optimizer, steps: 1 + sample.below(3) })
    }

    /// The parameters after all steps, and the values read before the last.
    fn run(&self, recipe: &FuzzRecipe, device: &Device) -> Result<Vec<Values>> {
        let mut drawn = Vec::new();
        recipe.build_from(device, &mut |n, leaf| {
            drawn.push((n, leaf.clone()));
            leaf
        })?;
        let mut pairs: Vec<(usize, LeafForm, Parameter, Option<Parameter>)> = Vec::new();
        for &(n, make) in &self.leaves {
            let start =
                drawn.iter().find(|(m, _)| *m == n).map(|(_, leaf)| leaf.detach()).expect("drawn above")?;
            let second = match make {
                LeafForm::One => None,
                LeafForm::Sum | LeafForm::Multiple => {
                    Some(Parameter::new(Tensor::zeros(start.shape(), device)))
                }
            };
            pairs.push((n, make, Parameter::new(start), second));
        }
        drop(drawn);
        let parameters: Vec<Parameter> =
            pairs.iter().flat_map(|(_, _, a, b)| std::iter::once(a).chain(b)).cloned().collect();
        let clip = if self.steps == 1 { Clip::None } else { Clip::Norm(1.0) };
        let make = OPTIMIZERS.iter().find(|(name, _)| *name == self.optimizer).expect("a row").1;
        let mut optimizer = make(parameters.clone(), clip);
        let mut found = Vec::new();
        for step in 0..self.steps {
            let all = recipe.build_from(device, &mut |n, leaf| {
                let Some((_, make, a, b)) = pairs.iter().find(|pair| pair.0 == n) else { return leaf };
                match (make, b) {
                    (LeafForm::Sum, Some(b)) => a.value() + b.value(),
                    (LeafForm::Multiple, Some(b)) => a.value() + b.value() * 2.0,
                    _ => a.value(),
                }
            })?;
            let mut loss = Tensor::zeros([], device);
            for &n in recipe.outputs.iter().filter(|&&n| recipe.steps[n].dtype.is_float()) {
                loss = loss + all[n].cast(DType::F32).square().sum();
            }
            let kept: Vec<Tensor> = recipe.outputs.iter().map(|&n| all[n].clone()).collect();
            drop(all);
            optimizer.step(&loss)?;
            if step + 1 == self.steps {
                found = kept.iter().map(read).collect::<Result<_>>()?;
            }
        }
        for parameter in &parameters {
            found.push(read(&parameter.value())?);
        }
        Ok(found)
    }
}

/// Steps on every device, compared with steps on the host, which should not fuse kernels.
pub fn check_steps(
    recipe: &FuzzRecipe,
    host: &Device,
    devices: &[Device],
) -> std::result::Result<(), String> {
    let Some(plan) = TrainingPlan::of(recipe) else { return Ok(()) };
    let told = |device: &Device, text: &str| format!("{}    {plan:?}\n", describe(recipe, device, text));
    let expected = guarded(|| plan.run(recipe, host)).map_err(|text| told(host, &text))?;
    for device in devices {
        let found = guarded(|| plan.run(recipe, device)).map_err(|text| told(device, &text))?;
        for (n, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let what = match n.checked_sub(recipe.outputs.len()) {
                None => format!("%{} in the last step", recipe.outputs[n]),
                Some(n) => format!("parameter {n}"),
            };
            let tolerance = Tolerance { relative: 2e-3, absolute: 2e-5 };
            compare(found, expected, tolerance).map_err(|text| told(device, &format!("{what}: {text}")))?;
        }
    }
    Ok(())
}
