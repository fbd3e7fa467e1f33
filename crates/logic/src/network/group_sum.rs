//! The head of a network: every class counts its own bits.

use farad::{CustomKernel, CustomLimits, CustomOp, DType, OpError, Shape, Tensor, Var, Words};
use farad_circuit::{Netlist, Wire};

use crate::error::{Error, Result};

/// Sums equal groups of features, one group per class, and divides by a temperature:
/// `[features, batch] -> [classes, batch]`. As a circuit: counters, and the first class with the largest count.
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::GroupSum;
/// let head = GroupSum::new(4, 2, 2.0)?;
/// let x = Tensor::from_vec(vec![1.0, 1.0, 0.0, 1.0], [4, 1], &Device::cpu());
/// assert_eq!(head.sums(&x).to_vec::<f32>()?, [1.0, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupSum {
    features: usize,
    classes: usize,
    tau: f32,
}

impl GroupSum {
    /// For this many features and classes. Sums are divided by `tau`; 0 means a third of the square root of a
    /// group's size, which trained best.
    pub fn new(features: usize, classes: usize, tau: f32) -> Result<GroupSum> {
        if classes < 2 {
            return Err(Error::OneClass { classes });
        }
        if features < classes || !features.is_multiple_of(classes) {
            return Err(Error::Groups { features, classes });
        }
        let tau = if tau == 0.0 { ((features / classes) as f32).sqrt() / 3.0 } else { tau };
        Ok(GroupSum { features, classes, tau })
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The divisor of the sums.
    pub fn tau(&self) -> f32 {
        self.tau
    }

    /// The sums. `[features, batch] -> [classes, batch]`
    #[track_caller]
    pub fn sums(&self, x: &Tensor) -> Tensor {
        let (group, batch) = (self.features / self.classes, x.shape()[1]);
        let sums = x.reshape([self.classes, group, batch]).sum_axes([1]);
        hold(&(sums * (1.0 / f64::from(self.tau))))
    }

    /// Adds counters and comparators to a netlist; returns the class in binary, lowest bit first.
    pub fn add_to(&self, netlist: &mut Netlist, values: &[Wire]) -> Vec<Wire> {
        let counts = self.add_counts_to(netlist, values);
        netlist.first_largest(&counts)
    }

    /// Adds only counters to a netlist; returns the count of every class in binary, lowest bit first.
    pub fn add_counts_to(&self, netlist: &mut Netlist, values: &[Wire]) -> Vec<Vec<Wire>> {
        let groups = values.chunks(self.features / self.classes);
        groups.map(|group| netlist.population_count(group)).collect()
    }
}

/// The same numbers, materialized. What follows the head is then computed once per class and sample, and so is
/// its gradient. Without this, the loss would be differentiated once for every gate that a class counts.
#[track_caller]
fn hold(x: &Tensor) -> Tensor {
    Tensor::custom(Hold, &[x]).swap_remove(0)
}

/// x -> x.
#[derive(Clone, Copy, Debug, Hash)]
struct Hold;

const HOLD: &str = include_str!("hold.wgsl");

impl CustomOp for Hold {
    fn name(&self) -> &str {
        "hold"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> std::result::Result<Vec<(Shape, DType)>, OpError> {
        Ok(operands.to_vec())
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        operands.to_vec()
    }

    fn cpu(&self, operands: &[&[u32]], _: &[Shape], results: &mut [Words]) {
        results[0].copy_from_slice(operands[0]);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let groups = shapes[0].numel().div_ceil(256);
        let x = groups.clamp(1, limits.workgroups as usize);
        let workgroups = [x as u32, groups.div_ceil(x).max(1) as u32, 1];
        vec![CustomKernel::new(HOLD, "main", workgroups).parameters(&[shapes[0].numel() as u32])]
    }

    fn gradient<'g>(
        &self,
        _: &[Var<'g>],
        _: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> std::result::Result<Vec<Option<Var<'g>>>, OpError> {
        Ok(vec![Some(Var::custom(Hold, &upstream[..1])?[0])])
    }
}
