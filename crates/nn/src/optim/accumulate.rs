//! Gradients of several batches, added up to one step.

use crate::error::Result;
use farad_tensor::Tensor;

/// Sums of gradients: a step as of a large batch from small ones that fit into memory. Every batch is run as it is
/// added.
///
/// ```
/// use farad::optim::Accumulator;
/// use farad::prelude::*;
/// let weight = Parameter::new(Tensor::zeros([1], &Device::cpu()));
/// let mut sgd = Sgd::new(vec![weight.clone()]).learning_rate(1.0);
/// let mut accumulator = Accumulator::new();
/// for target in [1.0, 3.0] {
///     let loss = (weight.value() - target).square().mean();
///     accumulator.add(&sgd.gradients(&loss)?)?;
/// }
/// sgd.apply(&accumulator.take())?;
/// assert_eq!(weight.value().to_vec::<f32>()?, [4.0]);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Default)]
pub struct Accumulator {
    sums: Vec<Tensor>,
    batches: usize,
}

impl Accumulator {
    /// With nothing in it.
    pub fn new() -> Accumulator {
        Accumulator::default()
    }

    /// Adds the gradients of a batch, one per parameter, in one program.
    #[track_caller]
    pub fn add(&mut self, gradients: &[Tensor]) -> Result<()> {
        let mut sums = Vec::with_capacity(gradients.len());
        for (n, gradient) in gradients.iter().enumerate() {
            sums.push(match self.sums.get(n) {
                Some(sum) => sum + gradient,
                None => gradient.clone(),
            });
        }
        Tensor::compute_all(&sums.iter().collect::<Vec<_>>())?;
        // Values without history, so that no batch is kept for the next.
        self.sums = sums.iter().map(Tensor::detach).collect::<Result<_>>()?;
        self.batches += 1;
        Ok(())
    }

    /// How many batches were added since the sums were taken.
    pub fn batches(&self) -> usize {
        self.batches
    }

    /// The mean gradients of the batches, for [`Optimizer::apply`](super::Optimizer::apply); begins anew.
    #[track_caller]
    pub fn take(&mut self) -> Vec<Tensor> {
        let (sums, batches) = (std::mem::take(&mut self.sums), std::mem::take(&mut self.batches));
        let share = 1.0 / batches.max(1) as f64;
        let mut means = Vec::with_capacity(sums.len());
        for sum in &sums {
            means.push(if batches == 1 { sum.clone() } else { sum * share });
        }
        means
    }
}
