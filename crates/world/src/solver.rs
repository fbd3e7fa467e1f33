//! One sub-step: forces, constraints, motion.
//!
//! Maximal coordinates, semi-implicit. Forces change velocities, then constraints change velocities (all in
//! parallel, with every body's mass split among its constraints), and bodies move with the result. Velocities
//! are part of the state and never computed as differences of positions, so that f32 keeps their precision.
//! Start at [`Solver::substep`].

use farad_tensor::{Device, Tensor};

use crate::assembly::{Assembly, BodyRow};
use crate::bodies::{BodySlot, Posed, PosedBodies, Velocities};
use crate::contacts::ContactGroup;
use crate::description::{ContactRule, Description};
use crate::geometry::{Matrix3, Point3};
use crate::joints::JointGroup;
use crate::quantity::{ONE, Quantity};
use crate::rows::{Arrangement, Moving, RowStore};
use crate::springs::SpringGroup;
use crate::vector::{BodyAxes, Rotation, Symmetric, Vector3};

/// Most rows (bodies, joints, contacts) of a world that is computed row by row.
const FEW_ROWS: usize = 6;

/// Constant properties of bodies, as columns of a slot.
pub(crate) struct BodyColumns {
    pub mass: Quantity,
    pub inverse_mass: Quantity,
    pub inertia: Symmetric,
    pub inverse_inertia: Symmetric,
    linear_drag: Vector3,
    quadratic_drag: Vector3,
    angular_drag: Quantity,
}

/// Everything that is needed to write a step of a world.
pub(crate) struct Solver {
    pub arrangement: Arrangement,
    pub plane: bool,
    pub gravity: Point3,
    pub columns: Vec<BodyColumns>,
    pub joints: Vec<JointGroup>,
    pub springs: Vec<SpringGroup>,
    pub contacts: Vec<ContactGroup>,
    rule: ContactRule,
    iterations: usize,
    /// Whether the inertia of every body is isotropic, so that angular velocities never change by themselves.
    round: bool,
    store: RowStore,
}

impl Solver {
    pub fn new(description: &Description, assembly: &Assembly, device: &Device) -> Solver {
        let bodies = &assembly.bodies;
        let rows = bodies.len() + assembly.joints.len() + assembly.springs.len() + assembly.contacts.len();
        let arrangement = if rows <= FEW_ROWS { Arrangement::Apart } else { Arrangement::Together };
        Solver::arranged(description, assembly, arrangement, device)
    }

    /// The solver of tables with so many entries per row as the arrangement has.
    pub fn arranged(
        description: &Description,
        assembly: &Assembly,
        arrangement: Arrangement,
        device: &Device,
    ) -> Solver {
        let plane = description.dimensions == 2;
        let bodies = &assembly.bodies;
        let groups = arrangement.groups(bodies);
        let columns = groups.iter().map(|rows| BodyColumns::new(rows, arrangement, device)).collect();
        let even = |body: &BodyRow| {
            let [[a, b, c], [_, d, e], [_, _, f]] = body.inertia.0;
            let off = b.abs() + c.abs() + e.abs() + (a - d).abs() + (a - f).abs();
            off < 1e-9 * a.abs()
        };
        Solver {
            arrangement,
            plane,
            gravity: Point3(description.gravity()),
            columns,
            joints: JointGroup::all(&assembly.joints, bodies, arrangement, device),
            springs: SpringGroup::all(&assembly.springs, bodies, arrangement, device),
            contacts: ContactGroup::all(&assembly.contacts, bodies, arrangement, plane, device),
            rule: description.contact.clone(),
            iterations: description.iterations,
            round: plane || bodies.iter().all(even),
            store: RowStore::new(arrangement),
        }
    }

    /// The position of bodies, and what follows from their rotation.
    pub fn posed(&self, slots: &[BodySlot]) -> Vec<Posed> {
        let pose = |(slot, columns): (&BodySlot, &BodyColumns)| {
            let axes = self.store.keep_axes(&slot.turn.axes());
            let inertia = if self.plane {
                columns.inverse_inertia.clone()
            } else {
                self.store.keep_symmetric(&axes.matrix(&columns.inverse_inertia))
            };
            Posed { at: slot.at.clone(), axes, inertia }
        };
        slots.iter().zip(&self.columns).map(pose).collect()
    }

