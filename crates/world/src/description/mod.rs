//! A world as data: bodies, joints, motors, sensors. It is JSON, read by serde, with a version.
//!
//! Invariant: a [`Description`] from [`Description::from_json`], or one that passed [`Description::check`], can
//! be assembled. Lengths are in meters, angles in radians, masses in kilograms, times in seconds.

mod check;
pub(crate) mod json_path;
mod solid;

use serde::{Deserialize, Serialize};

use crate::error::{WorldError, WorldResult};
pub(crate) use solid::SolidKind;
pub use solid::{Solid, SolidShape};

/// The version of descriptions that this program reads.
pub const VERSION: u64 = 1;
/// The longest JSON text that is read, in bytes.
pub const MOST_BYTES: usize = 16 << 20;
/// Most bodies of a world.
pub const MOST_BODIES: usize = 1024;
/// Most joints of a world.
pub const MOST_JOINTS: usize = 4096;
/// Most solids, over all bodies.
pub const MOST_SOLIDS: usize = 4096;
/// Most contact points, over all pairs.
pub const MOST_CONTACTS: usize = 65_536;
/// Most sub-steps per step, and iterations per sub-step.
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
    /// Its name.
    pub name: String,
    /// 2: the plane of x and y, with y up. 3: space, with z up.
    #[serde(default = "three")]
    pub dimensions: usize,
    /// The acceleration of free fall; 9.81 m/s² downward by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gravity: Option<Vec<f64>>,
    /// The length of a step.
    #[serde(default = "hundredth")]
    pub time_step: f64,
    /// Sub-steps per step.
    #[serde(default = "eight")]
    pub substeps: usize,
    /// Passes over the constraints per sub-step.
    #[serde(default = "one")]
    pub iterations: usize,
    /// How time is integrated.
    #[serde(default)]
    pub integrator: Integrator,
    /// How contacts are solved.
    #[serde(default)]
    pub contact: ContactRule,
    /// Fixed planes.
    #[serde(default)]
    pub planes: Vec<FixedPlane>,
    /// The moving bodies.
    pub bodies: Vec<RigidBody>,
    /// The joints between bodies.
    #[serde(default)]
    pub joints: Vec<Joint>,
    /// Which bodies collide with each other.
    #[serde(default)]
    pub collisions: Collisions,
    /// The motors: one action per motor, in this order.
    #[serde(default)]
    pub motors: Vec<Motor>,
    /// The observations, in this order.
    #[serde(default)]
    pub sensors: Vec<Sensor>,
    /// How initial states vary.
    #[serde(default)]
    pub start: StartNoise,
}

/// How time is integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrator {
    /// Velocities first, then positions with the new velocities. For everything.
    #[default]
    SemiImplicit,
    /// Fourth-order Runge-Kutta, for smooth systems: springs, gravity and drag, without contacts and rigid
    /// joints.
    RungeKutta,
}

/// How contacts are solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContactRule {
    /// Compliance of a contact, in meters per newton.
    pub compliance: f64,
    /// The fraction of a penetration that a sub-step removes.
    pub recovery: f64,
    /// The highest speed at which penetrating bodies are separated, in meters per second.
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

/// A fixed plane: a floor, a wall, a slope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedPlane {
    /// The outward direction; upward by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal: Option<Vec<f64>>,
    /// The distance from the origin along the normal.
    #[serde(default)]
    pub offset: f64,
    /// Coulomb friction coefficient; between two surfaces, the geometric mean applies.
    #[serde(default = "friction")]
    pub friction: f64,
    /// The fraction of speed that an impact returns; between two surfaces, the larger applies.
    #[serde(default)]
    pub restitution: f64,
}

/// A moving body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigidBody {
    /// Its name.
    pub name: String,
    /// The initial position of its origin.
    pub position: Vec<f64>,
    /// The initial rotation: a quaternion `[w, x, y, z]` in space, `[angle]` in the plane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rotation: Vec<f64>,
    /// The initial velocity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub velocity: Vec<f64>,
    /// The initial angular velocity: three numbers in space, one in the plane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spin: Vec<f64>,
    /// The solids that it consists of.
    pub solids: Vec<Solid>,
    /// Drag in a fluid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drag: Option<Drag>,
    /// Its color in films: red, green and blue from 0 to 255.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<[u8; 3]>,
}

