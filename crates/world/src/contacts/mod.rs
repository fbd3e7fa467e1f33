//! Contacts: which points may touch what (tables), where they are now (geometry), and the impulses that keep
//! them apart (solving).
//!
//! Every possible contact is always a row; a row that is far from touching gives no impulse. Invariant: a
//! normal points from the second side to the first, and a negative gap is a penetration.

mod geometry;
mod table;

use farad_tensor::Device;

use crate::assembly::BodyRow;
use crate::bodies::{PosedBodies, Velocities};
use crate::description::ContactRule;
use crate::joints::columns;
use crate::quantity::{ONE, Quantity, ZERO};
use crate::rows::{Arrangement, ConstraintSide, RowIndex, RowStore};
use crate::vector::Vector3;
pub(crate) use table::{ContactTables, PlaneRow, tables};
use table::{PointBoxRow, SegmentRow};

/// The smallest impulse that friction distinguishes from zero, so that its direction is differentiable
/// everywhere.
const LEAST_IMPULSE: f64 = 1e-7;

/// Contacts of one kind that are computed at once.
pub(crate) struct ContactGroup {
    sides: [Option<RowIndex>; 2],
    masses: [Quantity; 2],
    splits: [Quantity; 2],
    friction: Quantity,
    restitution: Quantity,
    kind: ContactKind,
    plane: bool,
    store: RowStore,
}

/// The kinds of contact.
enum ContactKind {
    /// A point with a radius, and a plane. The rim of a cylinder extends toward the plane by a second radius.
    PointPlane {
        point: Vector3,
        radius: Quantity,
        rim: Quantity,
        axis: Vector3,
        normal: Vector3,
        offset: Quantity,
    },
    /// Two segments with radii: spheres and capsules.
    Segments { centers: [Vector3; 2], halves: [Vector3; 2], radii: [Quantity; 2] },
    /// A point with a radius, and a box.
    PointBox { point: Vector3, radius: Quantity, center: Vector3, axes: [Vector3; 3], half: Vector3 },
}

/// The current contact points of rows.
struct TouchPlace {
    arms: [Vector3; 2],
    normal: Vector3,
    gap: Quantity,
}

impl ContactGroup {
    pub fn all(
        tables: &ContactTables,
        bodies: &[BodyRow],
        arrangement: Arrangement,
        plane: bool,
        device: &Device,
    ) -> Vec<ContactGroup> {
        let maker = GroupMaker { bodies, arrangement, plane, device };
        let planes = arrangement.groups(&tables.planes).into_iter().map(|rows| maker.planes(&rows));
        let segments = arrangement.groups(&tables.segments).into_iter().map(|rows| maker.segments(&rows));
        let boxes = arrangement.groups(&tables.boxes).into_iter().map(|rows| maker.boxes(&rows));
        planes.chain(segments).chain(boxes).collect()
    }

    fn indices(&self) -> [Option<&RowIndex>; 2] {
        self.sides.each_ref().map(Option::as_ref)
    }

    fn touch(&self, posed: &PosedBodies) -> ([ConstraintSide; 2], TouchPlace) {
        let indices = self.indices();
        let sides = [0, 1].map(|n| posed.side(indices[n], &self.masses[n], &self.splits[n]));
        let touch = self.kind.touch(&sides);
        (sides, touch)
    }

