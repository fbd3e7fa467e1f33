//! Checks a description; errors give the path of the offending entry.

use super::{
    Description, Integrator, JointKind, MOST_BODIES, MOST_JOINTS, MOST_REPEATS, MOST_SOLIDS, MotorKind,
    RigidBody, Solid, SolidShape,
};
use crate::error::{WorldError, WorldResult, wrong};
use crate::geometry::Point3;
use crate::sensors::SENSORS;

/// The largest number that is accepted for a length, a mass or a speed.
const LARGEST: f64 = 1e9;

impl Description {
    /// Checks what parsing cannot: names, sizes, limits. Errors give the path.
    pub fn check(&self) -> WorldResult<()> {
        if !matches!(self.dimensions, 2 | 3) {
            return wrong("dimensions", format!("neither plane nor space ({} vs 2 or 3)", self.dimensions));
        }
        at_most("bodies", self.bodies.len(), MOST_BODIES)?;
        at_most("joints", self.joints.len(), MOST_JOINTS)?;
        at_most("substeps", self.substeps, MOST_REPEATS)?;
        at_most("iterations", self.iterations, MOST_REPEATS)?;
        if self.bodies.is_empty() {
            return wrong("bodies", "a world has at least one body (0 vs 1)");
        }
        if self.substeps == 0 || self.iterations == 0 {
            return wrong("substeps", "sub-steps and iterations are at least one (0 vs 1)");
        }
        positive("time_step", self.time_step)?;
        if let Some(gravity) = &self.gravity {
            self.list("gravity", gravity, self.dimensions)?;
        }
        self.check_rule()?;
        self.check_planes()?;
        self.check_bodies()?;
        self.check_joints()?;
        self.check_collisions()?;
        self.check_motors()?;
        self.check_sensors()
    }

    fn check_rule(&self) -> WorldResult<()> {
        let rule = &self.contact;
        let rows = [
            ("contact.compliance", rule.compliance),
            ("contact.smoothing", rule.smoothing),
            ("contact.threshold", rule.threshold),
            ("contact.recovery", rule.recovery),
            ("contact.push", rule.push),
            ("start.angle", self.start.angle),
            ("start.slide", self.start.slide),
            ("start.velocity", self.start.velocity),
            ("start.spin", self.start.spin),
        ];
        rows.into_iter().try_for_each(|(path, value)| not_negative(path, value))?;
        let rigid = self.joints.iter().any(|joint| joint.kind != JointKind::Spring);
        let touching = !self.planes.is_empty() || self.collisions.all || !self.collisions.pairs.is_empty();
        if self.integrator == Integrator::RungeKutta && (rigid || touching || !self.motors.is_empty()) {
            let message = "runge_kutta is for smooth systems: springs only, no contacts, no motors";
            return wrong("integrator", format!("{message}\nhelp: use \"semi_implicit\""));
        }
        Ok(())
    }

    fn check_planes(&self) -> WorldResult<()> {
        for (n, plane) in self.planes.iter().enumerate() {
            if let Some(normal) = &plane.normal {
                self.direction(&format!("planes[{n}].normal"), normal)?;
            }
            finite(&format!("planes[{n}].offset"), plane.offset)?;
            not_negative(&format!("planes[{n}].friction"), plane.friction)?;
            share(&format!("planes[{n}].restitution"), plane.restitution)?;
        }
        Ok(())
    }

    fn check_bodies(&self) -> WorldResult<()> {
        let solids = self.bodies.iter().map(|body| body.solids.len()).sum();
        at_most("bodies[..].solids", solids, MOST_SOLIDS)?;
        for (n, body) in self.bodies.iter().enumerate() {
            let path = format!("bodies[{n}]");
            if self.body(&body.name) != Some(n) {
                return wrong(format!("{path}.name"), format!("a second body \"{}\"", body.name));
            }
            self.check_body(&path, body)?;
        }
        Ok(())
    }

    fn check_body(&self, path: &str, body: &RigidBody) -> WorldResult<()> {
        let turns = if self.dimensions == 2 { 1 } else { 3 };
        self.list(&format!("{path}.position"), &body.position, self.dimensions)?;
        self.rotation(&format!("{path}.rotation"), &body.rotation)?;
        self.optional(&format!("{path}.velocity"), &body.velocity, self.dimensions)?;
        self.optional(&format!("{path}.spin"), &body.spin, turns)?;
        if let Some(drag) = &body.drag {
            for (name, list) in [("linear", &drag.linear), ("quadratic", &drag.quadratic)] {
                let path = format!("{path}.drag.{name}");
                self.optional(&path, list, self.dimensions)?;
                list.iter().try_for_each(|&value| not_negative(&path, value))?;
            }
            not_negative(&format!("{path}.drag.angular"), drag.angular)?;
        }
        if body.solids.is_empty() {
            return wrong(format!("{path}.solids"), "a body is made of at least one solid (0 vs 1)");
        }
        for (n, solid) in body.solids.iter().enumerate() {
            self.check_solid(&format!("{path}.solids[{n}]"), solid)?;
        }
        let mass: f64 = body.solids.iter().map(|solid| solid.mass(self.dimensions)).sum();
        if !(mass > 0.0 && mass < LARGEST) {
            return wrong(path, format!("its mass is not above zero ({mass} vs 0)"));
        }
        Ok(())
    }

