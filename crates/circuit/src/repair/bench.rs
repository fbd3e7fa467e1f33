//! Runs candidates on the CPU, many samples at a time, and counts wrong bits.
//!
//! Invariant: a candidate's score depends only on the candidate and the batch of starts. Start at
//! [`Bench::run`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pulp::{Arch, Simd, WithSimd};

use super::evaluator::{CandidateChannels, CandidateScore, EarlyStop, Job, Wrong};
use super::layout::{LANES, SampleLayout};
use super::random::SplitMix;
use super::tape::{Literal, Tape};
use super::task::{RepairTask, StartingGrid};
use crate::automaton::Edge;
use crate::gate::Gate;

/// Words of 32 starts that are processed together.
pub(super) const WORDS: usize = 2;

/// Starts, and which cells fire at each step.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Batches with the same number are identical.
    number: u64,
    channels: usize,
    layout: Arc<SampleLayout>,
    /// The planes of all channels.
    start: Vec<u32>,
    /// For each step, which samples fire; empty if all do.
    fires: Vec<Vec<u32>>,
}

/// A number that no batch has had.
fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Batch {
    /// Its number: batches with the same number are identical.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Words of 32 starts per cell; `None` if there is a single start, whose cells are packed instead.
    pub fn words(&self) -> Option<usize> {
        self.layout.words()
    }

    /// The initial cells of a channel, row by row: `[cells, words]`, or 0 and 1 for each of `[cells]`.
    pub fn cells(&self, channel: usize) -> Vec<u32> {
        self.layout.gather(&self.start[self.layout.own(channel)..])
    }

    /// Which cells fire at each step, in the same form; empty if all do.
    pub fn fires(&self) -> impl Iterator<Item = Vec<u32>> {
        self.fires.iter().map(|fires| self.layout.gather(fires))
    }

    /// How many channels there are.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Copies one start of another batch: `lane` becomes its `from`.
    pub(crate) fn take(&mut self, lane: usize, other: &Batch, from: usize) {
        self.number = number();
        let copy = |to: &mut [u32], words: &[u32]| {
            for (to, words) in to.chunks_exact_mut(WORDS).zip(words.chunks_exact(WORDS)) {
                let bit = words[from / 32] >> (from % 32) & 1;
                let word = &mut to[lane / 32];
                *word = *word & !(1 << (lane % 32)) | bit << (lane % 32);
            }
        };
        copy(&mut self.start, &other.start);
        self.fires.iter_mut().zip(&other.fires).for_each(|(to, words)| copy(to, words));
    }
}

/// A task, with buffers to run candidates of this many channels.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(super) layout: Arc<SampleLayout>,
    pub(super) channels: usize,
    pub(super) visible: Vec<usize>,
    origin: StartingGrid,
    pub(super) wraps: bool,
    pub(super) steps: usize,
    fire_rate: f32,
    /// The wanted final state of each visible channel.
    pub(super) wanted: Vec<Vec<u32>>,
    /// Which bits of a span are samples.
    pub(super) samples: Vec<u32>,
    /// Steps of the early and the late check, if cells fire at random.
    looks: Option<[usize; 2]>,
    state: Vec<u32>,
    next: Vec<u32>,
    values: Vec<u32>,
    places: Vec<[OperandPlace; 2]>,
}

/// Where an operand is: in a state, or among the values of a tile.
#[derive(Clone, Copy, Debug)]
enum OperandPlace {
    State(u32),
    Value(u32),
}

