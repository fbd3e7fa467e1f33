//! Turns a description into numeric tables, from which the graph of a step is written.
//!
//! Invariant: everything is relative to centers of mass. Points of a body are given relative to its center of
//! mass, in the body's own axes.

use crate::contacts::{self, ContactTables};
use crate::description::{Description, JointKind, MotorKind, RigidBody};
use crate::geometry::{Matrix3, Point3, Quaternion, offset_inertia};

/// A body as numbers.
#[derive(Clone, Debug)]
pub(crate) struct BodyRow {
    /// The center of mass relative to the body's origin, in body axes.
    pub center: Point3,
    pub mass: f64,
    pub inertia: Matrix3,
    pub inverse_inertia: Matrix3,
    pub position: Point3,
    pub rotation: Quaternion,
    pub velocity: Point3,
    pub spin: Point3,
    pub linear_drag: [f64; 3],
    pub quadratic_drag: [f64; 3],
    pub angular_drag: f64,
    /// By how much its mass is split for each of its joints, and for each of its contacts.
    pub joint_split: f64,
    pub contact_split: f64,
}

/// Spring, damper, limits and motor of one degree of freedom of a joint.
#[derive(Clone, Debug, Default)]
pub(crate) struct DriveRow {
    pub stiffness: f64,
    pub damping: f64,
    /// The force at position zero: stiffness times rest position.
    pub bias: f64,
    pub low: f64,
    pub high: f64,
    pub limit_stiffness: f64,
    /// The factor from an action to a force.
    pub gain: f64,
    pub motor: Option<usize>,
    pub range: [f64; 2],
}

impl DriveRow {
    pub fn is_idle(&self) -> bool {
        self.stiffness == 0.0 && self.damping == 0.0 && self.limit_stiffness == 0.0 && self.motor.is_none()
    }
}

/// How the relative rotation of two bodies is constrained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnLock {
    /// One axis is free.
    One,
    /// Two axes are free.
    Two,
    /// Every axis is free.
    All,
    /// No axis is free.
    None,
}

/// A rigid joint as numbers.
#[derive(Clone, Debug)]
pub(crate) struct JointRow {
    /// Its index among the rigid joints.
    pub number: usize,
    pub parent: Option<usize>,
    pub child: usize,
    pub slide: bool,
    pub lock: TurnLock,
    /// The anchor in the axes of either body.
    pub anchors: [Point3; 2],
    /// The joint's axes in the axes of either body.
    pub axes: [[Point3; 3]; 2],
    pub compliance: f64,
    pub damping: f64,
    /// 1, or -1 if the angle about the third axis has the opposite sign.
    pub third: f64,
    /// Of the slide, then of the three angles.
    pub drives: [DriveRow; 4],
}

/// A spring as numbers.
#[derive(Clone, Debug)]
pub(crate) struct SpringRow {
    pub parent: Option<usize>,
    pub child: usize,
    pub anchors: [Point3; 2],
    pub stiffness: f64,
    pub damping: f64,
    pub length: f64,
}

/// All tables.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    pub bodies: Vec<BodyRow>,
    pub joints: Vec<JointRow>,
    pub springs: Vec<SpringRow>,
    pub contacts: ContactTables,
    /// For every joint of the description, its index among the rigid ones.
    pub rigid: Vec<Option<usize>>,
}

impl Assembly {
    pub fn new(description: &Description) -> crate::WorldResult<Assembly> {
        let mut bodies: Vec<BodyRow> =
            description.bodies.iter().map(|body| body_row(description, body)).collect();
        let (mut joints, mut springs, mut rigid) = (vec![], vec![], vec![]);
        for n in 0..description.joints.len() {
            match description.joints[n].kind {
                JointKind::Spring => {
                    springs.push(spring_row(description, &bodies, n));
                    rigid.push(None);
                }
                _ => {
                    rigid.push(Some(joints.len()));
                    let row = joint_row(description, &mut bodies, n);
                    joints.push(JointRow { number: joints.len(), ..row });
                }
            }
        }
        add_motors(description, &mut joints, &rigid)?;
        let contacts = contacts::tables(description, &bodies)?;
        split_masses(&mut bodies, &joints, &contacts);
        for body in &mut bodies {
            body.inverse_inertia = inverse(body.inertia, description.dimensions);
        }
        Ok(Assembly { bodies, joints, springs, contacts, rigid })
    }
}

