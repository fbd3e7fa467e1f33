//! How trials are chosen: all of them, at random, or at random and then the better half for longer.
//!
//! Invariant: the settings of a trial depend on the file alone, and a larger count only adds trials.

use farad::train::settings::TomlValue;
use farad::{Device, Tensor};

use super::space::Dimension;
use crate::error::Result;
use crate::look::{count, counted};

/// How trials are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchKind {
    /// Every combination of all values.
    Grid,
    /// So many combinations, drawn.
    Random,
    /// Drawn ones or, without a count, every combination; after each rung the better ones go on.
    Halving,
}

impl SearchKind {
    /// All of them, by name.
    pub const ALL: [(&'static str, SearchKind); 3] =
        [("grid", SearchKind::Grid), ("random", SearchKind::Random), ("halving", SearchKind::Halving)];
}

/// The search that a file asks for.
#[derive(Clone, Debug)]
pub struct Search {
    /// How trials are chosen.
    pub kind: SearchKind,
    /// How many are drawn; none: every combination.
    pub count: Option<usize>,
    /// What is drawn.
    pub seed: u64,
    /// For halving: updates or epochs after which trials are compared.
    pub rungs: Vec<u64>,
    /// Which of them: the flag of `farad train`.
    pub by: &'static str,
    /// The share of the trials that goes on.
    pub keep: f64,
}

/// The settings of every trial, and how many were asked for where there are not so many.
pub type Chosen = (Vec<Vec<TomlValue>>, Option<usize>);

impl Search {
    /// After how many updates or epochs trials are compared; none where each is trained in one go.
    pub fn stages(&self) -> Vec<Option<u64>> {
        match self.kind {
            SearchKind::Halving => self.rungs.iter().copied().map(Some).collect(),
            _ => vec![None],
        }
    }

    /// In a few words.
    pub fn words(&self) -> String {
        let drawn = format!("drawn with seed {}", self.seed);
        match (self.kind, self.count) {
            (SearchKind::Grid, _) => "every combination".into(),
            (SearchKind::Random, _) => drawn,
            (SearchKind::Halving, drawn_count) => {
                let rungs: Vec<String> = self.rungs.iter().map(|&rung| count(rung)).collect();
                let first = if drawn_count.is_some() { drawn } else { "every combination".into() };
                let (last, before) = rungs.split_last().expect("the file was checked");
                let (share, before) = (100.0 * self.keep, before.join(", "));
                format!("{first}, the best {share:.0} % go on after {before} of {last} {}", self.by)
            }
        }
    }

    /// How many of so many trials go on after a rung.
    pub fn kept(&self, trials: usize) -> usize {
        ((trials as f64 * self.keep).ceil() as usize).clamp(trials.min(1), trials)
    }

    /// The trials.
    pub fn trials(&self, space: &[Dimension]) -> Result<Chosen> {
        match self.count {
            Some(count) => drawn(space, count, self.seed),
            None => Ok((grid(space), None)),
        }
    }
}

/// How many trials a grid has; none where a range has infinitely many values.
pub fn combinations(space: &[Dimension]) -> Option<usize> {
    space.iter().try_fold(1usize, |all, dimension| Some(all.saturating_mul(dimension.all()?.len())))
}

/// Every combination; the last setting varies first.
fn grid(space: &[Dimension]) -> Vec<Vec<TomlValue>> {
    let mut trials = vec![vec![]];
    for dimension in space {
        let values = dimension.all().expect("the file was checked");
        let with = |trial: Vec<TomlValue>| {
            values.iter().map(move |value| trial.iter().chain([value]).cloned().collect()).collect::<Vec<_>>()
        };
        trials = trials.into_iter().flat_map(with).collect();
    }
    trials
}

/// Different combinations, drawn. Of small spaces not all may be found, or there are fewer.
fn drawn(space: &[Dimension], wanted: usize, seed: u64) -> Result<Chosen> {
    let (all, tries) = (combinations(space), 20 * wanted + 100);
    let shares = Tensor::rand_at(seed, 0, [tries, space.len()], &Device::cpu()).to_vec::<f32>()?;
    let mut trials: Vec<Vec<TomlValue>> = vec![];
    for row in shares.chunks(space.len()) {
        if trials.len() == wanted || Some(trials.len()) == all {
            break;
        }
        let values = space.iter().zip(row).map(|(dimension, &share)| dimension.drawn(share.into()));
        let trial: Vec<TomlValue> = values.collect();
        if !trials.contains(&trial) {
            trials.push(trial);
        }
    }
    let missing = (trials.len() < wanted).then_some(wanted);
    Ok((trials, missing))
}

/// What is said of a space that is too large.
pub fn too_many(trials: usize, most: usize) -> String {
    format!("too many trials ({} vs at most {})", counted(trials, "trial"), count(most))
}

#[cfg(test)]
mod tests {
    use super::super::space::{DimensionValues, ValueRange, text};
    use super::*;

    fn space() -> Vec<Dimension> {
        let list = |key: &str, words: &[&str]| Dimension {
            key: key.into(),
            values: DimensionValues::List(words.iter().map(|&word| word.into()).collect()),
        };
        let range = ValueRange { from: 1e-3, to: 1.0, whole: false, log: true, count: None };
        vec![list("a", &["x", "y"]), Dimension { key: "b".into(), values: DimensionValues::Range(range) }]
    }

    fn search(kind: SearchKind, count: Option<usize>, seed: u64) -> Search {
        Search { kind, count, seed, rungs: vec![], by: "updates", keep: 0.5 }
    }

    #[test]
    fn the_same_seed_draws_the_same_and_a_larger_count_adds() {
        let draws = |count, seed| search(SearchKind::Random, Some(count), seed).trials(&space()).unwrap().0;
        assert_eq!(draws(8, 3), draws(8, 3));
        assert_eq!(draws(20, 3)[..8], draws(8, 3));
        assert_ne!(draws(8, 3), draws(8, 4));
        assert_eq!(draws(8, 3).len(), 8);
    }

    #[test]
    fn a_small_space_is_not_drawn_twice() {
        let small = &space()[..1];
        let (trials, missing) = search(SearchKind::Random, Some(5), 1).trials(small).unwrap();
        assert_eq!((trials.len(), missing), (2, Some(5)));
        assert_eq!(combinations(small), Some(2));
        assert_eq!(combinations(&space()), None);
    }

    #[test]
    fn grids_have_every_combination() {
        let two = [space()[0].clone(), Dimension { key: "c".into(), ..space()[0].clone() }];
        let grid = search(SearchKind::Grid, None, 0).trials(&two).unwrap().0;
        let words: Vec<String> = grid.iter().map(|trial| trial.iter().map(text).collect()).collect();
        assert_eq!(words, ["xx", "xy", "yx", "yy"]);
    }

    #[test]
    fn a_share_goes_on() {
        let half = search(SearchKind::Halving, Some(8), 1);
        assert_eq!([0, 1, 2, 3, 8].map(|n| half.kept(n)), [0, 1, 1, 2, 4]);
    }
}