    /// Computes what is constant during a sub-step of this length.
    pub fn prepare(&self, posed: &PosedBodies, rule: &ContactRule, time: f64) -> PreparedContacts<'_> {
        let (sides, touch) = self.touch(posed);
        let TouchPlace { arms, normal, gap } = touch;
        let arms = arms.map(|arm| self.store.keep_vector(&arm));
        let (normal, gap) = (self.store.keep_vector(&normal), self.store.keep(&gap));
        let mut way = Quantity::Known(rule.compliance / (time * time));
        let mut slip: Quantity = ZERO;
        for side in 0..2 {
            let ConstraintSide { inertia, mass, split, .. } = &sides[side];
            let across = arms[side].cross(&normal);
            way = way + split * (mass + across.dot(&inertia.times(&across)));
            // The trace of the point's inverse effective mass, along the normal and across it.
            let trace = arms[side].square() * inertia.trace() - arms[side].dot(&inertia.times(&arms[side]));
            slip = slip + split * (mass * if self.plane { 2.0 } else { 3.0 } + trace);
        }
        let slip = (slip - &way) * if self.plane { 1.0 } else { 0.5 };
        let recovery = -gap * (1.0 / time);
        let target = (recovery.relu() * rule.recovery).minimum(&rule.push.into()) - (-recovery).relu();
        PreparedContacts {
            group: self,
            arms,
            normal,
            ease: self.store.keep(&way.recip()),
            way: self.store.keep(&way),
            slip_ease: self.store.keep(&slip.recip()),
            target: self.store.keep(&target),
            soft: rule.compliance / (time * time),
            smoothing: rule.smoothing,
            threshold: rule.threshold,
            push: ZERO,
            rub: Vector3::zero(),
        }
    }
}

/// A group with everything that is constant during a sub-step, and the impulses so far.
pub(crate) struct PreparedContacts<'a> {
    group: &'a ContactGroup,
    arms: [Vector3; 2],
    normal: Vector3,
    way: Quantity,
    ease: Quantity,
    slip_ease: Quantity,
    /// The least speed along the normal that leaves the intended gap.
    target: Quantity,
    soft: f64,
    smoothing: f64,
    threshold: f64,
    push: Quantity,
    rub: Vector3,
}

impl PreparedContacts<'_> {
    fn approach(&self, velocities: &Velocities) -> (Vector3, Quantity) {
        let [a, b] = self.group.indices().map(|index| velocities.side(index));
        let apart = a.at(&self.arms[0]) - b.at(&self.arms[1]);
        let speed = self.normal.dot(&apart);
        (apart, speed)
    }

    /// Restitution: an impact returns a share of the speed that it has before anything is solved.
    pub fn bounce(&mut self, velocities: &Velocities) {
        if self.group.restitution.is_zero() {
            return;
        }
        let (_, speed) = self.approach(velocities);
        // Between the threshold and twice the threshold, the share grows from zero to its full value.
        let share = match self.threshold {
            0.0 => ONE,
            slow => (-&speed * (1.0 / slow) - 1.0).clamp(&ZERO, &ONE),
        };
        let back = (-&speed).relu() * share * &self.group.restitution;
        let hits = &self.target - speed;
        self.target = hits.positive(&self.target.maximum(&back), &self.target);
    }

    /// One pass: adds the impulses that keep the rows apart, and friction.
    pub fn hold(&mut self, velocities: &Velocities, pushes: &mut Velocities) {
        let (apart, speed) = self.approach(velocities);
        let wanted = &self.push * (&self.way - self.soft) + &self.target - &speed;
        let store = &self.group.store;
        let push = store.keep(&(rounded_relu(&wanted, self.smoothing) * &self.ease));
        let mut change = self.normal.scaled(&(&push - &self.push));
        if !self.group.friction.is_zero() {
            let slip = apart - self.normal.scaled(&speed);
            let rub = &self.rub - slip.scaled(&self.slip_ease);
            let most = &push * &self.group.friction;
            let rub = rub.scaled(&most.over(&rub.length(LEAST_IMPULSE)).minimum(&ONE));
            let rub = store.keep_vector(&rub);
            change = change + &rub - &self.rub;
            self.rub = rub;
        }
        self.push = push;
        for (side, sign) in [(0, 1.0), (1, -1.0)] {
            let turn = self.arms[side].cross(&change);
            pushes.add(self.group.indices()[side], &(&change * sign), &(&turn * sign));
        }
    }
}

/// `max(x, 0)` with a rounded corner of this width.
fn rounded_relu(x: &Quantity, width: f64) -> Quantity {
    if width == 0.0 {
        return x.relu();
    }
    let square = width * width;
    x.relu() + Quantity::Known(square / 2.0).over(&((x.square() + square).sqrt() + x.abs()))
}

