//! Where a tape is evaluated, which lanes exist there, and what registers hold in each.

use super::module::WgslModule;

/// Which of a point's lanes exist.
#[derive(Clone, Debug)]
pub(super) enum Mask {
    /// All.
    All,
    /// All or none: the condition's text.
    Group(String),
    /// A condition a lane.
    Each(Vec<String>),
}

/// Where a tape is evaluated: an index per axis, and neighbors of it along one axis.
///
/// Indices lie inside the axes even where the mask says that a lane does not exist, so that loads
/// need no mask.
#[derive(Clone, Debug)]
pub(super) struct EvaluationPoint {
    /// Names of the first lane's indices (`u32`), an axis each.
    pub index: Vec<String>,
    /// The axis that lanes lie along.
    pub axis: usize,
    /// How many lanes.
    pub lanes: usize,
    /// How far each lane lies from the first.
    pub steps: Vec<String>,
    /// The first lane's index is a multiple of `lanes`.
    pub aligned: bool,
    /// The size of that axis.
    pub size: usize,
    /// Which lanes exist.
    pub mask: Mask,
}

/// A register's text in every lane; one text if all lanes have the same.
#[derive(Clone, Debug)]
pub(super) struct LaneText(pub Vec<String>);

impl LaneText {
    /// The same in all lanes.
    pub fn one(text: impl Into<String>) -> LaneText {
        LaneText(vec![text.into()])
    }

    /// The text in a lane.
    pub fn lane(&self, lane: usize) -> &str {
        if self.0.len() == 1 { &self.0[0] } else { &self.0[lane] }
    }

    /// Whether all lanes have the same.
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

    /// A point of `lanes` neighbors along `axis` (of this size), from a multiple of `lanes` on.
    pub fn along(index: Vec<String>, axis: usize, size: usize, lanes: usize) -> EvaluationPoint {
        let steps = (0..lanes).map(|lane| format!("{lane}u")).collect();
        EvaluationPoint { index, axis, lanes, steps, aligned: true, size, mask: Mask::All }
    }

    /// Whether the lanes are neighbors without a gap from a multiple of `lanes` on.
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

    /// The lanes' axis's entry of a list of factors; zero for a single lane.
    pub fn factor<'f>(&self, factors: &'f [i64]) -> &'f i64 {
        if self.lanes == 1 { &0 } else { &factors[self.axis] }
    }
}

/// A point of `lanes` neighbors along `axis`, from a multiple of `lanes` on and below `size`; lanes
/// beyond the size stand for the last element and do not exist. `group`: whether any lane exists.
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
