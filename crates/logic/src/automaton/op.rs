//! The two ops: a roll-out, and its backward pass.
//!
//! Operands of the roll-out: coefficients, wires, consumers, states, and fired if not all cells fire (see
//! [`Topology`] for the arrays). Results: the states after the last step, and the kept array
//! ([`RollOutExtent::kept_len`]). Operands of the backward pass: the same, then the kept array, then the
//! gradient of the last states. Results: gradients of the coefficients and of the first states.

use std::sync::Arc;

use farad::{CustomKernel, CustomLimits, CustomOp, DType, Device, OpError, Shape, Tensor, Var, Words};

use super::extent::RollOutExtent;
use super::topology::Topology;
use super::{cpu, gpu, reference};
use crate::gates::{GATE_FLOPS, INPUT_FLOPS, WEIGHT_FLOPS};
use crate::wires::Wires;

/// What the forward pass keeps for the backward pass. The results are the same, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The states before every step; a step's activations are recomputed.
    #[default]
    Recompute,
    /// Every activation of every step.
    KeepAll,
    /// The states before every n-th step; the states in between are recomputed, then as above.
    Every(usize),
}

/// The wiring of one or several automata, on a device.
#[derive(Clone, Debug)]
pub struct Wiring {
    /// `[seeds, wires]`
    pub wires: Tensor,
    /// `[seeds, consumers]`
    pub consumers: Tensor,
}

impl Wiring {
    /// From the layers of every automaton.
    pub fn new(topology: &Topology, seeds: &[Vec<Wires>], device: &Device) -> Wiring {
        let wires: Vec<u32> = seeds.iter().flat_map(|layers| topology.pack_wires(layers)).collect();
        let consumers: Vec<u32> = seeds.iter().flat_map(|layers| topology.pack_consumers(layers)).collect();
        Wiring {
            wires: Tensor::from_vec(wires, [seeds.len(), topology.wires()], device),
            consumers: Tensor::from_vec(consumers, [seeds.len(), topology.consumers()], device),
        }
    }
}

/// Steps of an automaton as one op, with its gradient through time.
#[derive(Clone, Debug)]
pub struct RollOut {
    topology: Arc<Topology>,
    steps: usize,
    policy: Policy,
}

impl RollOut {
    /// This many steps of this automaton.
    ///
    /// # Panics
    /// If the topology is invalid or there are no steps.
    #[track_caller]
    pub fn new(topology: Topology, steps: usize) -> RollOut {
        if let Err(what) = topology.check() {
            panic!("automaton: {what}");
        }
        assert!(steps > 0, "automaton: needs at least one step (0 vs 1)");
        RollOut { topology: Arc::new(topology), steps, policy: Policy::default() }
    }

    /// Sets what is kept for the backward pass.
    pub fn policy(mut self, policy: Policy) -> RollOut {
        self.policy = policy;
        self
    }

    /// The states after the last step.
    /// `[seeds, batch, height, width, channels] -> [seeds, batch, height, width, channels]`
    #[track_caller]
    pub fn run(
        &self,
        coefficients: &Tensor,
        wiring: &Wiring,
        states: &Tensor,
        fired: Option<&Tensor>,
    ) -> Tensor {
        let op = RollOutOp(Stages {
            topology: self.topology.clone(),
            steps: self.steps,
            policy: self.policy,
            asynchronous: fired.is_some(),
        });
        let operands: Vec<&Tensor> =
            [coefficients, &wiring.wires, &wiring.consumers, states].into_iter().chain(fired).collect();
        Tensor::custom(op, &operands).swap_remove(0)
    }
}

/// What both ops have in common.
#[derive(Clone, Debug, Hash)]
struct Stages {
    topology: Arc<Topology>,
    steps: usize,
    policy: Policy,
    asynchronous: bool,
}

impl Stages {
    /// The number of operands without those that only the backward pass has.
    fn operands(&self) -> usize {
        4 + self.asynchronous as usize
    }

    fn extent(&self, shapes: &[Shape]) -> RollOutExtent<'_> {
        let states = shapes[3].to_vec();
        RollOutExtent {
            topology: &self.topology,
            policy: self.policy,
            asynchronous: self.asynchronous,
            steps: self.steps,
            seeds: states[0],
            batch: states[1],
            height: states[2],
            width: states[3],
        }
    }

    fn checked(&self, operands: &[(Shape, DType)]) -> Result<RollOutExtent<'_>, OpError> {
        let shapes: Vec<Shape> = operands.iter().map(|operand| operand.0).collect();
        if shapes[3].rank() != 5 {
            let (shape, rank) = (shapes[3], shapes[3].rank());
            return Err(OpError::RankTooLow { op: "automaton", shape, rank, least: 5 });
        }
        for (n, &(_, dtype)) in operands.iter().enumerate() {
            let wanted = if n == 1 || n == 2 { DType::U32 } else { DType::F32 };
            if dtype != wanted {
                return Err(OpError::DTypes { op: "automaton", lhs: dtype, rhs: wanted });
            }
        }
        let extent = self.extent(&shapes);
        extent.check(&shapes)?;
        Ok(extent)
    }
}

