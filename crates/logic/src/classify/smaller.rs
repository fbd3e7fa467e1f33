//! Making the circuit of a network smaller: first its votes, then a head on top of these.
//!
//! Votes are simplified and proved equal to the learned ones. The head is rebuilt from them, so that it stays
//! as flat as adders and comparators on words are. Small circuits are simplified once more as a whole. Start at
//! [`smaller`].

use std::time::Duration;

use farad_circuit::equivalence::Budget;
use farad_circuit::simplify::{SimplifyOptions, simplify};
use farad_circuit::{Netlist, Statistics, WorkProgress};

use super::cut::{Ballots, deciding};
use super::data::ClassifierData;
use super::learned::LearnedClassifier;
use crate::error::Result;

/// Up to this many gates, a circuit is simplified as a whole: there, fewer gates are worth more than fewer
/// levels.
pub const SMALL: usize = 1500;

/// How many times a simplified circuit is simplified again.
const ROUNDS: usize = 3;

/// A smaller circuit.
pub struct Smaller {
    /// With the class as its outputs.
    pub netlist: Netlist,
    /// The same gates with the counts of all classes as further outputs, if they still exist.
    pub with_counts: Option<Netlist>,
    /// Whether it is proved that nothing changed except for omitted votes, for all inputs that thresholds can
    /// produce.
    pub proved: bool,
    /// Whether time ran out.
    pub out_of_time: bool,
    /// Votes that the head counts.
    pub votes: usize,
}

/// A circuit before it is made smaller.
#[derive(Clone, Debug, PartialEq)]
pub enum CircuitForm {
    /// Its outputs are votes, each for a class.
    Votes {
        /// Named `vote_c_k`.
        netlist: Netlist,
        /// The class of every output.
        of: Vec<usize>,
    },
    /// Its outputs are the number of the class.
    Number(Netlist),
}

impl CircuitForm {
    /// From a network, with the votes that decide on these data; without data, with all votes.
    pub fn of(learned: &LearnedClassifier, data: Option<&ClassifierData>) -> Result<CircuitForm> {
        let mut netlist = learned.network.to_netlist_of_votes(&learned.name())?;
        let head = learned.network.head();
        let group = head.features() / head.classes();
        let mut of: Vec<usize> = (0..head.features()).map(|vote| vote / group).collect();
        if let Some(data) = data {
            let thresholds = learned.network.encoding().levels()?;
            let [train, validation] =
                [&data.train, &data.validation].map(|part| Ballots::of(&netlist, &thresholds, part));
            let kept = deciding(&of, learned.classes.len(), train?, validation?);
            netlist.outputs = kept.iter().map(|&vote| netlist.outputs[vote].clone()).collect();
            of = kept.iter().map(|&vote| of[vote]).collect();
        }
        Ok(CircuitForm::Votes { netlist, of })
    }

    /// The gates.
    pub fn netlist(&self) -> &Netlist {
        match self {
            CircuitForm::Votes { netlist, .. } | CircuitForm::Number(netlist) => netlist,
        }
    }

    /// From a file: the names of outputs say what they are.
    pub fn read(netlist: Netlist) -> Option<CircuitForm> {
        if netlist.outputs.iter().all(|output| output.name.starts_with("class")) {
            return Some(CircuitForm::Number(netlist));
        }
        let class = |name: &str| name.strip_prefix("vote_")?.split('_').next()?.parse().ok();
        let of = netlist.outputs.iter().map(|output| class(&output.name)).collect::<Option<_>>()?;
        Some(CircuitForm::Votes { netlist, of })
    }
}

/// Makes a network's circuit smaller.
pub fn smaller(learned: &LearnedClassifier, form: &CircuitForm, progress: &WorkProgress) -> Result<Smaller> {
    let small = Simplifier { options: options(learned, progress), order: BitOrder::of(learned)? };
    let mut made = match form {
        CircuitForm::Votes { netlist, of } => {
            let (simple, proved, out_of_time) = small.run(netlist)?;
            let elected = simple.with_class_head(of, learned.classes.len());
            let (netlist, with_counts) = (elected.netlist, Some(elected.with_counts));
            Smaller { netlist, with_counts, proved, out_of_time, votes: of.len() }
        }
        CircuitForm::Number(netlist) => Smaller {
            netlist: netlist.clone().without_parts(),
            with_counts: None,
            proved: true,
            out_of_time: false,
            votes: 0,
        },
    };
    if Statistics::of(&made.netlist).active <= SMALL {
        let (whole, proved, out_of_time) = small.run(&made.netlist)?;
        made.proved &= proved;
        made.out_of_time |= out_of_time;
        if Statistics::of(&whole).active < Statistics::of(&made.netlist).active {
            (made.netlist, made.with_counts) = (whole, None);
        }
    }
    let known = learned.known()?;
    [Some(&mut made.netlist), made.with_counts.as_mut()]
        .into_iter()
        .flatten()
        .for_each(|netlist| netlist.meta.extend(known.clone()));
    Ok(made)
}

fn options(learned: &LearnedClassifier, progress: &WorkProgress) -> SimplifyOptions {
    let time = Some(Duration::from_secs(learned.settings.simplify_seconds as u64));
    let (proof, progress) = (Budget { time, ..Budget::default() }, progress.clone());
    SimplifyOptions { time, proof, progress, ..SimplifyOptions::default() }
}

/// Which input bits imply others: of two thresholds of a number, the higher one is never reached alone.
struct BitOrder {
    thresholds: Vec<f32>,
    levels: usize,
}

impl BitOrder {
    fn of(learned: &LearnedClassifier) -> Result<BitOrder> {
        let encoding = learned.network.encoding();
        Ok(BitOrder { thresholds: encoding.levels()?, levels: encoding.thresholds_per_feature() })
    }

    fn implies(&self, n: usize, m: usize) -> bool {
        n / self.levels == m / self.levels && self.thresholds[n] >= self.thresholds[m]
    }
}

/// Simplification that knows which inputs can occur.
struct Simplifier {
    options: SimplifyOptions,
    order: BitOrder,
}

impl Simplifier {
    /// A smaller netlist, whether each step is proved, and whether time ran out.
    fn run(&self, netlist: &Netlist) -> Result<(Netlist, bool, bool)> {
        let (mut best, mut proved, mut out_of_time) = (netlist.clone(), true, false);
        // A gate that is simplified for inputs that can occur may let others be simplified.
        for _ in 0..ROUNDS {
            let told = best.with_implied_inputs(|n, m| self.order.implies(n, m));
            let simple = simplify(&told, &self.options)?;
            proved &= simple.report.equivalence.is_proved();
            out_of_time |= simple.report.out_of_time;
            let gains = Statistics::of(&simple.netlist).active < Statistics::of(&best).active;
            best = simple.netlist;
            if !gains || self.order.levels == 1 || out_of_time {
                break;
            }
        }
        Ok((best, proved, out_of_time))
    }
}
