//! The built-in worlds: one file and one row each.

use crate::description::Description;
use crate::error::{WorldError, WorldResult};

/// A built-in world.
pub struct WorldRow {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
    /// Its description, as JSON.
    pub json: &'static str,
}

macro_rules! worlds {
    ($($name:literal $help:literal;)*) => {
        /// The built-in worlds.
        pub static WORLDS: &[WorldRow] = &[$(WorldRow {
            name: $name,
            help: $help,
            json: include_str!(concat!("../worlds/", $name, ".json")),
        }),*];
    };
}

worlds! {
    "pendulum" "a rod that hangs from a hinge, with a motor";
    "double-pendulum" "two rods, with a motor between them";
    "cart-pole" "a pole on a cart that slides, as rigid bodies";
    "rolling-sphere" "a ball that rolls on the ground";
    "hopper" "a leg with a torso that hops in the plane, three motors";
    "swimmer" "a chain of five links in a fluid, four motors";
    "crawler" "a ball on four legs: nine bodies, twelve motors";
    "quadruped" "a box on four legs with position motors";
    "humanoid" "sixteen bodies with 21 hinges, after the model of MuJoCo MJX";
}

/// The description of a built-in world.
pub(crate) fn described(name: &str) -> WorldResult<Description> {
    match WORLDS.iter().find(|row| row.name == name) {
        Some(row) => Description::from_json(row.json),
        None => {
            let known: Vec<&str> = WORLDS.iter().map(|row| row.name).collect();
            Err(WorldError::Unknown { name: name.into(), known: known.join(", ") })
        }
    }
}
