//! A trial of a herd: everybody settles, then moves for a while, in one loop on the device.
//!
//! The networks are computed in every sub-step. Invariant: a creature that explodes, or whose joints come apart,
//! counts as one that did not move.

use farad_tensor::{DType, Result, Tensor, repeat};

use super::Herd;
use crate::bodies::{BodySlot, PosedBodies, Velocities, pack, unpack};
use crate::contacts::touching;
use crate::genotype::{MOST_PARTS, PART_AXES};
use crate::herd::tables::MOST_HINGES;
use crate::quantity::{ONE, Quantity};
use crate::state::WorldState;

/// Bodies closer to the ground than this touch it, in meters.
const NEAR: f64 = 2e-3;
/// Seconds in which motors come up after settling.
const RISE: f64 = 0.5;
/// A creature with a part that is faster than this, in meters per second, explodes.
const FASTEST: f64 = 25.0;
/// Joints come apart beyond this, in meters.
const APART: f64 = 0.05;

/// How long creatures are tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HerdTrial {
    /// Seconds without motors before.
    pub settle: f64,
    /// Seconds that count.
    pub seconds: f64,
}

impl Default for HerdTrial {
    fn default() -> HerdTrial {
        HerdTrial { settle: 1.0, seconds: 10.0 }
    }
}

/// What a trial of a creature came to. Means are over the time that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrialResult {
    /// How far the center of mass moved along the first axis, in meters.
    pub distance: f64,
    /// How far it moved along the second axis.
    pub aside: f64,
    /// Mean height of the center of mass.
    pub height: f64,
    /// Mean share of parts that touch the ground.
    pub touch: f64,
    /// Mean of how upright the first part is, from −1 to 1.
    pub up: f64,
    /// Mean of the motors' targets, as a share of their range.
    pub effort: f64,
    /// Whether it neither exploded nor came apart.
    pub whole: bool,
}

/// The names of the numbers of a [`TrialResult`], in order.
pub const MEASURES: [&str; 7] = ["distance", "aside", "height", "touch", "up", "effort", "whole"];

/// How a herd moved: places and rotations of all parts, `[frames, worlds, parts, 3]` and `[.., 4]`, and the
/// activity of the networks' neurons and outputs, `[frames, worlds, joints, 6]`.
pub struct HerdMotion {
    /// Centers of parts.
    pub position: Tensor,
    /// Rotations of parts.
    pub rotation: Tensor,
    /// Neurons, then outputs.
    pub activity: Tensor,
}

/// What the networks give in a sub-step.
struct Driven {
    /// `[worlds, joints · axes]`.
    actions: Tensor,
    /// `[neurons, joints, worlds]` and `[axes, joints, worlds]`.
    neurons: Tensor,
    outputs: Tensor,
    /// `[1, parts, worlds]`: 1 where a part touches the ground.
    touch: Tensor,
    /// `[1, 1, worlds]`.
    up: Tensor,
    /// The largest gap of a joint, `[worlds]`.
    gap: Tensor,
}

impl Herd {
    /// Tries all creatures, on the device: `[measures, worlds]`, by [`MEASURES`]. Reads nothing.
    pub fn trial(&self, trial: &HerdTrial) -> Tensor {
        let (settle, all) = self.substeps(trial);
        let zero = Tensor::zeros([self.worlds], &self.device);
        let one = zero.full_like(1.0);
        let from = Tensor::zeros([2, self.worlds], &self.device);
        let sums = Tensor::zeros([4, self.worlds], &self.device);
        let carries: Vec<&Tensor> = self.start.tensors().into_iter().chain([&from, &sums, &one]).collect();
        let (last, _) = repeat(all, &carries, |carry, position| {
            let state = WorldState::from_tensors(&carry[..4]);
            let (from, sums, whole) = (&carry[4], &carry[5], &carry[6]);
            let slots = unpack(&state, self.solver.arrangement);
            let driven = self.driven(&slots, position, settle);
            let center = self.center(&slots[0]);
            let moving = position.greater(settle as i32 - 1);
            let starts = position.equal(settle as i32).broadcast_to([2, self.worlds]);
            let from = starts.select(&center.narrow(0, 0, 2), from);
            let now = self.measured(&driven, &center);
            let sums = sums + moving.cast(DType::F32) * now;
            let next = self.moved(&slots, &driven.actions);
            let whole = whole * self.sane(&next, &driven).cast(DType::F32);
            ([next.tensors().map(Tensor::clone).to_vec(), vec![from, sums, whole]].concat(), vec![])
        });
        let end = self.center(&unpack(&WorldState::from_tensors(&last[..4]), self.solver.arrangement)[0]);
        let (sums, whole) = (&last[5] * (1.0 / (all - settle) as f64), &last[6]);
        let way = end.narrow(0, 0, 2) - &last[4];
        let measures = Tensor::concat(&[&way, &sums], 0);
        // What exploded is nowhere, and its numbers are none.
        let fine = whole.greater(0.5).unsqueeze(0).broadcast_to([6, self.worlds]);
        let measures = fine.select(&measures, &measures.full_like(0.0));
        Tensor::concat(&[&measures, &whole.unsqueeze(0)], 0)
    }

