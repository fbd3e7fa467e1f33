//! How long a creature is at its start: what distances are compared with.

use crate::description::SolidKind;
use crate::geometry::{Point3, Quaternion};
use crate::world::World;

impl SolidKind {
    /// How far it reaches from its center along a direction, in its own axes.
    fn reach(&self, along: Point3) -> f64 {
        let [x, y, z] = along.0.map(f64::abs);
        match *self {
            SolidKind::Sphere { radius } => radius,
            SolidKind::Box { half: [a, b, c] } => a * x + b * y + c * z,
            SolidKind::Capsule { radius, half_length } => half_length * x + radius,
            SolidKind::Cylinder { radius, half_length } => half_length * x + radius * y.hypot(z),
        }
    }
}

impl World {
    /// How long a body is along the first axis at the start, with all that joints connect it to, in meters.
    ///
    /// ```
    /// # use farad_world::World;
    /// let world = World::named("crawler", &farad_tensor::Device::cpu())?;
    /// assert!((world.length(0) - 1.372).abs() < 1e-3);
    /// # Ok::<(), farad_world::WorldError>(())
    /// ```
    pub fn length(&self, body: usize) -> f64 {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for body in self.connected(body) {
            let own = &self.description.bodies[body];
            let turn = Quaternion::of(&own.rotation);
            let origin = Point3(self.description.vector(&own.position));
            for solid in &own.solids {
                let (at, own_turn) = solid.place();
                let center = origin.plus(turn.turn(at)).0[0];
                let along = turn.after(own_turn).inverse().turn(Point3([1.0, 0.0, 0.0]));
                let reach = solid.kind().reach(along);
                (least, most) = (least.min(center - reach), most.max(center + reach));
            }
        }
        most - least
    }

    /// A body and all bodies that joints connect it to.
    fn connected(&self, body: usize) -> Vec<usize> {
        let mut found = vec![body];
        let mut next = 0;
        while let Some(&body) = found.get(next) {
            for joint in &self.assembly.joints {
                let pair = [joint.parent, Some(joint.child)];
                if pair.contains(&Some(body)) {
                    let others: Vec<usize> =
                        pair.into_iter().flatten().filter(|n| !found.contains(n)).collect();
                    found.extend(others);
                }
            }
            next += 1;
        }
        found
    }
}
