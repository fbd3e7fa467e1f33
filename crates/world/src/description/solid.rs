//! The solids that bodies consist of, with their mass and inertia.

use serde::{Deserialize, Serialize};

use crate::geometry::{Matrix3, Point3, Quaternion};

/// A solid of a body, with its own position and rotation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Solid {
    /// Its form.
    pub shape: SolidShape,
    /// For spheres, capsules and cylinders.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub radius: f64,
    /// For capsules and cylinders: half of the length (for capsules, between the centers of the ends).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub half_length: f64,
    /// For boxes: the half sides, two in the plane and three in space.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub half: Vec<f64>,
    /// The position of its center, relative to the body's origin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub position: Vec<f64>,
    /// Its rotation in the body: a quaternion `[w, x, y, z]` in space, `[angle]` in the plane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rotation: Vec<f64>,
    /// Kilograms per cubic meter (in the plane: per square meter).
    #[serde(default = "water")]
    pub density: f64,
    /// The mass; overrides the density.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// Coulomb friction coefficient.
    #[serde(default = "usual")]
    pub friction: f64,
    /// The fraction of speed that an impact returns.
    #[serde(default)]
    pub restitution: f64,
    /// Whether it touches planes.
    #[serde(default = "yes")]
    pub planes: bool,
    /// Whether it touches the other bodies that its body collides with.
    #[serde(default = "yes")]
    pub bodies: bool,
}

/// The form of a solid. Capsules and cylinders lie along their own x axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SolidShape {
    /// A ball; in the plane a disk.
    Sphere,
    /// A box; in the plane a rectangle.
    Box,
    /// A cylinder with a hemisphere at either end; in the plane a stadium.
    Capsule,
    /// A cylinder; in the plane a rectangle.
    Cylinder,
}

/// A form with its sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SolidKind {
    Sphere { radius: f64 },
    Box { half: [f64; 3] },
    Capsule { radius: f64, half_length: f64 },
    Cylinder { radius: f64, half_length: f64 },
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}
fn water() -> f64 {
    1000.0
}
fn usual() -> f64 {
    0.8
}
fn yes() -> bool {
    true
}

impl SolidKind {
    /// The volume (in the plane the area), and the inertia about its own axes per mass.
    fn measure(&self, dimensions: usize) -> (f64, [f64; 3]) {
        use std::f64::consts::PI;
        match (*self, dimensions) {
            (SolidKind::Sphere { radius: r }, 2) => (PI * r * r, [0.0, 0.0, r * r / 2.0]),
            (SolidKind::Sphere { radius: r }, _) => (4.0 / 3.0 * PI * r.powi(3), [0.4 * r * r; 3]),
            (SolidKind::Box { half: [a, b, _] }, 2) => (4.0 * a * b, [0.0, 0.0, (a * a + b * b) / 3.0]),
            (SolidKind::Box { half: [a, b, c] }, _) => {
                let inertia = [b * b + c * c, a * a + c * c, a * a + b * b].map(|s| s / 3.0);
                (8.0 * a * b * c, inertia)
            }
            (SolidKind::Cylinder { radius: r, half_length: l }, 2) => {
                (4.0 * l * r, [0.0, 0.0, (l * l + r * r) / 3.0])
            }
            (SolidKind::Cylinder { radius: r, half_length: l }, _) => {
                let across = r * r / 4.0 + l * l / 3.0;
                (2.0 * PI * r * r * l, [r * r / 2.0, across, across])
            }
            (SolidKind::Capsule { radius: r, half_length: l }, 2) => {
                let (middle, ends) = (4.0 * l * r, PI * r * r);
                // A half disk has its center of mass 4r/3π from the straight side.
                let reach = l + 4.0 * r / (3.0 * PI);
                let own = r * r / 2.0 - (4.0 * r / (3.0 * PI)).powi(2);
                let total = middle * (l * l + r * r) / 3.0 + ends * (own + reach * reach);
                (middle + ends, [0.0, 0.0, total / (middle + ends)])
            }
            (SolidKind::Capsule { radius: r, half_length: l }, _) => {
                let (middle, ends) = (2.0 * PI * r * r * l, 4.0 / 3.0 * PI * r.powi(3));
                // A hemisphere has its center of mass 3r/8 from the flat side.
                let along = middle * r * r / 2.0 + ends * 0.4 * r * r;
                let off = 0.4 * r * r - (0.375 * r).powi(2) + (l + 0.375 * r).powi(2);
                let across = middle * (r * r / 4.0 + l * l / 3.0) + ends * off;
                let volume = middle + ends;
                (volume, [along / volume, across / volume, across / volume])
            }
        }
    }
}

