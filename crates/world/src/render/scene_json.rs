//! What a page needs to draw a world: sizes, colors and masses of bodies, planes and a camera, as JSON.
//!
//! Invariant: solids lie relative to the center of mass of their body, as positions of a state do, and in the plane every
//! vector still has three components.

use serde_json::{Value, json};

use super::camera::WorldCamera;
use super::scene::paint;
use crate::description::SolidKind;
use crate::geometry::Point3;
use crate::sensors::SENSORS;
use crate::world::World;

impl World {
    /// The world for a drawer on a page: `dimensions`; `bodies` with `name`, `mass`, `color` and `solids` (`kind`, `radius`,
    /// `half` sizes along their own axes, `center` and `turn` in the body); `planes`; and an orthographic `camera`.
    pub fn scene(&self) -> Value {
        let bodies = self.description.bodies.iter().zip(&self.assembly.bodies).enumerate();
        let bodies: Vec<Value> = bodies
            .map(|(n, (body, row))| {
                let solids = body.solids.iter().map(|solid| {
                    let (at, turn) = solid.place();
                    let (kind, radius, half) = sizes(solid.kind());
                    let center = at.minus(row.center).0;
                    json!({ "kind": kind, "radius": radius, "half": half, "center": center, "turn": turn.0 })
                });
                let color = body.color.unwrap_or(paint(n));
                json!({ "name": body.name, "mass": row.mass, "color": color, "solids": solids.collect::<Vec<_>>() })
            })
            .collect();
        let planes = self.description.planes.iter().map(|ground| {
            let normal = ground.normal.as_ref().map_or(self.description.up(), |n| self.description.vector(n));
            json!({ "normal": Point3(normal).unit().0, "offset": ground.offset })
        });
        json!({
            "dimensions": self.description.dimensions, "bodies": bodies, "planes": planes.collect::<Vec<_>>(),
            "camera": WorldCamera::for_world(self).json(),
        })
    }

    /// A name per observed number.
    pub fn observed(&self) -> Vec<String> {
        let plane = usize::from(self.description.dimensions == 3);
        let of = |sensor: &crate::Sensor| {
            let row = SENSORS.iter().find(|row| row.name == sensor.kind).expect("checked");
            let width = row.widths[plane];
            let of = sensor.body.iter().chain(&sensor.joint).cloned().collect::<String>();
            let name = format!("{of} {}", row.name.replace('_', " "));
            (1..=width).map(move |n| if width == 1 { name.clone() } else { format!("{name} {n}") })
        };
        self.description.sensors.iter().flat_map(of).collect()
    }
}

/// The name of a form, its radius, and its half sizes; a round solid has half of its length first.
fn sizes(kind: SolidKind) -> (&'static str, f64, [f64; 3]) {
    match kind {
        SolidKind::Sphere { radius } => ("sphere", radius, [0.0; 3]),
        SolidKind::Box { half } => ("box", 0.0, half),
        SolidKind::Capsule { radius, half_length } => ("capsule", radius, [half_length, 0.0, 0.0]),
        SolidKind::Cylinder { radius, half_length } => ("cylinder", radius, [half_length, 0.0, 0.0]),
    }
}
