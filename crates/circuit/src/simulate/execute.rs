//! Runs a tape over planes, block by block: a block is what a register of the tape's machine holds,
//! four or eight vectors, so that its three registers are registers of the processor.
//!
//! The code is compiled for each instruction set that the processor may have; which one runs is found
//! out at run time. Start at [`Scratch::run`].

use pulp::{Arch, Simd, WithSimd};

use super::tape::{Code, Tape};

/// Words of the longest block of any instruction set.
const LONGEST: usize = 64;

/// The slots of one worker.
#[derive(Debug)]
pub(super) struct Scratch {
    memory: Vec<u64>,
    /// Where the first whole cache line begins.
    start: usize,
    arch: Arch,
}

impl Clone for Scratch {
    fn clone(&self) -> Scratch {
        // The copy lies elsewhere in memory, and its cache lines begin elsewhere in it.
        Scratch::with_memory(self.memory.clone())
    }
}

impl Scratch {
    /// Room for a tape.
    pub(super) fn new(tape: &Tape) -> Scratch {
        Scratch::with_memory(vec![0; tape.slots * LONGEST + 8])
    }

    fn with_memory(memory: Vec<u64>) -> Scratch {
        let start = memory.as_ptr().align_offset(64).min(8);
        Scratch { memory, start, arch: Arch::new() }
    }

    /// Runs the tape over `length` words: `planes` are the tape's sources, each of at least that many.
    /// `store(root, first, words)` is called with all words of all roots, piece by piece: a piece
    /// begins at word `first`.
    pub(super) fn run(
        &mut self,
        tape: &Tape,
        planes: &[&[u64]],
        length: usize,
        store: impl FnMut(usize, usize, &[u64]),
    ) {
        debug_assert_eq!(planes.len(), tape.sources.len());
        let slots = &mut self.memory[self.start..];
        self.arch.dispatch(Run { tape, planes, slots, length, store });
    }
}

struct Run<'a, F> {
    tape: &'a Tape,
    planes: &'a [&'a [u64]],
    slots: &'a mut [u64],
    length: usize,
    store: F,
}

impl<F: FnMut(usize, usize, &[u64])> WithSimd for Run<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::REGISTER_COUNT >= 32 { self.run::<S, 8>(simd) } else { self.run::<S, 4>(simd) }
    }
}

impl<F: FnMut(usize, usize, &[u64])> Run<'_, F> {
    #[inline(always)]
    fn run<S: Simd, const N: usize>(self, simd: S) {
        let Run { tape, planes, slots, length, mut store } = self;
        let words = N * S::U64_LANES;
        let slots = S::as_mut_simd_u64s(slots).0.as_chunks_mut().0;
        for &(root, value) in &tape.constants {
            let constant = [if value { !0 } else { 0 }; LONGEST];
            for first in (0..length).step_by(LONGEST) {
                store(root, first, &constant[..LONGEST.min(length - first)]);
            }
        }
        let whole = length - length % words;
        for first in (0..whole).step_by(words) {
            run_block::<S, N>(simd, tape, planes, first, slots, |root, block| store(root, first, block));
        }
        if whole < length {
            let rest = length - whole;
            let padded = |plane: &&[u64]| {
                let mut block = [0; LONGEST];
                block[..rest].copy_from_slice(&plane[whole..length]);
                block
            };
            let padded: Vec<[u64; LONGEST]> = planes.iter().map(padded).collect();
            let planes: Vec<&[u64]> = padded.iter().map(|block| &block[..]).collect();
            run_block::<S, N>(simd, tape, &planes, 0, slots, |root, block| {
                store(root, whole, &block[..rest])
            });
        }
    }
}

type Block<S, const N: usize> = [<S as Simd>::u64s; N];

#[inline(always)]
fn run_block<S: Simd, const N: usize>(
    simd: S,
    tape: &Tape,
    planes: &[&[u64]],
    first: usize,
    slots: &mut [Block<S, N>],
    mut store: impl FnMut(usize, &[u64]),
) {
    let words = N * S::U64_LANES;
    let zero: Block<S, N> = [simd.splat_u64s(0); N];
    let (mut r0, mut r1, mut r2) = (zero, zero, zero);
    for &Code { opcode, index } in &tape.code {
        let index = index as usize;
        macro_rules! each {
            ($to:ident, $operand:expr, $a:ident, $x:ident, $value:expr) => {{
                let operand: &Block<S, N> = $operand;
                for n in 0..N {
                    let ($a, $x) = ($to[n], operand[n]);
                    $to[n] = $value;
                }
            }};
        }
        // A function or closure for each would not have the instruction set, and numbers spelled out make
        // one jump of it all.
        macro_rules! machine {
            ($(compute [$load:literal $and:literal $and_not:literal $not_and:literal $or:literal $xor:literal]
                $to:ident <- $operand:expr;)*
             $(keep [$keep:literal $show:literal $show_not:literal] $from:ident;)*) => {
                match opcode {
                    $(
                        $load => $to = *$operand,
                        $and => each!($to, $operand, a, x, simd.and_u64s(a, x)),
                        $and_not => each!($to, $operand, a, x, simd.and_u64s(a, simd.not_u64s(x))),
                        $not_and => each!($to, $operand, a, x, simd.and_u64s(simd.not_u64s(a), x)),
                        $or => each!($to, $operand, a, x, simd.or_u64s(a, x)),
                        $xor => each!($to, $operand, a, x, simd.xor_u64s(a, x)),
                    )*
                    $(
                        $keep => slots[index] = $from,
                        $show => {
                            // A copy, so that the register itself never needs an address.
                            let shown = $from;
                            store(index, flat::<S, N>(&shown));
                        }
                        $show_not => {
                            let mut shown = $from;
                            each!(shown, &zero, a, _x, simd.not_u64s(a));
                            store(index, flat::<S, N>(&shown));
                        }
                    )*
                    _ => unreachable!("simulate: no such instruction"),
                }
            };
        }
        macro_rules! plane {
            () => {
                S::as_simd_u64s(&planes[index][first..first + words])
                    .0
                    .first_chunk::<N>()
                    .expect("a whole block")
            };
        }
        machine! {
            compute [0 1 2 3 4 5] r0 <- &r1;
            compute [6 7 8 9 10 11] r0 <- &r2;
            compute [12 13 14 15 16 17] r0 <- &slots[index];
            compute [18 19 20 21 22 23] r0 <- plane!();
            compute [24 25 26 27 28 29] r1 <- &r0;
            compute [30 31 32 33 34 35] r1 <- &r2;
            compute [36 37 38 39 40 41] r1 <- &slots[index];
            compute [42 43 44 45 46 47] r1 <- plane!();
            compute [48 49 50 51 52 53] r2 <- &r0;
            compute [54 55 56 57 58 59] r2 <- &r1;
            compute [60 61 62 63 64 65] r2 <- &slots[index];
            compute [66 67 68 69 70 71] r2 <- plane!();
            keep [72 73 74] r0;
            keep [75 76 77] r1;
            keep [78 79 80] r2;
        }
    }
}

/// The words of a block.
#[inline(always)]
fn flat<S: Simd, const N: usize>(block: &Block<S, N>) -> &[u64] {
    bytemuck::cast_slice(block)
}