impl Solid {
    /// The form with its sizes.
    pub(crate) fn kind(&self) -> SolidKind {
        let (radius, half_length) = (self.radius, self.half_length);
        match self.shape {
            SolidShape::Sphere => SolidKind::Sphere { radius },
            SolidShape::Box => {
                SolidKind::Box { half: [0, 1, 2].map(|n| self.half.get(n).copied().unwrap_or(0.0)) }
            }
            SolidShape::Capsule => SolidKind::Capsule { radius, half_length },
            SolidShape::Cylinder => SolidKind::Cylinder { radius, half_length },
        }
    }

    /// The names and values of the sizes, and whether its form has them.
    pub(crate) fn sizes(&self) -> [(&'static str, f64, bool); 2] {
        let round = self.shape != SolidShape::Box;
        let long = matches!(self.shape, SolidShape::Capsule | SolidShape::Cylinder);
        [("radius", self.radius, round), ("half_length", self.half_length, long)]
    }

    /// Its position and rotation in the body.
    pub(crate) fn place(&self) -> (Point3, Quaternion) {
        let at = [0, 1, 2].map(|n| self.position.get(n).copied().unwrap_or(0.0));
        (Point3(at), Quaternion::of(&self.rotation))
    }

    pub(crate) fn mass(&self, dimensions: usize) -> f64 {
        self.mass.unwrap_or_else(|| self.density * self.kind().measure(dimensions).0)
    }

    /// The inertia about its own center, in the body's axes.
    pub(crate) fn inertia(&self, dimensions: usize) -> Matrix3 {
        let own = self.kind().measure(dimensions).1.map(|i| i * self.mass(dimensions));
        Matrix3::diagonal(own).turned(&self.place().1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums over a fine grid agree with the formulas.
    #[test]
    fn masses_and_inertias_are_those_of_many_small_parts() {
        let inside = |kind: SolidKind, [x, y, z]: [f64; 3]| match kind {
            SolidKind::Sphere { radius: r } => x * x + y * y + z * z < r * r,
            SolidKind::Box { half: [a, b, c] } => x.abs() < a && y.abs() < b && z.abs() < c,
            SolidKind::Cylinder { radius: r, half_length: l } => x.abs() < l && y * y + z * z < r * r,
            SolidKind::Capsule { radius: r, half_length: l } => {
                let x = (x.abs() - l).max(0.0);
                x * x + y * y + z * z < r * r
            }
        };
        let kinds = [
            SolidKind::Sphere { radius: 0.8 },
            SolidKind::Box { half: [0.9, 0.5, 0.3] },
            SolidKind::Cylinder { radius: 0.4, half_length: 0.7 },
            SolidKind::Capsule { radius: 0.4, half_length: 0.5 },
        ];
        const SIDE: i32 = 80;
        for (kind, dimensions) in kinds.into_iter().flat_map(|kind| [(kind, 2), (kind, 3)]) {
            let at = |n: i32| (n as f64 + 0.5) / SIDE as f64 * 2.0 - 1.0;
            let cell = (2.0 / SIDE as f64).powi(dimensions as i32);
            let (mut volume, mut inertia) = (0.0, [0.0; 3]);
            let deep = if dimensions == 2 { 1 } else { SIDE };
            for n in 0..SIDE * SIDE * deep {
                let z = if dimensions == 2 { 0.0 } else { at(n / SIDE / SIDE) };
                let [x, y] = [at(n % SIDE), at(n / SIDE % SIDE)];
                if inside(kind, [x, y, z]) {
                    volume += cell;
                    inertia[0] += cell * (y * y + z * z);
                    inertia[1] += cell * (x * x + z * z);
                    inertia[2] += cell * (x * x + y * y);
                }
            }
            let (found, per_mass) = kind.measure(dimensions);
            assert!((found / volume - 1.0).abs() < 0.01, "{kind:?} {dimensions}: {found} {volume}");
            for axis in if dimensions == 2 { 2..3 } else { 0..3 } {
                let wanted = inertia[axis] / volume;
                assert!((per_mass[axis] / wanted - 1.0).abs() < 0.015, "{kind:?} {dimensions} {axis}");
            }
        }
    }
}