impl Bench {
    pub(crate) fn new(task: &RepairTask, shape: &CandidateChannels) -> Bench {
        let CandidateChannels { channels, visible } = shape.clone();
        let layout = SampleLayout::new(task, WORDS);
        let cells = task.wanted.len() / visible.len().max(1);
        let wanted = task.wanted.chunks(cells.max(1)).map(|cells| layout.spread(cells)).collect();
        let size = channels * layout.copies() * layout.plane;
        Bench {
            channels,
            visible,
            origin: task.origin,
            wraps: task.edge == Edge::Wrap,
            steps: if task.origin == StartingGrid::Neighborhoods { 1 } else { task.steps },
            fire_rate: task.fire_rate,
            samples: layout.spread(&vec![true; cells]),
            wanted,
            looks: task.looks(),
            state: vec![0; size],
            next: vec![0; size],
            values: vec![],
            places: vec![],
            layout: Arc::new(layout),
        }
    }

    /// Number of starts per batch.
    pub(crate) fn starts(&self) -> usize {
        self.layout.starts()
    }

    /// Visible bits per batch.
    pub(crate) fn bits(&self) -> u64 {
        let samples: u32 = self.samples.iter().map(|word| word.count_ones()).sum();
        samples as u64 * self.visible.len() as u64
    }

    /// New starts. If nothing is random, there is only one batch.
    pub(crate) fn batch(&self, random: &mut SplitMix) -> Batch {
        let layout = &self.layout;
        let mut start = vec![0; self.channels * layout.copies() * layout.plane];
        for channel in 0..self.channels {
            let own = layout.own(channel);
            let span = &mut start[own..own + layout.span];
            match self.origin {
                StartingGrid::Zeros => {}
                StartingGrid::Random => {
                    span.iter_mut().zip(&self.samples).for_each(|(w, &mask)| *w = random.word() as u32 & mask)
                }
                StartingGrid::Center => {
                    let (height, width) = layout.size();
                    let cell = height / 2 * width + width / 2;
                    layout.words_of(cell).for_each(|(word, mask)| span[word] |= mask);
                }
                StartingGrid::Neighborhoods => {
                    // Input n is bit n of the index of the neighborhood.
                    for number in 0..512 {
                        for input in 0..9 {
                            start[input * layout.plane + number / 32] |=
                                ((number >> input & 1) as u32) << (number % 32);
                        }
                    }
                }
            }
            layout.finish(&mut start, channel);
        }
        let rate = (self.fire_rate < 1.0).then(|| (self.fire_rate as f64 * 65536.0).round() as u32);
        // Bits that are not samples never fire, so cells beyond the edge do not change.
        let mask = |rate: u32, random: &mut SplitMix| -> Vec<u32> {
            let pairs = (0..layout.span / 2).map(|_| random.bits(rate));
            let words = pairs.flat_map(|pair| [pair as u32, (pair >> 32) as u32]);
            words.zip(&self.samples).map(|(word, samples)| word & samples).collect()
        };
        let steps = if rate.is_some() { self.steps } else { 0 };
        let fires = (0..steps).map(|_| mask(rate.unwrap_or_default(), random)).collect();
        Batch { number: number(), channels: self.channels, layout: layout.clone(), start, fires }
    }

    /// Runs a candidate on the batches of a job, until enough bits are wrong.
    pub(crate) fn score(&mut self, job: &Job) -> Vec<CandidateScore> {
        let (mut sum, mut scores) = (Wrong::default(), Vec::with_capacity(job.batches.len()));
        for batch in job.batches {
            let score = self.run(job.tape, batch, sum, job.stop);
            sum += score.wrong;
            scores.push(score);
            if job.stop.is_reached(sum) {
                break;
            }
        }
        scores
    }

    /// Runs a candidate on a batch, after `before` wrong bits on others. Stops early once enough bits are
    /// wrong.
    pub(crate) fn run(
        &mut self,
        tape: &Tape,
        batch: &Batch,
        before: Wrong,
        stop: EarlyStop,
    ) -> CandidateScore {
        self.prepare(tape);
        self.state.copy_from_slice(&batch.start);
        let mut score = CandidateScore::default();
        for step in 0..self.steps {
            self.step(tape, batch.fires.get(step));
            let Some([early, late]) = self.looks else { continue };
            if step + 1 == late {
                score.wrong.late = self.wrong();
                self.note(&mut score);
            }
            if step + 1 == early {
                score.wrong.early = self.wrong();
                let mut so_far = before;
                so_far += score.wrong;
                if stop.is_reached(so_far) {
                    return score;
                }
            }
        }
        score.wrong.last = self.wrong();
        self.note(&mut score);
        score
    }

