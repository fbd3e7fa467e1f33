//! Where a tape is evaluated, which lanes exist there, and the text of each register per lane.

use super::module::WgslModule;

/// Which of a point's lanes exist.
#[derive(Clone, Debug)]
pub(super) enum Mask {
    /// All.
    All,
    /// All or none: the condition's text.
    Group(String),
    /// One condition per lane.
    Each(Vec<String>),
}

/// A point at which a tape is evaluated: an index per axis, and adjacent lanes along one axis.
///
/// Indices are within the axes even for lanes that do not exist by the mask, so loads need no mask.
#[derive(Clone, Debug)]
pub(super) struct EvaluationPoint {
    /// Names of the first lane's indices (`u32`), one per axis.
    pub index: Vec<String>,
    /// The axis that lanes lie along.
    pub axis: usize,
    /// How many lanes.
    pub lanes: usize,
    /// The distance of each lane from the first.
    pub steps: Vec<String>,
    /// The first lane's index is a multiple of `lanes`.
    pub aligned: bool,
    /// The size of that axis.
    pub size: usize,
    /// Which lanes exist.
    pub mask: Mask,
}

/// A register's text in every lane; a single text if all lanes are equal.
#[derive(Clone, Debug)]
pub(super) struct LaneText(pub Vec<String>);

impl LaneText {
    /// The same text in all lanes.
    pub fn one(text: impl Into<String>) -> LaneText {
        LaneText(vec![text.into()])
    }

    /// The text in a lane.
    pub fn lane(&self, lane: usize) -> &str {
        if self.0.len() == 1 { &self.0[0] } else { &self.0[lane] }
    }

    /// Whether all lanes have the same text.
    pub fn is_one(&self) -> bool {
        self.0.len() == 1
    }
}

impl EvaluationPoint {
    /// A point of one lane.
    pub fn single(index: Vec<String>) -> EvaluationPoint {
        let steps = vec!["0u".into()];
        EvaluationPoint {
            axis: index.len(),
            index,
            lanes: 1,
            steps,
            aligned: false,
            size: 0,
            mask: Mask::All,
        }
    }

    /// A point of `lanes` adjacent elements along `axis` (of this size), starting at a multiple of `lanes`.
    pub fn along(index: Vec<String>, axis: usize, size: usize, lanes: usize) -> EvaluationPoint {
        let steps = (0..lanes).map(|lane| format!("{lane}u")).collect();
        EvaluationPoint { index, axis, lanes, steps, aligned: true, size, mask: Mask::All }
    }

    /// Whether the lanes are adjacent and start at a multiple of `lanes`.
    pub fn is_even(&self) -> bool {
        self.aligned && !matches!(self.mask, Mask::Each(_))
    }

    /// The condition under which a lane exists, if there is one.
    pub fn exists(&self, lane: usize) -> Option<&str> {
        match &self.mask {
            Mask::All => None,
            Mask::Group(condition) => Some(condition),
            Mask::Each(conditions) => Some(&conditions[lane]),
        }
    }

    /// The factor of the lanes' axis; zero for a single lane.
    pub fn factor<'f>(&self, factors: &'f [i64]) -> &'f i64 {
        if self.lanes == 1 { &0 } else { &factors[self.axis] }
    }
}

/// A point of `lanes` adjacent elements along `axis`, starting at a multiple of `lanes`. Lanes at or beyond
/// `size` do not exist; they are clamped to the last element. `group` is whether any lane exists.
pub(super) fn ragged(
    module: &mut WgslModule,
    index: Vec<String>,
    axis: usize,
    size: usize,
    lanes: usize,
    group: Option<String>,
) -> EvaluationPoint {
    let mut point = EvaluationPoint::along(index, axis, size, lanes);
    if lanes == 1 || size.is_multiple_of(lanes) {
        point.mask = group.map_or(Mask::All, Mask::Group);
        return point;
    }
    let (first, limit) = (point.index[axis].clone(), module.size(size));
    let mut conditions = Vec::new();
    for lane in 0..lanes {
        if lane > 0 {
            point.steps[lane] = module.bind("d", &format!("min({lane}u, {limit} - 1u - {first})"));
        }
        let exists = format!("{first} + {lane}u < {limit}");
        conditions.push(group.as_ref().map_or(exists.clone(), |group| format!("{group} && {exists}")));
    }
    point.mask = Mask::Each(conditions);
    point
}
