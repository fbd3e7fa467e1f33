//! Evaluates candidates on a GPU, thousands at once.
//!
//! One workgroup for each candidate and word of starts interprets the candidate's tape, with the state in
//! workgroup memory (`score.wgsl`).
//!
//! Invariant: scores equal those of the CPU. Candidates that do not fit in a workgroup, and everything after
//! the device has failed, run on the CPU; [`CandidateTally`] counts these. Start at [`DeviceEvaluator`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use farad::{CustomKernel, CustomLimits, CustomOp, DType, Device, OpError, Shape, Tensor, WgslText, Words};
use farad_circuit::Edge;
use farad_circuit::repair::{
    Batch, CandidateScore, Evaluator, Job, Processor, RepairTask, StartingGrid, Wrong,
};

use super::plain::{self, Operands};
use super::program::CandidateProgram;

const TEXT: &str = include_str!("score.wgsl");

/// Chains that run in parallel.
const CHAINS: usize = 16;
/// Candidates that a chain proposes at once.
const BLOCK: usize = 64;
/// Most places per workgroup.
const PLACES: usize = 256;
/// Words of workgroup memory that are not for the state.
const COUNTS: usize = 16;
/// Slots that a kernel is compiled for.
const SLOTS: [usize; 3] = [64, 256, 1024];
/// Sets of starts that stay on the device.
const BANKS: usize = 8;
/// Most runs per dispatch: a long one would block other users of the GPU.
const RUNS: usize = 8192;

/// How many candidates ran where.
#[derive(Clone, Debug, Default)]
pub struct CandidateTally(Arc<[AtomicU64; 2]>);

impl CandidateTally {
    fn add(&self, [on_device, on_processor]: [usize; 2]) {
        self.0[0].fetch_add(on_device as u64, Ordering::Relaxed);
        self.0[1].fetch_add(on_processor as u64, Ordering::Relaxed);
    }

    /// On the device, and on the CPU because they did not fit.
    pub fn counts(&self) -> [u64; 2] {
        [0, 1].map(|place| self.0[place].load(Ordering::Relaxed))
    }
}

/// Evaluates on a device.
pub struct DeviceEvaluator {
    device: Device,
    board: Board,
    /// For candidates that do not fit.
    processor: Processor,
    wanted: Tensor,
    banks: Vec<Bank>,
    /// Most words of a workgroup's state.
    most: usize,
    shape: [usize; 2],
    tally: CandidateTally,
    failed: bool,
}

impl DeviceEvaluator {
    /// For a task; `None` if its grid does not fit in a workgroup, or is a table: then the CPU is faster.
    pub fn new(task: &RepairTask, device: &Device) -> Option<DeviceEvaluator> {
        let board = Board::new(task)?;
        let adapter = device.index().filter(|_| device.is_gpu());
        let adapter = adapter.and_then(|index| farad::adapters().into_iter().nth(index));
        let memory = adapter.map_or(16 << 10, |adapter| adapter.limits.workgroup_memory as usize);
        Some(DeviceEvaluator {
            wanted: words(board.wanted(task), device),
            device: device.clone(),
            processor: Processor::new(task, CHAINS, BLOCK),
            banks: vec![],
            most: memory / 4 - COUNTS,
            shape: [CHAINS, BLOCK],
            tally: CandidateTally::default(),
            failed: false,
            board,
        })
    }

    /// With other numbers of chains, and of candidates that each proposes at once.
    pub fn with_shape(mut self, chains: usize, block: usize) -> DeviceEvaluator {
        self.shape = [chains, block];
        self
    }

    /// The counts of candidates that ran on the device and on the CPU.
    pub fn tally(&self) -> CandidateTally {
        self.tally.clone()
    }

    /// The index of the bank that holds these batches.
    fn bank(&mut self, batches: &[&Batch]) -> usize {
        let numbers: Vec<u64> = batches.iter().map(|batch| batch.number()).collect();
        match self.banks.iter().position(|bank| bank.numbers == numbers) {
            Some(place) => self.banks[..=place].rotate_right(1),
            None => {
                self.banks.truncate(BANKS - 1);
                self.banks.insert(0, Bank::new(&self.board, batches, numbers, &self.device));
            }
        }
        0
    }

