//! Springs between two points of bodies, or of a body and the world.

use farad_tensor::Device;

use crate::assembly::{BodyRow, SpringRow};
use crate::bodies::{PosedBodies, Velocities};
use crate::drives::implicit;
use crate::joints::{columns, grouped};
use crate::quantity::{Quantity, ZERO};
use crate::rows::{Arrangement, RowIndex};
use crate::vector::Vector3;

/// Springs that are computed together.
pub(crate) struct SpringGroup {
    sides: [Option<RowIndex>; 2],
    masses: [Quantity; 2],
    anchors: [Vector3; 2],
    stiffness: Quantity,
    damping: Quantity,
    length: Quantity,
}

impl SpringGroup {
    pub fn all(
        rows: &[SpringRow],
        bodies: &[BodyRow],
        arrangement: Arrangement,
        device: &Device,
    ) -> Vec<SpringGroup> {
        let groups = grouped(rows, arrangement, |row| row.parent.is_some());
        groups.iter().map(|rows| SpringGroup::new(rows, bodies, arrangement, device)).collect()
    }

    fn new(rows: &[SpringRow], bodies: &[BodyRow], arrangement: Arrangement, device: &Device) -> SpringGroup {
        let index = |list: Vec<usize>| RowIndex::new(list, bodies.len(), arrangement, device);
        let parents: Vec<usize> = rows.iter().filter_map(|row| row.parent).collect();
        let sides = [
            (!parents.is_empty()).then(|| index(parents)),
            Some(index(rows.iter().map(|row| row.child).collect())),
        ];
        let column =
            |of: fn(&SpringRow) -> f64| arrangement.column(&rows.iter().map(of).collect::<Vec<_>>(), device);
        let mass = |side: &Option<RowIndex>| {
            side.as_ref().map_or(ZERO, |index| index.column(bodies, |body| 1.0 / body.mass, device))
        };
        SpringGroup {
            masses: sides.each_ref().map(mass),
            anchors: [0, 1].map(|n| {
                columns(&rows.iter().map(|row| row.anchors[n]).collect::<Vec<_>>(), arrangement, device)
            }),
            stiffness: column(|row| row.stiffness),
            damping: column(|row| row.damping),
            length: column(|row| row.length),
            sides,
        }
    }

    /// Adds the impulses over a time step; for a time of zero, the forces.
    pub fn push(&self, posed: &PosedBodies, velocities: &Velocities, time: f64, pushes: &mut Velocities) {
        let sides = [0, 1].map(|n| posed.side(self.sides[n].as_ref(), &self.masses[n], &ZERO));
        let moving = [0, 1].map(|n| velocities.side(self.sides[n].as_ref()));
        let arms = [0, 1].map(|n| sides[n].axes.out(&self.anchors[n]));
        let along = (&sides[1].at + &arms[1]) - (&sides[0].at + &arms[0]);
        let length = along.length(1e-6);
        let along = along.scaled(&length.recip());
        let speed = along.dot(&(moving[1].at(&arms[1]) - moving[0].at(&arms[0])));
        let mut way = ZERO;
        for side in 0..2 {
            let across = arms[side].cross(&along);
            way = way + &sides[side].mass + across.dot(&sides[side].inertia.times(&across));
        }
        let force = &self.stiffness * (&self.length - &length);
        let force = implicit(&force, &self.stiffness, &self.damping, &speed, &way, time);
        let push = along.scaled(&force);
        let scale = if time == 0.0 { 1.0 } else { time };
        for (side, sign) in [(0, -scale), (1, scale)] {
            let turn = arms[side].cross(&push);
            pushes.add(self.sides[side].as_ref(), &(&push * sign), &(&turn * sign));
        }
    }

    /// The energy of all springs of a world.
    pub fn energy(&self, posed: &PosedBodies) -> Quantity {
        let sides = [0, 1].map(|n| posed.side(self.sides[n].as_ref(), &self.masses[n], &ZERO));
        let ends = [0, 1].map(|n| &sides[n].at + sides[n].axes.out(&self.anchors[n]));
        let over = (&ends[1] - &ends[0]).length(1e-6) - &self.length;
        over.square() * &self.stiffness * 0.5
    }
}