    /// The same with room for all samples at once, as [`Bench::record`] needs.
    pub(super) fn wide(&self) -> Bench {
        let mut layout = SampleLayout::clone(&self.layout);
        layout.tile = layout.span;
        Bench { layout: Arc::new(layout), ..self.clone() }
    }

    /// Runs a candidate and records the value of every wire at each of the last steps: first the inputs, then
    /// the ops.
    pub(super) fn record(&mut self, tape: &Tape, batch: &Batch, last: usize) -> Record {
        self.prepare(tape);
        self.state.copy_from_slice(&batch.start);
        let (inputs, span) = (9 * self.channels, self.layout.span);
        let wires = inputs + tape.ops.len();
        let first = self.steps.saturating_sub(last);
        (0..first).for_each(|step| self.step(tape, batch.fires.get(step)));
        let steps = self.steps - first;
        let mut values = vec![0; steps * wires * span];
        for step in first..self.steps {
            let at = |wire: usize| (wire * steps + step - first) * span;
            for input in 0..inputs {
                let source = self.layout.source(input, self.channels);
                values[at(input)..][..span].copy_from_slice(&self.state[source..][..span]);
            }
            self.step(tape, batch.fires.get(step));
            // There is a single tile, so the values of the step are still available.
            for op in 0..tape.ops.len() {
                values[at(inputs + op)..][..span]
                    .copy_from_slice(&self.values[op * self.layout.tile..][..span]);
            }
        }
        let seen = self.visible.iter().map(|&channel| {
            let own = self.layout.own(channel);
            self.state[own..own + span].to_vec()
        });
        Record { values, span, steps, seen: seen.collect() }
    }

    fn prepare(&mut self, tape: &Tape) {
        let inputs = 9 * self.channels;
        let place = |wire: u32| match (wire as usize).checked_sub(inputs) {
            None => OperandPlace::State(self.layout.source(wire as usize, self.channels) as u32),
            Some(op) => OperandPlace::Value((op * self.layout.tile) as u32),
        };
        self.places.clear();
        self.places.extend(tape.ops.iter().map(|op| [place(op.a), place(op.b)]));
        let size = tape.ops.len() * self.layout.tile;
        if self.values.len() < size {
            self.values.resize(size, 0);
        }
    }

    fn step(&mut self, tape: &Tape, fires: Option<&Vec<u32>>) {
        let Bench { layout, channels, state, next, values, places, samples, .. } = self;
        let channels = *channels;
        Arch::new().dispatch(BenchStep {
            tape,
            fires,
            layout,
            channels,
            samples,
            state,
            next,
            values,
            places,
        });
        std::mem::swap(&mut self.state, &mut self.next);
    }

    /// Visible bits that are wrong now.
    fn wrong(&self) -> u64 {
        let wrong = |(&channel, wanted): (&usize, &Vec<u32>)| -> u64 {
            let own = self.layout.own(channel);
            let seen = self.state[own..].iter().zip(wanted).zip(&self.samples);
            seen.map(|((seen, wanted), samples)| ((seen ^ wanted) & samples).count_ones() as u64).sum()
        };
        self.visible.iter().zip(&self.wanted).map(wrong).sum()
    }
}

impl Bench {
    /// Records the starts from which something is wrong now, if there are several.
    fn note(&self, score: &mut CandidateScore) {
        if self.layout.words().is_none() {
            return;
        }
        for (&channel, wanted) in self.visible.iter().zip(&self.wanted) {
            let own = self.layout.own(channel);
            let words = self.state[own..].iter().zip(wanted).zip(&self.samples).enumerate();
            words.for_each(|(n, ((seen, wanted), mask))| score.starts[n % WORDS] |= (seen ^ wanted) & mask);
        }
    }
}