fn body_row(description: &Description, body: &RigidBody) -> BodyRow {
    let dimensions = description.dimensions;
    let parts: Vec<(f64, Point3)> =
        body.solids.iter().map(|solid| (solid.mass(dimensions), solid.place().0)).collect();
    let mass: f64 = parts.iter().map(|(mass, _)| mass).sum();
    let moment = parts.iter().fold(Point3::default(), |sum, (mass, at)| sum.plus(at.times(*mass)));
    let center = moment.times(1.0 / mass);
    let mut inertia = Matrix3::default();
    for (solid, (mass, at)) in body.solids.iter().zip(&parts) {
        let off = offset_inertia(*mass, at.minus(center));
        inertia = inertia.plus(solid.inertia(dimensions)).plus(off);
    }
    let rotation = Quaternion::of(&body.rotation);
    let spin = match body.spin[..] {
        [turn] => Point3([0.0, 0.0, turn]),
        _ => Point3(description.vector(&body.spin)),
    };
    let origin = Point3(description.vector(&body.position));
    let drag = body.drag.clone().unwrap_or_default();
    BodyRow {
        center,
        mass,
        inertia,
        inverse_inertia: Matrix3::default(),
        position: origin.plus(rotation.turn(center)),
        rotation,
        velocity: Point3(description.vector(&body.velocity)),
        spin,
        linear_drag: description.vector(&drag.linear),
        quadratic_drag: description.vector(&drag.quadratic),
        angular_drag: drag.angular,
        joint_split: 1.0,
        contact_split: 1.0,
    }
}

/// The inverse of an inertia; in the plane, only of the rotation about z.
fn inverse(inertia: Matrix3, dimensions: usize) -> Matrix3 {
    if dimensions == 2 { Matrix3::diagonal([0.0, 0.0, 1.0 / inertia.0[2][2]]) } else { inertia.inverse() }
}

/// A point of the world in the axes of a body; unchanged if there is no body.
pub(crate) fn seen(bodies: &[BodyRow], body: Option<usize>, at: Point3) -> Point3 {
    match body {
        Some(body) => bodies[body].rotation.inverse().turn(at.minus(bodies[body].position)),
        None => at,
    }
}

fn direction(bodies: &[BodyRow], body: Option<usize>, axis: Point3) -> Point3 {
    body.map_or(axis, |body| bodies[body].rotation.inverse().turn(axis))
}

fn spring_row(description: &Description, bodies: &[BodyRow], n: usize) -> SpringRow {
    let joint = &description.joints[n];
    let parent = joint.parent.as_ref().and_then(|name| description.body(name));
    let child = description.body(&joint.child).expect("checked");
    let end = Point3(description.vector(&joint.anchor));
    let start = match joint.parent_anchor[..] {
        [] => parent.map_or(end, |parent| bodies[parent].position),
        ref list => Point3(description.vector(list)),
    };
    SpringRow {
        parent,
        child,
        anchors: [seen(bodies, parent, start), seen(bodies, Some(child), end)],
        stiffness: joint.stiffness,
        damping: joint.damping,
        length: joint.length.unwrap_or_else(|| end.minus(start).length()),
    }
}

fn joint_row(description: &Description, bodies: &mut [BodyRow], n: usize) -> JointRow {
    let joint = &description.joints[n];
    let parent = joint.parent.as_ref().and_then(|name| description.body(name));
    let child = description.body(&joint.child).expect("checked");
    let anchor = Point3(description.vector(&joint.anchor));
    let mut given: Vec<Point3> =
        joint.axes.iter().map(|axis| Point3(description.vector(&axis.axis))).collect();
    if joint.kind == JointKind::Hinge && description.dimensions == 2 {
        given = vec![Point3([0.0, 0.0, 1.0])];
    }
    let (basis, third) = basis(&given);
    let mut drives: [DriveRow; 4] = std::array::from_fn(|_| DriveRow::default());
    for (k, axis) in joint.axes.iter().enumerate() {
        let slot = if joint.kind == JointKind::Slide { 0 } else { k + 1 };
        // If the third axis points the other way, its angle has the opposite sign.
        let sign = if k == 2 { third } else { 1.0 };
        let limits = axis.limits.map(|[a, b]| if sign < 0.0 { [-b, -a] } else { [a, b] });
        let [low, high] = limits.unwrap_or_default();
        drives[slot] = DriveRow {
            stiffness: axis.stiffness,
            damping: axis.damping,
            bias: axis.stiffness * axis.rest * sign,
            low,
            high,
            limit_stiffness: if limits.is_some() { axis.limit_stiffness } else { 0.0 },
            gain: sign,
            motor: None,
            range: [0.0; 2],
        };
        let own = direction(bodies, Some(child), basis[k]);
        if joint.kind == JointKind::Hinge {
            let extra = Matrix3::outer(own).times(axis.armature);
            bodies[child].inertia = bodies[child].inertia.plus(extra);
        }
    }
    let lock = match (joint.kind, given.len()) {
        (JointKind::Hinge, 1) => TurnLock::One,
        (JointKind::Hinge, 2) => TurnLock::Two,
        (JointKind::Hinge, _) | (JointKind::Ball, _) => TurnLock::All,
        _ => TurnLock::None,
    };
    let sides = [parent, Some(child)];
    JointRow {
        number: 0,
        third,
        parent,
        child,
        slide: joint.kind == JointKind::Slide,
        lock,
        anchors: sides.map(|side| seen(bodies, side, anchor)),
        axes: sides.map(|side| basis.map(|axis| direction(bodies, side, axis))),
        compliance: joint.compliance,
        damping: joint.damping,
        drives,
    }
}

