//! What an environment is: many worlds side by side, as tensors.
//!
//! Invariant: an environment holds no state of its own. Whatever changes is in the tensors that [`Environment::begin`] and
//! [`Environment::step`] give, so that a roll-out is one loop on the device. Start at [`Environment`].

use farad::run::Picture;
use farad::{Device, Tensor};

/// What an agent can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actions {
    /// One of so many; an action is a whole number `[worlds]` (`i32`), from 0 on.
    Discrete(usize),
    /// So many numbers at once; an action is `[worlds, numbers]`, each from -1 to 1.
    Continuous(usize),
}

impl Actions {
    /// Numbers that a policy says of each world: one per choice, or one per number.
    pub fn outputs(self) -> usize {
        match self {
            Actions::Discrete(choices) => choices,
            Actions::Continuous(numbers) => numbers,
        }
    }

    /// Numbers that an action is stored in.
    pub fn width(self) -> usize {
        match self {
            Actions::Discrete(_) => 1,
            Actions::Continuous(numbers) => numbers,
        }
    }
}

/// What a step of all worlds gives.
pub struct Transition {
    /// The next state: as many tensors as before, of the same shapes.
    pub state: Vec<Tensor>,
    /// What each world is rewarded with, `[worlds]`.
    pub reward: Tensor,
    /// Which worlds have ended by themselves, truth values `[worlds]`. The limit of time is not among the reasons: whoever
    /// trains counts the steps.
    pub ended: Tensor,
}

/// Worlds that an agent acts in. Implement this, and every algorithm here trains in it.
///
/// All worlds make a step together: their states are tensors whose first axis is the world. The functions record tensor ops and
/// are called inside loops ([`farad::repeat`]), so they read nothing back and contain no loops of their own. Random
/// numbers come from [`Tensor::rand`] and its like.
///
/// ```
/// use farad::prelude::*;
/// use farad_rl::{Actions, Environment, Transition};
///
/// /// A point on a line that should be at the middle.
/// struct Point;
///
/// impl Environment for Point {
///     fn observations(&self) -> usize {
///         1
///     }
///     fn actions(&self) -> Actions {
///         Actions::Discrete(2)
///     }
///     fn longest(&self) -> usize {
///         20
///     }
///     fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
///         vec![Tensor::rand([worlds], device) * 2.0 - 1.0]
///     }
///     fn observe(&self, state: &[Tensor]) -> Tensor {
///         state[0].unsqueeze(1)
///     }
///     fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
///         let place = &state[0] + (action.cast(DType::F32) * 2.0 - 1.0) * 0.1;
///         Transition { reward: -place.abs(), ended: place.abs().greater(2.0), state: vec![place] }
///     }
/// }
///
/// let start = Point.begin(8, &Device::cpu());
/// let right = Tensor::ones([8], &Device::cpu()).cast(DType::I32);
/// let next = Point.step(&start, &right);
/// assert!(next.reward.to_vec::<f32>()?.iter().all(|&reward| (-1.1..=0.0).contains(&reward)));
/// # Ok::<(), farad::Error>(())
/// ```
pub trait Environment: Send + Sync {
    /// Numbers that an agent sees of a world.
    fn observations(&self) -> usize;

    /// What an agent can do.
    fn actions(&self) -> Actions;

    /// Steps after which an episode is over in any case.
    fn longest(&self) -> usize;

    /// States of worlds that begin, drawn anew by every call: tensors `[worlds, ..]`.
    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor>;

    /// What an agent sees, `[worlds, observations]`.
    fn observe(&self, state: &[Tensor]) -> Tensor;

    /// One step of all worlds. States of worlds that have ended are replaced by the caller.
    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition;

    /// How far worlds have come, in body lengths `[worlds]`; none where nothing should get ahead.
    fn ahead(&self, _state: &[Tensor]) -> Option<Tensor> {
        None
    }

    /// A picture of a world by the numbers of its state, all tensors one after another; none if it cannot be drawn.
    fn draw(&self, _state: &[f32]) -> Option<Picture> {
        None
    }
}
