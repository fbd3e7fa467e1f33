//! What rays can hit: solids of bodies, planes, the sky.

use super::camera::Ray;
use super::ray::{Hit, meet};
use crate::description::SolidKind;
use crate::geometry::{Point3, Quaternion};
use crate::world::World;

const SKY: [f64; 3] = [0.93, 0.95, 0.98];
const EARTH: [[f64; 3]; 2] = [[0.78, 0.81, 0.84], [0.70, 0.74, 0.78]];
const PAINTS: [[u8; 3]; 5] = [[46, 110, 190], [214, 93, 52], [60, 150, 90], [140, 100, 180], [190, 150, 40]];
/// The depth of solids that are drawn in the plane.
const THICKNESS: f64 = 0.05;

/// The color of a body without one.
pub(crate) fn paint(n: usize) -> [u8; 3] {
    PAINTS[n % PAINTS.len()]
}

/// A solid at its current position.
pub(crate) struct DrawnSolid {
    pub center: Point3,
    pub turn: Quaternion,
    pub kind: SolidKind,
    color: [f64; 3],
}

/// Everything that is drawn.
pub(crate) struct Scene {
    solids: Vec<DrawnSolid>,
    planes: Vec<(Point3, f64)>,
    plane: bool,
    pub up: Point3,
    pub places: Vec<Point3>,
}

impl Scene {
    /// The scene of one world, from positions and rotations.
    pub fn new(world: &World, places: &[f32], turns: &[f32]) -> Scene {
        let description = &world.description;
        let plane = world.solver.plane;
        let part = |list: &[f32], n: usize| f64::from(list[n]);
        let mut scene =
            Scene { solids: vec![], planes: vec![], plane, up: Point3(description.up()), places: vec![] };
        for (n, body) in description.bodies.iter().enumerate() {
            let (at, turn) = match plane {
                true => (
                    Point3([part(places, 2 * n), part(places, 2 * n + 1), 0.0]),
                    Quaternion([part(turns, 2 * n), 0.0, 0.0, part(turns, 2 * n + 1)]),
                ),
                false => (
                    Point3([0, 1, 2].map(|k| part(places, 3 * n + k))),
                    Quaternion([0, 1, 2, 3].map(|k| part(turns, 4 * n + k))),
                ),
            };
            scene.places.push(at);
            let color = body.color.unwrap_or(paint(n)).map(|c| f64::from(c) / 255.0);
            for solid in &body.solids {
                let (own, own_turn) = solid.place();
                let center = at.plus(turn.turn(own.minus(world.assembly.bodies[n].center)));
                let kind = if plane { flat(solid.kind()) } else { solid.kind() };
                scene.solids.push(DrawnSolid { center, turn: turn.after(own_turn), kind, color });
            }
        }
        let planes = description.planes.iter().map(|ground| {
            let normal = ground.normal.as_ref().map_or(description.up(), |n| description.vector(n));
            (Point3(normal).unit(), ground.offset)
        });
        scene.planes = planes.collect();
        scene
    }

    /// The color seen along a ray.
    pub fn color(&self, ray: &Ray) -> [f64; 3] {
        let mut nearest: Option<(Hit, [f64; 3])> = None;
        for solid in &self.solids {
            if let Some(hit) = meet(ray, solid)
                && nearest.as_ref().is_none_or(|(other, _)| hit.distance < other.distance)
            {
                nearest = Some((hit, solid.color));
            }
        }
        for (normal, offset) in &self.planes {
            if let Some(distance) = self.ground(ray, *normal, *offset)
                && nearest.as_ref().is_none_or(|(other, _)| distance < other.distance)
            {
                let at = ray.from.plus(ray.along.times(distance));
                return self.earth(at, *normal, *offset);
            }
        }
        let Some((hit, color)) = nearest else { return SKY };
        let light = if self.plane { 1.0 } else { shade(hit.normal) };
        color.map(|part| part * light)
    }

    /// Where a ray hits a plane. In a two-dimensional world, everything below the plane is ground.
    fn ground(&self, ray: &Ray, normal: Point3, offset: f64) -> Option<f64> {
        let over = ray.from.dot(normal) - offset;
        let down = -ray.along.dot(normal);
        if self.plane {
            return (over < 0.0).then_some(100.0);
        }
        (down > 1e-6 && over > 0.0).then_some(over / down)
    }

    /// The ground has squares of half a meter, and shadows from straight above.
    fn earth(&self, at: Point3, normal: Point3, offset: f64) -> [f64; 3] {
        let square = |v: f64| (v * 2.0).floor() as i64;
        if self.plane {
            let along = Point3([normal.0[1], -normal.0[0], 0.0]);
            let band = square(at.dot(along)).rem_euclid(2) as usize;
            let edge = at.dot(normal) - offset > -0.03;
            return if edge { EARTH[1].map(|c| c * 0.7) } else { EARTH[band] };
        }
        let across = normal.across();
        let other = normal.cross(across);
        let band = (square(at.dot(across)) + square(at.dot(other))).rem_euclid(2) as usize;
        let up = Ray { from: at.plus(normal.times(1e-4)), along: normal };
        let dark = self.solids.iter().any(|solid| meet(&up, solid).is_some());
        EARTH[band].map(|c| if dark { c * 0.7 } else { c })
    }
}

/// Light from above, the left and the front.
fn shade(normal: Point3) -> f64 {
    let light = Point3([-0.4, -0.6, 0.9]).unit();
    0.45 + 0.55 * normal.dot(light).max(0.0)
}

/// Solids of the plane get some depth, so that rays hit them.
fn flat(kind: SolidKind) -> SolidKind {
    match kind {
        SolidKind::Box { half: [a, b, _] } => SolidKind::Box { half: [a, b, THICKNESS] },
        SolidKind::Cylinder { radius, half_length } => {
            SolidKind::Box { half: [half_length, radius, THICKNESS] }
        }
        other => other,
    }
}
