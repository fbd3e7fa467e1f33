//! Intersections of rays and solids.

use super::camera::Ray;
use super::scene::DrawnSolid;
use crate::description::SolidKind;
use crate::geometry::Point3;

/// The first intersection of a ray with a solid.
pub(crate) struct Hit {
    pub distance: f64,
    pub normal: Point3,
}

/// The first intersection of a ray with a solid, from outside.
pub(crate) fn meet(ray: &Ray, solid: &DrawnSolid) -> Option<Hit> {
    let back = solid.turn.inverse();
    let own = Ray { from: back.turn(ray.from.minus(solid.center)), along: back.turn(ray.along) };
    let hit = match solid.kind {
        SolidKind::Sphere { radius } => sphere(&own, Point3::default(), radius),
        SolidKind::Box { half } => block(&own, half),
        SolidKind::Capsule { radius, half_length } => {
            let ends = [-half_length, half_length].map(|x| sphere(&own, Point3([x, 0.0, 0.0]), radius));
            let [a, b] = ends;
            nearer(nearer(a, b), side(&own, radius, half_length))
        }
        SolidKind::Cylinder { radius, half_length } => {
            let caps = [-1.0, 1.0].map(|sign| cap(&own, radius, half_length, sign));
            let [a, b] = caps;
            nearer(nearer(a, b), side(&own, radius, half_length))
        }
    };
    hit.map(|hit| Hit { normal: solid.turn.turn(hit.normal), ..hit })
}

fn nearer(a: Option<Hit>, b: Option<Hit>) -> Option<Hit> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if a.distance < b.distance { a } else { b }),
        (a, b) => a.or(b),
    }
}

/// The first distance above zero at which `a t² + 2 b t + c` is zero.
fn root(a: f64, b: f64, c: f64) -> Option<f64> {
    let square = b * b - a * c;
    if square < 0.0 || a < 1e-12 {
        return None;
    }
    let distance = (-b - square.sqrt()) / a;
    (distance > 0.0).then_some(distance)
}

fn sphere(ray: &Ray, center: Point3, radius: f64) -> Option<Hit> {
    let from = ray.from.minus(center);
    let distance = root(ray.along.dot(ray.along), from.dot(ray.along), from.dot(from) - radius * radius)?;
    Some(Hit { distance, normal: from.plus(ray.along.times(distance)).unit() })
}

/// The round side of a cylinder along x.
fn side(ray: &Ray, radius: f64, half_length: f64) -> Option<Hit> {
    let ([_, b, c], [_, y, z]) = (ray.from.0, ray.along.0);
    let distance = root(y * y + z * z, b * y + c * z, b * b + c * c - radius * radius)?;
    let at = ray.from.plus(ray.along.times(distance)).0;
    (at[0].abs() <= half_length).then(|| Hit { distance, normal: Point3([0.0, at[1], at[2]]).unit() })
}

fn cap(ray: &Ray, radius: f64, half_length: f64, sign: f64) -> Option<Hit> {
    let speed = ray.along.0[0];
    if speed * sign > -1e-9 {
        return None;
    }
    let distance = (sign * half_length - ray.from.0[0]) / speed;
    let at = ray.from.plus(ray.along.times(distance)).0;
    let inside = at[1] * at[1] + at[2] * at[2] <= radius * radius;
    (distance > 0.0 && inside).then_some(Hit { distance, normal: Point3([sign, 0.0, 0.0]) })
}

fn block(ray: &Ray, half: [f64; 3]) -> Option<Hit> {
    let (mut enter, mut leave, mut normal) = (0.0, f64::INFINITY, None);
    for axis in 0..3 {
        let (from, along) = (ray.from.0[axis], ray.along.0[axis]);
        if along.abs() < 1e-12 {
            if from.abs() > half[axis] {
                return None;
            }
            continue;
        }
        let near = (-half[axis] * along.signum() - from) / along;
        let far = (half[axis] * along.signum() - from) / along;
        if near > enter {
            let mut own = [0.0; 3];
            own[axis] = -along.signum();
            (enter, normal) = (near, Some(Point3(own)));
        }
        leave = f64::min(leave, far);
    }
    normal.filter(|_| enter < leave).map(|normal| Hit { distance: enter, normal })
}
