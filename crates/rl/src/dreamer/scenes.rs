//! States of worlds in the replay, where what is seen of them is pictures.
//!
//! Invariant: an observation follows from the state, so a picture is drawn again when it is learned from. A state has
//! a few numbers, a picture a thousand.

use farad::Tensor;

use crate::environment::Environment;

/// The shapes of a state's tensors, without the worlds.
pub(super) struct Scenes {
    shapes: Vec<Vec<usize>>,
}

impl Scenes {
    /// Of states like this one, of floats.
    pub fn of(state: &[Tensor]) -> Scenes {
        Scenes { shapes: state.iter().map(|part| part.shape()[1..].to_vec()).collect() }
    }

    /// Numbers of a state.
    pub fn width(&self) -> usize {
        self.shapes.iter().map(|shape| shape.iter().product::<usize>()).sum()
    }

    /// A state as rows of numbers, `[worlds, numbers]`.
    pub fn joined(state: &[Tensor]) -> Tensor {
        let flat: Vec<Tensor> =
            state.iter().map(|x| x.reshape([x.shape()[0], x.numel() / x.shape()[0]])).collect();
        Tensor::concat(&flat.iter().collect::<Vec<_>>(), 1)
    }

    /// What is seen of states `[agents, rows, numbers]`: `[agents, rows, observations]`.
    pub fn shown(&self, environment: &dyn Environment, rows: &Tensor) -> Tensor {
        let [agents, count, width] = [0, 1, 2].map(|n| rows.shape()[n]);
        let rows = rows.reshape([agents * count, width]);
        let mut from = 0;
        let mut part = |shape: &Vec<usize>| {
            let len = shape.iter().product();
            let part = rows.narrow(1, from, len).reshape(&[&[agents * count], &shape[..]].concat()[..]);
            from += len;
            part
        };
        let state: Vec<Tensor> = self.shapes.iter().map(&mut part).collect();
        // Drawn once, however many kernels want it.
        environment.observe(&state).computed_once().reshape([agents, count, environment.observations()])
    }
}