    /// Tries all creatures and reads what it came to.
    pub fn tried(&self, trial: &HerdTrial) -> Result<Vec<TrialResult>> {
        TrialResult::read(&self.trial(trial))
    }

    /// The same trial with what everybody did, every so many sub-steps.
    pub fn motion(&self, trial: &HerdTrial, every: usize) -> HerdMotion {
        let (settle, all) = self.substeps(trial);
        let carries = self.start.tensors();
        let (_, kept) = repeat(all, &carries, |carry, position| {
            let state = WorldState::from_tensors(carry);
            let slots = unpack(&state, self.solver.arrangement);
            let driven = self.driven(&slots, position, settle);
            let active = Tensor::concat(&[&driven.neurons, &driven.outputs], 0).permute(&[2, 1, 0]);
            let next = self.moved(&slots, &driven.actions);
            let kept = vec![state.position.clone(), state.rotation.clone(), active];
            (next.tensors().map(Tensor::clone).to_vec(), kept)
        });
        let frames = all / every;
        let thin = |t: &Tensor| {
            let t = t.narrow(0, 0, frames * every);
            let rest = t.shape()[1..].to_vec();
            let t = t.reshape([vec![frames, every], rest].concat());
            t.narrow(1, 0, 1).squeeze(1)
        };
        HerdMotion { position: thin(&kept[0]), rotation: thin(&kept[1]), activity: thin(&kept[2]) }
    }

    /// Sub-steps before the time that counts, and all of them.
    fn substeps(&self, trial: &HerdTrial) -> (usize, usize) {
        let steps = |seconds: f64| (seconds / self.time).round() as usize;
        (steps(trial.settle), steps(trial.settle) + steps(trial.seconds).max(1))
    }

    /// What all networks see, and what they do about it.
    fn driven(&self, slots: &[BodySlot], position: &Tensor, settle: usize) -> Driven {
        let worlds = self.worlds;
        let posed = PosedBodies::new(&self.solver.posed(slots));
        let moving: Vec<_> = slots.iter().map(|slot| slot.moving.clone()).collect();
        let velocities = Velocities::new(&moving);
        let prepared = self.solver.joints[0].prepare(&posed, self.time);
        let [_, first, second, _] = prepared.freedoms(&velocities);
        let touch = touching(&self.solver.contacts, &posed, NEAR, 1).remove(0).minimum(&ONE);
        let turn = &slots[0].turn.v;
        let up = Quantity::Known(1.0) - (turn.x.square() + turn.y.square()) * 2.0;
        let whole = |quantity: &Quantity, rows: usize| quantity.filled([1, rows, worlds], &self.device);
        let numbers = &self.numbers;
        let seconds = (position.cast(DType::F32) - settle as f64) * self.time;
        let rise = (&seconds * (1.0 / RISE)).clamp(0.0, 1.0);
        let angle = (&numbers.clock * &seconds + &numbers.phase) * std::f64::consts::TAU;
        let touches = whole(&touch, MOST_PARTS);
        let root = whole(&up, MOST_PARTS).narrow(1, 0, 1);
        // Stored one by one: in a row of a joined tensor, every part would be computed for the others as well.
        let seen = [
            angle.sin(),
            angle.cos(),
            whole(&first.0, MOST_HINGES),
            whole(&second.0, MOST_HINGES),
            whole(&(first.1 * 0.1), MOST_HINGES),
            whole(&(second.1 * 0.1), MOST_HINGES),
            touches.narrow(1, 1, MOST_HINGES),
            whole(&self.solver.joints[0].of_parents(&touch), MOST_HINGES),
            root.clone(),
        ];
        let seen = seen.map(|part| part.computed_once());
        let weight = |n: usize| numbers.neurons.narrow(1, n, 1).squeeze(1);
        // The last input is always 1.
        let inputs =
            seen.iter().enumerate().fold(weight(seen.len()), |sum, (n, part)| sum + weight(n) * part);
        let neurons = inputs.tanh().computed_once();
        let outputs = (&numbers.outputs * neurons.unsqueeze(0)).sum_axes([1]).tanh();
        let outputs = outputs * rise;
        let actions = (&outputs * &numbers.swing).permute(&[2, 1, 0]);
        let gap = whole(&prepared.gap(), MOST_HINGES).max_axes([0, 1]);
        Driven {
            actions: actions.reshape([worlds, MOST_HINGES * PART_AXES]),
            neurons,
            outputs,
            touch: touches,
            up: root,
            gap,
        }
    }

