//! Worlds of rigid bodies as tensors: joints, motors, contacts, sensors, and gradients through time.
//!
//! A world is data: a [`Description`] in JSON, and a [`WorldState`] of four tensors with the worlds as their
//! first axis. [`World::reset`], [`World::step`] and [`World::observe`] record graphs like any other op, so
//! thousands of worlds run at once, a roll-out is one loop on any device, and gradients need no extra code.
//!
//! ```
//! use farad_tensor::{Device, Tensor};
//! use farad_world::{RolloutOptions, World};
//!
//! let device = Device::cpu();
//! let world = World::named("pendulum", &device).expect("it is in the table");
//! // Sixteen worlds, a hundred steps, one loop. Which torque leaves the rod high?
//! let actions = Tensor::zeros([100, 16, world.motors()], &device);
//! let end = world.rollout(&world.reset(16, 0), &actions, &RolloutOptions::default()).last;
//! let height = end.position.narrow(2, 1, 1).mean();
//! let slope = height.gradient(&actions)?;
//! assert_eq!(slope.shape()[..], [100, 16, 1]);
//! # Ok::<(), farad_tensor::Error>(())
//! ```
//!
//! Start at [`World`]. The schema of descriptions, the solver and its approximations are documented in
//! `docs/worlds.md`.

mod assembly;
mod bodies;
mod contacts;
mod description;
mod drives;
mod error;
mod extent;
mod genotype;
mod geometry;
mod herd;
mod joints;
mod quantity;
mod render;
mod reset;
mod rollout;
mod rows;
mod sensors;
mod smooth;
mod solver;
mod springs;
mod state;
mod table;
mod vector;
mod world;

pub use description::json_path::placed as json_path;
pub use description::{
    Collisions, ContactRule, Description, Drag, FixedPlane, Integrator, Joint, JointAxis, JointKind,
    MOST_BODIES, MOST_BYTES, MOST_CONTACTS, MOST_JOINTS, MOST_REPEATS, MOST_SOLIDS, Motor, MotorKind,
    RigidBody, Sensor, Solid, SolidShape, StartNoise, VERSION,
};
pub use error::{WorldError, WorldResult};
pub use genotype::{
    Draws, GENOTYPE_VERSION, GeneEdge, GeneJoint, GeneNetwork, GeneNode, Genotype, GenotypeError, Grown,
    GrownPart, MOST_CARRIED, MOST_EDGES, MOST_GENOTYPE_BYTES, MOST_NODES, MOST_PARTS, PART_AXES, PART_INPUTS,
    PART_NEURONS, Variation, VariedGenes,
};
pub use herd::{Herd, HerdMotion, HerdTrial, MEASURES, TrialResult};
pub use render::WorldCamera;
pub use rollout::{DrivenRollout, Rollout, RolloutOptions};
pub use sensors::{SENSORS, SensorRow};
pub use state::WorldState;
pub use table::{WORLDS, WorldRow};
pub use world::World;
