//! Novelty search: a population moves to where nobody has been.
//!
//! How novel a creature is, is the mean distance of its descriptors to those of its nearest neighbors, among the
//! population and everybody who was once kept. Invariant: it depends on the lists here and on nothing else.

use farad_world::Genotype;
use serde::{Deserialize, Serialize};

/// Most creatures that are kept; beyond it, the oldest make room.
const MOST_SEEN: usize = 10_000;

/// A creature of the population.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoveltyMember {
    /// Its descriptors, from 0 to 1.
    pub place: Vec<f64>,
    /// What it grows from.
    pub genotype: Genotype,
}

/// The population of a novelty search, and where somebody has been.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Novelty {
    /// The population, the most novel first.
    pub members: Vec<NoveltyMember>,
    /// Descriptors of creatures that were kept.
    pub seen: Vec<Vec<f64>>,
}

impl Novelty {
    /// Takes the children of a generation. The `size` most novel of everybody live on, and the `kept` most novel
    /// children are remembered. Returns the mean novelty of those who live on.
    pub fn take(&mut self, children: Vec<NoveltyMember>, size: usize, kept: usize, neighbors: usize) -> f64 {
        let first = self.members.len();
        self.members.extend(children);
        let places: Vec<&Vec<f64>> =
            self.members.iter().map(|member| &member.place).chain(&self.seen).collect();
        let novel: Vec<f64> = (0..self.members.len()).map(|own| novelty(own, &places, neighbors)).collect();
        let mut order: Vec<usize> = (0..novel.len()).collect();
        order.sort_by(|&a, &b| novel[b].total_cmp(&novel[a]).then(a.cmp(&b)));
        let remembered: Vec<Vec<f64>> = order
            .iter()
            .filter(|&&n| n >= first)
            .take(kept)
            .map(|&n| self.members[n].place.clone())
            .collect();
        self.seen.extend(remembered);
        let over = self.seen.len().saturating_sub(MOST_SEEN);
        self.seen.drain(..over);
        order.truncate(size);
        self.members = order.iter().map(|&n| self.members[n].clone()).collect();
        order.iter().map(|&n| novel[n]).sum::<f64>() / order.len().max(1) as f64
    }
}

/// The mean distance to the nearest others.
fn novelty(own: usize, places: &[&Vec<f64>], neighbors: usize) -> f64 {
    let square =
        |other: &Vec<f64>| places[own].iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let mut all: Vec<f64> =
        places.iter().enumerate().filter(|(n, _)| *n != own).map(|(_, other)| square(other)).collect();
    let count = neighbors.min(all.len());
    if count == 0 {
        return f64::INFINITY;
    }
    if count < all.len() {
        all.select_nth_unstable_by(count - 1, f64::total_cmp);
        all.truncate(count);
    }
    // In order, so that the sum does not depend on how they were selected.
    all.sort_by(f64::total_cmp);
    all.iter().map(|square| square.sqrt()).sum::<f64>() / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_far_from_others_lives_on() {
        let genotype = Genotype::random(1);
        let at = |x: f64| NoveltyMember { place: vec![x, 0.0], genotype: genotype.clone() };
        let mut search = Novelty::default();
        search.take(vec![at(0.0), at(0.01), at(0.02), at(0.9), at(0.5)], 2, 1, 2);
        assert_eq!(search.members.iter().map(|m| m.place[0]).collect::<Vec<_>>(), [0.9, 0.5]);
        assert_eq!(search.seen, [[0.9, 0.0]]);
        // Nobody new: the place of 0.9 is taken, and 0.2 has room around it.
        search.take(vec![at(0.91), at(0.2)], 1, 1, 2);
        assert_eq!(search.members[0].place[0], 0.2);
        assert_eq!(search.seen.len(), 2);
    }
}
