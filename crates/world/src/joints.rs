//! Rigid joints: hinges, slides, balls and welds, all by the same rows.
//!
//! A joint constrains the velocity of its anchor and some rotations. The position error at the start of the
//! sub-step gives the target velocity (with the Jacobians of the start, as in SHAKE). Rotations are solved
//! first, then the anchor, each by a 3×3 matrix that is inverted exactly. Invariant: both bodies get opposite
//! impulses at the same time, so momentum is conserved however accurate the solution is.

use farad_tensor::Device;

use crate::assembly::{BodyRow, JointRow, TurnLock};
use crate::bodies::{PosedBodies, Velocities};
use crate::drives::{DriveColumns, Freedom, drive};
use crate::geometry::Point3;
use crate::quantity::{ONE, Quantity, ZERO, arctangent};
use crate::rows::{Arrangement, ConstraintSide, Moving, RowIndex, RowStore};
use crate::vector::{BodyAxes, Symmetric, Vector3};
use farad_tensor::Tensor;

/// How often rotations and anchor of a joint are solved alternately within a pass.
const SWEEPS: usize = 2;

/// Joints that are computed together.
pub(crate) struct JointGroup {
    /// The indices of the joints.
    pub members: Vec<usize>,
    parent: Option<RowIndex>,
    child: RowIndex,
    masses: [Quantity; 2],
    splits: [Quantity; 2],
    anchors: [Vector3; 2],
    axes: [[Vector3; 3]; 2],
    /// Whether one axis, two axes or none is free.
    locks: [Quantity; 3],
    compliance: Quantity,
    damping: Quantity,
    slide: bool,
    drives: [DriveColumns; 4],
    store: RowStore,
}

/// The points of all rows, as columns.
pub(crate) fn columns(points: &[Point3], arrangement: Arrangement, device: &Device) -> Vector3 {
    let part = |n: usize| points.iter().map(|p| rounded(p.0[n])).collect::<Vec<_>>();
    let [x, y, z] = [0, 1, 2].map(|n| arrangement.column(&part(n), device));
    Vector3::new(x, y, z)
}

/// Values that are zero up to rounding become zero.
fn rounded(value: f64) -> f64 {
    if value.abs() < 1e-12 { 0.0 } else { value }
}

/// Rows grouped by equal keys, in the order of the rows.
pub(crate) fn grouped<T: Clone, K: PartialEq>(
    rows: &[T],
    arrangement: Arrangement,
    key: impl Fn(&T) -> K,
) -> Vec<Vec<T>> {
    let mut kinds: Vec<(K, Vec<T>)> = vec![];
    for row in rows {
        let own = key(row);
        match kinds.iter_mut().find(|(key, _)| *key == own) {
            Some((_, list)) => list.push(row.clone()),
            None => kinds.push((own, vec![row.clone()])),
        }
    }
    kinds.iter().flat_map(|(_, list)| arrangement.groups(list)).collect()
}

impl JointGroup {
    pub fn all(
        rows: &[JointRow],
        bodies: &[BodyRow],
        arrangement: Arrangement,
        device: &Device,
    ) -> Vec<JointGroup> {
        let groups = grouped(rows, arrangement, |row| (row.parent.is_some(), row.slide));
        groups.iter().map(|rows| JointGroup::new(rows, bodies, arrangement, device)).collect()
    }

