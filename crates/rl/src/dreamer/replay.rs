//! What was seen and done, on the device: rows of steps, and sequences out of them.
//!
//! Invariant: every world has its own ring of the newest steps, the newest last, so a sequence is of one world, in order.
//! It may go over the end of an episode; the row after the end says that memory begins anew.

use farad::{DType, Tensor};

/// The places of numbers in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepRow {
    /// Numbers of what was seen.
    pub seen: usize,
    /// Numbers of the action that followed.
    pub actions: usize,
}

/// One step of many rows: what was seen, the action that followed, the reward on arrival, and what kind of step it was.
pub(super) struct Steps {
    pub seen: Tensor,
    pub action: Tensor,
    /// `[agents, rows]`, and so are all below.
    pub reward: Tensor,
    /// Whether an episode began: 1 or 0.
    pub first: Tensor,
    /// Whether it was over, or cut.
    pub last: Tensor,
    /// Whether it was over.
    pub ended: Tensor,
}

impl Steps {
    /// Some of the rows.
    pub fn rows(&self, from: usize, count: usize) -> Steps {
        let part = |x: &Tensor| x.narrow(1, from, count);
        Steps {
            seen: part(&self.seen),
            action: part(&self.action),
            reward: part(&self.reward),
            first: part(&self.first),
            last: part(&self.last),
            ended: part(&self.ended),
        }
    }
}

impl StepRow {
    pub fn width(self) -> usize {
        self.seen + self.actions + 4
    }

    /// Joins the numbers of `[worlds, numbers]`; flags and reward are `[worlds]`.
    pub fn joined(self, seen: &Tensor, action: &Tensor, rest: [&Tensor; 4]) -> Tensor {
        let rest = rest.map(|x| x.unsqueeze(1));
        let all: Vec<&Tensor> = [seen, action].into_iter().chain(&rest).collect();
        Tensor::concat(&all, 1)
    }

    /// Splits rows `[agents, rows, width]`.
    pub fn split(self, rows: &Tensor) -> Steps {
        let number = |n: usize| rows.narrow(2, self.seen + self.actions + n, 1).squeeze(2);
        Steps {
            seen: rows.narrow(2, 0, self.seen),
            action: rows.narrow(2, self.seen, self.actions),
            reward: number(0),
            first: number(1),
            last: number(2),
            ended: number(3),
        }
    }
}

/// A replay `[agents, worlds, capacity, width]` with new rows `[agents, worlds, steps, width]` at its end.
pub(super) fn extended(replay: &Tensor, rows: &Tensor) -> Tensor {
    let steps = rows.shape()[2];
    match replay.shape()[2] - steps {
        0 => rows.clone(),
        rest => Tensor::concat(&[&replay.narrow(2, steps, rest), rows], 2),
    }
}

/// Sequences `[agents, length · count, width]` out of the newest `filled` steps of all worlds, which are a number of the
/// program: every start is as likely as any other.
pub(super) fn sequences(replay: &Tensor, filled: &Tensor, length: usize, count: usize) -> Tensor {
    let device = replay.device();
    let [agents, worlds, capacity, width] = [0, 1, 2, 3].map(|n| replay.shape()[n]);
    let uniform = || Tensor::rand([agents, 1, count], device);
    let whole = |share: Tensor, of: &Tensor| (share * of).floor().minimum(of - 1.0).cast(DType::I32);
    let starts = filled - (length as f64 - 1.0);
    let world = whole(uniform(), &Tensor::full(worlds as f64, [], device));
    let back = whole(uniform(), &starts);
    let agent = Tensor::arange(agents, device).cast(DType::I32).reshape([agents, 1, 1]);
    let ring = (agent * worlds as f64 + world) * capacity as f64;
    let time = Tensor::arange(length, device).cast(DType::I32).reshape([1, length, 1]);
    let places = ring - back + (capacity - length) as f64 + time;
    replay
        .reshape([agents * worlds * capacity, width])
        .index_select(0, &places.reshape([agents * length * count]))
        .reshape([agents, length * count, width])
}
