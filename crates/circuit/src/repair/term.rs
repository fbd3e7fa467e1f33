//! Repair by terms: conjunctions of a few literals that are true at a single place and step only, where they
//! flip a bit.
//!
//! From a single start, a circuit visits few neighborhoods. A conjunction of wires that is true in the one
//! where a bit is wrong, and in no other visited one, changes nothing else before that step. So most wrong bits
//! of the last step can be corrected one by one, with a handful of gates each. Unused channels carry such a
//! mark over several steps. Start at [`Terms::draw`].

use pulp::{Arch, Simd, WithSimd};

use super::bench::{Bench, Record};
use super::cell::CellCircuit;
use super::random::SplitMix;
use super::tape::{Literal, Tape};
use crate::gate::Gate;
use crate::netlist::Wire;

/// Most literals of a term.
const MOST: usize = 9;
/// The same if there are many starts: then cells are wrong for simpler reasons.
const FEW: usize = 4;
/// Wires that are considered for each literal.
const LOOKED_AT: usize = 160;

/// The behavior of a circuit from its only start, wire by wire.
pub(super) struct Terms<'a> {
    bench: &'a Bench,
    tape: &'a Tape,
    /// The tape as a cell.
    cell: CellCircuit,
    record: &'a Record,
    /// Wires that carry something: inputs of channels that matter, and ops.
    wires: Vec<u32>,
    /// Wrong bits of each visible channel.
    wrong: Vec<Vec<u32>>,
}

/// A bit that should be flipped: at a step, of a channel, in a cell.
struct Flip {
    step: usize,
    channel: usize,
    word: usize,
    mask: u32,
    /// Cells in which the same change is wanted.
    welcome: Vec<u32>,
    /// The current bit.
    now: bool,
}

impl<'a> Terms<'a> {
    pub(super) fn new(bench: &'a Bench, tape: &'a Tape, record: &'a Record) -> Terms<'a> {
        let channels = bench.channels;
        let inputs = 9 * channels;
        let mut matters = vec![false; channels];
        tape.outputs.iter().for_each(|&(channel, _)| matters[channel] = true);
        let wires =
            (0..inputs).filter(|input| matters[input % channels]).chain(inputs..inputs + tape.ops.len());
        let wires = wires.map(|wire| wire as u32).collect();
        let wrong = record.seen.iter().zip(&bench.wanted).map(|(seen, wanted)| {
            let words = seen.iter().zip(wanted).zip(&bench.samples);
            words.map(|((seen, wanted), samples)| (seen ^ wanted) & samples).collect()
        });
        let wrong = wrong.collect();
        Terms { bench, tape, cell: tape.cell(channels), record, wires, wrong }
    }

    /// A cell with one more term, if one is found.
    pub(super) fn draw(&self, random: &mut SplitMix) -> Option<CellCircuit> {
        let flip = if random.one_in(8) && self.bench.starts() == 1 {
            self.hidden(random)?
        } else {
            self.visible(random)?
        };
        let (literals, _) = self.literals(&flip, random)?;
        Some(self.with_term(&flip, &literals))
    }

    /// A cell in which unused channels carry a mark to a wrong bit, from a place and step that is
    /// distinguishable from all others: cells that look alike at the last step may have had different pasts.
    /// Also returns the last of these channels.
    pub(super) fn marked(&self, random: &mut SplitMix) -> Option<(CellCircuit, usize)> {
        let (height, width) = self.bench.layout.size();
        let mut spare = self.spare();
        let hops = 1 + random.below(3.min(self.record.steps - 1));
        if spare.len() < hops || height * width == 0 {
            return None;
        }
        let (_, word, mask) = self.wrong_bit(random)?;
        let samples = |cell: usize| self.bench.layout.words_of(cell).next();
        let mut place = (0..height * width).find(|&cell| samples(cell) == Some((word, mask)))?;
        let mut positions = vec![];
        for _ in 0..hops {
            let position = random.below(9);
            positions.push(position);
            let (y, x) = (place / width + position / 3, place % width + position % 3);
            if self.bench.wraps {
                place = (y + height - 1) % height * width + (x + width - 1) % width;
            } else if (1..=height).contains(&y) && (1..=width).contains(&x) {
                place = (y - 1) * width + x - 1;
            } else {
                return None;
            }
        }
        let (word, mask) = samples(place)?;
        let step = self.record.steps - 1 - hops;
        let first = spare.pop()?;
        let welcome = vec![0; self.record.span];
        let flip = Flip { step, channel: first, word, mask, welcome, now: false };
        let (literals, left) = self.literals(&flip, random)?;
        if left > 0 {
            return None;
        }
        let mut cell = self.cell.clone();
        let (term, on) = conjunction(&mut cell, &literals);
        cell.outputs[first] = if on { term } else { cell.gate(Gate::NOT_A, term, term) };
        let mut last = first;
        for &position in positions[1..].iter().rev() {
            let next = spare.pop()?;
            cell.outputs[next] = Wire((position * cell.channels + last) as u32);
            last = next;
        }
        Some((cell, last))
    }

    /// Channels that nothing visible depends on.
    fn spare(&self) -> Vec<usize> {
        let used = |channel: &usize| self.tape.outputs.iter().any(|(used, _)| used == channel);
        (0..self.bench.channels).filter(|channel| !used(channel)).collect()
    }

    /// A wrong bit of the last step.
    fn visible(&self, random: &mut SplitMix) -> Option<Flip> {
        let (shown, word, mask) = self.wrong_bit(random)?;
        let wanted = &self.bench.wanted[shown];
        let now = wanted[word] & mask == 0;
        let same = |(wrong, wanted): (&u32, &u32)| wrong & if now { !wanted } else { *wanted };
        let welcome = self.wrong[shown].iter().zip(wanted).map(same).collect();
        let channel = self.bench.visible[shown];
        Some(Flip { step: self.record.steps - 1, channel, word, mask, welcome, now })
    }

    fn wrong_bit(&self, random: &mut SplitMix) -> Option<(usize, usize, u32)> {
        let bits = |words: &Vec<u32>| words.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let all: usize = self.wrong.iter().map(bits).sum();
        let mut left = if all > 0 { random.below(all) } else { return None };
        for (shown, words) in self.wrong.iter().enumerate() {
            for (word, &bits) in words.iter().enumerate() {
                for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
                    if left == 0 {
                        return Some((shown, word, 1 << bit));
                    }
                    left -= 1;
                }
            }
        }
        None
    }

