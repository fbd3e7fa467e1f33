//! Samples, the value of every wire on them, and how well the circuit classifies.
//!
//! The effect of a change is found without making it: only gates after it are recomputed, until nothing differs
//! any more. Invariant: values, counts and losses are those of the current circuit. Start at [`Panel::effect`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::net::{Change, Net};
use crate::netlist::GateNode;

/// A loss of one, in the fixed-point integers in which losses are counted.
pub(super) const UNIT: i64 = 1 << 16;

/// Samples with their classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanelSamples {
    /// One plane per input of the circuit: sample `s` in bit `s % 64` of word `s / 64`.
    pub planes: Vec<Vec<u64>>,
    /// The class of every sample.
    pub labels: Vec<usize>,
}

impl PanelSamples {
    /// The first `count` samples.
    pub fn first(&self, count: usize) -> PanelSamples {
        let count = count.min(self.labels.len());
        let planes = self.planes.iter().map(|plane| plane[..count.div_ceil(64)].to_vec()).collect();
        PanelSamples { planes, labels: self.labels[..count].to_vec() }
    }
}

/// What the outputs of a circuit mean.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Each output votes for a class; the first class with the most votes is the answer.
    Votes {
        /// The class that each output votes for.
        of: Vec<usize>,
        /// How many classes there are.
        classes: usize,
        /// The difference in votes that counts as clear.
        scale: f32,
    },
    /// The outputs are the number of the class, lowest bit first.
    Number,
}

/// How much better or worse a circuit becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    pub loss: i64,
    pub right: i64,
}

/// Samples with the circuit's values, counts and losses on them.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    words: usize,
    /// Per wire.
    values: Vec<u64>,
    judge: Judge,
    pub loss: i64,
    pub right: i64,
}

#[derive(Clone, Debug)]
enum Judge {
    Votes(Votes),
    Number(PanelNumber),
}

#[derive(Clone, Debug)]
struct Votes {
    of: Vec<usize>,
    classes: usize,
    labels: Vec<u16>,
    /// Per sample and class.
    counts: Vec<i16>,
    /// Per sample.
    losses: Vec<i32>,
    rights: Vec<bool>,
    /// The loss for each margin, starting with the smallest.
    table: Vec<i32>,
}

#[derive(Clone, Debug)]
struct PanelNumber {
    /// Per output, its wanted values.
    wanted: Vec<Vec<u64>>,
    /// Mask of the bits that are samples.
    there: Vec<u64>,
}

/// Buffers for the effect of a change.
#[derive(Clone, Debug, Default)]
pub(super) struct Ripple {
    /// Per wire: the slot of its new plane plus one; 0 if it is unchanged.
    slots: Vec<u32>,
    planes: Vec<u64>,
    changed: Vec<u32>,
    queue: BinaryHeap<Reverse<u32>>,
    waits: Vec<bool>,
    /// Per sample and class: additional votes.
    votes: Vec<i16>,
    touched: Vec<u32>,
    is_touched: Vec<bool>,
}

impl Ripple {
    fn fit(&mut self, net: &Net) {
        self.slots.resize(net.sources + net.nodes.len(), 0);
        self.waits.resize(net.nodes.len(), false);
    }

    fn push(&mut self, gate: u32) {
        if !std::mem::replace(&mut self.waits[gate as usize], true) {
            self.queue.push(Reverse(gate));
        }
    }

    fn clear(&mut self) {
        self.changed.drain(..).for_each(|wire| self.slots[wire as usize] = 0);
        self.planes.clear();
    }
}