/// Operands by role.
pub(super) struct RollOutOperands<'a, T> {
    pub coefficients: &'a [T],
    pub states: &'a [T],
    pub fired: Option<&'a [T]>,
    /// What the forward pass kept, and the gradient at the end; only in the backward pass.
    pub kept: &'a [T],
    pub upstream: &'a [T],
}

impl<'a, T> RollOutOperands<'a, T> {
    fn of(stages: &Stages, all: &[&'a [T]]) -> RollOutOperands<'a, T> {
        let n = stages.operands();
        RollOutOperands {
            coefficients: all[0],
            states: all[3],
            fired: stages.asynchronous.then(|| all[4]),
            kept: all.get(n).copied().unwrap_or_default(),
            upstream: all.get(n + 1).copied().unwrap_or_default(),
        }
    }
}

fn words_of(numbers: &[f64]) -> Vec<u32> {
    numbers.iter().map(|&number| number as u32).collect()
}

#[derive(Clone, Debug, Hash)]
struct RollOutOp(Stages);

#[derive(Clone, Debug, Hash)]
struct RollOutGradients(Stages);

impl CustomOp for RollOutOp {
    fn name(&self) -> &str {
        "automaton"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let extent = self.0.checked(operands)?;
        Ok(vec![(extent.states(), DType::F32), (Shape::new(&[extent.kept_len()]), DType::F32)])
    }

    /// The kept array is internal to the devices; here it is zero.
    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let extent = self.0.extent(shapes);
        let slices: Vec<&[f64]> = operands.iter().map(Vec::as_slice).collect();
        let states =
            reference::forward(&extent, &words_of(&operands[1]), &RollOutOperands::of(&self.0, &slices));
        vec![states, vec![0.0; extent.kept_len()]]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let extent = self.0.extent(shapes);
        let floats: Vec<&[f32]> = operands.iter().map(|words| bytemuck::cast_slice(words)).collect();
        let [states, kept] = results else { unreachable!("two results") };
        let (states, kept) = (bytemuck::cast_slice_mut(states), bytemuck::cast_slice_mut(kept));
        cpu::forward(&extent, operands[1], &RollOutOperands::of(&self.0, &floats), states, kept);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::forward(&self.0.extent(shapes), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let extent = self.0.extent(shapes);
        // Every step reads the states and writes the next, which may be among the kept ones.
        let words = 2 * extent.steps * extent.state_len() + extent.circuit_len();
        Some((4 * words as u64, GATE_FLOPS * extent.evaluations()))
    }

    fn scratch(&self, shapes: &[Shape]) -> Vec<usize> {
        gpu::forward_scratch(&self.0.extent(shapes))
    }

    fn gradient<'g>(
        &self,
        operands: &[Var<'g>],
        results: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        let all: Vec<Var> = operands.iter().copied().chain([results[1], upstream[0]]).collect();
        let found = Var::custom(RollOutGradients(self.0.clone()), &all)?;
        let mut gradients = vec![None; operands.len()];
        (gradients[0], gradients[3]) = (Some(found[0]), Some(found[1]));
        Ok(gradients)
    }
}

impl CustomOp for RollOutGradients {
    fn name(&self) -> &str {
        "automaton_backward"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        let extent = self.0.checked(operands)?;
        Ok(vec![(extent.coefficients(), DType::F32), (extent.states(), DType::F32)])
    }

    fn reference(&self, operands: &[Vec<f64>], shapes: &[Shape]) -> Vec<Vec<f64>> {
        let slices: Vec<&[f64]> = operands.iter().map(Vec::as_slice).collect();
        let operands_of = RollOutOperands::of(&self.0, &slices);
        let (coefficients, states) =
            reference::backward(&self.0.extent(shapes), &words_of(&operands[1]), &operands_of);
        vec![coefficients, states]
    }

    fn cpu(&self, operands: &[&[u32]], shapes: &[Shape], results: &mut [Words]) {
        let extent = self.0.extent(shapes);
        let floats: Vec<&[f32]> = operands.iter().map(|words| bytemuck::cast_slice(words)).collect();
        let [coefficients, states] = results else { unreachable!("two results") };
        let (coefficients, states) =
            (bytemuck::cast_slice_mut(coefficients), bytemuck::cast_slice_mut(states));
        cpu::backward(&extent, operands[1], &RollOutOperands::of(&self.0, &floats), coefficients, states);
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        gpu::backward(&self.0.extent(shapes), limits)
    }

    fn costs(&self, shapes: &[Shape]) -> Option<(u64, u64)> {
        let extent = self.0.extent(shapes);
        // Every step reads its states and a gradient and writes another; recomputation depends on the policy.
        let words = 3 * extent.steps * extent.state_len()
            + extent.circuit_len()
            + extent.coefficients().numel()
            + extent.seeds * extent.topology.consumers();
        Some((4 * words as u64, (WEIGHT_FLOPS + INPUT_FLOPS) * extent.evaluations()))
    }

    fn scratch(&self, shapes: &[Shape]) -> Vec<usize> {
        gpu::backward_scratch(&self.0.extent(shapes))
    }
}