    /// Height, touch, up and effort now, `[4, worlds]`.
    fn measured(&self, driven: &Driven, center: &Tensor) -> Tensor {
        let touch = (&driven.touch * &self.numbers.parts).sum_axes([1]);
        let effort = driven.outputs.abs().mean_axes([0]);
        let effort = (effort * &self.numbers.joints).sum_axes([0]).unsqueeze(0);
        let up = driven.up.squeeze(0);
        Tensor::concat(&[&center.narrow(0, 2, 1), &touch, &up, &effort], 0)
    }

    /// The centers of mass, `[3, worlds]`.
    fn center(&self, slot: &BodySlot) -> Tensor {
        let part = |quantity: &Quantity| {
            let all = quantity.filled([1, MOST_PARTS, self.worlds], &self.device);
            (all * &self.numbers.shares).sum_axes([1])
        };
        let [x, y, z] = slot.at.parts().map(part);
        Tensor::concat(&[&x, &y, &z], 0)
    }

    fn moved(&self, slots: &[BodySlot], actions: &Tensor) -> WorldState {
        let next = self.solver.substep(slots, Some(actions), None, self.time);
        pack(&next, self.solver.arrangement, self.worlds, MOST_PARTS, false, &self.device)
    }

    /// Which creatures are neither too fast nor apart, `[worlds]`.
    fn sane(&self, next: &WorldState, driven: &Driven) -> Tensor {
        let there = self.numbers.parts.permute(&[1, 0]).greater(0.0);
        let fast = next.velocity.square().sum_axes([2]);
        let fine = fast.less(FASTEST * FASTEST) | there.not();
        fine.cast(DType::F32).min_axes([1]).greater(0.5) & driven.gap.less(APART)
    }
}

impl TrialResult {
    /// Reads what [`Herd::trial`] gave.
    pub fn read(measures: &Tensor) -> Result<Vec<TrialResult>> {
        let worlds = measures.shape()[1];
        let numbers = measures.to_vec::<f32>()?;
        let of = |world: usize| {
            TrialResult::of(&[0, 1, 2, 3, 4, 5, 6].map(|n| f64::from(numbers[n * worlds + world])))
        };
        Ok((0..worlds).map(of).collect())
    }

    /// From its numbers, in the order of [`MEASURES`].
    pub fn of(&[distance, aside, height, touch, up, effort, whole]: &[f64; 7]) -> TrialResult {
        TrialResult { distance, aside, height, touch, up, effort, whole: whole > 0.5 }
    }

    /// Its numbers, in the order of [`MEASURES`].
    pub fn numbers(&self) -> [f64; 7] {
        let TrialResult { distance, aside, height, touch, up, effort, whole } = *self;
        [distance, aside, height, touch, up, effort, f64::from(u8::from(whole))]
    }
}
