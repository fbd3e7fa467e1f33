//! Vectors, rotations and symmetric matrices made of [`Quantity`].
//!
//! Invariant: nothing here divides by a length that can be zero. Rotations are unit quaternions.

use std::ops::{Add, Mul, Neg, Sub};

use crate::quantity::{ONE, Quantity, ZERO};

/// Three components.
#[derive(Clone)]
pub(crate) struct Vector3 {
    pub x: Quantity,
    pub y: Quantity,
    pub z: Quantity,
}

impl Vector3 {
    pub fn new(x: Quantity, y: Quantity, z: Quantity) -> Vector3 {
        Vector3 { x, y, z }
    }

    pub fn zero() -> Vector3 {
        Vector3::new(ZERO, ZERO, ZERO)
    }

    pub fn known(v: [f64; 3]) -> Vector3 {
        Vector3::new(v[0].into(), v[1].into(), v[2].into())
    }

    pub fn parts(&self) -> [&Quantity; 3] {
        [&self.x, &self.y, &self.z]
    }

    pub fn is_zero(&self) -> bool {
        self.parts().into_iter().all(Quantity::is_zero)
    }

    pub fn dot(&self, other: &Vector3) -> Quantity {
        &self.x * &other.x + &self.y * &other.y + &self.z * &other.z
    }

    pub fn cross(&self, other: &Vector3) -> Vector3 {
        Vector3 {
            x: &self.y * &other.z - &self.z * &other.y,
            y: &self.z * &other.x - &self.x * &other.z,
            z: &self.x * &other.y - &self.y * &other.x,
        }
    }

    pub fn scaled(&self, by: &Quantity) -> Vector3 {
        Vector3 { x: &self.x * by, y: &self.y * by, z: &self.z * by }
    }

    pub fn square(&self) -> Quantity {
        self.dot(self)
    }

    /// The length, slightly larger near zero so that it is differentiable everywhere.
    pub fn length(&self, least: f64) -> Quantity {
        (self.square() + least * least).sqrt()
    }

    /// The unit vector; shorter where the vector is not much longer than `least`.
    pub fn unit(&self, least: f64) -> Vector3 {
        self.scaled(&self.length(least).recip())
    }
}

macro_rules! by_component {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait<&Vector3> for &Vector3 {
            type Output = Vector3;
            fn $method(self, other: &Vector3) -> Vector3 {
                Vector3 {
                    x: (&self.x).$method(&other.x),
                    y: (&self.y).$method(&other.y),
                    z: (&self.z).$method(&other.z),
                }
            }
        }
        impl $trait<Vector3> for Vector3 {
            type Output = Vector3;
            fn $method(self, other: Vector3) -> Vector3 { (&self).$method(&other) }
        }
        impl $trait<&Vector3> for Vector3 {
            type Output = Vector3;
            fn $method(self, other: &Vector3) -> Vector3 { (&self).$method(other) }
        }
        impl $trait<Vector3> for &Vector3 {
            type Output = Vector3;
            fn $method(self, other: Vector3) -> Vector3 { self.$method(&other) }
        }
    )*};
}
by_component!(Add add, Sub sub);

impl Neg for &Vector3 {
    type Output = Vector3;
    fn neg(self) -> Vector3 {
        Vector3 { x: -&self.x, y: -&self.y, z: -&self.z }
    }
}

impl Mul<f64> for &Vector3 {
    type Output = Vector3;
    fn mul(self, by: f64) -> Vector3 {
        self.scaled(&by.into())
    }
}

/// A unit quaternion.
#[derive(Clone)]
pub(crate) struct Rotation {
    pub w: Quantity,
    pub v: Vector3,
}

impl Rotation {
    pub fn known(q: [f64; 4]) -> Rotation {
        Rotation { w: q[0].into(), v: Vector3::known([q[1], q[2], q[3]]) }
    }

    /// This rotation applied after the other.
    pub fn after(&self, other: &Rotation) -> Rotation {
        Rotation {
            w: &self.w * &other.w - self.v.dot(&other.v),
            v: other.v.scaled(&self.w) + self.v.scaled(&other.w) + self.v.cross(&other.v),
        }
    }

    /// Rotated with an angular velocity in world axes for a time, by the exponential map to third order.
    pub fn turned(&self, spin: &Vector3, time: f64) -> Rotation {
        let half = spin * (time / 2.0);
        let square = half.square();
        // The series of cosine and of sine over the angle; normalizing removes the remaining error.
        let turn = Rotation { w: ONE - &square * 0.5, v: half.scaled(&(ONE - &square * (1.0 / 6.0))) };
        let next = turn.after(self);
        let scale = (next.w.square() + next.v.square()).sqrt().recip();
        Rotation { w: &next.w * &scale, v: next.v.scaled(&scale) }
    }

    /// The body's axes in the world: the columns of the matrix.
    pub fn axes(&self) -> BodyAxes {
        let (w, x, y, z) = (&self.w, &self.v.x, &self.v.y, &self.v.z);
        let (xx, yy, zz) = (x * x, y * y, z * z);
        let (xy, xz, yz) = (x * y, x * z, y * z);
        let (wx, wy, wz) = (w * x, w * y, w * z);
        BodyAxes([
            Vector3::new(ONE - (&yy + &zz) * 2.0, (&xy + &wz) * 2.0, (&xz - &wy) * 2.0),
            Vector3::new((&xy - &wz) * 2.0, ONE - (&xx + &zz) * 2.0, (&yz + &wx) * 2.0),
            Vector3::new((&xz + &wy) * 2.0, (&yz - &wx) * 2.0, ONE - (&xx + &yy) * 2.0),
        ])
    }
}