/// Drag: a force against the velocity, per body axis, and a torque against the angular velocity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Drag {
    /// Force per speed, along the body's own axes.
    pub linear: Vec<f64>,
    /// Force per speed squared, along the body's own axes.
    pub quadratic: Vec<f64>,
    /// Torque per angular speed.
    pub angular: f64,
}

/// A connection between two bodies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// Which motion it allows.
    pub kind: JointKind,
    /// The parent body; the fixed world by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The child body.
    pub child: String,
    /// Its initial position, in world coordinates. For a spring: the end at the child.
    pub anchor: Vec<f64>,
    /// For a spring: the end at the parent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parent_anchor: Vec<f64>,
    /// The axes that it rotates about or slides along. In the plane, hinges need none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<JointAxis>,
    /// Its compliance, in meters per newton.
    #[serde(default)]
    pub compliance: f64,
    /// For a spring: force per length.
    #[serde(default)]
    pub stiffness: f64,
    /// For a spring: force per speed. For a ball: torque per angular speed.
    #[serde(default)]
    pub damping: f64,
    /// For a spring: the rest length; the initial length by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
}

/// Which motion a joint allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JointKind {
    /// Rotates about one to three axes through the anchor, in sequence.
    Hinge,
    /// Slides along one axis.
    Slide,
    /// Rotates freely.
    Ball,
    /// Allows no motion.
    Weld,
    /// A spring between two points.
    Spring,
}

/// An axis of a joint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointAxis {
    /// Its initial direction, in world coordinates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axis: Vec<f64>,
    /// Lower and upper limit; unlimited by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<[f64; 2]>,
    /// Torque (or force) per angle (or length) beyond a limit.
    #[serde(default = "limit_stiffness")]
    pub limit_stiffness: f64,
    /// Torque per angle, back toward `rest`.
    #[serde(default)]
    pub stiffness: f64,
    /// Torque per angular speed, against the motion.
    #[serde(default)]
    pub damping: f64,
    /// The rest angle.
    #[serde(default)]
    pub rest: f64,
    /// Inertia of a rotor, which is added to the child's about this axis.
    #[serde(default)]
    pub armature: f64,
}

/// Which bodies collide with each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Collisions {
    /// Whether all pairs of bodies collide that are not connected by a joint.
    pub all: bool,
    /// Pairs that collide, by name.
    pub pairs: Vec<[String; 2]>,
    /// Pairs that do not, by name.
    pub except: Vec<[String; 2]>,
}

/// A motor, driven by an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Motor {
    /// Its name.
    pub name: String,
    /// The joint that it drives.
    pub joint: String,
    /// Which of the joint's axes, counted from 0.
    #[serde(default)]
    pub axis: usize,
    /// What an action means.
    #[serde(default)]
    pub kind: MotorKind,
    /// The factor on an action.
    #[serde(default = "unit")]
    pub gear: f64,
    /// The lowest and highest action.
    #[serde(default = "both")]
    pub range: [f64; 2],
    /// For a position motor: torque per angle.
    #[serde(default)]
    pub stiffness: f64,
    /// For position and velocity motors: torque per angular speed.
    #[serde(default)]
    pub damping: f64,
}

/// What an action of a motor means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MotorKind {
    /// A torque (or a force, on a slide).
    #[default]
    Torque,
    /// A target angle (or position, on a slide).
    Position,
    /// A target angular speed (or speed, on a slide).
    Velocity,
}

/// One observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sensor {
    /// The kind of sensor: a row of [`SENSORS`](crate::SENSORS).
    pub kind: String,
    /// The body, if the kind observes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The joint, if the kind observes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joint: Option<String>,
    /// Which of the joint's axes, counted from 0.
    #[serde(default)]
    pub axis: usize,
    /// The factor on the observed number.
    #[serde(default = "unit")]
    pub scale: f64,
}

/// How initial states vary: uniform random numbers up to these, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StartNoise {
    /// Angles about the first axis of every hinge (everything attached to the child rotates with it).
    pub angle: f64,
    /// Shifts along every slide.
    pub slide: f64,
    /// Velocities, per component.
    pub velocity: f64,
    /// Angular velocities, per component.
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
    /// Parses and checks a description. Errors give the path in the file.
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

    /// A vector of the description, extended to three components.
    pub(crate) fn vector(&self, v: &[f64]) -> [f64; 3] {
        [0, 1, 2].map(|n| v.get(n).copied().unwrap_or(0.0))
    }

    /// The upward direction.
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