    /// A bit of any channel and step, in any cell: it may lead to a wrong one.
    fn hidden(&self, random: &mut SplitMix) -> Option<Flip> {
        let step = random.below(self.record.steps);
        let (channel, literal) = self.tape.outputs[random.below(self.tape.outputs.len())];
        let word = random.below(self.record.span);
        let mask = 1 << random.below(32);
        if self.bench.samples[word] & mask == 0 {
            return None;
        }
        let now = self.value(literal, step, word) & mask != 0;
        Some(Flip { step, channel, word, mask, welcome: vec![0; self.record.span], now })
    }

    fn value(&self, literal: Literal, step: usize, word: usize) -> u32 {
        let plain = literal.index().map_or(0, |wire| self.record.at(step, wire)[word]);
        if literal.is_negated() { !plain } else { plain }
    }

    /// Literals that are true together only at the flip, or nearly so; and how many other places remain.
    fn literals(&self, flip: &Flip, random: &mut SplitMix) -> Option<(Vec<(u32, bool)>, usize)> {
        let (span, steps) = (self.record.span, self.record.steps);
        let mut rest: Vec<u32> = (0..steps).flat_map(|_| self.bench.samples.iter().copied()).collect();
        let own = flip.step * span;
        rest[own + flip.word] &= !flip.mask;
        rest[own..own + span].iter_mut().zip(&flip.welcome).for_each(|(rest, welcome)| *rest &= !welcome);
        let mut welcome = flip.welcome.clone();
        let mut literals = vec![];
        let mut left = usize::MAX;
        let most = if self.bench.starts() > 1 { FEW } else { MOST };
        while literals.len() < most && rest.iter().any(|&word| word != 0) {
            let (wire, on) = self.best_literal(flip, &rest, &welcome, random)?;
            for step in 0..steps {
                let values = self.record.at(step, wire as usize);
                let words = rest[step * span..][..span].iter_mut().zip(values);
                words.for_each(|(rest, &value)| *rest &= if on { value } else { !value });
            }
            let values = self.record.at(flip.step, wire as usize);
            welcome
                .iter_mut()
                .zip(values)
                .for_each(|(word, &value)| *word &= if on { value } else { !value });
            let now = rest.iter().map(|word| word.count_ones() as usize).sum();
            if now >= left {
                break;
            }
            left = now;
            literals.push((wire, on));
        }
        // If right cells look the same at the same step, nothing is gained; with many starts, a few may.
        let clear = self.bench.starts() > 1 || rest[own..own + span].iter().all(|&word| word == 0);
        let left = rest.iter().map(|word| word.count_ones() as usize).sum();
        (clear && !literals.is_empty()).then_some((literals, left))
    }

