//! Finds the votes that decide: a head that counts only these is about as good on the data as one that counts
//! all.
//!
//! Votes are added one after another: each time those that help most where classes are still confused, until
//! hardly more samples are wrong than with all votes. Start at [`deciding`].

use farad_circuit::{Netlist, Simulator};
use rayon::prelude::*;

use super::data::HostSamples;
use super::packed::pack;
use crate::error::Result;

/// A validation part with this many samples can judge alone; otherwise training samples judge too.
const ENOUGH: usize = 500;
/// With few samples, one in this many may be wrong in addition to those that all votes get wrong, because few
/// samples are overfitted.
const FEW_WRONG: usize = 40;
/// Most training samples that are used.
const MOST_SAMPLES: usize = 8192;
/// Up to this many samples, votes are added one by one, and removed again if not needed.
const FEW_SAMPLES: usize = 4096;

/// The votes of a network on some samples.
pub struct Ballots {
    /// One plane per vote: sample `s` in bit `s % 64` of word `s / 64`.
    planes: Vec<Vec<u64>>,
    labels: Vec<usize>,
}

impl Ballots {
    /// Evaluates the netlist of votes on samples.
    pub fn of(votes: &Netlist, thresholds: &[f32], part: &HostSamples) -> Result<Ballots> {
        let planes = Simulator::new(votes)?.run(&pack(part, thresholds).slices());
        Ok(Ballots { planes, labels: part.labels.iter().map(|&label| label as usize).collect() })
    }

    /// The first samples.
    fn first(self, count: usize) -> Ballots {
        let count = count.min(self.labels.len());
        let planes = self.planes.into_iter().map(|plane| plane[..count.div_ceil(64)].to_vec()).collect();
        Ballots { planes, labels: self.labels[..count].to_vec() }
    }

    fn is_set(&self, vote: usize, sample: usize) -> bool {
        self.planes[vote][sample / 64] >> (sample % 64) & 1 == 1
    }
}

/// Samples with the counts of every class, updated as votes come and go.
struct Poll<'a> {
    ballots: &'a Ballots,
    classes: usize,
    /// Per sample and class.
    counts: Vec<i32>,
}

impl Poll<'_> {
    fn new(ballots: &Ballots, classes: usize) -> Poll<'_> {
        Poll { ballots, classes, counts: vec![0; ballots.labels.len() * classes] }
    }

    fn count(&mut self, vote: usize, class: usize, by: i32) {
        for (sample, counts) in self.counts.chunks_exact_mut(self.classes).enumerate() {
            counts[class] += by * i32::from(self.ballots.is_set(vote, sample));
        }
    }

    /// How many samples have another class than their own as the first with the most votes.
    fn wrong(&self) -> usize {
        let is_wrong = |(counts, &label): (&[i32], &usize)| {
            let best = (1..counts.len()).fold(0, |best, n| if counts[n] > counts[best] { n } else { best });
            best != label
        };
        let samples = self.counts.chunks_exact(self.classes).zip(&self.ballots.labels);
        samples.filter(|&sample| is_wrong(sample)).count()
    }

    /// By class and sample: how much one more vote would help, if this many are counted per class. The more
    /// there are, the less a single one matters.
    fn needs(&self, votes: usize) -> Vec<Vec<f32>> {
        let scale = (3.0 / (votes.max(1) as f32).sqrt()).min(1.0);
        let mut needs = vec![vec![0.0; self.ballots.labels.len()]; self.classes];
        for (sample, counts) in self.counts.chunks_exact(self.classes).enumerate() {
            let most = counts.iter().copied().max().unwrap_or(0);
            let shares: Vec<f32> =
                counts.iter().map(|&count| (scale * (count - most) as f32).exp()).collect();
            let all: f32 = shares.iter().sum();
            for (class, share) in shares.into_iter().enumerate() {
                let is = self.ballots.labels[sample] == class;
                needs[class][sample] = f32::from(u8::from(is)) - share / all;
            }
        }
        needs
    }

    /// How much a vote for a class helps in total.
    fn gain(&self, vote: usize, needs: &[f32]) -> f64 {
        let mut gain = 0.0;
        for (&word, needs) in self.ballots.planes[vote].iter().zip(needs.chunks(64)) {
            let mut left = word;
            while left != 0 {
                let bit = left.trailing_zeros() as usize;
                gain += needs.get(bit).map_or(0.0, |&need| f64::from(need));
                left &= left - 1;
            }
        }
        gain
    }
}

/// How many samples may be wrong.
struct Allowed {
    /// In both parts together.
    all: usize,
    /// In the validation part, if it is large enough.
    validation: Option<usize>,
}