/// What contact groups are made from.
struct GroupMaker<'a> {
    bodies: &'a [BodyRow],
    arrangement: Arrangement,
    plane: bool,
    device: &'a Device,
}

impl GroupMaker<'_> {
    fn group(
        &self,
        sides: [Option<Vec<usize>>; 2],
        surface: Vec<[f64; 2]>,
        kind: ContactKind,
    ) -> ContactGroup {
        let sides = sides.map(|side| {
            side.map(|list| RowIndex::new(list, self.bodies.len(), self.arrangement, self.device))
        });
        let of = |value: fn(&BodyRow) -> f64| {
            sides
                .each_ref()
                .map(|side| side.as_ref().map_or(ZERO, |index| index.column(self.bodies, value, self.device)))
        };
        let column = |n: usize| {
            self.arrangement.column(&surface.iter().map(|s| s[n]).collect::<Vec<_>>(), self.device)
        };
        ContactGroup {
            store: RowStore::new(self.arrangement),
            masses: of(|body| 1.0 / body.mass),
            splits: of(|body| body.contact_split),
            friction: column(0),
            restitution: column(1),
            kind,
            plane: self.plane,
            sides,
        }
    }

    fn column<T>(&self, rows: &[T], of: impl Fn(&T) -> f64) -> Quantity {
        self.arrangement.column(&rows.iter().map(of).collect::<Vec<_>>(), self.device)
    }

    fn points<T>(&self, rows: &[T], of: impl Fn(&T) -> crate::geometry::Point3) -> Vector3 {
        columns(&rows.iter().map(of).collect::<Vec<_>>(), self.arrangement, self.device)
    }

    fn planes(&self, rows: &[PlaneRow]) -> ContactGroup {
        let kind = ContactKind::PointPlane {
            point: self.points(rows, |row| row.point),
            radius: self.column(rows, |row| row.radius),
            rim: self.column(rows, |row| row.rim),
            axis: self.points(rows, |row| row.axis),
            normal: self.points(rows, |row| row.normal),
            offset: self.column(rows, |row| row.offset),
        };
        let surface = rows.iter().map(|row| row.surface).collect();
        self.group([Some(rows.iter().map(|row| row.body).collect()), None], surface, kind)
    }

    fn segments(&self, rows: &[SegmentRow]) -> ContactGroup {
        let kind = ContactKind::Segments {
            centers: [0, 1].map(|n| self.points(rows, |row| row.ends[n].center)),
            halves: [0, 1].map(|n| self.points(rows, |row| row.ends[n].half)),
            radii: [0, 1].map(|n| self.column(rows, |row| row.ends[n].radius)),
        };
        let surface = rows.iter().map(|row| row.surface).collect();
        let side = |n: usize| Some(rows.iter().map(|row| row.bodies[n]).collect());
        self.group([side(0), side(1)], surface, kind)
    }

    fn boxes(&self, rows: &[PointBoxRow]) -> ContactGroup {
        let kind = ContactKind::PointBox {
            point: self.points(rows, |row| row.point),
            radius: self.column(rows, |row| row.radius),
            center: self.points(rows, |row| row.center),
            axes: [0, 1, 2].map(|n| self.points(rows, |row| row.axes[n])),
            half: self.points(rows, |row| row.half),
        };
        let surface = rows.iter().map(|row| row.surface).collect();
        let side = |n: usize| Some(rows.iter().map(|row| row.bodies[n]).collect());
        self.group([side(0), side(1)], surface, kind)
    }
}

/// How many rows of every body are closer than `near`, per slot.
pub(crate) fn touching(
    groups: &[ContactGroup],
    posed: &PosedBodies,
    near: f64,
    slots: usize,
) -> Vec<Quantity> {
    let mut counts = vec![vec![ZERO]; slots];
    for group in groups {
        let close = (Quantity::Known(near) - group.touch(posed).1.gap).positive(&ONE, &ZERO);
        for index in group.indices().into_iter().flatten() {
            index.give(std::slice::from_ref(&close), &mut counts);
        }
    }
    counts.into_iter().flatten().collect()
}
