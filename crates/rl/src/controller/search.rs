//! Local search in closed loop: gates are changed, and a change stays if the circuit earns more.
//!
//! The first goal is that of the task (that all starts survive, or a mean return), the second a smaller circuit. Candidates
//! run bit-parallel on a few starts. A candidate that is good enough there, and smaller than the best so far, is tried on
//! thousands of starts. It is kept if it is good enough there too. Otherwise the few get more starts: those on which it fails,
//! or any if the mean counts.
//!
//! Invariant: on the thousands, the result earns at least as much as the initial circuit, or enough. It is determined by the
//! number of candidates and the seed.

use farad::Result;
use farad_circuit::{Gate, GateNode, Netlist, Wire, WorkProgress};

use super::closed_loop::earned;
use super::observation_code::ObservationCode;
use super::task::{ControlGoal, ControlTask, HostState, SearchSizes};

/// By how many the few starts grow.
const MORE: usize = 8;

/// The result of a search.
pub struct LoopSearch {
    /// The best circuit.
    pub netlist: Netlist,
    /// Mean returns on the starts of the search, before and after; enough counts as no more than that.
    pub returns: [f64; 2],
    /// Candidates tried.
    pub candidates: u64,
}

/// Searches for a circuit that is good enough for its task, then for a smaller one.
///
/// # Panics
/// If the task's world does not run on the host.
pub fn settle_in_loop(
    task: &ControlTask,
    netlist: &Netlist,
    code: &ObservationCode,
    (candidates, seed): (u64, u64),
    progress: &WorkProgress,
) -> Result<LoopSearch> {
    let host = task.host.as_ref().expect("a world that runs on the host");
    let few = host.sizes.few[0];
    let starts = (host.starts)(few + host.sizes.many, seed)?;
    let (few, many) = starts.split_at(few);
    let best = tidy(netlist);
    let mut search = Search {
        task,
        sizes: &host.sizes,
        code,
        few: few.to_vec(),
        many,
        used: 0,
        random: seed | 1,
        best: best.clone(),
        sum: 0.0,
        kept: None,
    };
    let before = search.score(&best, many, None);
    if before >= task.enough(many.len()) {
        search.kept = Some(best.clone());
        if let ControlGoal::Return(_) = task.goal {
            search.measure();
        }
    }
    progress.begin("trying changes of the circuit in its world", candidates as usize, None);
    for n in 0..candidates {
        if search.kept.is_none() && n % host.sizes.round == 0 {
            // If it is not good enough by now, it is stuck.
            search.best = best.clone();
            search.measure();
        }
        search.try_one();
        progress.step();
    }
    let (netlist, after) = match search.kept.take() {
        Some(kept) => (kept, task.enough(many.len())),
        None => {
            let after = search.score(&search.best, many, None);
            if after > before { (search.best, after) } else { (best, before) }
        }
    };
    let mean = |sum: f64| sum / many.len() as f64;
    Ok(LoopSearch { returns: [mean(before), mean(after)], netlist, candidates })
}

struct Search<'a> {
    task: &'a ControlTask,
    sizes: &'a SearchSizes,
    code: &'a ObservationCode,
    few: Vec<HostState>,
    many: &'a [HostState],
    /// How many of the many are among the few, if the mean counts.
    used: usize,
    random: u64,
    /// The circuit that the next candidate changes.
    best: Netlist,
    /// What it earns from the few starts.
    sum: f64,
    /// The smallest circuit that was good enough on the many starts.
    kept: Option<Netlist>,
}

