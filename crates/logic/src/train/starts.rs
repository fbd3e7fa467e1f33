//! The initial states of roll-outs, their targets, and which cells fire: drawn on the device.

use farad::{DType, Device, Tensor};

use crate::recipe::{Recipe, RecipeTarget, RolloutStart};

/// The purpose of random numbers. Numbers of different streams are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Updates.
    Train,
    /// Evaluations during training.
    Validate,
    /// Noise on gradients.
    Noise,
    /// Random choices about gates and states in updates.
    Gates,
}

/// Draws for all seeds at once, each from its own stream.
pub struct Starts {
    seeds: Vec<u64>,
    channels: usize,
    device: Device,
    /// All boards and their successors, `[512, 18]`, if a rule is learned.
    boards: Option<Tensor>,
    /// The target, `[1, 1, height, width, visible]`, if it is always the same.
    picture: Option<Tensor>,
    /// The initial state of all grids, `[1, 1, height, width, 1]`, if it is always the same.
    first: Option<Tensor>,
    height: usize,
    width: usize,
}

impl Starts {
    /// For a recipe and its seeds, on grids of one size.
    pub fn new(
        recipe: &Recipe,
        (height, width): (usize, usize),
        seeds: &[u64],
        channels: usize,
        device: &Device,
    ) -> Starts {
        let boards = match &recipe.target {
            RecipeTarget::Rule(rule) => Some(rule.boards()),
            RecipeTarget::Picture(_) => None,
        };
        let boards = boards.map(|(before, after)| {
            let rows = before.chunks_exact(9).zip(after.chunks_exact(9));
            let bits = rows.flat_map(|(a, b)| a.iter().chain(b)).map(|&bit| f32::from(bit)).collect();
            Tensor::from_vec::<f32>(bits, [512, 18], device)
        });
        let picture = recipe.picture(height, width).map(|bits| {
            let bits = bits.into_iter().map(f32::from).collect();
            Tensor::from_vec::<f32>(bits, [1, 1, height, width, recipe.visible], device)
        });
        let on =
            |cell: usize| recipe.start == RolloutStart::CenterOnes && cell == height / 2 * width + width / 2;
        let first = matches!(recipe.start, RolloutStart::CenterOnes | RolloutStart::Zeros).then(|| {
            let cells = (0..height * width).map(|cell| f32::from(on(cell))).collect();
            Tensor::from_vec::<f32>(cells, [1, 1, height, width, 1], device)
        });
        let (seeds, device) = (seeds.to_vec(), device.clone());
        Starts { seeds, channels, device, boards, picture, first, height, width }
    }

    /// Uniform numbers for every seed, `[seeds, ..shape]`.
    fn uniform(&self, stream: Stream, number: u64, what: u64, shape: &[usize]) -> Tensor {
        let place = (number * 4 + what) * 4 + stream as u64;
        let draws: Vec<Tensor> = self
            .seeds
            .iter()
            // Wirings use the start of a seed's stream; training starts far after them.
            .map(|&seed| Tensor::rand_at(seed, place + (1 << 32), shape, &self.device))
            .collect();
        Tensor::stack(&draws.iter().collect::<Vec<_>>(), 0)
    }

    /// Normal numbers for every seed, `[seeds, ..shape]`.
    pub fn normal(&self, stream: Stream, number: u64, shape: &[usize]) -> Tensor {
        let (u, v) = (self.uniform(stream, number, 0, shape), self.uniform(stream, number, 1, shape));
        ((1.0 - u).log() * -2.0).sqrt() * (v * std::f64::consts::TAU).cos()
    }

    /// Uniform numbers for every logit, `[seeds, gates, width]`.
    pub fn gate_noise(&self, number: u64, gates: usize, width: usize) -> Tensor {
        self.uniform(Stream::Gates, number, 0, &[gates, width])
    }

    /// A number from 0 to 1 for every gate, drawn for one update. `[seeds, gates, 1]`
    pub fn turns_anew(&self, number: u64, gates: usize) -> Tensor {
        self.uniform(Stream::Gates, number, 1, &[gates, 1])
    }

    /// Numbers that states are compared with when they become bits. `[seeds, ..shape]`
    pub fn thresholds(&self, number: u64, shape: &[usize]) -> Tensor {
        self.uniform(Stream::Gates, number, 2, shape)
    }

    /// A random order of the gates of every seed, as numbers from 0 to 1. `[seeds, gates, 1]`
    pub fn turns(&self, gates: usize) -> Tensor {
        self.uniform(Stream::Noise, 0, 3, &[gates, 1])
    }

    /// Which cells fire: 1 with this probability, otherwise 0. `[seeds, ..shape]`
    pub fn fired(&self, stream: Stream, number: u64, rate: f32, shape: &[usize]) -> Tensor {
        self.uniform(stream, number, 2, shape).less(rate as f64).cast(DType::F32)
    }

    /// First states `[seeds, batch, height, width, channels]` and the target at the end, which broadcasts with
    /// `[seeds, batch, height, width, visible]`.
    pub fn draw(&self, stream: Stream, number: u64, batch: usize) -> (Tensor, Tensor) {
        let seeds = self.seeds.len();
        if let Some(boards) = &self.boards {
            let rows = boards.index_select(0, &self.board_numbers(stream, number, batch));
            let grid = |first| rows.narrow(1, first, 9).reshape([seeds, batch, 3, 3, 1]);
            return (grid(0), grid(9));
        }
        let shape = [batch, self.height, self.width, self.channels];
        let first = match &self.first {
            Some(first) => first.broadcast_to([seeds, batch, self.height, self.width, self.channels]),
            None => self.uniform(stream, number, 0, &shape).less(0.5).cast(DType::F32),
        };
        (first, self.picture.clone().expect("everything but boards has a picture"))
    }

    /// Which boards: random ones for training, all in order for an evaluation.
    fn board_numbers(&self, stream: Stream, number: u64, batch: usize) -> Tensor {
        let seeds = self.seeds.len();
        if stream == Stream::Validate && batch == 512 {
            let all = Tensor::arange(512, &self.device).reshape([1, 512]);
            return all.broadcast_to([seeds, 512]).reshape([seeds * 512]);
        }
        let index = (self.uniform(stream, number, 0, &[batch]) * 512.0).floor().cast(DType::I32);
        index.reshape([seeds * batch])
    }
}
