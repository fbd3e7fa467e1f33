//! The tables of a herd: every creature padded to the same number of rows, and a pattern.
//!
//! Padding is inert. A body that is not there falls freely, touches nothing, and its joint joins it to itself, so
//! that all impulses in it are exactly zero.

use crate::assembly::{Assembly, BodyRow, DriveRow, JointRow, TurnLock};
use crate::contacts::{ContactTables, PlaneRow};
use crate::description::Description;
use crate::error::WorldResult;
use crate::genotype::{MOST_CARRIED, MOST_PARTS, PART_AXES};
use crate::geometry::{Matrix3, Point3, Quaternion};

/// Joints of a creature at most.
pub(super) const MOST_HINGES: usize = MOST_PARTS - 1;
/// A capsule's points of contact with the ground.
const ENDS: usize = 2;
/// The ground below bodies that are not there, in meters.
const NOWHERE: f64 = -1e6;

/// The tables of a creature, as large as those of any other.
pub(super) fn padded(description: &Description) -> WorldResult<Assembly> {
    let mut assembly = Assembly::new(description)?;
    let there = assembly.bodies.len();
    assembly.bodies.resize_with(MOST_PARTS, absent_body);
    for joint in &mut assembly.joints {
        // Motors are counted by joints and axes, whatever axes there are.
        for axis in 0..PART_AXES {
            let drive = &mut joint.drives[1 + axis];
            drive.motor = drive.motor.map(|_| joint.number * PART_AXES + axis);
        }
    }
    for number in assembly.joints.len()..MOST_HINGES {
        assembly.joints.push(absent_joint(number));
    }
    let surface = assembly.contacts.planes[0].surface;
    for body in there..MOST_PARTS {
        assembly.contacts.planes.extend([(); ENDS].map(|()| absent_point(body, surface)));
    }
    Ok(assembly)
}

fn absent_body() -> BodyRow {
    BodyRow {
        center: Point3::default(),
        mass: 1.0,
        inertia: Matrix3::diagonal([1.0; 3]),
        inverse_inertia: Matrix3::diagonal([1.0; 3]),
        position: Point3::default(),
        rotation: Quaternion::NONE,
        velocity: Point3::default(),
        spin: Point3::default(),
        linear_drag: [0.0; 3],
        quadratic_drag: [0.0; 3],
        angular_drag: 0.0,
        joint_split: 1.0,
        contact_split: 1.0,
    }
}

/// A joint between a body and itself, at its center, without any lock.
fn absent_joint(number: usize) -> JointRow {
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Point3);
    JointRow {
        number,
        parent: Some(number + 1),
        child: number + 1,
        slide: false,
        lock: TurnLock::All,
        anchors: [Point3::default(); 2],
        axes: [axes; 2],
        compliance: 0.0,
        damping: 0.0,
        third: 1.0,
        drives: std::array::from_fn(|_| DriveRow::default()),
    }
}

fn absent_point(body: usize, surface: [f64; 2]) -> PlaneRow {
    PlaneRow {
        body,
        point: Point3::default(),
        radius: 0.1,
        rim: 0.0,
        axis: Point3::default(),
        normal: Point3([0.0, 0.0, 1.0]),
        offset: NOWHERE,
        surface,
    }
}

/// Tables that never run. Whatever may differ between creatures differs in them, and what is the same in all
/// creatures is as it is there.
pub(super) fn pattern(surface: [f64; 2]) -> Assembly {
    // Different numbers, none of them 0 or 1.
    let mut drawn = 0.0;
    let mut next = || {
        drawn += 0.137;
        2.0 + drawn
    };
    let mut point = || Point3([next(), next(), next()]);
    let mut joints: Vec<JointRow> = (0..MOST_HINGES).map(absent_joint).collect();
    for (n, joint) in joints.iter_mut().enumerate() {
        joint.parent = Some(match n {
            // The first joint's parent is the first body in every creature; so this differs from all of them.
            0 => MOST_PARTS - 1,
            _ if n <= MOST_CARRIED => 0,
            _ => n,
        });
        joint.lock = [TurnLock::One, TurnLock::Two, TurnLock::All][n % 3];
        joint.anchors = [point(), point()];
        joint.axes = [0, 1].map(|_| [point(), point(), point()]);
        for axis in 0..PART_AXES {
            let [a, b, c] = point().0;
            let [d, e, f] = point().0;
            joint.drives[1 + axis] = DriveRow {
                stiffness: a,
                damping: b,
                bias: 0.0,
                low: c,
                high: d,
                limit_stiffness: e,
                gain: f,
                motor: Some(n * PART_AXES + axis),
                range: [-a - b, a + b],
            };
        }
    }
    let bodies = (0..MOST_PARTS).map(|_| {
        let (moments, inverse, [mass, joint_split, contact_split]) = (point().0, point().0, point().0);
        let (inertia, inverse_inertia) = (Matrix3::diagonal(moments), Matrix3::diagonal(inverse));
        BodyRow { mass, joint_split, contact_split, inertia, inverse_inertia, ..absent_body() }
    });
    let bodies = bodies.collect();
    let planes = (0..MOST_PARTS * ENDS).map(|n| {
        let [radius, offset, _] = point().0;
        PlaneRow { point: point(), radius, offset, ..absent_point(n / ENDS, surface) }
    });
    let contacts = ContactTables { planes: planes.collect(), ..ContactTables::default() };
    Assembly { bodies, joints, springs: vec![], contacts, rigid: vec![] }
}

/// The tables of all creatures, with the pattern's as the last entry of every row.
pub(super) fn joined(creatures: &[Assembly], pattern: &Assembly) -> Assembly {
    fn rows<T: Clone>(creatures: &[Assembly], pattern: &Assembly, of: fn(&Assembly) -> &Vec<T>) -> Vec<T> {
        let row = |n: usize| creatures.iter().chain([pattern]).map(move |own| of(own)[n].clone());
        (0..of(pattern).len()).flat_map(row).collect()
    }
    let planes = rows(creatures, pattern, |own| &own.contacts.planes);
    Assembly {
        bodies: rows(creatures, pattern, |own| &own.bodies),
        joints: rows(creatures, pattern, |own| &own.joints),
        springs: vec![],
        contacts: ContactTables { planes, ..ContactTables::default() },
        rigid: vec![],
    }
}
