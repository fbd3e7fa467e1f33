//! Checks what parsing a genotype cannot: names, sizes, ranges. Errors give the path.

use super::{
    GENOTYPE_VERSION, Genotype, GenotypeError, MOST_EDGES, MOST_NODES, MOST_PARTS, PART_AXES, PART_INPUTS,
    PART_NEURONS,
};

/// The range of a number: of files, of random genotypes and of mutations.
pub(super) struct GeneRange {
    pub low: f64,
    pub high: f64,
}

impl GeneRange {
    pub fn kept(&self, value: f64) -> f64 {
        value.clamp(self.low, self.high)
    }
}

const fn range(low: f64, high: f64) -> GeneRange {
    GeneRange { low, high }
}

pub(super) const CLOCK: GeneRange = range(0.1, 5.0);
pub(super) const LENGTH: GeneRange = range(0.05, 1.0);
pub(super) const RADIUS: GeneRange = range(0.03, 0.25);
pub(super) const DENSITY: GeneRange = range(100.0, 2000.0);
pub(super) const SWING: GeneRange = range(0.05, 1.5);
pub(super) const STRENGTH: GeneRange = range(0.0, 2.0);
pub(super) const ALONG: GeneRange = range(-1.0, 1.0);
pub(super) const ANGLE: GeneRange = range(-std::f64::consts::PI, std::f64::consts::PI);
pub(super) const LEAN: GeneRange = range(-std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_2);
pub(super) const SCALE: GeneRange = range(0.4, 1.6);
pub(super) const BEATS: GeneRange = range(-1.0, 1.0);
pub(super) const WEIGHT: GeneRange = range(-8.0, 8.0);

fn wrong<T>(path: impl Into<String>, message: impl Into<String>) -> Result<T, GenotypeError> {
    Err(GenotypeError::Field { path: path.into(), message: message.into() })
}

fn within(path: String, value: f64, range: &GeneRange) -> Result<(), GenotypeError> {
    // A hair of slack, as π is written with a few digits.
    match value >= range.low - 1e-4 && value <= range.high + 1e-4 {
        true => Ok(()),
        false => wrong(path, format!("out of range ({value} vs {} to {})", range.low, range.high)),
    }
}

fn rows(path: &str, rows: &[Vec<f64>], count: usize, width: usize) -> Result<(), GenotypeError> {
    if rows.len() != count {
        return wrong(path, format!("a list of another length ({} vs {count})", rows.len()));
    }
    for (n, row) in rows.iter().enumerate() {
        if row.len() != width {
            return wrong(
                format!("{path}[{n}]"),
                format!("a list of another length ({} vs {width})", row.len()),
            );
        }
        for (k, &weight) in row.iter().enumerate() {
            within(format!("{path}[{n}][{k}]"), weight, &WEIGHT)?;
        }
    }
    Ok(())
}

impl Genotype {
    /// Checks what parsing cannot.
    pub fn check(&self) -> Result<(), GenotypeError> {
        if self.version != GENOTYPE_VERSION {
            return Err(GenotypeError::Version { found: self.version, known: GENOTYPE_VERSION });
        }
        for (path, found, most) in
            [("nodes", self.nodes.len(), MOST_NODES), ("edges", self.edges.len(), MOST_EDGES)]
        {
            if found > most {
                return wrong(path, format!("too many ({found} vs at most {most})"));
            }
        }
        within("clock".into(), self.clock, &CLOCK)?;
        if self.node(&self.root).is_none() {
            return wrong("root", format!("no node \"{}\"", self.root));
        }
        (0..self.nodes.len()).try_for_each(|n| self.check_node(n))?;
        (0..self.edges.len()).try_for_each(|n| self.check_edge(n))
    }

    fn check_node(&self, n: usize) -> Result<(), GenotypeError> {
        let (node, path) = (&self.nodes[n], format!("nodes[{n}]"));
        if self.node(&node.name) != Some(n) {
            return wrong(format!("{path}.name"), format!("a second node \"{}\"", node.name));
        }
        let joint = &node.joint;
        let numbers = [
            ("length", node.length, LENGTH),
            ("radius", node.radius, RADIUS),
            ("density", node.density, DENSITY),
            ("joint.swing", joint.swing, SWING),
            ("joint.strength", joint.strength, STRENGTH),
        ];
        for (name, value, range) in numbers {
            within(format!("{path}.{name}"), value, &range)?;
        }
        if node.repeats >= MOST_PARTS {
            let message = format!("too many ({} vs at most {})", node.repeats, MOST_PARTS - 1);
            return wrong(format!("{path}.repeats"), message);
        }
        if !(1..=PART_AXES).contains(&joint.axes) {
            return wrong(
                format!("{path}.joint.axes"),
                format!("neither one nor two ({} vs 1 or 2)", joint.axes),
            );
        }
        rows(&format!("{path}.network.neurons"), &node.network.neurons, PART_NEURONS, PART_INPUTS.len())?;
        rows(&format!("{path}.network.outputs"), &node.network.outputs, PART_AXES, PART_NEURONS)
    }

    fn check_edge(&self, n: usize) -> Result<(), GenotypeError> {
        let (edge, path) = (&self.edges[n], format!("edges[{n}]"));
        for (name, node) in [("from", &edge.from), ("to", &edge.to)] {
            if self.node(node).is_none() {
                return wrong(format!("{path}.{name}"), format!("no node \"{node}\""));
            }
        }
        let numbers = [
            ("along", edge.along, ALONG),
            ("around", edge.around, ANGLE),
            ("lean", edge.lean, LEAN),
            ("twist", edge.twist, ANGLE),
            ("scale", edge.scale, SCALE),
            ("phase", edge.phase, BEATS),
            ("opposite", edge.opposite, BEATS),
        ];
        numbers
            .into_iter()
            .try_for_each(|(name, value, range)| within(format!("{path}.{name}"), value, &range))
    }
}
