//! Large netlists on 512 samples at a time: gates are sorted by level and function, so that every run of equal
//! gates is one tight loop.
//!
//! Pairs of gates run in one step. A value takes one cache line. Lines are reused from the level after their
//! last reader on, which keeps the wide layers of a network in the L2 cache. A gate costs about 1.5 ns. For
//! small circuits on many samples, [`Simulator`](super::Simulator) is faster.
//!
//! Invariant: within a level no gate writes what another reads, so their order does not matter. Start at
//! [`WideSimulator::run`].

use std::collections::BTreeMap;

use pulp::{Arch, Simd, WithSimd};

use super::fold::{Folded, FoldedValue, Function};
use super::tape::Then;
use crate::error::{Error, Result};
use crate::netlist::{Netlist, Wire};

/// One signal for 512 samples: sample `s` is bit `s % 64` of word `s / 64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct Line(pub [u64; 8]);

/// Samples of a line.
pub const WIDE_SAMPLES: usize = 512;

/// Equal gates of one level, as a range of the list of operands.
#[derive(Clone, Debug)]
struct GateGroup {
    function: Function,
    then: Option<Then>,
    gates: Vec<[u32; 4]>,
}

/// A netlist without registers, prepared to run on lines.
///
/// ```
/// use farad_circuit::{Gate, Line, Netlist, WideSimulator};
/// let mut netlist = Netlist::new("both");
/// let (a, b) = (netlist.input("a"), netlist.input("b"));
/// let both = netlist.gate(Gate::AND, a, b);
/// netlist.output("both", both);
/// let mut simulator = WideSimulator::new(&netlist)?;
/// simulator.inputs_mut().copy_from_slice(&[Line([0b0011; 8]), Line([0b0101; 8])]);
/// simulator.run();
/// assert_eq!(simulator.output(0), Line([0b0001; 8]));
/// # Ok::<(), farad_circuit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WideSimulator {
    groups: Vec<GateGroup>,
    roots: Vec<Root>,
    inputs: usize,
    gates: usize,
    lines: Vec<Line>,
    arch: Arch,
}

/// The value of an output.
#[derive(Clone, Copy, Debug)]
enum Root {
    Constant(bool),
    Line { line: u32, negated: bool },
}

impl WideSimulator {
    /// Compiles a netlist; keeps only what outputs need.
    pub fn new(netlist: &Netlist) -> Result<WideSimulator> {
        netlist.check()?;
        if !netlist.registers.is_empty() {
            return Err(Error::Registers { name: netlist.name.clone(), registers: netlist.registers.len() });
        }
        let outputs: Vec<Wire> = netlist.roots().collect();
        let folded = Folded::new(netlist, &outputs);
        let (steps, gates) = steps(&folded);
        let (lines, groups, count) = Placing::new(&folded, &steps, &ends(netlist)).place(&steps);
        let root = |value: &FoldedValue| match *value {
            FoldedValue::Constant(value) => Root::Constant(value),
            FoldedValue::Of { definition, negated } => {
                Root::Line { line: lines[definition as usize], negated }
            }
        };
        let roots = folded.roots.iter().map(root).collect();
        let lines = vec![Line::default(); count];
        Ok(WideSimulator { groups, roots, inputs: folded.sources, gates, lines, arch: Arch::new() })
    }

    /// How many gates remain after folding.
    pub fn gates(&self) -> usize {
        self.gates
    }

    /// How many lines the values take.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// One line per input. They keep their contents until they are written again.
    pub fn inputs_mut(&mut self) -> &mut [Line] {
        &mut self.lines[..self.inputs]
    }

    /// Computes all outputs from the inputs.
    pub fn run(&mut self) {
        let WideSimulator { groups, lines, arch, .. } = self;
        arch.dispatch(WideRun { groups, lines });
    }

    /// An output, after [`WideSimulator::run`].
    pub fn output(&self, output: usize) -> Line {
        match self.roots[output] {
            Root::Constant(value) => Line([if value { !0 } else { 0 }; 8]),
            Root::Line { line, negated: false } => self.lines[line as usize],
            Root::Line { line, negated: true } => Line(self.lines[line as usize].0.map(|word| !word)),
        }
    }