impl Panel {
    /// A circuit on samples.
    pub(super) fn new(net: &Net, samples: &PanelSamples, reading: &Reading) -> Panel {
        let words = samples.labels.len().div_ceil(64);
        let mut values: Vec<u64> = samples.planes.iter().flatten().copied().collect();
        values.resize((net.sources + net.nodes.len()) * words, 0);
        for (gate, node) in net.nodes.iter().enumerate() {
            let (before, after) = values.split_at_mut((net.sources + gate) * words);
            let operand = |place: usize| &before[place * words..][..words];
            compute(node, operand(node.a.index()), operand(node.b.index()), &mut after[..words]);
        }
        let judge = match reading {
            Reading::Votes { of, classes, scale } => Judge::Votes(Votes::new(of, *classes, *scale, samples)),
            Reading::Number => Judge::Number(PanelNumber::new(net, samples)),
        };
        let mut panel = Panel { words, values, judge, loss: 0, right: 0 };
        (panel.loss, panel.right) = panel.count_all(net);
        panel
    }

    fn value(&self, wire: usize) -> &[u64] {
        &self.values[wire * self.words..][..self.words]
    }

    fn count_all(&mut self, net: &Net) -> (i64, i64) {
        let (words, first) = (self.words, net.sources + net.first_output);
        match &mut self.judge {
            Judge::Votes(votes) => {
                let outputs = self.values[first * words..].chunks_exact(words);
                votes.count_all(outputs)
            }
            Judge::Number(number) => {
                let wrong = number.wrong(|output| &self.values[(first + output) * words..][..words]);
                (wrong * UNIT, number.samples() - wrong)
            }
        }
    }

    /// The effect of a change.
    pub(super) fn effect(&self, net: &Net, change: &[Change], ripple: &mut Ripple) -> Effect {
        self.spread(net, change, ripple);
        let effect = match &self.judge {
            Judge::Votes(votes) => {
                self.poll(net, votes, ripple);
                let effect = votes.effect(ripple);
                votes.forget(ripple);
                effect
            }
            Judge::Number(number) => self.effect_on(net, number, ripple),
        };
        ripple.clear();
        effect
    }

    /// Changes the values permanently; `net` is still unchanged.
    pub(super) fn apply(&mut self, net: &Net, change: &[Change], ripple: &mut Ripple) {
        self.spread(net, change, ripple);
        let effect = match &self.judge {
            Judge::Votes(votes) => {
                self.poll(net, votes, ripple);
                votes.effect(ripple)
            }
            Judge::Number(number) => self.effect_on(net, number, ripple),
        };
        if let Judge::Votes(votes) = &mut self.judge {
            votes.accept(ripple);
        }
        for &wire in &ripple.changed {
            let plane = (ripple.slots[wire as usize] as usize - 1) * self.words;
            self.values[wire as usize * self.words..][..self.words]
                .copy_from_slice(&ripple.planes[plane..][..self.words]);
        }
        (self.loss, self.right) = (self.loss + effect.loss, self.right + effect.right);
        ripple.clear();
    }

    /// Recomputes what differs after a change.
    fn spread(&self, net: &Net, change: &[Change], ripple: &mut Ripple) {
        ripple.fit(net);
        change.iter().for_each(|change| ripple.push(change.gate as u32));
        while let Some(Reverse(gate)) = ripple.queue.pop() {
            let gate = gate as usize;
            ripple.waits[gate] = false;
            let changed = change.iter().rev().find(|change| change.gate == gate);
            let node = changed.map_or(net.nodes[gate], |change| change.node);
            if self.compute_again(&node, net.sources + gate, ripple) {
                net.readers[net.sources + gate].iter().for_each(|&reader| ripple.push(reader));
            }
        }
    }

    /// Computes the new plane of a wire; returns whether it differs.
    fn compute_again(&self, node: &GateNode, wire: usize, ripple: &mut Ripple) -> bool {
        let words = self.words;
        let place = ripple.planes.len();
        ripple.planes.resize(place + words, 0);
        let (old, new) = ripple.planes.split_at_mut(place);
        let operand = |wire: usize| match ripple.slots[wire] {
            0 => self.value(wire),
            slot => &old[(slot as usize - 1) * words..][..words],
        };
        compute(node, operand(node.a.index()), operand(node.b.index()), new);
        let differs = *new != *self.value(wire);
        if differs {
            ripple.slots[wire] = (place / words + 1) as u32;
            ripple.changed.push(wire as u32);
        } else {
            ripple.planes.truncate(place);
        }
        differs
    }

