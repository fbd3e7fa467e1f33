//! What a world is, as data: bodies, joints, motors, sensors. JSON by serde, with a version.
//!
//! Invariant: a [`Description`] that [`Description::from_json`] gave, or that [`Description::check`] passed, can be
//! assembled. Lengths are in meters, angles in radians, masses in kilograms, times in seconds.

mod check;
mod json_path;
mod solid;

use serde::{Deserialize, Serialize};

use crate::error::{WorldError, WorldResult};
pub(crate) use solid::SolidKind;
pub use solid::{Solid, SolidShape};

/// The version of descriptions that this program reads.
pub const VERSION: u64 = 1;
/// The longest text that is read, in bytes.
pub const MOST_BYTES: usize = 16 << 20;
/// Bodies that a world may have.
pub const MOST_BODIES: usize = 1024;
/// Joints that a world may have.
pub const MOST_JOINTS: usize = 4096;
/// Solids of all bodies together.
pub const MOST_SOLIDS: usize = 4096;
/// Contact points of all pairs together.
pub const MOST_CONTACTS: usize = 65_536;
/// Sub-steps of a step, and iterations of a sub-step.
pub const MOST_REPEATS: usize = 256;

/// A world as data.
///
/// ```
/// use farad_world::Description;
/// let error = Description::from_json(r#"{"version": 9, "name": "x", "bodies": []}"#).unwrap_err();
/// assert!(error.to_string().contains("9 vs 1"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// [`VERSION`].
    pub version: u64,
    /// What it is called.
    pub name: String,
    /// 2: the plane of x and y, with y up. 3: space, with z up.
    #[serde(default = "three")]
    pub dimensions: usize,
    /// The acceleration of free fall; 9.81 downward if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gravity: Option<Vec<f64>>,
    /// The time of a step.
    #[serde(default = "hundredth")]
    pub time_step: f64,
    /// Sub-steps of a step.
    #[serde(default = "eight")]
    pub substeps: usize,
    /// Passes over the constraints in a sub-step.
    #[serde(default = "one")]
    pub iterations: usize,
    /// How time goes on.
    #[serde(default)]
    pub integrator: Integrator,
    /// How contacts are solved.
    #[serde(default)]
    pub contact: ContactRule,
    /// Planes that do not move.
    #[serde(default)]
    pub planes: Vec<FixedPlane>,
    /// What moves.
    pub bodies: Vec<RigidBody>,
    /// What holds bodies together.
    #[serde(default)]
    pub joints: Vec<Joint>,
    /// Bodies that collide with each other.
    #[serde(default)]
    pub collisions: Collisions,
    /// What actions drive: one action per motor, in this order.
    #[serde(default)]
    pub motors: Vec<Motor>,
    /// What is observed, in this order.
    #[serde(default)]
    pub sensors: Vec<Sensor>,
    /// How starts differ from each other.
    #[serde(default)]
    pub start: StartNoise,
}

/// How time goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrator {
    /// Velocities first, then positions with the new velocities. For everything.
    #[default]
    SemiImplicit,
    /// Runge and Kutta's of order four, for smooth systems: springs, gravity and drag, without contacts and joints.
    RungeKutta,
}

/// How contacts are solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContactRule {
    /// How far a contact gives way, in meters per newton.
    pub compliance: f64,
    /// The share of a penetration that a sub-step removes.
    pub recovery: f64,
    /// The fastest that bodies are pushed apart, in meters per second.
    pub push: f64,
    /// The width of the rounded corner in the force of a contact, in meters per second.
    pub smoothing: f64,
    /// Impacts slower than this do not bounce, in meters per second.
    pub threshold: f64,
}

impl Default for ContactRule {
    fn default() -> ContactRule {
        ContactRule { compliance: 0.0, recovery: 0.5, push: 1.0, smoothing: 1e-4, threshold: 0.2 }
    }
}

/// A plane that does not move: a floor, a wall, a slope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedPlane {
    /// Where is outside; upward if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal: Option<Vec<f64>>,
    /// The distance from the origin along the normal.
    #[serde(default)]
    pub offset: f64,
    /// Coulomb's coefficient; of two that meet, the root of the product holds.
    #[serde(default = "friction")]
    pub friction: f64,
    /// The share of speed that an impact gives back; of two that meet, the larger holds.
    #[serde(default)]
    pub restitution: f64,
}

/// A body that moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigidBody {
    /// What it is called.
    pub name: String,
    /// Where its own origin starts.
    pub position: Vec<f64>,
    /// How it starts turned: a quaternion `[w, x, y, z]` in space, `[angle]` in the plane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rotation: Vec<f64>,
    /// How it starts moving.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub velocity: Vec<f64>,
    /// How it starts spinning: three numbers in space, one in the plane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spin: Vec<f64>,
    /// What it is made of.
    pub solids: Vec<Solid>,
    /// What holds it back in a fluid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drag: Option<Drag>,
    /// The color that films show, red, green and blue from 0 to 255.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<[u8; 3]>,
}

/// Drag: a force against the velocity, per own axis of the body, and a torque against the spin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Drag {
    /// Force per speed along the body's own axes.
    pub linear: Vec<f64>,
    /// Force per speed squared along the body's own axes.
    pub quadratic: Vec<f64>,
    /// Torque per spin.
    pub angular: f64,
}