    /// How many outputs there are.
    pub fn outputs(&self) -> usize {
        self.roots.len()
    }
}

struct WideRun<'a> {
    groups: &'a [GateGroup],
    lines: &'a mut [Line],
}

impl WithSimd for WideRun<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for group in self.groups {
            evaluate(simd, group, self.lines);
        }
    }
}

/// Computes the gates of a group. The vectors are explicit, because the compiler treats a line as eight
/// separate words.
#[inline(always)]
fn evaluate<S: Simd>(simd: S, group: &GateGroup, lines: &mut [Line]) {
    match group.function {
        Function::And => pairs(simd, group, lines, |a, b| simd.and_u64s(a, b)),
        Function::AndNot => pairs(simd, group, lines, |a, b| simd.and_u64s(a, simd.not_u64s(b))),
        Function::Or => pairs(simd, group, lines, |a, b| simd.or_u64s(a, b)),
        Function::Xor => pairs(simd, group, lines, |a, b| simd.xor_u64s(a, b)),
    }
}

#[inline(always)]
fn pairs<S: Simd>(simd: S, group: &GateGroup, lines: &mut [Line], f: impl Fn(S::u64s, S::u64s) -> S::u64s) {
    let gates = &group.gates;
    match group.then {
        None => two::<S>(gates, lines, f),
        Some(Then::And) => three::<S>(gates, lines, |a, b, c| simd.and_u64s(f(a, b), c)),
        Some(Then::AndNot) => three::<S>(gates, lines, |a, b, c| simd.and_u64s(f(a, b), simd.not_u64s(c))),
        Some(Then::NotAnd) => three::<S>(gates, lines, |a, b, c| simd.and_u64s(simd.not_u64s(f(a, b)), c)),
        Some(Then::Or) => three::<S>(gates, lines, |a, b, c| simd.or_u64s(f(a, b), c)),
        Some(Then::Xor) => three::<S>(gates, lines, |a, b, c| simd.xor_u64s(f(a, b), c)),
    }
}

#[inline(always)]
fn two<S: Simd>(gates: &[[u32; 4]], lines: &mut [Line], f: impl Fn(S::u64s, S::u64s) -> S::u64s) {
    for &[a, b, _, out] in gates {
        let (a, b) = (lines[a as usize], lines[b as usize]);
        let (a, b) = (S::as_simd_u64s(&a.0).0, S::as_simd_u64s(&b.0).0);
        let to = S::as_mut_simd_u64s(&mut lines[out as usize].0).0;
        for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
            *to = f(a, b);
        }
    }
}

#[inline(always)]
fn three<S: Simd>(gates: &[[u32; 4]], lines: &mut [Line], f: impl Fn(S::u64s, S::u64s, S::u64s) -> S::u64s) {
    for &[a, b, c, out] in gates {
        let (a, b, c) = (lines[a as usize], lines[b as usize], lines[c as usize]);
        let (a, b, c) = (S::as_simd_u64s(&a.0).0, S::as_simd_u64s(&b.0).0, S::as_simd_u64s(&c.0).0);
        let to = S::as_mut_simd_u64s(&mut lines[out as usize].0).0;
        for (((to, &a), &b), &c) in to.iter_mut().zip(a).zip(b).zip(c) {
            *to = f(a, b, c);
        }
    }
}

/// One gate, or two if only the second reads the first.
#[derive(Clone, Copy)]
struct WideStep {
    function: Function,
    then: Option<Then>,
    /// The third operand is the second gate's own; the first one again if there is no second gate.
    operands: [u32; 3],
    definition: u32,
}