    /// Sums the votes that differ.
    fn poll(&self, net: &Net, votes: &Votes, ripple: &mut Ripple) {
        let first = net.sources + net.first_output;
        ripple.votes.resize(votes.counts.len(), 0);
        ripple.is_touched.resize(votes.labels.len(), false);
        let Ripple { slots, planes, changed, votes: more, touched, is_touched, .. } = ripple;
        for &wire in changed.iter().filter(|&&wire| wire as usize >= first) {
            let class = votes.of[wire as usize - first];
            let new = &planes[(slots[wire as usize] as usize - 1) * self.words..][..self.words];
            for (word, (&new, &old)) in new.iter().zip(self.value(wire as usize)).enumerate() {
                let mut left = new ^ old;
                while left != 0 {
                    let bit = left.trailing_zeros() as usize;
                    left &= left - 1;
                    let sample = word * 64 + bit;
                    if sample < is_touched.len() {
                        more[sample * votes.classes + class] += if new >> bit & 1 == 1 { 1 } else { -1 };
                        if !std::mem::replace(&mut is_touched[sample], true) {
                            touched.push(sample as u32);
                        }
                    }
                }
            }
        }
    }

    fn effect_on(&self, net: &Net, number: &PanelNumber, ripple: &Ripple) -> Effect {
        let first = net.sources + net.first_output;
        let plane = |output: usize| match ripple.slots[first + output] {
            0 => self.value(first + output),
            slot => &ripple.planes[(slot as usize - 1) * self.words..][..self.words],
        };
        let wrong = number.wrong(plane);
        let right = number.samples() - wrong;
        Effect { loss: wrong * UNIT - self.loss, right: right - self.right }
    }
}

impl Votes {
    fn new(of: &[usize], classes: usize, scale: f32, samples: &PanelSamples) -> Votes {
        let count = samples.labels.len();
        Votes {
            of: of.to_vec(),
            classes,
            labels: samples.labels.iter().map(|&label| label as u16).collect(),
            counts: vec![0; count * classes],
            losses: vec![0; count],
            rights: vec![false; count],
            table: table(classes, scale),
        }
    }

