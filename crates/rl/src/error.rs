//! Errors of environments and agents. Programmer errors panic instead.

use std::fmt;

use farad::{Result, Shape, Tensor};

/// Why something could not be done.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum RlError {
    #[error(
        "ppo: samples do not split into minibatches: worlds · horizon ({samples} vs a multiple of {parts})\nhelp: change worlds, horizon or minibatches"
    )]
    Minibatches { samples: usize, parts: usize },
    #[error("es: policies come in pairs: population is odd ({population} vs an even number)")]
    OddPopulation { population: usize },
    #[error(
        "cma: a policy has too many numbers for a covariance ({numbers} vs at most {most})\nhelp: use a smaller policy with --set policy=…, or use es"
    )]
    ManyNumbers { numbers: usize, most: usize },
    #[error(
        "controller: not a controller: {name}: it has no thresholds for its inputs, or more than one output"
    )]
    NoController { name: String },
    #[error("film: this world cannot be drawn")]
    NoScene,
    #[error("locomotion: the world has no body `{name}`")]
    NoBody { name: String },
    #[error(
        "rl: the checkpoint has no such tensor: {name} ({shape})\nhelp: resume with the settings that the run was made with"
    )]
    Stored { name: String, shape: Shape },
}

/// Prints the message.
impl fmt::Debug for RlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<RlError> for farad::Error {
    fn from(error: RlError) -> farad::Error {
        farad::Error::Part(Box::new(error))
    }
}

/// The tensors with these names, each moved to the device of the one that it replaces and checked against its
/// shape.
pub(crate) fn stored(names: &[String], like: &[&Tensor], found: &[(String, Tensor)]) -> Result<Vec<Tensor>> {
    let pick = |(name, old): (&String, &&Tensor)| {
        let of_name = found.iter().find(|(other, new)| other == name && new.shape() == old.shape());
        let (_, new) = of_name.ok_or_else(|| RlError::Stored { name: name.clone(), shape: old.shape() })?;
        new.to_device(old.device())
    };
    names.iter().zip(like).map(pick).collect()
}