/// A rotation as a matrix: its columns are the body's axes in world coordinates.
#[derive(Clone)]
pub(crate) struct BodyAxes(pub [Vector3; 3]);

impl BodyAxes {
    /// From the body's axes to the world's.
    pub fn out(&self, v: &Vector3) -> Vector3 {
        let [a, b, c] = &self.0;
        a.scaled(&v.x) + b.scaled(&v.y) + c.scaled(&v.z)
    }

    /// From the world's axes to the body's.
    pub fn own(&self, v: &Vector3) -> Vector3 {
        let [a, b, c] = &self.0;
        Vector3::new(a.dot(v), b.dot(v), c.dot(v))
    }

    /// A symmetric matrix of the body in world axes.
    pub fn matrix(&self, m: &Symmetric) -> Symmetric {
        let [a, b, c] = &self.0;
        let columns = [
            a.scaled(&m.xx) + b.scaled(&m.xy) + c.scaled(&m.xz),
            a.scaled(&m.xy) + b.scaled(&m.yy) + c.scaled(&m.yz),
            a.scaled(&m.xz) + b.scaled(&m.yz) + c.scaled(&m.zz),
        ];
        let rows = [a, b, c];
        let sum = |part: fn(&Vector3) -> &Quantity, other: fn(&Vector3) -> &Quantity| {
            let term = |n: usize| part(&columns[n]) * other(rows[n]);
            term(0) + term(1) + term(2)
        };
        Symmetric {
            xx: sum(|v| &v.x, |v| &v.x),
            yy: sum(|v| &v.y, |v| &v.y),
            zz: sum(|v| &v.z, |v| &v.z),
            xy: sum(|v| &v.x, |v| &v.y),
            xz: sum(|v| &v.x, |v| &v.z),
            yz: sum(|v| &v.y, |v| &v.z),
        }
    }
}

/// A symmetric matrix.
#[derive(Clone)]
pub(crate) struct Symmetric {
    pub xx: Quantity,
    pub yy: Quantity,
    pub zz: Quantity,
    pub xy: Quantity,
    pub xz: Quantity,
    pub yz: Quantity,
}

impl Symmetric {
    pub fn diagonal(v: &Vector3) -> Symmetric {
        Symmetric { xx: v.x.clone(), yy: v.y.clone(), zz: v.z.clone(), xy: ZERO, xz: ZERO, yz: ZERO }
    }

    pub fn parts(&self) -> [&Quantity; 6] {
        [&self.xx, &self.yy, &self.zz, &self.xy, &self.xz, &self.yz]
    }

    fn zip(&self, other: &Symmetric, rule: impl Fn(&Quantity, &Quantity) -> Quantity) -> Symmetric {
        Symmetric {
            xx: rule(&self.xx, &other.xx),
            yy: rule(&self.yy, &other.yy),
            zz: rule(&self.zz, &other.zz),
            xy: rule(&self.xy, &other.xy),
            xz: rule(&self.xz, &other.xz),
            yz: rule(&self.yz, &other.yz),
        }
    }

    pub fn plus(&self, other: &Symmetric) -> Symmetric {
        self.zip(other, |a, b| a + b)
    }

    pub fn scaled(&self, by: &Quantity) -> Symmetric {
        self.zip(self, |a, _| a * by)
    }

    pub fn times(&self, v: &Vector3) -> Vector3 {
        Vector3 {
            x: &self.xx * &v.x + &self.xy * &v.y + &self.xz * &v.z,
            y: &self.xy * &v.x + &self.yy * &v.y + &self.yz * &v.z,
            z: &self.xz * &v.x + &self.yz * &v.y + &self.zz * &v.z,
        }
    }

    pub fn trace(&self) -> Quantity {
        &self.xx + &self.yy + &self.zz
    }

    /// How an impulse at a point of a body moves that point by rotating the body: `−[r] J [r]` for an inverse
    /// inertia `J`.
    pub fn at_arm(&self, r: &Vector3) -> Symmetric {
        // The columns of J [r]ᵀ are J applied to the unit vectors crossed with r.
        let crossed = [
            Vector3::new(ZERO, r.z.clone(), -&r.y),
            Vector3::new(-&r.z, ZERO, r.x.clone()),
            Vector3::new(r.y.clone(), -&r.x, ZERO),
        ];
        let turned = crossed.each_ref().map(|v| self.times(v));
        let entry = |a: usize, b: usize| crossed[a].dot(&turned[b]);
        Symmetric {
            xx: entry(0, 0),
            yy: entry(1, 1),
            zz: entry(2, 2),
            xy: entry(0, 1),
            xz: entry(0, 2),
            yz: entry(1, 2),
        }
    }

    /// The inverse. Axes that are known zeros (in the plane) are left out.
    pub fn inverse(&self) -> Symmetric {
        let idle = |d: &Quantity| if d.is_zero() { ONE } else { d.clone() };
        let (xx, yy, zz) = (idle(&self.xx), idle(&self.yy), idle(&self.zz));
        let (xy, xz, yz) = (&self.xy, &self.xz, &self.yz);
        let (a, b, c) = (&yy * &zz - yz * yz, xz * yz - xy * &zz, xy * yz - xz * &yy);
        let scale = (&xx * &a + xy * &b + xz * &c).recip();
        Symmetric {
            xx: a * &scale,
            xy: b * &scale,
            xz: c * &scale,
            yy: (&xx * &zz - xz * xz) * &scale,
            yz: (xy * xz - &xx * yz) * &scale,
            zz: (&xx * &yy - xy * xy) * &scale,
        }
    }
}