    /// The literal that leaves the fewest places that should not change.
    fn best_literal(
        &self,
        flip: &Flip,
        rest: &[u32],
        welcome: &[u32],
        random: &mut SplitMix,
    ) -> Option<(u32, bool)> {
        let span = self.record.span;
        let full: Vec<usize> = (0..self.record.steps)
            .filter(|step| rest[step * span..][..span].iter().any(|&word| word != 0))
            .collect();
        Arch::new().dispatch(BestLiteral {
            record: self.record,
            wires: &self.wires,
            flip,
            rest,
            full,
            welcome,
            random,
        })
    }

    fn with_term(&self, flip: &Flip, literals: &[(u32, bool)]) -> CellCircuit {
        let mut cell = self.cell.clone();
        let (term, on) = conjunction(&mut cell, literals);
        let gate = if flip.now { Gate::A_AND_NOT_B } else { Gate::OR };
        let gate = if on { gate } else { gate.with_negated_b() };
        cell.outputs[flip.channel] = cell.gate(gate, cell.outputs[flip.channel], term);
        cell
    }
}

/// Adds gates for a conjunction of literals; returns its wire, and whether to read it unnegated.
fn conjunction(cell: &mut CellCircuit, literals: &[(u32, bool)]) -> (Wire, bool) {
    let (first, on) = literals[0];
    let (mut term, mut on) = (Wire(first), on);
    for &(wire, other) in &literals[1..] {
        let gate = if on { Gate::AND } else { Gate::AND.with_negated_a() };
        let gate = if other { gate } else { gate.with_negated_b() };
        (term, on) = (cell.gate(gate, term, Wire(wire)), true);
    }
    (term, on)
}

/// The search for the best literal.
struct BestLiteral<'a> {
    record: &'a Record,
    wires: &'a [u32],
    flip: &'a Flip,
    rest: &'a [u32],
    /// Steps with remaining places.
    full: Vec<usize>,
    welcome: &'a [u32],
    random: &'a mut SplitMix,
}

impl WithSimd for BestLiteral<'_> {
    type Output = Option<(u32, bool)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Option<(u32, bool)> {
        let BestLiteral { record, wires, flip, rest, full, welcome, random } = self;
        let span = record.span;
        let mut best: Option<(f64, u32, bool)> = None;
        for _ in 0..LOOKED_AT.min(wires.len()) {
            let wire = wires[random.below(wires.len())];
            let own = record.at(flip.step, wire as usize);
            let on = own[flip.word] & flip.mask != 0;
            let flipped = if on { 0 } else { !0 };
            let mut left = 0;
            for &step in &full {
                left += count(&rest[step * span..][..span], record.at(step, wire as usize), flipped);
            }
            let kept = count(welcome, own, flipped);
            // Wanted places that remain are worth much; others that remain cost.
            let cost = (left as f64 + 0.5) / (1.0 + kept as f64) * (0.9 + 0.2 * random.share());
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, wire, on));
            }
        }
        best.map(|(_, wire, on)| (wire, on))
    }
}

#[inline(always)]
fn count(words: &[u32], values: &[u32], flip: u32) -> u32 {
    words.iter().zip(values).map(|(word, value)| (word & (value ^ flip)).count_ones()).sum()
}
