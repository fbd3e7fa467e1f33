//! Runs a tape over a tile: each instruction is one loop over the tile's words.
//!
//! The loops are plain and compiled for each instruction set that the processor may have; the choice is made at
//! run time. Start at [`WorkerSlots::run`].

use pulp::{Arch, Simd, WithSimd};

use super::aligned::Aligned;
use super::fold::Function;
use super::tape::{Instruction, NetlistTape, SlotPlace, Then};

/// Bytes of slots that should stay in the L1 cache.
const CACHE: usize = 16 << 10;
/// Words of a tile: enough to amortize the dispatch of an instruction, and no more than helps.
const SHORTEST: usize = 128;
const LONGEST: usize = 1024;

/// Words of a tile for a tape.
pub(super) fn tile_words(tape: &NetlistTape) -> usize {
    (CACHE / 8 / tape.slots.max(1)).clamp(SHORTEST, LONGEST) / 32 * 32
}

/// The slots of one worker.
#[derive(Clone, Debug)]
pub(super) struct WorkerSlots {
    slots: Aligned,
    words: usize,
    arch: Arch,
}

impl WorkerSlots {
    /// Slots for a tape over tiles of up to `words` words.
    pub(super) fn new(tape: &NetlistTape, words: usize) -> WorkerSlots {
        let words = words.next_multiple_of(8);
        WorkerSlots { slots: Aligned::zeros(tape.slots * words), words, arch: Arch::new() }
    }

    /// Runs the tape over a tile of `length` words. `planes` are the tape's sources, each of that length.
    /// `store` is called with each root and its value.
    pub(super) fn run(
        &mut self,
        tape: &NetlistTape,
        planes: &[&[u64]],
        length: usize,
        mut store: impl FnMut(usize, RootShown<'_>),
    ) {
        debug_assert!(length <= self.words && planes.len() == tape.sources.len());
        tape.constants.iter().for_each(|&(root, value)| store(root, RootShown::Constant(value)));
        let slots = &mut self.slots[..];
        self.arch.dispatch(ExecuteRun { tape, planes, slots, words: self.words, length, store });
    }
}

/// The value of a root.
pub(super) enum RootShown<'a> {
    /// These words, negated if the flag is set.
    Words(&'a [u64], bool),
    /// A constant.
    Constant(bool),
}

impl RootShown<'_> {
    /// Writes it out.
    #[inline(always)]
    pub(super) fn write(&self, to: &mut [u64]) {
        match *self {
            RootShown::Words(words, false) => to.copy_from_slice(words),
            RootShown::Words(words, true) => to.iter_mut().zip(words).for_each(|(to, word)| *to = !word),
            RootShown::Constant(value) => to.fill(if value { !0 } else { 0 }),
        }
    }
}

struct ExecuteRun<'a, F> {
    tape: &'a NetlistTape,
    planes: &'a [&'a [u64]],
    slots: &'a mut [u64],
    words: usize,
    length: usize,
    store: F,
}

impl<F: FnMut(usize, RootShown<'_>)> WithSimd for ExecuteRun<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let ExecuteRun { tape, planes, slots, words, length, mut store } = self;
        for instruction in &tape.instructions {
            match *instruction {
                Instruction::Gate { function, operands: [a, b], out } => {
                    let (out, others) = apart(slots, words, length, out);
                    let (a, b) = (operand(planes, &others, a), operand(planes, &others, b));
                    gate(function, a, b, out);
                }
                Instruction::Pair { function, then, operands: [a, b, c], out } => {
                    let (out, others) = apart(slots, words, length, out);
                    let (a, b) = (operand(planes, &others, a), operand(planes, &others, b));
                    pair(function, then, a, b, operand(planes, &others, c), out);
                }
                Instruction::Show { root, from: SlotPlace::Slot(slot), negated } => {
                    store(
                        root as usize,
                        RootShown::Words(&slots[slot as usize * words..][..length], negated),
                    );
                }
                Instruction::Show { root, from: SlotPlace::Plane(plane), negated } => {
                    store(root as usize, RootShown::Words(&planes[plane as usize][..length], negated));
                }
            }
        }
    }
}

/// The slots before and after the one that is being written.
struct Others<'a> {
    before: &'a [u64],
    after: &'a [u64],
    out: usize,
    words: usize,
    length: usize,
}

#[inline(always)]
fn apart(slots: &mut [u64], words: usize, length: usize, out: u32) -> (&mut [u64], Others<'_>) {
    let out = out as usize;
    let (before, rest) = slots.split_at_mut(out * words);
    let (written, after) = rest.split_at_mut(words);
    (&mut written[..length], Others { before, after, out, words, length })
}

#[inline(always)]
fn operand<'a>(planes: &[&'a [u64]], others: &Others<'a>, place: SlotPlace) -> &'a [u64] {
    let &Others { before, after, out, words, length } = others;
    match place {
        SlotPlace::Plane(plane) => &planes[plane as usize][..length],
        SlotPlace::Slot(slot) if (slot as usize) < out => &before[slot as usize * words..][..length],
        SlotPlace::Slot(slot) => &after[(slot as usize - out - 1) * words..][..length],
    }
}

#[inline(always)]
fn gate(function: Function, a: &[u64], b: &[u64], out: &mut [u64]) {
    #[inline(always)]
    fn each(a: &[u64], b: &[u64], out: &mut [u64], f: impl Fn(u64, u64) -> u64) {
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = f(a, b);
        }
    }
    match function {
        Function::And => each(a, b, out, |a, b| a & b),
        Function::AndNot => each(a, b, out, |a, b| a & !b),
        Function::Or => each(a, b, out, |a, b| a | b),
        Function::Xor => each(a, b, out, |a, b| a ^ b),
    }
}

#[inline(always)]
fn pair(function: Function, then: Then, a: &[u64], b: &[u64], c: &[u64], out: &mut [u64]) {
    #[inline(always)]
    fn each(a: &[u64], b: &[u64], c: &[u64], out: &mut [u64], f: impl Fn(u64, u64, u64) -> u64) {
        for (((out, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *out = f(a, b, c);
        }
    }
    #[inline(always)]
    fn second(then: Then, a: &[u64], b: &[u64], c: &[u64], out: &mut [u64], f: impl Fn(u64, u64) -> u64) {
        match then {
            Then::And => each(a, b, c, out, |a, b, c| f(a, b) & c),
            Then::AndNot => each(a, b, c, out, |a, b, c| f(a, b) & !c),
            Then::NotAnd => each(a, b, c, out, |a, b, c| !f(a, b) & c),
            Then::Or => each(a, b, c, out, |a, b, c| f(a, b) | c),
            Then::Xor => each(a, b, c, out, |a, b, c| f(a, b) ^ c),
        }
    }
    match function {
        Function::And => second(then, a, b, c, out, |a, b| a & b),
        Function::AndNot => second(then, a, b, c, out, |a, b| a & !b),
        Function::Or => second(then, a, b, c, out, |a, b| a | b),
        Function::Xor => second(then, a, b, c, out, |a, b| a ^ b),
    }
}