    /// The scores of jobs that fit, all their batches.
    fn run(&mut self, jobs: &[(&Job, CandidateProgram)]) -> farad::Result<Vec<Vec<CandidateScore>>> {
        let (mut batches, mut known): (Vec<&Batch>, HashMap<u64, usize>) = Default::default();
        for batch in jobs.iter().flat_map(|(job, _)| job.batches) {
            known.entry(batch.number()).or_insert_with(|| {
                batches.push(batch);
                batches.len() - 1
            });
        }
        let bank = self.bank(&batches);
        let bank = &self.banks[bank];
        let (mut tape, mut runs) = (Vec::new(), Vec::new());
        for (job, program) in jobs {
            let first = tape.len() / 4;
            tape.extend(program.rows.iter().flatten());
            for batch in job.batches {
                for [start, fires] in bank.places(known[&batch.number()]) {
                    let sizes = [first, program.channels, program.ops, 0, start, fires, 0, 0];
                    runs.push(sizes.map(|size| size as u32));
                }
            }
        }
        let slots = jobs.iter().map(|(_, program)| program.slots).max().unwrap_or(1);
        let channels = jobs.iter().map(|(_, program)| program.channels).max().unwrap_or(1);
        let op = ScoreRuns {
            board: self.board,
            slots: SLOTS.into_iter().find(|&most| most >= slots).unwrap_or(slots),
            state: rounded(channels * self.board.places).min(self.most),
        };
        let tape = words(padded(tape, 4), &self.device);
        let mut found = vec![];
        for runs in runs.chunks(RUNS) {
            let padded = padded(runs.concat(), 8);
            let runs_there = words(padded, &self.device);
            let operands = [&runs_there, &tape, &bank.starts, &bank.fires, &self.wanted];
            let scores = Tensor::custom(op.clone(), &operands).swap_remove(0).to_vec::<u32>()?;
            found.extend_from_slice(&scores[..4 * runs.len()]);
        }
        let mut found = found.chunks_exact(4 * self.board.words);
        Ok(jobs.iter().map(|(job, _)| found.by_ref().take(job.batches.len()).map(score).collect()).collect())
    }
}

/// The score of one batch, from four words for each word of starts.
fn score(found: &[u32]) -> CandidateScore {
    let mut score = CandidateScore::default();
    for (n, &[last, late, early, starts]) in found.as_chunks::<4>().0.iter().enumerate() {
        score.wrong += Wrong { last: last.into(), late: late.into(), early: early.into() };
        score.starts[n] = starts;
    }
    score
}

impl Evaluator for DeviceEvaluator {
    fn chains(&self) -> usize {
        self.shape[0]
    }

    fn block(&self) -> usize {
        self.shape[1]
    }

    fn score(&mut self, jobs: &[Job]) -> Vec<Vec<CandidateScore>> {
        let fits = |program: &CandidateProgram| {
            program.channels * self.board.places <= self.most
                && SLOTS.iter().any(|&slots| program.slots <= slots)
        };
        let ready = |job: &Job| Some(CandidateProgram::new(job.tape, job.shape)).filter(fits);
        let programs = jobs.iter().map(|job| if self.failed { None } else { ready(job) });
        let programs: Vec<Option<CandidateProgram>> = programs.collect();
        let here: Vec<bool> = programs.iter().map(Option::is_none).collect();
        let there: Vec<(&Job, CandidateProgram)> =
            jobs.iter().zip(programs).filter_map(|(job, program)| Some((job, program?))).collect();
        let found = if there.is_empty() { Ok(vec![]) } else { self.run(&there) };
        let mut found = found.unwrap_or_else(|error| {
            tracing::warn!("repair: the device failed, so the search continues on the cpu: {error}");
            self.failed = true;
            self.processor.score(&there.iter().map(|(job, _)| **job).collect::<Vec<Job>>())
        });
        self.tally.add([there.len(), jobs.len() - there.len()]);
        found.reverse();
        let one = |(job, here): (&Job, bool)| match here {
            true => self.processor.score(&[*job]).pop().unwrap_or_default(),
            false => found.pop().unwrap_or_default(),
        };
        jobs.iter().zip(here).map(one).collect()
    }
}

/// A tensor of words.
fn words(words: Vec<u32>, device: &Device) -> Tensor {
    let count = words.len();
    Tensor::from_vec(words, [count], device)
}

/// Sizes are rounded up in steps of an eighth, so that there are few plans.
fn rounded(size: usize) -> usize {
    size.next_multiple_of((size.next_power_of_two() / 8).max(64))
}

/// Padded with zeros to a rounded number of rows.
fn padded(mut words: Vec<u32>, row: usize) -> Vec<u32> {
    words.resize(row * rounded(words.len() / row), 0);
    words
}

/// The grid of a task in the kernel's layout.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Board {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) steps: usize,
    /// Words of 32 starts; one if there is a single start.
    words: usize,
    /// Words per row; zero if a place is a cell from 32 starts.
    pub(super) row: usize,
    /// Words of a channel.
    pub(super) places: usize,
    pub(super) looks: Option<[usize; 2]>,
    pub(super) wraps: bool,
    pub(super) asynchronous: bool,
}

impl Board {
    fn new(task: &RepairTask) -> Option<Board> {
        let &RepairTask { height, width, steps, .. } = task;
        let row = if task.is_random() { 0 } else { width.div_ceil(32) };
        let places = if row == 0 { height * width } else { height * row };
        let board = Board {
            height,
            width,
            steps,
            words: if row == 0 { CandidateScore::default().starts.len() } else { 1 },
            row,
            places,
            looks: task.looks(),
            wraps: task.edge == Edge::Wrap,
            asynchronous: task.fire_rate < 1.0,
        };
        (task.origin != StartingGrid::Neighborhoods && (1..=PLACES).contains(&places) && steps > 0)
            .then_some(board)
    }

