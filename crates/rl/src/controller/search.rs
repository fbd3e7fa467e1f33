//! Local search in closed loop: gates are changed, and a change stays if the pole stands longer.
//!
//! The first goal is that all starts survive, the second a smaller circuit. Candidates run bit-parallel on a
//! few starts. A candidate that is perfect there, and smaller than the best so far, is tried on thousands of
//! starts. It is kept if it is perfect there too. Otherwise, starts on which it fails join the few.
//!
//! Invariant: on the thousands, the result survives at least as many steps as the initial circuit. It is
//! determined by the number of candidates and the seed.

use farad::Result;
use farad_circuit::{Gate, GateNode, Netlist, Wire};

use super::closed_loop::survived;
use super::observation_code::ObservationCode;
use crate::environments::CartPole;

/// Starts that a candidate is tried on first, and starts that decide.
const FEW: usize = 64;
const MANY: usize = 8192;
/// Most starts among the few.
const MOST: usize = 256;
/// Largest number of gates to which an imperfect circuit may grow.
const LARGEST: usize = 64;
/// Candidates after which a search without a perfect circuit restarts.
const ROUND: u64 = 5000;

/// The result of a search.
pub struct LoopSearch {
    /// The best circuit.
    pub netlist: Netlist,
    /// Mean steps on the starts of the search, before and after.
    pub steps: [f64; 2],
    /// Candidates tried.
    pub candidates: u64,
}

/// Searches for a circuit that survives from every start, then for a smaller one.
pub fn settle_in_loop(
    netlist: &Netlist,
    code: &ObservationCode,
    candidates: u64,
    seed: u64,
) -> Result<LoopSearch> {
    let starts = CartPole::starts(FEW + MANY, seed)?;
    let (few, many) = starts.split_at(FEW);
    let best = tidy(netlist);
    let mut search =
        Search { code, few: few.to_vec(), many, random: seed | 1, best: best.clone(), sum: 0, kept: None };
    let before = survived(&best, code, many, None).iter().sum();
    if before == whole(many) {
        search.kept = Some(best.clone());
    }
    for n in 0..candidates {
        if search.kept.is_none() && n % ROUND == 0 {
            // If it is not perfect by now, it is stuck.
            search.best = best.clone();
            search.measure();
        }
        search.try_one();
    }
    let (netlist, after) = match search.kept {
        Some(kept) => (kept, whole(many)),
        None => {
            let after = survived(&search.best, code, many, None).iter().sum();
            if after > before { (search.best, after) } else { (best, before) }
        }
    };
    let mean = |sum: u64| sum as f64 / many.len() as f64;
    Ok(LoopSearch { steps: [mean(before), mean(after)], netlist, candidates })
}

/// The total number of steps if all starts survive.
fn whole(starts: &[[f64; 4]]) -> u64 {
    (starts.len() * CartPole::LONGEST) as u64
}

struct Search<'a> {
    code: &'a ObservationCode,
    few: Vec<[f64; 4]>,
    many: &'a [[f64; 4]],
    random: u64,
    /// The circuit that the next candidate changes.
    best: Netlist,
    /// Steps that it survives on the few starts.
    sum: u64,
    /// The smallest circuit that was perfect on the many starts.
    kept: Option<Netlist>,
}

impl Search<'_> {
    fn below(&mut self, most: usize) -> usize {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.random >> 33) as usize) % most.max(1)
    }

    fn measure(&mut self) {
        self.sum = survived(&self.best, self.code, &self.few, None).iter().sum();
    }

    /// Tries a change. It stays if the circuit is better, or as good and no larger. While nothing is perfect,
    /// the circuit may grow.
    fn try_one(&mut self) {
        let candidate = tidy(&self.changed());
        let (old, new) = (size(&self.best), size(&candidate));
        let may_grow = self.kept.is_none() && new <= LARGEST;
        let least = if new <= old || may_grow { self.sum } else { self.sum + 1 };
        let sum: u64 = survived(&candidate, self.code, &self.few, Some(least)).iter().sum();
        if sum < least {
            return;
        }
        let smallest = self.kept.as_ref().is_none_or(|kept| new < size(kept));
        if sum == whole(&self.few) && smallest {
            let room = MOST.saturating_sub(self.few.len()).min(8);
            let hopeless = (room == 0).then(|| whole(self.many));
            let steps = survived(&candidate, self.code, self.many, hopeless);
            let fell = steps.iter().zip(self.many).filter(|(steps, _)| **steps < CartPole::LONGEST as u64);
            let mut fell = fell.map(|(_, start)| *start).peekable();
            if fell.peek().is_none() {
                self.kept = Some(candidate.clone());
            } else if room == 0 {
                return;
            } else {
                // The few starts were not hard enough; the best is measured again.
                self.few.extend(fell.take(room));
                self.measure();
                let sum: u64 = survived(&candidate, self.code, &self.few, None).iter().sum();
                if sum < self.sum || (sum == self.sum && new > old && !may_grow) {
                    return;
                }
            }
        }
        self.best = candidate;
        self.measure();
    }

    /// The best circuit with one or two gates changed: another function, another operand, or a gate bypassed.
    fn changed(&mut self) -> Netlist {
        let mut netlist = self.best.clone();
        let from = netlist.sources();
        for _ in 0..=self.below(2) {
            let rare = if self.kept.is_none() { 4 } else { 12 };
            if netlist.gates.is_empty() || self.below(rare) == 0 {
                // Every other new gate corrects the current output.
                let said = netlist.outputs[0].wire;
                let a = if self.below(2) == 0 { said } else { Wire(self.below(netlist.wires()) as u32) };
                let b = Wire(self.below(netlist.wires()) as u32);
                let new = netlist.gate(Gate::ALL[self.below(16)], a, b);
                netlist.outputs[0].wire = new;
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
