//! Small geometry on the host, in f64: points, quaternions, 3×3 matrices. Used for assembly and drawing.

/// A point or a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point3(pub [f64; 3]);

impl Point3 {
    pub fn plus(self, other: Point3) -> Point3 {
        Point3([0, 1, 2].map(|n| self.0[n] + other.0[n]))
    }

    pub fn minus(self, other: Point3) -> Point3 {
        Point3([0, 1, 2].map(|n| self.0[n] - other.0[n]))
    }

    pub fn times(self, by: f64) -> Point3 {
        Point3(self.0.map(|v| v * by))
    }

    pub fn dot(self, other: Point3) -> f64 {
        self.0.iter().zip(other.0).map(|(a, b)| a * b).sum()
    }

    pub fn cross(self, other: Point3) -> Point3 {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Point3([b * z - c * y, c * x - a * z, a * y - b * x])
    }

    pub fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    pub fn unit(self) -> Point3 {
        self.times(1.0 / self.length())
    }

    /// Some direction perpendicular to this one.
    pub fn across(self) -> Point3 {
        let least = (0..3).min_by(|&a, &b| self.0[a].abs().total_cmp(&self.0[b].abs())).unwrap_or(0);
        let mut axis = [0.0; 3];
        axis[least] = 1.0;
        let axis = Point3(axis);
        axis.minus(self.times(axis.dot(self) / self.dot(self))).unit()
    }
}

/// A unit quaternion `[w, x, y, z]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quaternion(pub [f64; 4]);

impl Quaternion {
    pub const NONE: Quaternion = Quaternion([1.0, 0.0, 0.0, 0.0]);

    /// From a list in a description: empty, `[angle]`, or `[w, x, y, z]` of any length.
    pub fn of(list: &[f64]) -> Quaternion {
        match *list {
            [angle] => Quaternion([(angle / 2.0).cos(), 0.0, 0.0, (angle / 2.0).sin()]),
            [w, x, y, z] => {
                let length = (w * w + x * x + y * y + z * z).sqrt();
                Quaternion([w, x, y, z].map(|v| v / length))
            }
            _ => Quaternion::NONE,
        }
    }

    /// This rotation applied after the other.
    pub fn after(self, other: Quaternion) -> Quaternion {
        let ([a, b, c, d], [w, x, y, z]) = (self.0, other.0);
        Quaternion([
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ])
    }

    pub fn inverse(self) -> Quaternion {
        let [w, x, y, z] = self.0;
        Quaternion([w, -x, -y, -z])
    }

    pub fn turn(self, p: Point3) -> Point3 {
        let [w, x, y, z] = self.0;
        let v = Point3([x, y, z]);
        let t = v.cross(p).times(2.0);
        p.plus(t.times(w)).plus(v.cross(t))
    }
}

/// A matrix by rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Matrix3(pub [[f64; 3]; 3]);

impl Matrix3 {
    pub fn diagonal(d: [f64; 3]) -> Matrix3 {
        Matrix3([[d[0], 0.0, 0.0], [0.0, d[1], 0.0], [0.0, 0.0, d[2]]])
    }

    pub fn plus(self, other: Matrix3) -> Matrix3 {
        Matrix3([0, 1, 2].map(|r| [0, 1, 2].map(|c| self.0[r][c] + other.0[r][c])))
    }

    pub fn times(self, by: f64) -> Matrix3 {
        Matrix3(self.0.map(|row| row.map(|v| v * by)))
    }

    pub fn outer(a: Point3) -> Matrix3 {
        Matrix3([0, 1, 2].map(|r| [0, 1, 2].map(|c| a.0[r] * a.0[c])))
    }

    /// `R m Rᵀ`.
    pub fn turned(self, q: &Quaternion) -> Matrix3 {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|a| q.turn(Point3(a)));
        let mut sum = Matrix3::default();
        for (a, row) in axes.iter().zip(self.0) {
            for (b, value) in axes.iter().zip(row) {
                let part = Matrix3([0, 1, 2].map(|r| [0, 1, 2].map(|c| a.0[r] * b.0[c])));
                sum = sum.plus(part.times(value));
            }
        }
        sum
    }

    pub fn determinant(self) -> f64 {
        let [a, b, c] = self.0.map(Point3);
        a.dot(b.cross(c))
    }

    pub fn inverse(self) -> Matrix3 {
        let [a, b, c] = self.0.map(Point3);
        let columns = [b.cross(c), c.cross(a), a.cross(b)].map(|p| p.times(1.0 / self.determinant()));
        Matrix3([0, 1, 2].map(|r| [0, 1, 2].map(|k| columns[k].0[r])))
    }
}

/// The inertia of a mass at a distance from the center.
pub(crate) fn offset_inertia(mass: f64, at: Point3) -> Matrix3 {
    Matrix3::diagonal([at.dot(at); 3]).plus(Matrix3::outer(at).times(-1.0)).times(mass)
}