    fn new(rows: &[JointRow], bodies: &[BodyRow], arrangement: Arrangement, device: &Device) -> JointGroup {
        let index = |list: Vec<usize>| RowIndex::new(list, bodies.len(), arrangement, device);
        let parents: Vec<usize> = rows.iter().filter_map(|row| row.parent).collect();
        let parent = (!parents.is_empty()).then(|| index(parents));
        let child = index(rows.iter().map(|row| row.child).collect());
        let of = |index: Option<&RowIndex>, value: fn(&BodyRow) -> f64| {
            index.map_or(ZERO, |index| index.column(bodies, value, device))
        };
        let both = |value: fn(&BodyRow) -> f64| [of(parent.as_ref(), value), of(Some(&child), value)];
        let column = |value: &dyn Fn(&JointRow) -> f64| {
            arrangement.column(&rows.iter().map(value).collect::<Vec<_>>(), device)
        };
        let is = |lock: TurnLock| column(&|row: &JointRow| f64::from(u8::from(row.lock == lock)));
        let points = |of: &dyn Fn(&JointRow) -> Point3| {
            columns(&rows.iter().map(of).collect::<Vec<_>>(), arrangement, device)
        };
        JointGroup {
            members: arrangement.pattern(&rows.iter().map(|row| row.number).collect::<Vec<_>>()),
            masses: both(|body| 1.0 / body.mass),
            splits: both(|body| body.joint_split),
            anchors: [0, 1].map(|side| points(&|row| row.anchors[side])),
            axes: [0, 1].map(|side| [0, 1, 2].map(|n| points(&|row| row.axes[side][n]))),
            locks: [TurnLock::One, TurnLock::Two, TurnLock::None].map(is),
            compliance: column(&|row| row.compliance),
            damping: column(&|row| row.damping),
            slide: rows[0].slide,
            drives: [0, 1, 2, 3].map(|slot| {
                let rows: Vec<_> = rows.iter().map(|row| &row.drives[slot]).collect();
                DriveColumns::new(&rows, arrangement, device)
            }),
            parent,
            child,
            store: RowStore::new(arrangement),
        }
    }

    /// A number of every joint's parent, from one of all bodies.
    pub fn of_parents(&self, numbers: &Quantity) -> Quantity {
        let taken = self.parent.as_ref().map(|index| index.take(&[vec![numbers.clone()]]));
        taken.and_then(|mut parts| parts.pop()).unwrap_or(ZERO)
    }

    fn sides(&self, posed: &PosedBodies) -> [ConstraintSide; 2] {
        [
            posed.side(self.parent.as_ref(), &self.masses[0], &self.splits[0]),
            posed.side(Some(&self.child), &self.masses[1], &self.splits[1]),
        ]
    }

    /// Computes what is constant during a sub-step of this length.
    pub fn prepare(&self, posed: &PosedBodies, time: f64) -> PreparedJoints<'_> {
        let sides = self.sides(posed);
        let axes: [BodyAxes; 2] =
            [0, 1].map(|side| BodyAxes(self.axes[side].each_ref().map(|axis| sides[side].axes.out(axis))));
        let axes = axes.map(|axes| self.store.keep_axes(&axes));
        let mut arms = [0, 1].map(|side| self.store.keep_vector(&sides[side].axes.out(&self.anchors[side])));
        let ends = [0, 1].map(|side| &sides[side].at + &arms[side]);
        let gap = self.store.keep_vector(&(&ends[1] - &ends[0]));
        if self.slide {
            // A slide applies its impulse at the current position of the child's anchor.
            arms[0] = &ends[1] - &sides[0].at;
        }
        let ways = [0, 1].map(|side| self.store.keep_symmetric(&sides[side].give_way(&arms[side])));
        let split = [0, 1].map(|side| ways[side].scaled(&sides[side].split));
        let way = split[0].plus(&split[1]);
        // Only drives need it.
        let whole = ways[0].plus(&ways[1]);
        let soft = &self.compliance * (1.0 / (time * time));
        let anchor = HeldRows::new(self.anchor_rows(&axes[0]), &way, &soft, &self.store);
        let spin = sides[0].inertia.scaled(&sides[0].split).plus(&sides[1].inertia.scaled(&sides[1].split));
        let turns = HeldRows::new(self.turn_rows(&axes), &spin, &ZERO, &self.store);
        let errors = self.turn_errors(&axes).map(|error| self.store.keep(&error));
        PreparedJoints { group: self, sides, axes, arms, gap, whole, anchor, turns, errors, time }
    }

    /// The directions in which the anchor is held.
    fn anchor_rows(&self, axes: &BodyAxes) -> [(Vector3, Quantity); 3] {
        let [a, b, c] = axes.0.clone();
        if self.slide {
            return [(a, ZERO), (b, ONE), (c, ONE)];
        }
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|axis| (Vector3::known(axis), ONE))
    }

    /// The axes about which the bodies must not rotate relative to each other.
    fn turn_rows(&self, axes: &[BodyAxes; 2]) -> [(Vector3, Quantity); 3] {
        let [one, two, none] = &self.locks;
        let [a, b, c] = axes[0].0.clone();
        let between = a.cross(&axes[1].0[1]);
        let third = if two.is_zero() { c } else { &c + (between - &c).scaled(two) };
        [(a, none.clone()), (b, one + none), (third, one + two + none)]
    }

    /// The rotation errors about these axes.
    fn turn_errors(&self, axes: &[BodyAxes; 2]) -> [Quantity; 3] {
        let [one, two, none] = &self.locks;
        let entry = |a: usize, b: usize| axes[0].0[a].dot(&axes[1].0[b]);
        let half = |a: Quantity, b: Quantity| (a - b) * 0.5;
        let when = |lock: &Quantity, value: &dyn Fn() -> Quantity| {
            if lock.is_zero() { ZERO } else { lock * value() }
        };
        [
            when(none, &|| half(entry(2, 1), entry(1, 2))),
            when(one, &|| -entry(2, 0)) + when(none, &|| half(entry(0, 2), entry(2, 0))),
            when(one, &|| entry(1, 0))
                + when(none, &|| half(entry(1, 0), entry(0, 1)))
                + when(two, &|| -entry(0, 1)),
        ]
    }
}

