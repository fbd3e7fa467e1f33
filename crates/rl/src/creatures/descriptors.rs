//! What tells creatures apart: one row per descriptor. Two of them span an archive.

use farad_world::{Grown, TrialResult};

/// A descriptor: a number of a body or of how it moves, between two bounds.
pub struct DescriptorRow {
    /// Its name in settings and archives.
    pub name: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
    /// The bounds of an archive's axis; what is beyond them belongs to the outermost cells.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// Of a creature.
    pub of: fn(&Grown, &TrialResult) -> f64,
    /// In words for people.
    pub words: fn(f64) -> String,
}

/// All descriptors.
pub static DESCRIPTORS: &[DescriptorRow] = &[
    DescriptorRow {
        name: "mass",
        about: "mass in kg, as a power of ten",
        low: -0.3,
        high: 2.1,
        of: |grown, _| grown.mass().log10(),
        words: |v| format!("{:.1} kg", 10f64.powf(v)),
    },
    DescriptorRow {
        name: "size",
        about: "longest side in m",
        low: 0.2,
        high: 3.0,
        of: |grown, _| grown.extent(),
        words: |v| format!("{v:.2} m long"),
    },
    DescriptorRow {
        name: "parts",
        about: "number of parts",
        low: 2.0,
        high: 10.0,
        of: |grown, _| grown.parts.len() as f64,
        words: |v| format!("{v:.0} parts"),
    },
    DescriptorRow {
        name: "height",
        about: "mean height of the center of mass in m",
        low: 0.0,
        high: 1.0,
        of: |_, trial| trial.height,
        words: |v| format!("{v:.2} m high"),
    },
    DescriptorRow {
        name: "touch",
        about: "mean share of parts that touch the ground",
        low: 0.0,
        high: 1.0,
        of: |_, trial| trial.touch,
        words: |v| format!("{:.0} % of its parts on the ground", 100.0 * v),
    },
    DescriptorRow {
        name: "up",
        about: "how upright the first part is",
        low: -1.0,
        high: 1.0,
        of: |_, trial| trial.up,
        words: |v| format!("{v:.2} upright"),
    },
    DescriptorRow {
        name: "effort",
        about: "mean target of the motors, as a share of their range",
        low: 0.0,
        high: 1.0,
        of: |_, trial| trial.effort,
        words: |v| format!("{:.0} % effort", 100.0 * v),
    },
    DescriptorRow {
        name: "end-x",
        about: "how far ahead it ends, in m",
        low: -10.0,
        high: 10.0,
        of: |_, trial| trial.distance,
        words: |v| format!("ends {v:.2} m ahead"),
    },
    DescriptorRow {
        name: "end-y",
        about: "how far aside it ends, in m",
        low: -10.0,
        high: 10.0,
        of: |_, trial| trial.aside,
        words: |v| format!("ends {v:.2} m aside"),
    },
];

impl DescriptorRow {
    /// The descriptor with this name.
    pub fn named(name: &str) -> Option<&'static DescriptorRow> {
        DESCRIPTORS.iter().find(|row| row.name == name)
    }
}