    /// Moves all bodies by a time step. Optional forces act on the bodies, one vector per slot.
    pub fn substep(
        &self,
        slots: &[BodySlot],
        actions: Option<&Tensor>,
        forces: Option<&[Vector3]>,
        time: f64,
    ) -> Vec<BodySlot> {
        let posed = self.posed(slots);
        let shown = PosedBodies::new(&posed);
        let start = Velocities::new(&slots.iter().map(|slot| slot.moving.clone()).collect::<Vec<_>>());
        let joints: Vec<_> = self.joints.iter().map(|group| group.prepare(&shown, time)).collect();
        let mut pushes = Velocities::none(slots.len());
        joints.iter().for_each(|group| group.drive(&start, actions, &mut pushes));
        self.springs.iter().for_each(|group| group.push(&shown, &start, time, &mut pushes));
        let mut moving = self.pushed(&posed, slots, &pushes, forces, time);
        let mut contacts: Vec<_> =
            self.contacts.iter().map(|group| group.prepare(&shown, &self.rule, time)).collect();
        let pushed = Velocities::new(&moving);
        contacts.iter_mut().for_each(|group| group.bounce(&pushed));
        if !joints.is_empty() || !contacts.is_empty() {
            for _ in 0..self.iterations {
                let before = Velocities::new(&moving);
                let mut pushes = Velocities::none(slots.len());
                joints.iter().for_each(|group| group.hold(&before, &mut pushes));
                contacts.iter_mut().for_each(|group| group.hold(&before, &mut pushes));
                for (n, moving) in moving.iter_mut().enumerate() {
                    let push = pushes.slot(n);
                    let velocity = push.velocity.scaled(&self.columns[n].inverse_mass);
                    moving.velocity = self.store.keep_vector(&(&moving.velocity + velocity));
                    let spin = &moving.spin + posed[n].inertia.times(&push.spin);
                    moving.spin = self.store.keep_vector(&spin);
                }
            }
        }
        let moved = slots.iter().zip(&moving).zip(posed.iter().zip(&self.columns));
        moved
            .map(|((slot, moving), (posed, columns))| self.moved(slot, moving, posed, columns, time))
            .collect()
    }

    /// Velocities after gravity, drag and other forces.
    fn pushed(
        &self,
        posed: &[Posed],
        slots: &[BodySlot],
        pushes: &Velocities,
        forces: Option<&[Vector3]>,
        time: f64,
    ) -> Vec<Moving> {
        let one = |n: usize| {
            let (columns, moving) = (&self.columns[n], &slots[n].moving);
            let push = pushes.slot(n);
            let mut impulse = push.velocity;
            if let Some(forces) = forces {
                impulse = impulse + &forces[n] * time;
            }
            let fall = Vector3::known(self.gravity.times(time).0);
            let velocity = &moving.velocity + impulse.scaled(&columns.inverse_mass) + fall;
            let spin = &moving.spin + posed[n].inertia.times(&push.spin);
            let Moving { velocity, spin } = columns.slowed(&posed[n].axes, Moving { velocity, spin }, time);
            Moving { velocity: self.store.keep_vector(&velocity), spin: self.store.keep_vector(&spin) }
        };
        (0..slots.len()).map(one).collect()
    }

