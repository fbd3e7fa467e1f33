//! The worlds that come with this crate: a file and a row each.

use crate::description::Description;
use crate::error::{WorldError, WorldResult};

/// A world that comes with this crate.
pub struct WorldRow {
    /// What it is called.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its description, as JSON.
    pub json: &'static str,
}

macro_rules! worlds {
    ($($name:literal $help:literal;)*) => {
        /// The worlds that come with this crate.
        pub static WORLDS: &[WorldRow] = &[$(WorldRow {
            name: $name,
            help: $help,
            json: include_str!(concat!("../worlds/", $name, ".json")),
        }),*];
    };
}

worlds! {
    "pendulum" "a rod that hangs from a hinge, with a motor";
}

/// The description of a world of the table.
pub(crate) fn described(name: &str) -> WorldResult<Description> {
    match WORLDS.iter().find(|row| row.name == name) {
        Some(row) => Description::from_json(row.json),
        None => {
            let known: Vec<&str> = WORLDS.iter().map(|row| row.name).collect();
            Err(WorldError::Unknown { name: name.into(), known: known.join(", ") })
        }
    }
}
