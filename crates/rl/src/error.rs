//! Errors of environments and agents. Programmer errors panic instead.

use std::fmt;

use farad::{Result, Shape, Tensor};

/// Why something could not be done.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum RlError {
    #[error(
        "{algorithm}: samples do not split into minibatches: worlds · horizon ({samples} vs a multiple of {parts})\nhelp: change worlds, horizon or minibatches"
    )]
    Minibatches { algorithm: &'static str, samples: usize, parts: usize },
    #[error("{algorithm}: actions are choices, not numbers\nhelp: use ppo, dreamer, es or cma")]
    Discrete { algorithm: &'static str },
    #[error(
        "{algorithm}: one rank trains at a time (1 vs {ranks} ranks)\nhelp: use ppo, es or cma, or start it without mpirun"
    )]
    OneRank { algorithm: &'static str, ranks: usize },
    #[error(
        "sac: an update has more samples than are remembered ({samples} vs {replay})\nhelp: change worlds, horizon or replay"
    )]
    SmallReplay { replay: usize, samples: usize },
    #[error(
        "dreamer: worlds do not remember a sequence or an update ({replay} vs {samples} or more)\nhelp: change worlds, horizon, sequence or replay"
    )]
    SmallMemory { replay: usize, samples: usize },
    #[error("es: policies come in pairs: population is odd ({population} vs an even number)")]
    OddPopulation { population: usize },
    #[error(
        "cma: a policy has too many numbers for a covariance ({numbers} vs at most {most})\nhelp: use a smaller policy with --set policy=…, or use es"
    )]
    ManyNumbers { numbers: usize, most: usize },
    #[error(
        "controller: not a controller: {name}: it has no thresholds for its inputs, or not the outputs of its world"
    )]
    NoController { name: String },
    #[error(
        "images: agents cannot see pictures of this world: {world}\nhelp: cartpole-swingup has pictures; leave --set images=true out for others"
    )]
    NoImages { world: String },
    #[error("film: this world cannot be drawn")]
    NoScene,
    #[error(
        "evolve: descriptors and bins are not equally many ({names} vs {bins})\nhelp: give one number of cells for each descriptor, such as --set descriptors=mass,touch --set bins=32,32"
    )]
    Axes { names: usize, bins: usize },
    #[error("evolve: no such descriptor: {name}\nhelp: there are {known}")]
    NoDescriptor { name: String, known: String },
    #[error("evolve: the archive is empty: no creature stayed whole")]
    NoElite,
    #[error("evolve: the archive has fewer creatures ({found} vs {wanted})")]
    FewElites { found: usize, wanted: u64 },
    #[error(
        "rl: exploded at step {step}{}: {body} of world {world}{}\nhelp: train again with a smaller time step, more sub-steps (such as --set substeps=16) or weaker motors; --from RUN starts from what a run has learned",
        of(*.update, " of update "), of(*.agent, " of agent ")
    )]
    Exploded { update: Option<u64>, step: usize, world: usize, agent: Option<usize>, body: String },
    #[error("locomotion: the world has no body `{name}`")]
    NoBody { name: String },
    #[error(
        "rl: the checkpoint has no such tensor: {name} ({shape})\nhelp: resume with the settings that the run was made with"
    )]
    Stored { name: String, shape: Shape },
}

/// Words and a number, where there is one.
fn of<T: fmt::Display>(number: Option<T>, words: &str) -> String {
    number.map_or(String::new(), |number| format!("{words}{number}"))
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
