//! From where a world is seen.

use super::scene::Scene;
use crate::geometry::Point;
use crate::world::World;

/// A camera without perspective: it looks along a direction at a point, and shows so many meters.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldCamera {
    target: Point,
    /// To the right, up, and where it looks, each of length one.
    axes: [Point; 3],
    /// Meters from the lower to the upper edge.
    meters: f64,
    size: (usize, usize),
    follow: Option<usize>,
}

/// A line of sight.
pub(crate) struct Ray {
    pub from: Point,
    pub along: Point,
}

impl WorldCamera {
    /// A view of the whole world as it starts: along z in the plane, from the front and above in space.
    pub fn for_world(world: &World) -> WorldCamera {
        let plane = world.solver.plane;
        let places: Vec<Point> = world.assembly.bodies.iter().map(|body| body.position).collect();
        let middle =
            places.iter().fold(Point::default(), |sum, p| sum.plus(*p)).times(1.0 / places.len() as f64);
        let reach = places.iter().map(|p| p.minus(middle).length()).fold(0.0, f64::max);
        let axes = match plane {
            true => [Point([1.0, 0.0, 0.0]), Point([0.0, 1.0, 0.0]), Point([0.0, 0.0, -1.0])],
            false => {
                let along = Point([-0.35, 1.0, -0.3]).unit();
                let right = along.cross(Point([0.0, 0.0, 1.0])).unit();
                [right, right.cross(along), along]
            }
        };
        WorldCamera { target: middle, axes, meters: 2.6 * reach + 1.2, size: (320, 240), follow: None }
    }

    /// With so many pixels across and down.
    pub fn sized(self, width: usize, height: usize) -> WorldCamera {
        WorldCamera { size: (width.max(1), height.max(1)), ..self }
    }

    /// That shows so many meters from the lower to the upper edge.
    pub fn showing(self, meters: f64) -> WorldCamera {
        WorldCamera { meters, ..self }
    }

    /// That looks at this place.
    pub fn at(self, target: [f64; 3]) -> WorldCamera {
        WorldCamera { target: Point(target), ..self }
    }

    /// Whose films follow a body along the ground.
    pub fn follow(self, body: usize) -> WorldCamera {
        WorldCamera { follow: Some(body), ..self }
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        self.size
    }

    /// The camera where it follows its body to.
    pub(crate) fn following(&self, scene: &Scene) -> WorldCamera {
        let Some(body) = self.follow else { return self.clone() };
        let up = scene.up;
        let place = scene.places[body];
        // Along the ground only: a camera that jumps with its body shows no jumps.
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
