//! Tables of which points of which bodies may touch what.
//!
//! Boxes touch with their corners. These are small spheres inside the corners, so that a corner at the edge of
//! another box has a definite face to rest on. Contacts of crossing edges are not detected.

use std::collections::BTreeMap;

use crate::assembly::BodyRow;
use crate::description::{Description, MOST_CONTACTS, Solid, SolidKind};
use crate::error::{WorldError, WorldResult};
use crate::geometry::{Point3, Quaternion};

/// The radius of a box's corners, as a fraction of its smallest half side.
const CORNER: f64 = 0.1;
/// Points on either rim of a cylinder, besides the one closest to the plane.
const RIM_POINTS: usize = 4;
/// A body's mass is split into at most this many shares for its contacts.
const MOST_PARTNERS: f64 = 6.0;

/// A point of a body that may touch a plane.
#[derive(Clone, Debug)]
pub(crate) struct PlaneRow {
    pub body: usize,
    pub point: Point3,
    pub radius: f64,
    pub rim: f64,
    pub axis: Point3,
    pub normal: Point3,
    pub offset: f64,
    /// Friction and restitution.
    pub surface: [f64; 2],
}

/// A segment with a radius, in a body; for a sphere, its length is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThickSegment {
    pub center: Point3,
    pub half: Point3,
    pub radius: f64,
}

/// Two segments that may touch.
#[derive(Clone, Debug)]
pub(crate) struct SegmentRow {
    pub bodies: [usize; 2],
    pub ends: [ThickSegment; 2],
    pub surface: [f64; 2],
}

/// A point that may touch a box.
#[derive(Clone, Debug)]
pub(crate) struct PointBoxRow {
    pub bodies: [usize; 2],
    pub point: Point3,
    pub radius: f64,
    pub center: Point3,
    pub axes: [Point3; 3],
    pub half: Point3,
    pub surface: [f64; 2],
}

/// All rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContactTables {
    pub planes: Vec<PlaneRow>,
    pub segments: Vec<SegmentRow>,
    pub boxes: Vec<PointBoxRow>,
}

impl ContactTables {
    pub fn len(&self) -> usize {
        self.planes.len() + self.segments.len() + self.boxes.len()
    }

    /// Into how many shares the contacts of each body split its mass. More if many points touch one object,
    /// because their impulses and friction add up.
    pub fn partners(&self, bodies: usize) -> Vec<f64> {
        // For every body and each object that it may touch (planes have index `bodies`), the number of points.
        let mut points: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new(); bodies];
        let pairs = self.segments.iter().map(|row| row.bodies).chain(self.boxes.iter().map(|row| row.bodies));
        for [a, b] in pairs {
            *points[a].entry(b).or_default() += 1;
            *points[b].entry(a).or_default() += 1;
        }
        self.planes.iter().for_each(|row| *points[row.body].entry(bodies).or_default() += 1);
        let weight = |points: &usize| match points {
            0 | 1 => 1.0,
            2 => 1.5,
            _ => 2.0,
        };
        points.iter().map(|own| own.values().map(weight).sum::<f64>().min(MOST_PARTNERS)).collect()
    }
}

/// A solid in the axes of its body.
struct PlacedSolid<'a> {
    solid: &'a Solid,
    center: Point3,
    turn: Quaternion,
    plane: bool,
}

impl PlacedSolid<'_> {
    /// The segment of spheres, capsules and (against bodies) cylinders.
    fn segment(&self) -> Option<ThickSegment> {
        let along = |length: f64| self.turn.turn(Point3([length, 0.0, 0.0]));
        let segment =
            |half: f64, radius: f64| Some(ThickSegment { center: self.center, half: along(half), radius });
        match self.solid.kind() {
            SolidKind::Sphere { radius } => segment(0.0, radius),
            SolidKind::Capsule { radius, half_length } => segment(half_length, radius),
            SolidKind::Cylinder { radius, half_length } if !self.plane => {
                segment((half_length - radius).max(0.0), radius)
            }
            _ => None,
        }
    }

    /// The half sides, if it is a box.
    fn half(&self) -> Option<[f64; 3]> {
        match self.solid.kind() {
            SolidKind::Box { half: [a, b, c] } => Some([a, b, if self.plane { 0.0 } else { c }]),
            SolidKind::Cylinder { radius, half_length } if self.plane => Some([half_length, radius, 0.0]),
            _ => None,
        }
    }

    /// The corners of a box, with their radius.
    fn corners(&self, half: [f64; 3]) -> Vec<(Point3, f64)> {
        let sides = if self.plane { &half[..2] } else { &half[..] };
        let radius = CORNER * sides.iter().copied().fold(f64::INFINITY, f64::min);
        let count = 1 << sides.len();
        let corner = |n: usize| {
            let sign = |k: usize| if n >> k & 1 == 1 { 1.0 } else { -1.0 };
            let at = [0, 1, 2].map(|k| if k < sides.len() { sign(k) * (half[k] - radius) } else { 0.0 });
            (self.center.plus(self.turn.turn(Point3(at))), radius)
        };
        (0..count).map(corner).collect()
    }

    /// The points that can touch a plane: with a radius, and with the radius and axis of a rim.
    fn points(&self) -> Vec<(Point3, f64, f64, Point3)> {
        let none = Point3::default();
        if let Some(half) = self.half() {
            return self.corners(half).into_iter().map(|(at, radius)| (at, radius, 0.0, none)).collect();
        }
        let out = |p: [f64; 3]| self.center.plus(self.turn.turn(Point3(p)));
        match self.solid.kind() {
            SolidKind::Sphere { radius } => vec![(self.center, radius, 0.0, none)],
            SolidKind::Capsule { radius, half_length } => {
                [-half_length, half_length].map(|x| (out([x, 0.0, 0.0]), radius, 0.0, none)).to_vec()
            }
            SolidKind::Cylinder { radius, half_length } => {
                let axis = self.turn.turn(Point3([1.0, 0.0, 0.0]));
                let cap = |x: f64| {
                    let rim = (0..RIM_POINTS).map(move |n| {
                        let angle = std::f64::consts::TAU * n as f64 / RIM_POINTS as f64;
                        (out([x, radius * angle.cos(), radius * angle.sin()]), 0.0, 0.0, none)
                    });
                    rim.chain([(out([x, 0.0, 0.0]), 0.0, radius, axis)]).collect::<Vec<_>>()
                };
                [cap(-half_length), cap(half_length)].concat()
            }
            SolidKind::Box { .. } => vec![],
        }
    }
}