/// The value of every wire at every step: `[wires, steps, span]`, because a reader of a wire reads all its
/// steps.
pub(super) struct Record {
    pub(super) values: Vec<u32>,
    pub(super) span: usize,
    pub(super) steps: usize,
    /// The final visible channels.
    pub(super) seen: Vec<Vec<u32>>,
}

impl Record {
    /// A wire's samples at a step.
    pub(super) fn at(&self, step: usize, wire: usize) -> &[u32] {
        &self.values[(wire * self.steps + step) * self.span..][..self.span]
    }
}

/// One step of all samples.
struct BenchStep<'a> {
    tape: &'a Tape,
    fires: Option<&'a Vec<u32>>,
    layout: &'a SampleLayout,
    channels: usize,
    samples: &'a [u32],
    state: &'a [u32],
    next: &'a mut [u32],
    values: &'a mut [u32],
    places: &'a [[OperandPlace; 2]],
}

impl WithSimd for BenchStep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let BenchStep { tape, fires, layout, channels, samples, state, next, values, places } = self;
        let tile = layout.tile;
        let empty_rim = layout.has_empty_rim();
        for first in (0..layout.span).step_by(tile) {
            let length = tile.min(layout.span - first);
            for (n, (op, &[a, b])) in tape.ops.iter().zip(places).enumerate() {
                let (before, own) = values.split_at_mut(n * tile);
                let slice = |place: OperandPlace| match place {
                    OperandPlace::State(start) => &state[start as usize + first..][..length],
                    OperandPlace::Value(start) => &before[start as usize..][..length],
                };
                apply(op.gate, slice(a), slice(b), &mut own[..length]);
            }
            for &(channel, literal) in &tape.outputs {
                let own = layout.own(channel) + first;
                let to = &mut next[own..own + length];
                let inputs = 9 * channels;
                match literal.index() {
                    None => to.fill(if literal.is_negated() { !0 } else { 0 }),
                    Some(wire) if wire < inputs => {
                        let source = layout.source(wire, channels) + first;
                        show(literal, &state[source..source + length], to);
                    }
                    Some(wire) => show(literal, &values[(wire - inputs) * tile..][..length], to),
                }
                if let Some(fires) = fires {
                    let old = &state[own..own + length];
                    for ((to, &old), &fires) in to.iter_mut().zip(old).zip(&fires[first..first + length]) {
                        *to = *to & fires | old & !fires;
                    }
                } else if empty_rim {
                    let samples = &samples[first..first + length];
                    to.iter_mut().zip(samples).for_each(|(to, &samples)| *to &= samples);
                }
            }
        }
        // Nothing lies beyond an empty border, and nothing was written there.
        if !empty_rim {
            tape.outputs.iter().for_each(|&(channel, _)| layout.finish(next, channel));
        }
    }
}

#[inline(always)]
fn show(literal: Literal, from: &[u32], to: &mut [u32]) {
    let flip = if literal.is_negated() { !0 } else { 0 };
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = from ^ flip);
}

/// A gate on words, eight at a time.
#[inline(always)]
fn apply(gate: Gate, a: &[u32], b: &[u32], to: &mut [u32]) {
    match gate {
        Gate::AND => each(a, b, to, |a, b| a & b),
        Gate::A_AND_NOT_B => each(a, b, to, |a, b| a & !b),
        Gate::NOT_A_AND_B => each(a, b, to, |a, b| !a & b),
        Gate::XOR => each(a, b, to, |a, b| a ^ b),
        Gate::OR => each(a, b, to, |a, b| a | b),
        Gate::NOR => each(a, b, to, |a, b| !(a | b)),
        Gate::XNOR => each(a, b, to, |a, b| !(a ^ b)),
        Gate::A_OR_NOT_B => each(a, b, to, |a, b| a | !b),
        Gate::NOT_A_OR_B => each(a, b, to, |a, b| !a | b),
        Gate::NAND => each(a, b, to, |a, b| !(a & b)),
        Gate::NOT_A => each(a, b, to, |a, _| !a),
        Gate::NOT_B => each(a, b, to, |_, b| !b),
        Gate::A => each(a, b, to, |a, _| a),
        Gate::B => each(a, b, to, |_, b| b),
        Gate::TRUE => to.fill(!0),
        _ => to.fill(0),
    }
}