/// Constraint rows that are solved together: their directions, which of them exist, and the inverse of their
/// compliance matrix.
struct HeldRows {
    rows: [(Vector3, Quantity); 3],
    inverse: Symmetric,
}

impl HeldRows {
    fn new(rows: [(Vector3, Quantity); 3], way: &Symmetric, soft: &Quantity, store: &RowStore) -> HeldRows {
        let rows = rows.map(|(row, there)| (store.keep_vector(&row), there));
        let turned = rows.each_ref().map(|(row, _)| way.times(row));
        let entry = |a: usize, b: usize| {
            let both = &rows[a].1 * &rows[b].1;
            let value = if both.is_zero() { ZERO } else { both * rows[a].0.dot(&turned[b]) };
            // A row that does not exist must not make the matrix singular.
            if a == b { value + (ONE - &rows[a].1) + &rows[a].1 * soft } else { value }
        };
        let matrix = Symmetric {
            xx: entry(0, 0),
            yy: entry(1, 1),
            zz: entry(2, 2),
            xy: entry(0, 1),
            xz: entry(0, 2),
            yz: entry(1, 2),
        };
        let matrix = store.keep_symmetric(&matrix);
        HeldRows { rows, inverse: store.keep_symmetric(&matrix.inverse()) }
    }

    /// The impulse that removes these speeds along the rows.
    fn push(&self, speeds: [Quantity; 3]) -> Vector3 {
        let [x, y, z] = [0, 1, 2].map(|n| &self.rows[n].1 * &speeds[n]);
        let along = self.inverse.times(&Vector3::new(x, y, z));
        let part = |n: usize| self.rows[n].0.scaled(&(along.parts()[n] * &self.rows[n].1));
        -&(part(0) + part(1) + part(2))
    }

    fn speeds(&self, of: &Vector3) -> [Quantity; 3] {
        self.rows.each_ref().map(|(row, there)| if there.is_zero() { ZERO } else { row.dot(of) })
    }
}

/// A group with everything that is constant during a sub-step.
pub(crate) struct PreparedJoints<'a> {
    group: &'a JointGroup,
    sides: [ConstraintSide; 2],
    axes: [BodyAxes; 2],
    arms: [Vector3; 2],
    gap: Vector3,
    /// The inverse effective mass of the anchors, with unsplit masses.
    whole: Symmetric,
    anchor: HeldRows,
    turns: HeldRows,
    errors: [Quantity; 3],
    time: f64,
}