impl Search<'_> {
    fn below(&mut self, most: usize) -> usize {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.random >> 33) as usize) % most.max(1)
    }

    fn earned(&self, netlist: &Netlist, starts: &[HostState], hopeless: Option<f64>) -> Vec<f64> {
        earned(self.task, netlist, self.code, starts, hopeless)
    }

    /// What a circuit earns in all, and no more than enough.
    fn score(&self, netlist: &Netlist, starts: &[HostState], hopeless: Option<f64>) -> f64 {
        let sum: f64 = self.earned(netlist, starts, hopeless).iter().sum();
        sum.min(self.task.enough(starts.len()))
    }

    fn measure(&mut self) {
        self.sum = self.score(&self.best, &self.few, None);
    }

    /// Tries a change. It stays if the circuit is better, or as good and no larger. While nothing is good enough,
    /// the circuit may grow.
    fn try_one(&mut self) {
        let candidate = tidy(&self.changed());
        let (old, new) = (size(&self.best), size(&candidate));
        let may_grow = self.kept.is_none() && new <= self.sizes.largest;
        let least = if new <= old || may_grow { self.sum } else { self.sum + 1.0 };
        let sum = self.score(&candidate, &self.few, Some(least));
        if sum < least {
            return;
        }
        let smallest = self.kept.as_ref().is_none_or(|kept| new < size(kept));
        if sum >= self.task.enough(self.few.len()) && smallest {
            let room = self.sizes.few[1].saturating_sub(self.few.len()).min(MORE);
            let harder = self.harder(&candidate, room);
            if harder.is_none() {
                self.kept = Some(candidate.clone());
            } else if room == 0 {
                return;
            } else {
                // The few starts were not hard enough; the best is measured again.
                self.few.extend(harder.unwrap_or_default());
                self.measure();
                let sum = self.score(&candidate, &self.few, None);
                if sum < self.sum || (sum == self.sum && new > old && !may_grow) {
                    return;
                }
            }
        }
        self.best = candidate;
        self.measure();
    }

    /// At most so many starts on which a circuit should be tried too; none if it is good enough on the many.
    fn harder(&mut self, candidate: &Netlist, room: usize) -> Option<Vec<HostState>> {
        let enough = self.task.enough(self.many.len());
        let earned = self.earned(candidate, self.many, (room == 0).then_some(enough));
        match self.task.goal {
            ControlGoal::Survive => {
                let whole = self.task.enough(1);
                let fell = earned.iter().zip(self.many).filter(|(earned, _)| **earned < whole);
                let mut fell = fell.map(|(_, start)| *start).peekable();
                fell.peek()?;
                Some(fell.take(room).collect())
            }
            ControlGoal::Return(_) => {
                if earned.iter().sum::<f64>() >= enough {
                    return None;
                }
                let from = self.used.min(self.many.len());
                self.used = (from + room).min(self.many.len());
                Some(self.many[from..self.used].to_vec())
            }
        }
    }

    /// The best circuit with one or two gates changed: another function, another operand, or a gate bypassed.
    fn changed(&mut self) -> Netlist {
        let mut netlist = self.best.clone();
        let from = netlist.sources();
        for _ in 0..=self.below(2) {
            let rare = if self.kept.is_none() { 4 } else { 12 };
            if netlist.gates.is_empty() || self.below(rare) == 0 {
                // Every other new gate corrects a current output.
                let output = if netlist.outputs.len() == 1 { 0 } else { self.below(netlist.outputs.len()) };
                let said = netlist.outputs[output].wire;
                let a = if self.below(2) == 0 { said } else { Wire(self.below(netlist.wires()) as u32) };
                let b = Wire(self.below(netlist.wires()) as u32);
                let new = netlist.gate(Gate::ALL[self.below(16)], a, b);
                netlist.outputs[output].wire = new;
                continue;
            }
            let at = self.below(netlist.gates.len());
            let wire = Wire(self.below(from + at) as u32);
            match self.below(4) {
                0 => netlist.gates[at].gate = Gate::ALL[self.below(16)],
                1 => netlist.gates[at].a = wire,
                2 => netlist.gates[at].b = wire,
                _ => netlist.gates[at] = GateNode { gate: Gate::A, a: wire, b: wire },
            }
        }
        netlist
    }
}

fn size(netlist: &Netlist) -> usize {
    netlist.gates.len()
}

/// Removes copies, and gates that the output does not need.
fn tidy(netlist: &Netlist) -> Netlist {
    let live = netlist.live_wires();
    let from = netlist.sources();
    let mut new = Netlist { gates: vec![], outputs: vec![], ..netlist.clone() };
    let mut at: Vec<Wire> = (0..from as u32).map(Wire).collect();
    for (n, node) in netlist.gates.iter().enumerate() {
        let wire = |wire: Wire| at.get(wire.index()).copied().unwrap_or(Wire(0));
        let (a, b) = (wire(node.a), wire(node.b));
        at.push(match node.gate {
            _ if !live[from + n] => Wire(0),
            Gate::A => a,
            Gate::B => b,
            gate => new.gate(gate, a, b),
        });
    }
    for output in &netlist.outputs {
        new.output(output.name.clone(), at[output.wire.index()]);
    }
    new
}