    fn check_solid(&self, path: &str, solid: &Solid) -> WorldResult<()> {
        for (name, size, has) in solid.sizes() {
            let path = format!("{path}.{name}");
            match has {
                true => positive(&path, size)?,
                false if size != 0.0 => {
                    return wrong(path, format!("a {:?} has none", solid.shape).to_lowercase());
                }
                false => {}
            }
        }
        let half = format!("{path}.half");
        self.list(&half, &solid.half, if solid.shape == SolidShape::Box { self.dimensions } else { 0 })?;
        solid.half.iter().try_for_each(|&value| positive(&half, value))?;
        self.optional(&format!("{path}.position"), &solid.position, self.dimensions)?;
        self.rotation(&format!("{path}.rotation"), &solid.rotation)?;
        not_negative(&format!("{path}.density"), solid.density)?;
        if let Some(mass) = solid.mass {
            not_negative(&format!("{path}.mass"), mass)?;
        }
        not_negative(&format!("{path}.friction"), solid.friction)?;
        share(&format!("{path}.restitution"), solid.restitution)
    }

    fn check_joints(&self) -> WorldResult<()> {
        for (n, joint) in self.joints.iter().enumerate() {
            let path = format!("joints[{n}]");
            if self.joint(&joint.name) != Some(n) {
                return wrong(format!("{path}.name"), format!("a second joint \"{}\"", joint.name));
            }
            self.known(&format!("{path}.child"), &joint.child)?;
            if let Some(parent) = &joint.parent {
                self.known(&format!("{path}.parent"), parent)?;
                if *parent == joint.child {
                    let message = format!("joins body \"{parent}\" to itself");
                    return wrong(format!("{path}.child"), message);
                }
            }
            self.list(&format!("{path}.anchor"), &joint.anchor, self.dimensions)?;
            self.optional(&format!("{path}.parent_anchor"), &joint.parent_anchor, self.dimensions)?;
            for (name, value) in [
                ("compliance", joint.compliance),
                ("stiffness", joint.stiffness),
                ("damping", joint.damping),
                ("length", joint.length.unwrap_or(0.0)),
            ] {
                not_negative(&format!("{path}.{name}"), value)?;
            }
            self.check_axes(n)?;
        }
        Ok(())
    }

    fn check_axes(&self, n: usize) -> WorldResult<()> {
        let joint = &self.joints[n];
        let plane = self.dimensions == 2;
        let (least, most) = match joint.kind {
            JointKind::Hinge => (usize::from(!plane), if plane { 1 } else { 3 }),
            JointKind::Slide => (1, 1),
            JointKind::Ball | JointKind::Weld | JointKind::Spring => (0, 0),
        };
        let count = joint.axes.len();
        if !(least..=most).contains(&count) {
            let message = format!("a {:?} has other axes ({count} vs {least} to {most})", joint.kind);
            return wrong(format!("joints[{n}].axes"), message.to_lowercase());
        }
        let mut before: Vec<Point3> = vec![];
        for (k, axis) in joint.axes.iter().enumerate() {
            let path = format!("joints[{n}].axes[{k}]");
            if joint.kind == JointKind::Slide || !plane {
                self.direction(&format!("{path}.axis"), &axis.axis)?;
                let own = Point3(self.vector(&axis.axis)).unit();
                if let Some(j) = before.iter().position(|other| other.dot(own).abs() > 1e-3) {
                    return wrong(format!("{path}.axis"), format!("not perpendicular to axes[{j}]"));
                }
                before.push(own);
            }
            for (name, value) in [
                ("limit_stiffness", axis.limit_stiffness),
                ("stiffness", axis.stiffness),
                ("damping", axis.damping),
                ("armature", axis.armature),
            ] {
                not_negative(&format!("{path}.{name}"), value)?;
            }
            finite(&format!("{path}.rest"), axis.rest)?;
            if let Some([low, high]) = axis.limits {
                finite(&format!("{path}.limits"), low)?;
                finite(&format!("{path}.limits"), high)?;
                if low > high {
                    return wrong(format!("{path}.limits"), format!("least above most ({low} vs {high})"));
                }
            }
        }
        Ok(())
    }

    fn check_collisions(&self) -> WorldResult<()> {
        let lists = [("pairs", &self.collisions.pairs), ("except", &self.collisions.except)];
        for (name, list) in lists {
            for (n, [a, b]) in list.iter().enumerate() {
                let path = format!("collisions.{name}[{n}]");
                self.known(&path, a)?;
                self.known(&path, b)?;
                if a == b {
                    return wrong(path, format!("body \"{a}\" with itself"));
                }
            }
        }
        Ok(())
    }