    fn moved(
        &self,
        slot: &BodySlot,
        moving: &Moving,
        posed: &Posed,
        columns: &BodyColumns,
        time: f64,
    ) -> BodySlot {
        let at = &slot.at + &moving.velocity * time;
        let stored =
            |turn: Rotation| Rotation { w: self.store.keep(&turn.w), v: self.store.keep_vector(&turn.v) };
        let mut turn = stored(slot.turn.turned(&moving.spin, time));
        let mut spin = moving.spin.clone();
        if !self.round {
            // The angular momentum stays constant, so the angular velocity follows the axes.
            let momentum = posed.axes.out(&columns.inertia.times(&posed.axes.own(&spin)));
            let momentum = self.store.keep_vector(&momentum);
            if self.joints.is_empty() {
                // Free bodies rotate with the angular velocity at half the time step. Joints need the one that
                // they were solved for.
                let change = posed.inertia.times(&spin.cross(&momentum));
                turn = stored(slot.turn.turned(&(&spin - &change * (time / 2.0)), time));
            }
            let axes = self.store.keep_axes(&turn.axes());
            spin = axes.out(&columns.inverse_inertia.times(&axes.own(&momentum)));
        }
        BodySlot { at, turn, moving: Moving { velocity: moving.velocity.clone(), spin } }
    }
}

impl BodyColumns {
    fn new(rows: &[BodyRow], arrangement: Arrangement, device: &Device) -> BodyColumns {
        let column = |of: &dyn Fn(&BodyRow) -> f64| {
            arrangement.column(&rows.iter().map(of).collect::<Vec<_>>(), device)
        };
        let vector = |of: fn(&BodyRow) -> [f64; 3]| {
            let [x, y, z] = [0, 1, 2].map(|n| column(&|row| of(row)[n]));
            Vector3::new(x, y, z)
        };
        let matrix = |of: fn(&BodyRow) -> &Matrix3| {
            let entry = |r: usize, c: usize| {
                column(&|row| {
                    let value = of(row).0[r][c];
                    let scale = of(row).0[0][0].abs() + of(row).0[2][2].abs();
                    if value.abs() < 1e-9 * scale { 0.0 } else { value }
                })
            };
            Symmetric {
                xx: entry(0, 0),
                yy: entry(1, 1),
                zz: entry(2, 2),
                xy: entry(0, 1),
                xz: entry(0, 2),
                yz: entry(1, 2),
            }
        };
        BodyColumns {
            mass: column(&|row| row.mass),
            inverse_mass: column(&|row| 1.0 / row.mass),
            inertia: matrix(|row| &row.inertia),
            inverse_inertia: matrix(|row| &row.inverse_inertia),
            linear_drag: vector(|row| row.linear_drag),
            quadratic_drag: vector(|row| row.quadratic_drag),
            angular_drag: column(&|row| row.angular_drag),
        }
    }

    fn has_drag(&self) -> bool {
        !(self.linear_drag.is_zero() && self.quadratic_drag.is_zero() && self.angular_drag.is_zero())
    }

    /// Velocities after a time step of drag, implicitly: drag never reverses a velocity.
    fn slowed(&self, axes: &BodyAxes, moving: Moving, time: f64) -> Moving {
        if !self.has_drag() {
            return moving;
        }
        let own = axes.own(&moving.velocity);
        let slow = |speed: &Quantity, linear: &Quantity, quadratic: &Quantity| {
            let rate = (linear + quadratic * speed.abs()) * &self.inverse_mass * time;
            speed.over(&(ONE + rate))
        };
        let [l, q] = [self.linear_drag.parts(), self.quadratic_drag.parts()];
        let [x, y, z] = [0, 1, 2].map(|n| slow(own.parts()[n], l[n], q[n]));
        let ease =
            self.inverse_inertia.trace() * if self.inverse_inertia.xx.is_zero() { 1.0 } else { 1.0 / 3.0 };
        let turn = (ONE + &self.angular_drag * ease * time).recip();
        Moving { velocity: axes.out(&Vector3::new(x, y, z)), spin: moving.spin.scaled(&turn) }
    }

    /// The force and the torque of drag.
    pub fn drag(&self, axes: &BodyAxes, moving: &Moving) -> (Vector3, Vector3) {
        let own = axes.own(&moving.velocity);
        let [l, q] = [self.linear_drag.parts(), self.quadratic_drag.parts()];
        let [x, y, z] = [0, 1, 2].map(|n| {
            let speed = own.parts()[n];
            -((l[n] + q[n] * speed.abs()) * speed)
        });
        let turn = -&moving.spin.scaled(&self.angular_drag);
        (axes.out(&Vector3::new(x, y, z)), turn)
    }
}