impl Allowed {
    /// As many as are wrong now, plus some for small parts.
    fn by([train, validation]: &[Poll<'_>; 2]) -> Allowed {
        let own = validation.ballots.labels.len();
        let all = train.wrong() + validation.wrong();
        match own >= ENOUGH {
            true => Allowed { all, validation: Some(validation.wrong()) },
            false => Allowed { all: all + (own + train.ballots.labels.len()) / FEW_WRONG, validation: None },
        }
    }

    fn holds(&self, [train, validation]: &[Poll<'_>; 2]) -> bool {
        let wrong = validation.wrong();
        self.validation.is_none_or(|allowed| wrong <= allowed) && train.wrong() + wrong <= self.all
    }
}

/// The deciding votes, in ascending order: with them no more samples are wrong than with all votes, except one
/// in forty in small parts. `of[n]` is the class that vote `n` counts for. All votes, if fewer are not enough.
pub fn deciding(of: &[usize], classes: usize, train: Ballots, validation: Ballots) -> Vec<usize> {
    let train = train.first(MOST_SAMPLES);
    let mut polls = [Poll::new(&train, classes), Poll::new(&validation, classes)];
    for (vote, &class) in of.iter().enumerate() {
        polls.iter_mut().for_each(|poll| poll.count(vote, class, 1));
    }
    let allowed = Allowed::by(&polls);
    polls.iter_mut().for_each(|poll| poll.counts.fill(0));
    let one_by_one = train.labels.len() <= FEW_SAMPLES;
    let mut taken: Vec<usize> = vec![];
    let mut free: Vec<bool> = vec![true; of.len()];
    while taken.len() < of.len() {
        for vote in helpful(&polls[0], of, &free, one_by_one) {
            free[vote] = false;
            taken.push(vote);
            polls.iter_mut().for_each(|poll| poll.count(vote, of[vote], 1));
        }
        if allowed.holds(&polls) {
            if one_by_one {
                give_back(&mut taken, |vote, by| {
                    polls.iter_mut().for_each(|poll| poll.count(vote, of[vote], by));
                    allowed.holds(&polls)
                });
            }
            taken.sort_unstable();
            return taken;
        }
    }
    (0..of.len()).collect()
}

/// The votes that help most: one, or one per class.
fn helpful(poll: &Poll<'_>, of: &[usize], free: &[bool], one: bool) -> Vec<usize> {
    let taken = free.iter().filter(|free| !**free).count();
    let needs = poll.needs(taken / poll.classes);
    let mut gains: Vec<(f64, usize)> = (0..of.len())
        .into_par_iter()
        .filter(|&vote| free[vote])
        .map(|vote| (poll.gain(vote, &needs[of[vote]]), vote))
        .collect();
    gains.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut seen = vec![false; poll.classes];
    let mut first = |&(_, vote): &(f64, usize)| !std::mem::replace(&mut seen[of[vote]], true);
    let best = gains.iter().filter(|gain| first(gain)).map(|&(_, vote)| vote);
    if one { best.take(1).collect() } else { best.collect() }
}

/// Removes votes that are not needed, the earliest first: those were added when the least was known.
fn give_back(taken: &mut Vec<usize>, mut count: impl FnMut(usize, i32) -> bool) {
    taken.retain(|&vote| {
        let needed = !count(vote, -1);
        if needed {
            count(vote, 1);
        }
        needed
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two votes that are the classes themselves, among noise.
    fn ballots(samples: usize, seed: u64) -> (Ballots, Vec<usize>) {
        let mut random = farad::data::Random::at(seed, 7, 0);
        let labels: Vec<usize> = (0..samples).map(|_| random.below(3)).collect();
        let mut planes = vec![vec![0u64; samples.div_ceil(64)]; 30];
        for (vote, plane) in planes.iter_mut().enumerate() {
            for (sample, &label) in labels.iter().enumerate() {
                let is = if vote % 10 == 4 { label == vote / 10 } else { random.below(3) == 0 };
                plane[sample / 64] |= u64::from(is) << (sample % 64);
            }
        }
        (Ballots { planes, labels }, (0..30).map(|vote| vote / 10).collect())
    }

    #[test]
    fn votes_that_know_the_class_decide() {
        for samples in [100, 600, 5000] {
            let ((train, of), (validation, _)) = (ballots(samples, 1), ballots(samples, 2));
            let kept = deciding(&of, 3, train, validation);
            assert!(kept.len() <= 3, "{samples} samples: {kept:?}");
            assert!(kept.iter().all(|vote| vote % 10 == 4), "{samples} samples: {kept:?}");
        }
    }

    #[test]
    fn no_more_samples_are_wrong_than_with_all_votes() {
        // Only noise: there is nothing to learn, so whatever is kept must only not be worse.
        let noise = || {
            let (mut ballots, of) = ballots(300, 3);
            let mut random = farad::data::Random::at(5, 8, 0);
            ballots.labels.iter_mut().for_each(|label| *label = random.below(3));
            (ballots, of)
        };
        let (all_votes, of) = noise();
        let wrong = |votes: &[usize]| {
            let mut poll = Poll::new(&all_votes, 3);
            votes.iter().for_each(|&vote| poll.count(vote, of[vote], 1));
            poll.wrong()
        };
        let all = wrong(&(0..30).collect::<Vec<_>>());
        let kept = deciding(&of, 3, noise().0, noise().0);
        assert!(wrong(&kept) <= all + 8, "{kept:?}");
    }
}