    /// The words of all places for each word of starts, from `[cells, words]` or one bit per cell.
    fn pack(&self, cells: &[u32]) -> Vec<Vec<u32>> {
        if self.row == 0 {
            let word = |n: usize| cells[n..].iter().step_by(self.words).copied().collect();
            return (0..self.words).map(word).collect();
        }
        let bits = |cells: &[u32]| cells.iter().rev().fold(0, |word, &bit| word << 1 | bit);
        vec![cells.chunks(self.width).flat_map(|row| row.chunks(32).map(bits)).collect()]
    }

    /// The wanted result: `[visible, places]`.
    fn wanted(&self, task: &RepairTask) -> Vec<u32> {
        let channel = |cells: &[bool]| match self.row {
            0 => cells.iter().map(|&on| if on { !0 } else { 0 }).collect(),
            _ => self.pack(&cells.iter().map(|&on| on as u32).collect::<Vec<u32>>()).concat(),
        };
        task.wanted.chunks(self.height * self.width).flat_map(channel).collect()
    }
}

/// Starts on the device.
struct Bank {
    numbers: Vec<u64>,
    starts: Tensor,
    fires: Tensor,
    /// For each batch and word the offsets of its start and its masks.
    places: Vec<Vec<[usize; 2]>>,
}

impl Bank {
    fn new(board: &Board, batches: &[&Batch], numbers: Vec<u64>, device: &Device) -> Bank {
        let (mut starts, mut fires, mut places) = (vec![], vec![], vec![]);
        for batch in batches {
            let channels: Vec<Vec<Vec<u32>>> =
                (0..batch.channels()).map(|channel| board.pack(&batch.cells(channel))).collect();
            let steps: Vec<Vec<Vec<u32>>> = batch.fires().map(|fires| board.pack(&fires)).collect();
            let mut add = |word: usize| {
                let place = [starts.len(), fires.len()];
                channels.iter().for_each(|channel| starts.extend_from_slice(&channel[word]));
                steps.iter().for_each(|step| fires.extend_from_slice(&step[word]));
                place
            };
            places.push((0..board.words).map(&mut add).collect());
        }
        let there = |all: Vec<u32>| words(padded(all, 1), device);
        fires.resize(fires.len().max(1), 0);
        Bank { numbers, starts: there(starts), fires: there(fires), places }
    }

    fn places(&self, batch: usize) -> impl Iterator<Item = [usize; 2]> {
        self.places[batch].iter().copied()
    }
}

/// Runs, tape, starts, fires, wanted -> scores: `[runs · 8], …, [visible · places] -> [runs · 4]`.
#[derive(Clone, Debug, Hash)]
struct ScoreRuns {
    board: Board,
    slots: usize,
    state: usize,
}

impl ScoreRuns {
    fn operands<'a>(&self, operands: &[&'a [u32]]) -> Operands<'a> {
        let &[runs, tape, starts, fires, wanted] = operands else { unreachable!("five operands") };
        Operands { board: self.board, runs, tape, starts, fires, wanted }
    }
}

impl CustomOp for ScoreRuns {
    fn name(&self) -> &str {
        "score_candidates"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        match operands.iter().find(|(_, dtype)| *dtype != DType::U32) {
            Some(&(_, found)) => Err(OpError::DTypes { op: "score", lhs: found, rhs: DType::U32 }),
            None => Ok(vec![(Shape::new(&[operands[0].0.numel() / 2]), DType::U32)]),
        }
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        let words = |words: &Vec<f64>| words.iter().map(|&word| word as u32).collect::<Vec<u32>>();
        let operands: Vec<Vec<u32>> = operands.iter().map(words).collect();
        let operands: Vec<&[u32]> = operands.iter().map(|words| &words[..]).collect();
        vec![plain::scores(&self.operands(&operands)).into_iter().map(f64::from).collect()]
    }

    fn cpu(&self, operands: &[&[u32]], _: &[Shape], results: &mut [Words]) {
        results[0].copy_from_slice(&plain::scores(&self.operands(operands)));
    }

    fn wgsl(&self, shapes: &[Shape], limits: &CustomLimits) -> Vec<CustomKernel> {
        let Board { height, width, steps, row, places, looks, wraps, asynchronous, .. } = self.board;
        let runs = shapes[0].numel() / 8;
        let [early, late] = looks.unwrap_or_default();
        let (wraps, asynchronous) = (wraps as usize, asynchronous as usize);
        let parameters = [runs, places, steps, early, late, height, width, row, wraps, asynchronous];
        let text = WgslText::new(TEXT).sizes(&[
            ("WORKGROUP", places.next_multiple_of(32)),
            ("STATE", self.state),
            ("SLOTS", self.slots),
        ]);
        let x = runs.clamp(1, limits.workgroups as usize);
        let kernel = CustomKernel::new(text, "main", [x as u32, runs.div_ceil(x) as u32, 1]);
        vec![kernel.parameters(&parameters.map(|size| size as u32))]
    }
}