    fn check_motors(&self) -> WorldResult<()> {
        for (n, motor) in self.motors.iter().enumerate() {
            let path = format!("motors[{n}]");
            let slots = self.slots(&format!("{path}.joint"), &motor.joint)?;
            if motor.axis >= slots {
                return wrong(format!("{path}.axis"), format!("no such axis ({} vs {slots})", motor.axis));
            }
            finite(&format!("{path}.gear"), motor.gear)?;
            let [low, high] = motor.range;
            if !(low.is_finite() && high.is_finite() && low <= high) {
                return wrong(format!("{path}.range"), format!("least above most ({low} vs {high})"));
            }
            not_negative(&format!("{path}.stiffness"), motor.stiffness)?;
            not_negative(&format!("{path}.damping"), motor.damping)?;
            let idle = match motor.kind {
                MotorKind::Torque => false,
                MotorKind::Position => motor.stiffness == 0.0,
                MotorKind::Velocity => motor.damping == 0.0,
            };
            if idle {
                let name = if motor.kind == MotorKind::Position { "stiffness" } else { "damping" };
                return wrong(format!("{path}.{name}"), "zero, so the motor does nothing");
            }
        }
        Ok(())
    }

    fn check_sensors(&self) -> WorldResult<()> {
        for (n, sensor) in self.sensors.iter().enumerate() {
            let path = format!("sensors[{n}]");
            let Some(row) = SENSORS.iter().find(|row| row.name == sensor.kind) else {
                let known: Vec<&str> = SENSORS.iter().map(|row| row.name).collect();
                let message = format!("no sensor \"{}\"\nhelp: there are {}", sensor.kind, known.join(", "));
                return wrong(format!("{path}.kind"), message);
            };
            finite(&format!("{path}.scale"), sensor.scale)?;
            match (row.of_joint, &sensor.body, &sensor.joint) {
                (false, Some(body), None) => self.known(&format!("{path}.body"), body).map(drop)?,
                (true, None, Some(joint)) => {
                    let slots = self.slots(&format!("{path}.joint"), joint)?;
                    if sensor.axis >= slots {
                        let message = format!("no such axis ({} vs {slots})", sensor.axis);
                        return wrong(format!("{path}.axis"), message);
                    }
                }
                (of_joint, ..) => {
                    let needs = if of_joint { "a joint" } else { "a body" };
                    return wrong(path, format!("\"{}\" is of {needs} and nothing else", row.name));
                }
            }
        }
        Ok(())
    }

    /// The number of axes of a joint that can be driven.
    fn slots(&self, path: &str, name: &str) -> WorldResult<usize> {
        let Some(joint) = self.joint(name) else { return wrong(path, format!("no joint \"{name}\"")) };
        let joint = &self.joints[joint];
        let hinge = joint.kind == JointKind::Hinge && self.dimensions == 2;
        Ok(if hinge { 1 } else { joint.axes.len() })
    }

    fn known(&self, path: &str, name: &str) -> WorldResult<usize> {
        match self.body(name) {
            Some(body) => Ok(body),
            None => wrong(path, format!("no body \"{name}\"")),
        }
    }

    fn list(&self, path: &str, list: &[f64], wanted: usize) -> WorldResult<()> {
        if list.len() != wanted {
            return wrong(path, format!("a list of another length ({} vs {wanted})", list.len()));
        }
        list.iter().try_for_each(|&value| finite(path, value))
    }

    fn optional(&self, path: &str, list: &[f64], wanted: usize) -> WorldResult<()> {
        if list.is_empty() { Ok(()) } else { self.list(path, list, wanted) }
    }

    fn rotation(&self, path: &str, list: &[f64]) -> WorldResult<()> {
        self.optional(path, list, if self.dimensions == 2 { 1 } else { 4 })?;
        if list.len() == 4 && list.iter().map(|v| v * v).sum::<f64>() < 1e-12 {
            return wrong(path, "a quaternion of length zero (0 vs 1)");
        }
        Ok(())
    }

    fn direction(&self, path: &str, list: &[f64]) -> WorldResult<()> {
        self.list(path, list, self.dimensions)?;
        if list.iter().map(|v| v * v).sum::<f64>() < 1e-12 {
            return wrong(path, "a direction of length zero (0 vs 1)");
        }
        Ok(())
    }
}

fn at_most(path: &str, found: usize, most: usize) -> WorldResult<()> {
    if found > most { Err(WorldError::TooMany { path: path.into(), found, most }) } else { Ok(()) }
}

fn finite(path: &str, value: f64) -> WorldResult<()> {
    if value.abs() <= LARGEST { Ok(()) } else { wrong(path, format!("not a usual number ({value})")) }
}

fn positive(path: &str, value: f64) -> WorldResult<()> {
    finite(path, value)?;
    if value > 0.0 { Ok(()) } else { wrong(path, format!("not above zero ({value} vs 0)")) }
}

fn not_negative(path: &str, value: f64) -> WorldResult<()> {
    finite(path, value)?;
    if value >= 0.0 { Ok(()) } else { wrong(path, format!("below zero ({value} vs 0)")) }
}

fn share(path: &str, value: f64) -> WorldResult<()> {
    not_negative(path, value)?;
    if value <= 1.0 { Ok(()) } else { wrong(path, format!("above one ({value} vs 1)")) }
}
