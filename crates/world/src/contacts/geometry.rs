//! Contact points: points and planes, segments, points and boxes.

use super::{ContactKind, TouchPlace};
use crate::quantity::{ONE, Quantity, ZERO};
use crate::rows::ConstraintSide;
use crate::vector::{BodyAxes, Vector3};

/// Lengths below this are treated as zero.
const LEAST: f64 = 1e-6;

impl ContactKind {
    /// The contact points of rows of this kind.
    pub(super) fn touch(&self, sides: &[ConstraintSide; 2]) -> TouchPlace {
        match self {
            ContactKind::PointPlane { point, radius, rim, axis, normal, offset } => {
                let mut arm = sides[0].axes.out(point);
                if !rim.is_zero() {
                    let along = sides[0].axes.out(axis);
                    let across = normal - along.scaled(&normal.dot(&along));
                    arm = arm - across.unit(1e-3).scaled(rim);
                }
                let gap = normal.dot(&(&sides[0].at + &arm)) - offset - radius;
                let arm = arm - normal.scaled(radius);
                TouchPlace { arms: [arm, Vector3::zero()], normal: normal.clone(), gap }
            }
            ContactKind::Segments { centers, halves, radii } => segments(sides, centers, halves, radii),
            ContactKind::PointBox { point, radius, center, axes, half } => {
                let at = &sides[0].at + sides[0].axes.out(point);
                let middle = &sides[1].at + sides[1].axes.out(center);
                let axes = BodyAxes(axes.each_ref().map(|axis| sides[1].axes.out(axis)));
                let (out, distance) = beyond_box(&axes.own(&(&at - middle)), half);
                let normal = axes.out(&out);
                let place = at - normal.scaled(radius);
                let arms = [&place - &sides[0].at, &place - &sides[1].at];
                TouchPlace { arms, normal, gap: distance - radius }
            }
        }
    }
}

/// The points of two segments that are closest to each other.
fn segments(
    sides: &[ConstraintSide; 2],
    centers: &[Vector3; 2],
    halves: &[Vector3; 2],
    radii: &[Quantity; 2],
) -> TouchPlace {
    let at = [0, 1].map(|n| &sides[n].at + sides[n].axes.out(&centers[n]));
    let half = [0, 1].map(|n| sides[n].axes.out(&halves[n]));
    let between = &at[0] - &at[1];
    let (a, e, b) = (half[0].square() + 1e-9, half[1].square() + 1e-9, half[0].dot(&half[1]));
    let (c, f) = (half[0].dot(&between), half[1].dot(&between));
    let within = |x: Quantity| x.clamp(&Quantity::Known(-1.0), &ONE);
    let ends = halves.each_ref().map(Vector3::is_zero);
    let (s, t) = match ends {
        [true, true] => (ZERO, ZERO),
        [false, true] => (within(-c.over(&a)), ZERO),
        [true, false] => (ZERO, within(f.over(&e))),
        [false, false] => {
            let square = &a * &e - &b * &b + 1e-12;
            let s = within((&b * &f - &c * &e).over(&square));
            let t = within((&b * &s + &f).over(&e));
            (within((&b * &t - &c).over(&a)), t)
        }
    };
    let points = [&at[0] + half[0].scaled(&s), &at[1] + half[1].scaled(&t)];
    let apart = &points[0] - &points[1];
    let distance = apart.length(LEAST);
    let normal = apart.scaled(&distance.recip());
    let gap = distance - &radii[0] - &radii[1];
    let place = &points[0] - normal.scaled(&(&radii[0] + &gap * 0.5));
    TouchPlace { arms: [&place - &sides[0].at, &place - &sides[1].at], normal, gap }
}

/// The direction out of a box from a point, in the box's own axes, and the distance of the point from its
/// surface (negative inside).
fn beyond_box(at: &Vector3, half: &Vector3) -> (Vector3, Quantity) {
    // An axis with zero extent does not exist: in the plane there are two.
    let over = [0, 1, 2].map(|n| match half.parts()[n].is_zero() {
        true => Quantity::Known(-1e6),
        false => at.parts()[n].abs() - half.parts()[n],
    });
    let most = over[0].maximum(&over[1]).maximum(&over[2]);
    let signs = at.parts().map(Quantity::sign);
    let [x, y, z] = [0, 1, 2].map(|n| over[n].relu() * &signs[n]);
    let outside = Vector3::new(x, y, z);
    let distance = outside.length(LEAST);
    let out = outside.scaled(&distance.recip());
    let [x, y, z] = [0, 1, 2].map(|n| {
        let inside = (&over[n] - &most + 1e-12).positive(&signs[n], &ZERO);
        if half.parts()[n].is_zero() { ZERO } else { most.positive(out.parts()[n], &inside) }
    });
    (Vector3::new(x, y, z), most.positive(&distance, &most))
}
