//! Observations of a world: one row per kind of sensor.

use std::cell::RefCell;

use farad_tensor::Tensor;

use crate::bodies::{PosedBodies, Velocities, unpack};
use crate::contacts::touching;
use crate::quantity::{ONE, Quantity};
use crate::state::WorldState;
use crate::world::World;

/// Bodies closer than this touch, in meters.
const NEAR: f64 = 2e-3;

/// A kind of sensor.
pub struct SensorRow {
    /// Its name in descriptions.
    pub name: &'static str,
    /// What it observes.
    pub help: &'static str,
    /// Whether it observes a joint's axis; otherwise it observes a body.
    pub of_joint: bool,
    /// How many numbers it gives: in the plane, and in space.
    pub widths: [usize; 2],
    read: fn(&Readings<'_>, usize, usize) -> Tensor,
}

/// All kinds of sensors.
pub static SENSORS: &[SensorRow] = &[
    SensorRow {
        name: "position",
        help: "the position of the center of mass",
        of_joint: false,
        widths: [2, 3],
        read: |r, body, _| r.of_body(&r.state.position, body),
    },
    SensorRow {
        name: "rotation",
        help: "the quaternion; in the plane cosine and sine of half the angle",
        of_joint: false,
        widths: [2, 4],
        read: |r, body, _| r.of_body(&r.state.rotation, body),
    },
    SensorRow {
        name: "velocity",
        help: "the velocity of the center of mass",
        of_joint: false,
        widths: [2, 3],
        read: |r, body, _| r.of_body(&r.state.velocity, body),
    },
    SensorRow {
        name: "spin",
        help: "the angular velocity, in world axes",
        of_joint: false,
        widths: [1, 3],
        read: |r, body, _| r.of_body(&r.state.spin, body),
    },
    SensorRow {
        name: "height",
        help: "the height of the center of mass",
        of_joint: false,
        widths: [1, 1],
        read: |r, body, _| {
            let place = r.of_body(&r.state.position, body);
            let up = place.shape()[1] - 1;
            place.narrow(1, up, 1)
        },
    },
    SensorRow {
        name: "up",
        help: "how upright the body is: 1 as it was described without rotation, -1 upside down",
        of_joint: false,
        widths: [1, 1],
        read: |r, body, _| {
            let q = r.of_body(&r.state.rotation, body);
            let part = |n: usize| q.narrow(1, n, 1);
            match q.shape()[1] {
                2 => 1.0 - part(1).square() * 2.0,
                _ => 1.0 - (part(1).square() + part(2).square()) * 2.0,
            }
        },
    },
    SensorRow {
        name: "contact",
        help: "1 if it touches something, else 0",
        of_joint: false,
        widths: [1, 1],
        read: |r, body, _| r.touching().narrow(1, body, 1),
    },
    SensorRow {
        name: "joint_angle",
        help: "the angle of a joint's axis, or the position of a slide",
        of_joint: true,
        widths: [1, 1],
        read: |r, joint, axis| r.freedom(joint, axis).0,
    },
    SensorRow {
        name: "joint_velocity",
        help: "the speed of that",
        of_joint: true,
        widths: [1, 1],
        read: |r, joint, axis| r.freedom(joint, axis).1,
    },
];

/// A sensor of a world: its row, what it observes, and its factor.
pub(crate) struct WiredSensor {
    pub row: &'static SensorRow,
    /// The index of the body, or of the rigid joint.
    pub of: usize,
    pub axis: usize,
    pub scale: f64,
}

/// What sensors read from.
pub(crate) struct Readings<'a> {
    pub world: &'a World,
    pub state: &'a WorldState,
    posed: PosedBodies,
    velocities: Velocities,
    slots: usize,
    /// The degrees of freedom of every group of joints, computed on demand.
    freedoms: RefCell<Vec<Option<[(Quantity, Quantity); 4]>>>,
}

impl<'a> Readings<'a> {
    pub fn new(world: &'a World, state: &'a WorldState) -> Readings<'a> {
        let slots = unpack(state, world.solver.arrangement);
        let posed = PosedBodies::new(&world.solver.posed(&slots));
        let moving: Vec<_> = slots.iter().map(|slot| slot.moving.clone()).collect();
        let freedoms = RefCell::new(vec![None; world.solver.joints.len()]);
        let velocities = Velocities::new(&moving);
        Readings { world, state, posed, velocities, slots: slots.len(), freedoms }
    }

    /// The numbers of a sensor, `[worlds, width]`.
    pub fn read(&self, sensor: &WiredSensor) -> Tensor {
        let value = (sensor.row.read)(self, sensor.of, sensor.axis);
        if sensor.scale == 1.0 { value } else { value * sensor.scale }
    }

    fn of_body(&self, tensor: &Tensor, body: usize) -> Tensor {
        tensor.narrow(1, body, 1).squeeze(1)
    }

    fn touching(&self) -> Tensor {
        let (worlds, bodies) = (self.state.worlds(), self.state.bodies());
        let solver = &self.world.solver;
        let counts = touching(&solver.contacts, &self.posed, NEAR, self.slots);
        let rows = bodies / self.slots;
        let whole = |own: &Quantity| {
            solver.arrangement.outside(&[own.minimum(&ONE)], worlds, rows, self.world.device())
        };
        let parts: Vec<Tensor> = counts.iter().map(whole).collect();
        Tensor::concat(&parts.iter().collect::<Vec<_>>(), 1).squeeze(2)
    }

    /// The value and the speed of a joint's axis, `[worlds, 1]`.
    fn freedom(&self, joint: usize, axis: usize) -> (Tensor, Tensor) {
        let (group, row) = self.world.joint_places[joint];
        let own = &self.world.assembly.joints[joint];
        let slot = if own.slide { 0 } else { axis + 1 };
        let sign = if slot == 3 { own.third } else { 1.0 };
        let joints = &self.world.solver.joints[group];
        let rows = joints.members.len();
        let mut known = self.freedoms.borrow_mut();
        let all =
            known[group].get_or_insert_with(|| joints.prepare(&self.posed, 1.0).freedoms(&self.velocities));
        let (value, speed) = all[slot].clone();
        let one = |quantity: &Quantity| {
            let (arrangement, device) = (self.world.solver.arrangement, self.world.device());
            let whole = arrangement.outside(&[quantity * sign], self.state.worlds(), rows, device);
            whole.narrow(1, row, 1).squeeze(2)
        };
        (one(&value), one(&speed))
    }
}
