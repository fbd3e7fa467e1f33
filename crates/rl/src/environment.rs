//! The environment trait: many worlds in parallel, as tensors.
//!
//! Invariant: an environment has no state. Everything that changes is in the tensors that
//! [`Environment::begin`] and [`Environment::step`] return, so that a roll-out is one loop on the device. Start
//! at [`Environment`].

use farad::run::{Picture, Value};
use farad::{Device, Tensor};

/// The action space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actions {
    /// One of this many choices; an action is an integer `[worlds]` (`i32`), starting at 0.
    Discrete(usize),
    /// This many numbers at once; an action is `[worlds, numbers]`, each from -1 to 1.
    Continuous(usize),
}

impl Actions {
    /// Outputs of a policy per world: one per choice, or one per number.
    pub fn outputs(self) -> usize {
        match self {
            Actions::Discrete(choices) => choices,
            Actions::Continuous(numbers) => numbers,
        }
    }

    /// Numbers in which an action is stored.
    pub fn width(self) -> usize {
        match self {
            Actions::Discrete(_) => 1,
            Actions::Continuous(numbers) => numbers,
        }
    }
}

/// The result of one step of all worlds.
pub struct Transition {
    /// The next state: as many tensors as before, of the same shapes.
    pub state: Vec<Tensor>,
    /// The reward of each world, `[worlds]`.
    pub reward: Tensor,
    /// Which worlds reached a terminal state, booleans `[worlds]`. The time limit does not count here: the
    /// training algorithm counts the steps.
    pub ended: Tensor,
}

/// Worlds that an agent acts in. Implement this, and every algorithm here trains in it.
///
/// All worlds step together: their states are tensors whose first axis is the world. The functions record
/// tensor ops and are called inside loops ([`farad::repeat`]), so they must not read anything back or contain
/// loops. Random numbers come from [`Tensor::rand`] and similar functions.
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
    /// The number of observations per world.
    fn observations(&self) -> usize;

    /// The action space.
    fn actions(&self) -> Actions;

    /// The time limit: the most steps of an episode.
    fn longest(&self) -> usize;

    /// Initial states of worlds, redrawn on every call: tensors `[worlds, ..]`.
    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor>;

    /// The observations, `[worlds, observations]`.
    fn observe(&self, state: &[Tensor]) -> Tensor;

    /// Channels, height and width, if observations are pictures: numbers from 0 to 1, channel by channel and row by row.
    /// Then all tensors of a state are floats: Dreamer remembers them, and draws pictures again.
    fn image(&self) -> Option<[usize; 3]> {
        None
    }

    /// One step of all worlds. The caller replaces the states of worlds that have ended.
    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition;

    /// How far worlds have come, in body lengths `[worlds]`; none where nothing should get ahead.
    fn ahead(&self, _state: &[Tensor]) -> Option<Tensor> {
        None
    }

    /// Whether a start takes long to compute, compared with a step. If so, a roll-out draws one start for each of its worlds, which
    /// the world takes whenever it starts again. Otherwise there is another start after every step.
    fn starts_slowly(&self) -> bool {
        false
    }

    /// How many of the last observations are a clock's: they depend on the time only.
    fn clocks(&self) -> usize {
        0
    }

    /// What is wrong with worlds after a step, `[worlds]` (`i32`): 0 if nothing is, otherwise one more than the number of the
    /// part that shows it. An algorithm then refuses to go on. None where nothing can be wrong.
    fn broken(&self, _before: &[Tensor], _after: &[Tensor]) -> Option<Tensor> {
        None
    }

    /// What messages call such a part.
    fn part(&self, number: usize) -> String {
        format!("part {number}")
    }

    /// A picture of a world by the numbers of its state, all tensors one after another; none if it cannot be drawn.
    fn draw(&self, _state: &[f32]) -> Option<Picture> {
        None
    }

    /// What a page needs to draw a world and to push it, as JSON: `drawer`, `seconds` per step, and sizes. None if no page
    /// can.
    fn scene(&self) -> Option<Value> {
        None
    }

    /// The names of what is observed and done; empty lists if they have none.
    fn names(&self) -> PortNames {
        PortNames::default()
    }
}

/// The names of an environment's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortNames {
    /// Of the observations.
    pub seen: Vec<String>,
    /// Of the numbers of an action, as many as it is stored in.
    pub done: Vec<String>,
}

impl PortNames {
    /// From words.
    pub fn new(seen: &[&str], done: &[&str]) -> PortNames {
        let [seen, done] = [seen, done].map(|names| names.iter().map(|name| name.to_string()).collect());
        PortNames { seen, done }
    }
}