/// The gates that roots need, fused in pairs where possible, in topological order; and how many gates they are.
fn steps(folded: &Folded) -> (Vec<WideStep>, usize) {
    let first = folded.sources;
    let mut readers = vec![0u32; first + folded.gates.len()];
    for root in &folded.roots {
        if let FoldedValue::Of { definition, .. } = *root {
            // Roots are outputs, so they cannot be fused into their reader.
            readers[definition as usize] += 2;
        }
    }
    for (n, &(_, a, b)) in folded.gates.iter().enumerate().rev() {
        if readers[first + n] > 0 {
            readers[a as usize] += 1;
            readers[b as usize] += 1;
        }
    }
    let mut steps: Vec<Option<WideStep>> = vec![];
    // The step of each gate.
    let mut made = vec![usize::MAX; folded.gates.len()];
    let mut gates = 0;
    for (n, &(function, a, b)) in folded.gates.iter().enumerate() {
        let definition = (first + n) as u32;
        if readers[definition as usize] == 0 {
            continue;
        }
        gates += 1;
        let single = |operand: u32| {
            let step = *made.get((operand as usize).checked_sub(first)?)?;
            let before = steps[step].filter(|step| step.then.is_none())?;
            (readers[operand as usize] == 1).then_some((step, before))
        };
        let joined = single(a).map(|found| (found, b, true)).or(single(b).map(|found| (found, a, false)));
        let step = match joined {
            None => WideStep { function, then: None, operands: [a, b, a], definition },
            Some(((step, before), other, is_first)) => {
                let then = match function {
                    Function::And => Then::And,
                    Function::AndNot if is_first => Then::AndNot,
                    Function::AndNot => Then::NotAnd,
                    Function::Or => Then::Or,
                    Function::Xor => Then::Xor,
                };
                steps[step] = None;
                let [a, b, _] = before.operands;
                WideStep { function: before.function, then: Some(then), operands: [a, b, other], definition }
            }
        };
        made[n] = steps.len();
        steps.push(Some(step));
    }
    (steps.into_iter().flatten().collect(), gates)
}

/// The gates at which the parts of a netlist end, if it has any.
fn ends(netlist: &Netlist) -> Vec<usize> {
    let lengths = netlist.parts().unwrap_or_default().into_iter().map(|(_, length)| length);
    lengths
        .scan(0, |end, length| {
            *end += length;
            Some(*end)
        })
        .collect()
}

/// Assigns lines to values.
struct Placing {
    /// The line of each definition.
    lines: Vec<u32>,
    levels: Vec<u32>,
    /// The last level that reads a definition.
    last: Vec<u32>,
    sources: usize,
}

/// The level of values that are read at the end.
const END: u32 = u32::MAX;

impl Placing {
    /// Levels restart after every part, so that the values of one part are close together while it is computed.
    fn new(folded: &Folded, steps: &[WideStep], ends: &[usize]) -> Placing {
        let definitions = folded.sources + folded.gates.len();
        let (mut levels, mut last) = (vec![0u32; definitions], vec![0u32; definitions]);
        let (mut ends, mut before, mut highest) = (ends.iter().peekable(), 0, 0);
        for step in steps {
            let gate = folded.origins[step.definition as usize - folded.sources] as usize;
            while ends.next_if(|&&end| gate >= end).is_some() {
                before = highest;
            }
            let read = step.operands.iter().map(|&read| levels[read as usize]).max().unwrap_or(0);
            let level = 1 + read.max(before);
            highest = highest.max(level);
            levels[step.definition as usize] = level;
            step.operands.iter().for_each(|&read| last[read as usize] = last[read as usize].max(level));
        }
        for root in &folded.roots {
            if let FoldedValue::Of { definition, .. } = *root {
                last[definition as usize] = END;
            }
        }
        Placing { lines: (0..definitions as u32).collect(), levels, last, sources: folded.sources }
    }

