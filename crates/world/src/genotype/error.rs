//! Errors of genotypes: what is wrong in a file, and why a body is refused.

use farad_tensor::Error;

/// Why a genotype could not be read, or does not grow.
#[derive(thiserror::Error, Debug, Clone, PartialEq)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum GenotypeError {
    #[error("genotype: not a genotype: {message}")]
    Syntax { message: String },
    #[error(
        "genotype: version: not supported by this program ({found} vs {known})\nhelp: genotypes of this program have \"version\": {known}"
    )]
    Version { found: u64, known: u64 },
    #[error("genotype: {path}: {message}")]
    Field { path: String, message: String },
    #[error("genotype: the body is refused: too many parts ({found} vs at most {most})")]
    ManyParts { found: usize, most: usize },
    #[error("genotype: the body is refused: part {part} carries too many parts ({found} vs at most {most})")]
    ManyCarried { part: usize, found: usize, most: usize },
    #[error("genotype: the body is refused: it has no joint (1 part vs at least 2)")]
    NoJoint,
    #[error("genotype: the body is refused: {what} ({found} vs {least} to {most} {unit})")]
    Measure { what: &'static str, found: f64, least: f64, most: f64, unit: &'static str },
}

impl GenotypeError {
    /// Why a body is refused, in a word; none if the file itself is wrong.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            GenotypeError::ManyParts { .. } => Some("parts"),
            GenotypeError::ManyCarried { .. } => Some("carried"),
            GenotypeError::NoJoint => Some("joint"),
            GenotypeError::Measure { what, .. } => Some(what),
            _ => None,
        }
    }
}

impl From<GenotypeError> for Error {
    fn from(error: GenotypeError) -> Error {
        Error::Part(Box::new(error))
    }
}