    fn count_all<'a>(&mut self, outputs: impl Iterator<Item = &'a [u64]>) -> (i64, i64) {
        for (plane, &class) in outputs.zip(&self.of) {
            for (sample, counts) in self.counts.chunks_exact_mut(self.classes).enumerate() {
                counts[class] += (plane[sample / 64] >> (sample % 64) & 1) as i16;
            }
        }
        let none = vec![0; self.classes];
        for sample in 0..self.labels.len() {
            (self.losses[sample], self.rights[sample]) = self.judged(sample, &none);
        }
        let loss = self.losses.iter().map(|&loss| i64::from(loss)).sum();
        (loss, self.rights.iter().filter(|right| **right).count() as i64)
    }

    /// The loss of a sample with these additional votes, and whether its class is right.
    fn judged(&self, sample: usize, more: &[i16]) -> (i32, bool) {
        let (classes, label) = (self.classes as i32, self.labels[sample] as usize);
        let counts = &self.counts[sample * self.classes..][..self.classes];
        // Among equals the first wins.
        let standing = |class: usize| {
            (i32::from(counts[class]) + i32::from(more[class])) * classes + classes - 1 - class as i32
        };
        let mut others = i32::MIN / 2;
        for class in 0..self.classes {
            others = others.max(if class == label { i32::MIN / 2 } else { standing(class) });
        }
        let margin = standing(label) - others;
        let middle = self.table.len() as i32 / 2;
        (self.table[(margin + middle).clamp(0, 2 * middle) as usize], margin > 0)
    }

    fn judged_after(&self, sample: usize, ripple: &Ripple) -> (i32, bool) {
        self.judged(sample, &ripple.votes[sample * self.classes..][..self.classes])
    }

    fn effect(&self, ripple: &Ripple) -> Effect {
        let mut effect = Effect::default();
        for &sample in &ripple.touched {
            let sample = sample as usize;
            let (loss, right) = self.judged_after(sample, ripple);
            effect.loss += i64::from(loss) - i64::from(self.losses[sample]);
            effect.right += i64::from(right) - i64::from(self.rights[sample]);
        }
        effect
    }

    fn accept(&mut self, ripple: &mut Ripple) {
        for n in 0..ripple.touched.len() {
            let sample = ripple.touched[n] as usize;
            (self.losses[sample], self.rights[sample]) = self.judged_after(sample, ripple);
            let more = &ripple.votes[sample * self.classes..][..self.classes];
            let counts = &mut self.counts[sample * self.classes..][..self.classes];
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
        self.forget(ripple);
    }

    fn forget(&self, ripple: &mut Ripple) {
        let Ripple { votes, touched, is_touched, .. } = ripple;
        for sample in touched.drain(..).map(|sample| sample as usize) {
            votes[sample * self.classes..][..self.classes].fill(0);
            is_touched[sample] = false;
        }
    }
}

impl PanelNumber {
    fn new(net: &Net, samples: &PanelSamples) -> PanelNumber {
        let (outputs, words) = (net.nodes.len() - net.first_output, samples.labels.len().div_ceil(64));
        let mut wanted = vec![vec![0; words]; outputs];
        let mut there = vec![0; words];
        for (sample, &label) in samples.labels.iter().enumerate() {
            there[sample / 64] |= 1u64 << (sample % 64);
            for (bit, plane) in wanted.iter_mut().enumerate() {
                plane[sample / 64] |= ((label >> bit & 1) as u64) << (sample % 64);
            }
        }
        PanelNumber { wanted, there }
    }

    fn samples(&self) -> i64 {
        self.there.iter().map(|word| i64::from(word.count_ones())).sum()
    }

    fn wrong<'a>(&self, plane: impl Fn(usize) -> &'a [u64]) -> i64 {
        let of = |word: usize| {
            let differ = self.wanted.iter().enumerate();
            differ.fold(0, |wrong, (output, wanted)| wrong | (plane(output)[word] ^ wanted[word]))
        };
        let words = self.there.iter().enumerate();
        words.map(|(word, there)| i64::from((of(word) & there).count_ones())).sum()
    }
}

/// The loss of every margin: ln(1 + e^-m), where m is the margin in units of a clear difference.
fn table(classes: usize, scale: f32) -> Vec<i32> {
    let unit = f64::from(scale.max(0.1)) * classes as f64;
    let middle = (8.0 * unit).ceil() as i64;
    let loss = |margin: i64| (-(margin as f64) / unit).exp().ln_1p();
    (-middle..=middle).map(|margin| (loss(margin) * UNIT as f64).round() as i32).collect()
}

/// A gate on planes, as a polynomial over bits.
fn compute(node: &GateNode, a: &[u64], b: &[u64], made: &mut [u64]) {
    let mask = |is: bool| if is { !0u64 } else { 0 };
    let at = |a: bool, b: bool| node.gate.output(a, b);
    let (none, first, second) = (at(false, false), at(true, false), at(false, true));
    let both = none ^ first ^ second ^ at(true, true);
    let [one, by_a, by_b, by_both] = [none, none ^ first, none ^ second, both].map(mask);
    for ((made, &a), &b) in made.iter_mut().zip(a).zip(b) {
        *made = one ^ (by_a & a) ^ (by_b & b) ^ (by_both & a & b);
    }
}