/// What holds two bodies together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joint {
    /// What it is called.
    pub name: String,
    /// What it lets move.
    pub kind: JointKind,
    /// The body that it is fixed to; the world if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The body that it holds.
    pub child: String,
    /// Where it is at the start, in the world. Of a spring: its end at the child.
    pub anchor: Vec<f64>,
    /// Of a spring: its end at the parent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parent_anchor: Vec<f64>,
    /// The axes that it turns about or slides along. In the plane hinges need none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<JointAxis>,
    /// How far it gives way, in meters per newton.
    #[serde(default)]
    pub compliance: f64,
    /// Of a spring: force per length.
    #[serde(default)]
    pub stiffness: f64,
    /// Of a spring: force per speed. Of a ball: torque per spin.
    #[serde(default)]
    pub damping: f64,
    /// Of a spring: the length without force; that of the start if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
}

/// What a joint lets move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JointKind {
    /// Turns about one to three axes through the anchor, one after the other.
    Hinge,
    /// Slides along one axis.
    Slide,
    /// Turns in every way.
    Ball,
    /// Does not move.
    Weld,
    /// A spring between two points.
    Spring,
}

/// An axis of a joint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointAxis {
    /// Its direction at the start, in the world.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axis: Vec<f64>,
    /// Least and most; there are none if this is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<[f64; 2]>,
    /// Torque (or force) per angle (or length) beyond a limit.
    #[serde(default = "limit_stiffness")]
    pub limit_stiffness: f64,
    /// Torque per angle back to `rest`.
    #[serde(default)]
    pub stiffness: f64,
    /// Torque per angular speed against it.
    #[serde(default)]
    pub damping: f64,
    /// The angle without torque.
    #[serde(default)]
    pub rest: f64,
    /// Inertia of a rotor; it is added to the child's about this axis.
    #[serde(default)]
    pub armature: f64,
}

/// Bodies that collide with each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Collisions {
    /// Whether every two bodies collide that no joint connects.
    pub all: bool,
    /// Pairs that collide, by name.
    pub pairs: Vec<[String; 2]>,
    /// Pairs that do not, by name.
    pub except: Vec<[String; 2]>,
}

/// What an action drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Motor {
    /// What it is called.
    pub name: String,
    /// The joint that it drives.
    pub joint: String,
    /// Which of the joint's axes, from 0.
    #[serde(default)]
    pub axis: usize,
    /// What an action means.
    #[serde(default)]
    pub kind: MotorKind,
    /// What an action is multiplied by.
    #[serde(default = "unit")]
    pub gear: f64,
    /// Least and most of an action.
    #[serde(default = "both")]
    pub range: [f64; 2],
    /// Of a position motor: torque per angle.
    #[serde(default)]
    pub stiffness: f64,
    /// Of position and velocity motors: torque per angular speed.
    #[serde(default)]
    pub damping: f64,
}

/// What an action of a motor means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MotorKind {
    /// A torque, or a force.
    #[default]
    Torque,
    /// An angle, or a place.
    Position,
    /// An angular speed, or a speed.
    Velocity,
}

/// One thing that is observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensor {
    /// What is observed: a row of [`SENSORS`](crate::SENSORS).
    pub kind: String,
    /// Of which body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Of which joint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joint: Option<String>,
    /// Of which of the joint's axes, from 0.
    #[serde(default)]
    pub axis: usize,
    /// What the number is multiplied by.
    #[serde(default = "unit")]
    pub scale: f64,
}

/// How starts differ: uniform numbers up to these, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StartNoise {
    /// Turns about the first axis of every hinge (all that hangs on the child turns with it).
    pub angle: f64,
    /// Shifts along every slide.
    pub slide: f64,
    /// Velocities, per component.
    pub velocity: f64,
    /// Spins, per component.
    pub spin: f64,
}

fn three() -> usize {
    3
}
fn one() -> usize {
    1
}
fn eight() -> usize {
    8
}
fn hundredth() -> f64 {
    0.01
}
fn friction() -> f64 {
    0.8
}
fn unit() -> f64 {
    1.0
}
fn both() -> [f64; 2] {
    [-1.0, 1.0]
}
fn limit_stiffness() -> f64 {
    1000.0
}

impl Description {
    /// Reads and checks a description. Errors name the path in the file.
    pub fn from_json(text: &str) -> WorldResult<Description> {
        if text.len() > MOST_BYTES {
            let path = "file".to_string();
            return Err(WorldError::TooMany { path, found: text.len(), most: MOST_BYTES });
        }
        let syntax = |e: serde_json::Error| match json_path::placed(text, &e) {
            // Not even an object.
            (path, message) if path.is_empty() || path.starts_with('[') => WorldError::Syntax { message },
            (path, message) => WorldError::Field { path, message },
        };
        let value: serde_json::Value = serde_json::from_str(text).map_err(syntax)?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(VERSION) => {}
            Some(found) => return Err(WorldError::Version { found, known: VERSION }),
            None => {
                let message = format!("a whole number is missing\nhelp: write \"version\": {VERSION}");
                return crate::error::wrong("version", message);
            }
        }
        let description: Description = serde_json::from_str(text).map_err(syntax)?;
        description.check()?;
        Ok(description)
    }

    /// The description as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a description has no maps with odd keys")
    }

    pub(crate) fn body(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|body| body.name == name)
    }

    pub(crate) fn joint(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|joint| joint.name == name)
    }

    /// A vector of the description in three components.
    pub(crate) fn vector(&self, v: &[f64]) -> [f64; 3] {
        [0, 1, 2].map(|n| v.get(n).copied().unwrap_or(0.0))
    }

    /// Where up is.
    pub(crate) fn up(&self) -> [f64; 3] {
        if self.dimensions == 2 { [0.0, 1.0, 0.0] } else { [0.0, 0.0, 1.0] }
    }

    pub(crate) fn gravity(&self) -> [f64; 3] {
        match &self.gravity {
            Some(gravity) => self.vector(gravity),
            None => self.up().map(|u| -9.81 * u),
        }
    }
}