impl PreparedJoints<'_> {
    fn indices(&self) -> [Option<&RowIndex>; 2] {
        [self.group.parent.as_ref(), Some(&self.group.child)]
    }

    /// Adds the impulses of springs, dampers, limits and motors along the degrees of freedom of the joints.
    pub fn drive(&self, velocities: &Velocities, actions: Option<&Tensor>, pushes: &mut Velocities) {
        let group = self.group;
        let moving = self.indices().map(|index| velocities.side(index));
        let spin = &moving[1].spin - &moving[0].spin;
        let mut torque = Vector3::zero();
        let mut push = Vector3::zero();
        if group.slide && !group.drives[0].is_idle() {
            let along = &self.axes[0].0[0];
            let speed = along.dot(&(moving[1].at(&self.arms[1]) - moving[0].at(&self.arms[0])));
            let way = along.dot(&self.whole.times(along));
            let freedom = Freedom { value: along.dot(&self.gap), speed, way };
            push = along.scaled(&drive(&group.drives[0], &freedom, actions, self.time));
        }
        if group.drives[1..].iter().any(|drive| !drive.is_idle()) {
            let angles = angles(&self.axes).map(|angle| group.store.keep(&angle));
            let rates = rates(&self.axes, &spin);
            let rates = rates.map(|(axis, speed)| (group.store.keep_vector(&axis), group.store.keep(&speed)));
            let firm = group.store.keep_symmetric(&self.whole.inverse());
            for slot in 0..3 {
                let columns = &group.drives[slot + 1];
                if columns.is_idle() {
                    continue;
                }
                let (axis, speed) = rates[slot].clone();
                let freedom = Freedom { value: angles[slot].clone(), speed, way: self.ease(&axis, &firm) };
                let force = group.store.keep(&drive(columns, &freedom, actions, self.time));
                torque = torque + axis.scaled(&force);
            }
        }
        if !group.damping.is_zero() {
            let ease = self.sides[0].inertia.plus(&self.sides[1].inertia).trace() * (1.0 / 3.0);
            let scale = group.damping.over(&(ONE + &group.damping * ease * self.time));
            torque = torque - spin.scaled(&scale);
        }
        if !self.group.slide && !torque.is_zero() {
            // The anchor holds against the torque at once, so that less is left for the passes.
            torque = group.store.keep_vector(&torque);
            let firm = group.store.keep_symmetric(&self.whole.inverse());
            push = group.store.keep_vector(&(push - firm.times(&self.wrench(&torque))));
        }
        self.apply(&push, &torque, self.time, pushes);
    }

    /// How a torque on the child, with its opposite on the parent, separates their anchors.
    fn wrench(&self, torque: &Vector3) -> Vector3 {
        let turned = self.sides.each_ref().map(|side| side.inertia.times(torque));
        turned[0].cross(&self.arms[0]) + turned[1].cross(&self.arms[1])
    }

    /// The inverse effective inertia of the relative rotation about an axis while the anchor is held.
    fn ease(&self, axis: &Vector3, firm: &Symmetric) -> Quantity {
        let free = axis.dot(&self.sides[0].inertia.plus(&self.sides[1].inertia).times(axis));
        if self.group.slide {
            return free;
        }
        let moved = self.wrench(axis);
        free - moved.dot(&firm.times(&moved))
    }

    fn apply(&self, push: &Vector3, torque: &Vector3, scale: f64, into: &mut Velocities) {
        if push.is_zero() && torque.is_zero() {
            return;
        }
        for (side, sign) in [(0, -scale), (1, scale)] {
            let turn = self.arms[side].cross(push) + torque;
            into.add(self.indices()[side], &(push * sign), &(&turn * sign));
        }
    }

    /// One pass: adds the impulses that hold the joints.
    pub fn hold(&self, velocities: &Velocities, pushes: &mut Velocities) {
        let mut moving = self.indices().map(|index| velocities.side(index));
        let (mut push, mut torque) = (Vector3::zero(), Vector3::zero());
        let rate = 1.0 / self.time;
        for sweep in 0..SWEEPS {
            let spin = &moving[1].spin - &moving[0].spin;
            let speeds = self.turns.speeds(&spin);
            let missing = [0, 1, 2].map(|n| &speeds[n] + &self.errors[n] * rate);
            let turn = self.group.store.keep_vector(&self.turns.push(missing));
            self.feel(&Vector3::zero(), &turn, &mut moving);
            let slip = moving[1].at(&self.arms[1]) - moving[0].at(&self.arms[0]) + &self.gap * rate;
            let shift = self.group.store.keep_vector(&self.anchor.push(self.anchor.speeds(&slip)));
            (push, torque) = (push + &shift, torque + &turn);
            if turn.is_zero() {
                break;
            }
            if sweep + 1 < SWEEPS {
                self.feel(&shift, &Vector3::zero(), &mut moving);
            }
        }
        self.apply(&push, &torque, 1.0, pushes);
    }

    /// Applies an impulse and a torque impulse to both bodies' shares of mass.
    fn feel(&self, push: &Vector3, torque: &Vector3, moving: &mut [Moving; 2]) {
        if push.is_zero() && torque.is_zero() {
            return;
        }
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            let own = &self.sides[side];
            let share = &own.split * sign;
            let turn = self.arms[side].cross(push) + torque;
            moving[side].spin = &moving[side].spin + own.inertia.times(&turn).scaled(&share);
            moving[side].velocity = &moving[side].velocity + push.scaled(&(&own.mass * &share));
        }
    }

    /// The degrees of freedom of the joints: the slide, then the three angles, each with its speed.
    pub fn freedoms(&self, velocities: &Velocities) -> [(Quantity, Quantity); 4] {
        let moving = self.indices().map(|index| velocities.side(index));
        let spin = &moving[1].spin - &moving[0].spin;
        let along = &self.axes[0].0[0];
        let speed = along.dot(&(moving[1].at(&self.arms[1]) - moving[0].at(&self.arms[0])));
        let (angles, rates) = (angles(&self.axes), rates(&self.axes, &spin));
        let [a, b, c] = angles;
        let [ra, rb, rc] = rates.map(|(_, speed)| speed);
        [(along.dot(&self.gap), speed), (a, ra), (b, rb), (c, rc)]
    }

    /// The distance between the anchors.
    pub fn gap(&self) -> Quantity {
        let slip = self.anchor.speeds(&self.gap);
        let along = [0, 1, 2].map(|n| (&slip[n] * &self.anchor.rows[n].1).square());
        let [x, y, z] = along;
        (x + y + z).sqrt()
    }
}

