//! What can go wrong when automata are trained and evaluated.

/// An error of training, evaluation or a recipe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no recipe of this name.
    #[error("recipe: there is no `{name}`{}\nhelp: the recipes are {}", did_you_mean(.nearest), .names.join(", "))]
    UnknownRecipe {
        /// What was asked for.
        name: String,
        /// The name that looks most like it.
        nearest: Option<String>,
        /// All names.
        names: Vec<String>,
    },
    /// There is no setting of this name.
    #[error("settings: there is no key `{key}`{}\nhelp: the keys are {}", did_you_mean(.nearest), .keys.join(", "))]
    UnknownKey {
        /// What was asked for.
        key: String,
        /// The key that looks most like it.
        nearest: Option<String>,
        /// All keys.
        keys: Vec<String>,
    },
    /// A setting has a value that makes no sense.
    #[error("settings: {0}")]
    Settings(String),
    /// A checkpoint does not belong to its run.
    #[error("checkpoint: does not fit the run: {what}")]
    Mismatch {
        /// What disagrees.
        what: String,
    },
    /// The engine.
    #[error(transparent)]
    Farad(#[from] farad::Error),
    /// The circuit.
    #[error(transparent)]
    Circuit(#[from] farad_circuit::Error),
    /// A file that could not be written or read.
    #[error("{op}: {path}: {source}")]
    File {
        /// What was tried.
        op: &'static str,
        /// With which file.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// A result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;
