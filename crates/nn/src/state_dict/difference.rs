//! What two sets of named tensors do not have in common.

use std::fmt;

use farad_ir::Shape;

/// A tensor whose shape is not the module's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub found: Shape,
    /// The shape in the module.
    pub wanted: Shape,
}

/// How named tensors and a module differ, for reports and for tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Names that both have, with equal shapes.
    pub loaded: Vec<String>,
    /// Names that only the module has.
    pub missing: Vec<String>,
    /// Names that the module does not have.
    pub unexpected: Vec<String>,
    /// Names that both have, with different shapes.
    pub mismatched: Vec<Mismatch>,
}

impl Difference {
    /// Whether there is none.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty() && self.mismatched.is_empty()
    }
}

/// As many names are shown of each kind.
const SHOWN: usize = 8;

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { loaded, missing, unexpected, mismatched } = self;
        let of = loaded.len() + missing.len() + mismatched.len();
        write!(f, "{} of {of} tensors fit", loaded.len())?;
        let shapes = |m: &Mismatch| format!("{} ({} vs {})", m.name, m.found, m.wanted);
        let mismatched: Vec<String> = mismatched.iter().map(shapes).collect();
        for (what, names) in
            [("missing", missing), ("unexpected", unexpected), ("of another shape", &mismatched)]
        {
            if names.is_empty() {
                continue;
            }
            write!(f, "\n{what} ({}): {}", names.len(), names[..names.len().min(SHOWN)].join(", "))?;
            if names.len() > SHOWN {
                write!(f, ", …")?;
            }
        }
        Ok(())
    }
}