fn met(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [(a[0] * b[0]).sqrt(), a[1].max(b[1])]
}

/// All rows of a description.
pub(crate) fn tables(description: &Description, bodies: &[BodyRow]) -> WorldResult<ContactTables> {
    let mut tables = ContactTables::default();
    let plane = description.dimensions == 2;
    let placed = |body: usize| -> Vec<PlacedSolid<'_>> {
        let solids = description.bodies[body].solids.iter();
        let place = |solid: &'_ Solid| {
            let (at, turn) = solid.place();
            (at.minus(bodies[body].center), turn)
        };
        solids
            .map(|solid| (solid, place(solid)))
            .map(|(solid, (center, turn))| PlacedSolid { solid, center, turn, plane })
            .collect()
    };
    for body in 0..bodies.len() {
        for solid in placed(body).iter().filter(|placed| placed.solid.planes) {
            for ground in &description.planes {
                let normal = ground.normal.as_ref().map_or(description.up(), |n| description.vector(n));
                let surface = met(
                    [solid.solid.friction, solid.solid.restitution],
                    [ground.friction, ground.restitution],
                );
                let rows = solid.points().into_iter().map(|(point, radius, rim, axis)| PlaneRow {
                    body,
                    point,
                    radius,
                    rim,
                    axis,
                    normal: Point3(normal).unit(),
                    offset: ground.offset,
                    surface,
                });
                tables.planes.extend(rows);
            }
        }
    }
    for [a, b] in pairs(description) {
        for first in placed(a).iter().filter(|placed| placed.solid.bodies) {
            for second in placed(b).iter().filter(|placed| placed.solid.bodies) {
                meet(&mut tables, [a, b], [first, second]);
            }
        }
        if tables.len() > MOST_CONTACTS {
            break;
        }
    }
    if tables.len() > MOST_CONTACTS {
        let path = "collisions".to_string();
        return Err(WorldError::TooMany { path, found: tables.len(), most: MOST_CONTACTS });
    }
    Ok(tables)
}

/// The pairs of bodies that collide, by index.
fn pairs(description: &Description) -> Vec<[usize; 2]> {
    let number = |name: &String| description.body(name).expect("checked");
    let listed = |list: &[[String; 2]]| -> Vec<[usize; 2]> {
        let sorted = |[a, b]: [usize; 2]| if a < b { [a, b] } else { [b, a] };
        list.iter().map(|[a, b]| sorted([number(a), number(b)])).collect()
    };
    let (wanted, except) = (listed(&description.collisions.pairs), listed(&description.collisions.except));
    let joined: Vec<[String; 2]> = description
        .joints
        .iter()
        .filter_map(|joint| Some([joint.parent.clone()?, joint.child.clone()]))
        .collect();
    let joined = listed(&joined);
    let count = description.bodies.len();
    let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| [a, b]));
    all.filter(|pair| {
        let free = description.collisions.all && !joined.contains(pair);
        (wanted.contains(pair) || free) && !except.contains(pair)
    })
    .collect()
}

/// Adds the rows of two solids.
fn meet(tables: &mut ContactTables, bodies: [usize; 2], solids: [&PlacedSolid<'_>; 2]) {
    let surface = |placed: &PlacedSolid<'_>| [placed.solid.friction, placed.solid.restitution];
    let surface = met(surface(solids[0]), surface(solids[1]));
    if let (Some(a), Some(b)) = (solids[0].segment(), solids[1].segment()) {
        tables.segments.push(SegmentRow { bodies, ends: [a, b], surface });
        return;
    }
    for (own, other) in [(0, 1), (1, 0)] {
        let Some(half) = solids[other].half() else { continue };
        let bodies = [bodies[own], bodies[other]];
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let axes = axes.map(|axis| solids[other].turn.turn(Point3(axis)));
        let center = solids[other].center;
        let points = match (solids[own].segment(), solids[own].half()) {
            (Some(s), _) if s.half.length() == 0.0 => vec![(s.center, s.radius)],
            (Some(s), _) => [-1.0, 0.0, 1.0].map(|at| (s.center.plus(s.half.times(at)), s.radius)).to_vec(),
            (None, Some(own_half)) => solids[own].corners(own_half),
            (None, None) => vec![],
        };
        let row = |(point, radius)| PointBoxRow {
            bodies,
            point,
            radius,
            center,
            axes,
            half: Point3(half),
            surface,
        };
        tables.boxes.extend(points.into_iter().map(row));
        // Corners of the box against the side of a capsule.
        if let Some(segment) = solids[own].segment().filter(|s| s.half.length() > 0.0) {
            let corners = solids[other].corners(half).into_iter();
            tables.segments.extend(corners.map(|(at, radius)| {
                let corner = ThickSegment { center: at, half: Point3::default(), radius };
                SegmentRow { bodies, ends: [segment, corner], surface }
            }));
        }
    }
}