#[inline(always)]
fn each(a: &[u32], b: &[u32], to: &mut [u32], f: impl Fn(u32, u32) -> u32) {
    let words = to.chunks_exact_mut(LANES).zip(a.chunks_exact(LANES)).zip(b.chunks_exact(LANES));
    for ((to, a), b) in words {
        to.iter_mut().zip(a).zip(b).for_each(|((to, &a), &b)| *to = f(a, b));
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::CellCircuit;
    use super::*;
    use crate::automaton::Automaton;
    use crate::netlist::Netlist;
    use crate::simulate::Grid;

    /// The bit of a start in a cell.
    fn bit(layout: &SampleLayout, words: &[u32], cell: usize, lane: usize) -> bool {
        let (first, _) = layout.words_of(cell).next().unwrap();
        words[first + lane / 32] >> (lane % 32) & 1 == 1
    }

    #[test]
    fn every_start_of_a_batch_runs_as_on_a_grid() {
        for (seed, edge) in [(1, Edge::Zero), (2, Edge::Wrap), (3, Edge::Zero), (4, Edge::Wrap)] {
            let (width, height, channels, steps) = (6, 5, 3, 4);
            let fire_rate = if seed > 2 { 0.6 } else { 1.0 };
            let cell = Netlist::random(seed, 9 * channels, 40, channels);
            let automaton = Automaton { cell, channels, visible: vec![1, 2], edge, fire_rate };
            let wanted: Vec<bool> = (0..2 * width * height).map(|n| n % 3 == 0).collect();
            let task = RepairTask {
                width,
                height,
                steps,
                edge,
                fire_rate,
                origin: StartingGrid::Random,
                wanted: wanted.clone(),
                others: vec![],
            };
            let shape = CandidateChannels { channels, visible: automaton.visible.clone() };
            let mut bench = Bench::new(&task, &shape);
            let batch = bench.batch(&mut SplitMix::new(seed, 0));
            let tape = Tape::of(&CellCircuit::plain(&automaton), &automaton.visible);
            let score = bench.run(&tape, &batch, Wrong::default(), EarlyStop::Never);
            let found = score.wrong.last;
            let (mut wrong, mut failing) = (0, vec![]);
            for lane in 0..bench.starts() {
                let mut grid = Grid::new(&automaton, width, height).unwrap();
                for channel in 0..channels {
                    let own = &batch.start[bench.layout.own(channel)..];
                    let cells: Vec<bool> =
                        (0..width * height).map(|cell| bit(&bench.layout, own, cell, lane)).collect();
                    grid.set_channel(channel, &cells);
                }
                for step in 0..steps {
                    let fires = |cell: usize| match batch.fires.get(step) {
                        Some(fires) => bit(&bench.layout, fires, cell, lane),
                        None => true,
                    };
                    let row = |y: usize| (0..width).map(|x| (fires(y * width + x) as u64) << x).sum();
                    grid.step_firing(&(0..height).map(row).collect::<Vec<u64>>());
                }
                let own = grid.pictures().iter().zip(&wanted).filter(|(a, b)| a != b).count() as u64;
                wrong += own;
                failing.extend((own > 0).then_some(lane));
            }
            assert_eq!(found, wrong, "{edge:?} {fire_rate}");
            let found: Vec<usize> = score.failing().collect();
            assert!(failing.iter().all(|lane| found.contains(lane)));
        }
    }
}