    /// Lines of definitions, gates by level and function, and the number of lines.
    fn place(mut self, steps: &[WideStep]) -> (Vec<u32>, Vec<GateGroup>, usize) {
        let mut by_level: BTreeMap<u32, Vec<WideStep>> = BTreeMap::new();
        for &step in steps {
            by_level.entry(self.levels[step.definition as usize]).or_default().push(step);
        }
        let (mut groups, mut count) = (vec![], self.sources as u32);
        let mut free: Vec<u32> = vec![];
        // Lines whose last reader is at a level.
        let mut dying: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (level, mut steps) in by_level {
            while let Some(entry) = dying.first_entry().filter(|entry| *entry.key() < level) {
                free.extend(entry.remove());
            }
            // Low lines first, so that those in use stay close together.
            free.sort_unstable_by(|a, b| b.cmp(a));
            steps.sort_by_key(|step| (step.function as u8, step.then.map_or(0, |then| then as u8 + 1)));
            for step in &steps {
                let line = free.pop().unwrap_or_else(|| {
                    count += 1;
                    count - 1
                });
                self.lines[step.definition as usize] = line;
                let last = self.last[step.definition as usize];
                if last != END {
                    dying.entry(last).or_default().push(line);
                }
                let [a, b, c] = step.operands.map(|read| self.lines[read as usize]);
                let same =
                    |group: &&mut GateGroup| group.function == step.function && group.then == step.then;
                let new = step.definition == steps[0].definition;
                match groups.last_mut().filter(|group| !new && same(group)) {
                    Some(group) => group.gates.push([a, b, c, line]),
                    None => groups.push(GateGroup {
                        function: step.function,
                        then: step.then,
                        gates: vec![[a, b, c, line]],
                    }),
                }
            }
        }
        (self.lines, groups, count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulator;

    #[test]
    fn wide_runs_say_what_others_say() {
        for (seed, inputs, gates, outputs) in
            [(1, 3, 5, 2), (2, 9, 200, 7), (3, 40, 3000, 30), (4, 5, 400, 400)]
        {
            let netlist = Netlist::random(seed, inputs, gates, outputs);
            let mut wide = WideSimulator::new(&netlist).unwrap();
            let plane = |n: usize| -> Line {
                let word = |w: usize| (n * 8 + w + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) as u64;
                Line(std::array::from_fn(|w| word(w) ^ (word(w) >> 29)))
            };
            let planes: Vec<Line> = (0..inputs).map(plane).collect();
            let slices: Vec<&[u64]> = planes.iter().map(|line| &line.0[..]).collect();
            let wanted = Simulator::new(&netlist).unwrap().run(&slices);
            // Twice: nothing may be left over from the first run.
            for _ in 0..2 {
                wide.inputs_mut().copy_from_slice(&planes);
                wide.run();
                for (n, wanted) in wanted.iter().enumerate() {
                    assert_eq!(wide.output(n).0[..], wanted[..], "seed {seed}, output {n}");
                }
            }
            assert!(wide.outputs() == outputs && wide.gates() <= gates);
        }
    }

    #[test]
    fn parts_are_computed_one_after_the_other() {
        let votes = Netlist::random(7, 12, 400, 60);
        let classes: Vec<usize> = (0..60).map(|n| n % 5).collect();
        let netlist = votes.with_class_head(&classes, 5).netlist;
        assert!(ends(&netlist).len() == 7 && ends(&netlist).last() == Some(&netlist.gates.len()));
        let mut wide = WideSimulator::new(&netlist).unwrap();
        let plane = |n: usize| Line(std::array::from_fn(|w| crate::graph::exhaustive_word(n, w)));
        let planes: Vec<Line> = (0..12).map(plane).collect();
        let slices: Vec<&[u64]> = planes.iter().map(|line| &line.0[..]).collect();
        let wanted = Simulator::new(&netlist).unwrap().run(&slices);
        wide.inputs_mut().copy_from_slice(&planes);
        wide.run();
        for (n, wanted) in wanted.iter().enumerate() {
            assert_eq!(wide.output(n).0[..], wanted[..], "output {n}");
        }
    }

    #[test]
    fn registers_are_refused() {
        let mut netlist = Netlist::new("toggle");
        netlist.register("state", false);
        let error = WideSimulator::new(&netlist).unwrap_err().to_string();
        assert_eq!(error, "simulate: a wide simulation has no state: toggle (1 registers vs 0)");
    }
}
