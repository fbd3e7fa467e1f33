//! What can be wrong with environments and agents. Programmer errors panic instead.

use std::fmt;

use farad::Shape;

/// Why something could not be done.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum RlError {
    #[error(
        "ppo: samples do not split into minibatches: worlds · horizon ({samples} vs a multiple of {parts})\nhelp: change worlds, horizon or minibatches"
    )]
    Minibatches { samples: usize, parts: usize },
    #[error(
        "rl: the checkpoint has no such tensor: {name} ({shape})\nhelp: resume with the settings that the run was made with"
    )]
    Stored { name: String, shape: Shape },
}

/// As it reads.
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