/// The three angles in sequence: about the parent's first axis, the rotated second, the child's third.
fn angles(axes: &[BodyAxes; 2]) -> [Quantity; 3] {
    let entry = |a: usize, b: usize| axes[0].0[a].dot(&axes[1].0[b]);
    let sine = entry(0, 2);
    let cosine = (entry(1, 2).square() + entry(2, 2).square() + 1e-12).sqrt();
    [
        arctangent(&-entry(1, 2), &entry(2, 2)),
        arctangent(&sine, &cosine),
        arctangent(&-entry(0, 1), &entry(0, 0)),
    ]
}

/// The current axes of the three angles, and their rates of change.
fn rates(axes: &[BodyAxes; 2], spin: &Vector3) -> [(Vector3, Quantity); 3] {
    let (first, third) = (&axes[0].0[0], &axes[1].0[2]);
    let sine = first.dot(third);
    // Where the first and the third axis coincide (gimbal lock), speeds about them cannot be told apart.
    let square = (ONE - sine.square()).maximum(&Quantity::Known(0.02));
    let second = third.cross(first).scaled(&square.sqrt().recip());
    let (along, across) = (spin.dot(first), spin.dot(third));
    let speed = |a: &Quantity, b: &Quantity| (a - &sine * b).over(&square);
    [
        (first.clone(), speed(&along, &across)),
        (second.clone(), spin.dot(&second)),
        (third.clone(), speed(&across, &along)),
    ]
}
