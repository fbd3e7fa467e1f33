//! Fourth-order Runge-Kutta, for worlds with smooth forces: springs, gravity, drag.

use crate::bodies::{BodySlot, PosedBodies, Velocities};
use crate::quantity::Quantity;
use crate::rows::Moving;
use crate::solver::Solver;
use crate::vector::{Rotation, Vector3};

/// Positions, quaternions, velocities and angular velocities, or their derivatives.
type FlatBody = Vec<Quantity>;

fn flat(slot: &BodySlot) -> FlatBody {
    let vectors = [&slot.at, &slot.turn.v, &slot.moving.velocity, &slot.moving.spin];
    let parts = vectors.into_iter().flat_map(|v| v.parts()).cloned();
    parts.chain([slot.turn.w.clone()]).collect()
}

fn slot(flat: &FlatBody) -> BodySlot {
    let vector = |n: usize| Vector3::new(flat[n].clone(), flat[n + 1].clone(), flat[n + 2].clone());
    BodySlot {
        at: vector(0),
        turn: Rotation { w: flat[12].clone(), v: vector(3) },
        moving: Moving { velocity: vector(6), spin: vector(9) },
    }
}

impl Solver {
    /// Moves all bodies by a time step, with four evaluations of the forces.
    pub fn smooth_substep(&self, slots: &[BodySlot], forces: Option<&[Vector3]>, time: f64) -> Vec<BodySlot> {
        let start: Vec<FlatBody> = slots.iter().map(flat).collect();
        let ahead = |slopes: &[FlatBody], by: f64| -> Vec<BodySlot> {
            let one = |(own, slope): (&FlatBody, &FlatBody)| {
                slot(&own.iter().zip(slope).map(|(x, s)| x + s * by).collect())
            };
            start.iter().zip(slopes).map(one).collect()
        };
        let first = self.slopes(slots, forces);
        let second = self.slopes(&ahead(&first, time / 2.0), forces);
        let third = self.slopes(&ahead(&second, time / 2.0), forces);
        let last = self.slopes(&ahead(&third, time), forces);
        let mean = |n: usize| -> FlatBody {
            let part = |k: usize| &first[n][k] + (&second[n][k] + &third[n][k]) * 2.0 + &last[n][k];
            (0..13).map(|k| part(k) * (1.0 / 6.0)).collect()
        };
        let means: Vec<FlatBody> = (0..slots.len()).map(mean).collect();
        let unit = |mut slot: BodySlot| {
            let scale = (slot.turn.w.square() + slot.turn.v.square()).sqrt().recip();
            slot.turn = Rotation { w: &slot.turn.w * &scale, v: slot.turn.v.scaled(&scale) };
            slot
        };
        ahead(&means, time).into_iter().map(unit).collect()
    }

    /// The derivatives of everything.
    fn slopes(&self, slots: &[BodySlot], forces: Option<&[Vector3]>) -> Vec<FlatBody> {
        let posed = self.posed(slots);
        let shown = PosedBodies::new(&posed);
        let moving: Vec<Moving> = slots.iter().map(|slot| slot.moving.clone()).collect();
        let mut pushes = Velocities::none(slots.len());
        let velocities = Velocities::new(&moving);
        self.springs.iter().for_each(|group| group.push(&shown, &velocities, 0.0, &mut pushes));
        let one = |n: usize| {
            let (columns, moving, push) = (&self.columns[n], &moving[n], pushes.slot(n));
            let (force, torque) = columns.drag(&posed[n].axes, moving);
            let mut force = force + push.velocity;
            if let Some(forces) = forces {
                force = force + &forces[n];
            }
            let axes = &posed[n].axes;
            let momentum = axes.out(&columns.inertia.times(&axes.own(&moving.spin)));
            let gyre = if self.plane { Vector3::zero() } else { moving.spin.cross(&momentum) };
            let torque = torque + push.spin - gyre;
            let still = Rotation { w: 0.0.into(), v: &moving.spin * 0.5 };
            let turn = still.after(&slots[n].turn);
            let fall = Vector3::known(self.gravity.0);
            flat(&BodySlot {
                at: moving.velocity.clone(),
                turn,
                moving: Moving {
                    velocity: force.scaled(&columns.inverse_mass) + fall,
                    spin: posed[n].inertia.times(&torque),
                },
            })
        };
        (0..slots.len()).map(one).collect()
    }
}
