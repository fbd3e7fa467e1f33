//! Genotypes: plans from which the body of a creature and its controller grow, after Karl Sims (1994).
//!
//! A genotype is a graph. A node describes a part and the joint that holds it, an edge says where a part carries
//! another. Nodes may repeat and edges may be mirrored, so a short plan gives a chain, or legs on both sides.
//! Every node has a small network that drives its joint, so copies of a part move by the same rule.
//!
//! Invariant: a [`Genotype`] that passed [`Genotype::check`] can be varied, and either grows or is refused with a
//! reason. Start at [`Genotype::from_json`] and [`Genotype::grown`].

mod check;
mod draws;
mod error;
mod grow;
mod vary;

use serde::{Deserialize, Serialize};

use crate::description::json_path::placed;
pub use draws::Draws;
pub use error::GenotypeError;
pub use grow::{Grown, GrownPart};
pub use vary::{Variation, VariedGenes};

/// The version of genotypes that this program reads.
pub const GENOTYPE_VERSION: u64 = 1;
/// The longest JSON text of a genotype, in bytes.
pub const MOST_GENOTYPE_BYTES: usize = 1 << 20;
/// Most nodes and edges.
pub const MOST_NODES: usize = 8;
/// Most edges.
pub const MOST_EDGES: usize = 16;
/// Most parts of a body.
pub const MOST_PARTS: usize = 9;
/// Most parts that one part carries.
pub const MOST_CARRIED: usize = 4;
/// Axes of a joint at most.
pub const PART_AXES: usize = 2;
/// What a part's network sees, in this order.
pub const PART_INPUTS: [&str; 10] = [
    "sine",
    "cosine",
    "angle 1",
    "angle 2",
    "speed 1",
    "speed 2",
    "touch",
    "touch of the carrier",
    "up",
    "one",
];
/// Neurons of a part's network.
pub const PART_NEURONS: usize = 4;

/// A plan of a creature.
///
/// ```
/// use farad_world::Genotype;
/// let genotype = Genotype::random(7);
/// let grown = genotype.grown()?;
/// assert!(grown.parts.len() > 1);
/// assert_eq!(Genotype::from_json(&genotype.to_json())?, genotype);
/// # Ok::<(), farad_world::GenotypeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Genotype {
    /// [`GENOTYPE_VERSION`].
    pub version: u64,
    /// Its name.
    pub name: String,
    /// The node of the first part.
    pub root: String,
    /// Beats of its clock per second.
    pub clock: f64,
    /// The kinds of parts.
    pub nodes: Vec<GeneNode>,
    /// Which part carries which.
    #[serde(default)]
    pub edges: Vec<GeneEdge>,
}

/// A kind of part: a capsule, the joint that holds it, and the network that drives the joint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneNode {
    /// Its name.
    pub name: String,
    /// The length between the centers of the capsule's ends, in meters.
    pub length: f64,
    /// The radius of the capsule, in meters.
    pub radius: f64,
    /// Kilograms per cubic meter.
    #[serde(default = "light")]
    pub density: f64,
    /// How often it may stand below itself.
    #[serde(default)]
    pub repeats: usize,
    /// The joint to the part that carries it.
    pub joint: GeneJoint,
    /// What drives the joint.
    pub network: GeneNetwork,
}

/// The joint of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneJoint {
    /// Axes that it rotates about: 1 or 2.
    pub axes: usize,
    /// The largest angle either way, in radians.
    pub swing: f64,
    /// How strong its motors are; 1 holds 60 Nm per radian at a radius of 0.1 m.
    pub strength: f64,
}

/// The network of a part: one layer of neurons, then one output per axis, both with tanh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneNetwork {
    /// [`PART_NEURONS`] rows with a weight for each of [`PART_INPUTS`].
    pub neurons: Vec<Vec<f64>>,
    /// [`PART_AXES`] rows with a weight for each neuron.
    pub outputs: Vec<Vec<f64>>,
}

/// A part that carries another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneEdge {
    /// The node of the part that carries.
    pub from: String,
    /// The node of the part that is carried.
    pub to: String,
    /// Where along the carrier: from −1 at its start to 1 at its end.
    pub along: f64,
    /// Where around the carrier, in radians.
    pub around: f64,
    /// How far it leans toward the carrier's end, in radians; a quarter turn continues the carrier.
    #[serde(default)]
    pub lean: f64,
    /// How far it is rotated about itself, in radians.
    #[serde(default)]
    pub twist: f64,
    /// The size of what it carries, relative to the carrier.
    #[serde(default = "unit")]
    pub scale: f64,
    /// Whether there is a second one on the other side.
    #[serde(default)]
    pub mirror: bool,
    /// Whether only the last of the carrier's repetitions carries it.
    #[serde(default)]
    pub last: bool,
    /// How far its clock is ahead of the carrier's, in beats.
    #[serde(default)]
    pub phase: f64,
    /// How far the clock of the mirrored one is ahead of that, in beats.
    #[serde(default)]
    pub opposite: f64,
}

fn light() -> f64 {
    500.0
}
fn unit() -> f64 {
    1.0
}

impl Genotype {
    /// Parses and checks a genotype. Errors give the path in the file.
    pub fn from_json(text: &str) -> Result<Genotype, GenotypeError> {
        if text.len() > MOST_GENOTYPE_BYTES {
            let (found, most) = (text.len(), MOST_GENOTYPE_BYTES);
            return Err(GenotypeError::Field {
                path: "file".into(),
                message: format!("too long ({found} vs at most {most} bytes)"),
            });
        }
        let syntax = |e: serde_json::Error| match placed(text, &e) {
            (path, message) if path.is_empty() || path.starts_with('[') => GenotypeError::Syntax { message },
            (path, message) => GenotypeError::Field { path, message },
        };
        let value: serde_json::Value = serde_json::from_str(text).map_err(syntax)?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(GENOTYPE_VERSION) => {}
            Some(found) => return Err(GenotypeError::Version { found, known: GENOTYPE_VERSION }),
            None => {
                let message =
                    format!("a whole number is missing\nhelp: write \"version\": {GENOTYPE_VERSION}");
                return Err(GenotypeError::Field { path: "version".into(), message });
            }
        }
        let genotype: Genotype = serde_json::from_str(text).map_err(syntax)?;
        genotype.check()?;
        Ok(genotype)
    }

    /// The genotype as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a genotype has no maps with odd keys")
    }

    /// The index of a node.
    pub(crate) fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }
}
