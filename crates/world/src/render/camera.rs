//! The camera of pictures.

use serde_json::{Value, json};

use super::scene::Scene;
use crate::geometry::Point3;
use crate::world::World;

/// An orthographic camera: it looks along a direction at a point, and shows a given height in meters.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldCamera {
    target: Point3,
    /// The right, up and viewing directions, as unit vectors.
    axes: [Point3; 3],
    /// Meters from the lower to the upper edge.
    meters: f64,
    size: (usize, usize),
    follow: Option<usize>,
}

/// A ray of sight.
pub(crate) struct Ray {
    pub from: Point3,
    pub along: Point3,
}

impl WorldCamera {
    /// A view of the whole initial world: along z in the plane, from the front and above in space.
    pub fn for_world(world: &World) -> WorldCamera {
        let plane = world.solver.plane;
        let places: Vec<Point3> = world.assembly.bodies.iter().map(|body| body.position).collect();
        let middle =
            places.iter().fold(Point3::default(), |sum, p| sum.plus(*p)).times(1.0 / places.len() as f64);
        let reach = places.iter().map(|p| p.minus(middle).length()).fold(0.0, f64::max);
        let axes = match plane {
            true => [Point3([1.0, 0.0, 0.0]), Point3([0.0, 1.0, 0.0]), Point3([0.0, 0.0, -1.0])],
            false => {
                let along = Point3([-0.35, 1.0, -0.3]).unit();
                let right = along.cross(Point3([0.0, 0.0, 1.0])).unit();
                [right, right.cross(along), along]
            }
        };
        WorldCamera { target: middle, axes, meters: 2.6 * reach + 1.2, size: (320, 240), follow: None }
    }

    /// Sets the number of pixels across and down.
    pub fn sized(self, width: usize, height: usize) -> WorldCamera {
        WorldCamera { size: (width.max(1), height.max(1)), ..self }
    }

    /// Sets the meters from the lower to the upper edge.
    pub fn showing(self, meters: f64) -> WorldCamera {
        WorldCamera { meters, ..self }
    }

    /// Sets the point that it looks at.
    pub fn at(self, target: [f64; 3]) -> WorldCamera {
        WorldCamera { target: Point3(target), ..self }
    }

    /// Makes films follow a body along the ground.
    pub fn follow(self, body: usize) -> WorldCamera {
        WorldCamera { follow: Some(body), ..self }
    }

    /// The camera for a drawer elsewhere.
    pub(crate) fn json(&self) -> Value {
        let [right, up, along] = self.axes.map(|axis| axis.0);
        json!({ "right": right, "up": up, "along": along, "target": self.target.0, "meters": self.meters })
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        self.size
    }

    /// The camera moved to where its body is.
    pub(crate) fn following(&self, scene: &Scene) -> WorldCamera {
        let Some(body) = self.follow else { return self.clone() };
        let up = scene.up;
        let place = scene.places[body];
        // Along the ground only: a camera that moved up with a jump would hide it.
        let level = up.times(self.target.dot(up));
        WorldCamera { target: place.minus(up.times(place.dot(up))).plus(level), ..self.clone() }
    }

    pub(crate) fn ray(&self, x: f64, y: f64) -> Ray {
        let (width, height) = (self.size.0 as f64, self.size.1 as f64);
        let scale = self.meters / height;
        let right = self.axes[0].times((x - width / 2.0) * scale);
        let up = self.axes[1].times((height / 2.0 - y) * scale);
        let from = self.target.plus(right).plus(up).minus(self.axes[2].times(100.0));
        Ray { from, along: self.axes[2] }
    }
}