/// Three perpendicular axes that begin with the given ones, right-handed, and whether the third is the given
/// one (1) or its opposite (-1).
fn basis(given: &[Point3]) -> ([Point3; 3], f64) {
    let first = given.first().map_or(Point3([1.0, 0.0, 0.0]), |axis| axis.unit());
    let second = given.get(1).map_or(first.across(), |axis| axis.minus(first.times(first.dot(*axis))).unit());
    let third = first.cross(second);
    let sign = given.get(2).map_or(1.0, |axis| axis.dot(third).signum());
    ([first, second, third], sign)
}

fn add_motors(
    description: &Description,
    joints: &mut [JointRow],
    rigid: &[Option<usize>],
) -> crate::WorldResult<()> {
    for (n, motor) in description.motors.iter().enumerate() {
        let joint = description.joint(&motor.joint).and_then(|joint| rigid[joint]).expect("checked");
        let row = &mut joints[joint];
        let drive = &mut row.drives[if row.slide { 0 } else { motor.axis + 1 }];
        if drive.motor.is_some() {
            let message = format!("axis {} of joint \"{}\" has a motor already", motor.axis, motor.joint);
            return crate::error::wrong(format!("motors[{n}].axis"), message);
        }
        let sign = if drive.gain < 0.0 { -1.0 } else { 1.0 };
        let gain = match motor.kind {
            MotorKind::Torque => 1.0,
            MotorKind::Position => motor.stiffness,
            MotorKind::Velocity => motor.damping,
        };
        if motor.kind == MotorKind::Position {
            drive.stiffness += motor.stiffness;
        }
        if motor.kind != MotorKind::Torque {
            drive.damping += motor.damping;
        }
        drive.gain = sign * gain * motor.gear;
        drive.motor = Some(n);
        drive.range = motor.range;
    }
    Ok(())
}

/// What a contact's share of a body's mass counts where joints take theirs, and what a joint's share counts where contacts do. Joints get
/// more than an even split would give them: their gaps stay, and most contacts touch nothing. The shares together may exceed one a
/// little. Chosen by `crates/world/examples/drift.rs`, 128 humanoids, seeds 0 and 7; three times each was worse, and so was an even split.
const CONTACT_AT_JOINT: f64 = 0.15;
const JOINT_AT_CONTACT: f64 = 2.0;

/// Gives every constraint a share of a body's mass, so that solving them in parallel converges.
fn split_masses(bodies: &mut [BodyRow], joints: &[JointRow], contacts: &ContactTables) {
    let mut count = vec![0.0f64; bodies.len()];
    for joint in joints {
        count[joint.child] += 1.0;
        if let Some(parent) = joint.parent {
            count[parent] += 1.0;
        }
    }
    let partners = contacts.partners(bodies.len());
    for ((body, joints), partners) in bodies.iter_mut().zip(count).zip(partners) {
        body.joint_split = f64::max(joints + partners * CONTACT_AT_JOINT, 1.0);
        body.contact_split = f64::max(joints * JOINT_AT_CONTACT + partners, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that MuJoCo computes for the original model of the humanoid.
    #[test]
    fn the_humanoid_weighs_what_its_model_weighs() {
        let description = crate::table::described("humanoid").expect("a row");
        let bodies = Assembly::new(&description).expect("it is made").bodies;
        let total: f64 = bodies.iter().map(|body| body.mass).sum();
        assert!((total - 40.844_021).abs() < 1e-4, "{total}");
        let rows = [
            ("torso", 5.8538),
            ("head", 3.0536),
            ("pelvis", 6.6162),
            ("thigh_left", 4.7518),
            ("hand_left", 0.2681),
        ];
        for (name, mass) in rows {
            let body = &bodies[description.body(name).expect("a body")];
            assert!((body.mass - mass).abs() < 1e-4, "{name}: {}", body.mass);
        }
        // Without armature: the head is welded, the torso is free.
        let head = bodies[description.body("head").expect("a body")].inertia.0;
        assert!((head[0][0] - 0.00989).abs() < 1e-5, "{head:?}");
        let torso = bodies[description.body("torso").expect("a body")].inertia;
        let trace: f64 = (0..3).map(|n| torso.0[n][n]).sum();
        assert!((trace - (0.05127 + 0.03197 + 0.03115)).abs() < 2e-5, "{trace}");
    }
}
