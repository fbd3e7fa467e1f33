//! Roll-outs: thousands of steps as one loop, with gradients through time.
//!
//! A roll-out is a loop over sub-steps, so its graph is that of one sub-step, however long it is. Invariant: cutting
//! gradients and computing states again change no state.

use farad_tensor::{DType, Tensor, checkpoint, scan};

use crate::state::WorldState;
use crate::world::World;

/// What a roll-out keeps, and how gradients go through it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutOptions {
    /// Whether the states of all steps are kept, or the last only.
    pub states: bool,
    /// Cuts gradients every so many steps.
    pub truncate: Option<usize>,
    /// Gradients compute the states of so many steps again, instead of keeping those of all steps.
    pub checkpoint: Option<usize>,
}

impl RolloutOptions {
    /// Keeps the states of all steps.
    pub fn states() -> RolloutOptions {
        RolloutOptions { states: true, ..RolloutOptions::default() }
    }
}

/// What came out of a roll-out.
pub struct Rollout {
    /// The state after the last step.
    pub last: WorldState,
    /// The states after every step, with an axis of steps before the others: `[steps, worlds, bodies, ..]`.
    pub states: Option<WorldState>,
}

impl World {
    /// As many steps as there are actions, `[steps, worlds, motors]`.
    ///
    /// ```
    /// use farad_tensor::{Device, Tensor};
    /// use farad_world::{RolloutOptions, World};
    /// let device = Device::cpu();
    /// let world = World::named("pendulum", &device).expect("it is in the table");
    /// let start = world.reset(8, 1);
    /// let actions = Tensor::zeros([100, 8, world.motors()], &device);
    /// let rollout = world.rollout(&start, &actions, &RolloutOptions::default());
    /// assert!(world.drift(&rollout.last).max().item()? < 1e-3);
    /// # Ok::<(), farad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn rollout(&self, start: &WorldState, actions: &Tensor, options: &RolloutOptions) -> Rollout {
        let steps = actions.shape()[0];
        assert!(
            actions.rank() == 3 && steps > 0,
            "world roll-out: actions are [steps, worlds, motors], with at least one step: {:?}",
            &actions.shape()[..],
        );
        let segment = options.checkpoint.unwrap_or(steps).max(1);
        let (mut state, mut kept, mut first) = (start.clone(), vec![], 0);
        while first < steps {
            let count = segment.min(steps - first);
            let own = actions.narrow(0, first, count);
            let (next, states) = match options.checkpoint {
                None => self.segment(&state, &own, first, options),
                Some(_) => {
                    let mut found = None;
                    checkpoint(&own, |own| {
                        let done = self.segment(&state, own, first, options);
                        let position = done.0.position.clone();
                        found = Some(done);
                        position
                    });
                    found.expect("the body ran")
                }
            };
            state = next;
            kept.extend(states);
            first += count;
        }
        let states = options.states.then(|| joined(&kept));
        Rollout { last: state, states }
    }

    /// Some steps as one loop over sub-steps.
    #[track_caller]
    fn segment(
        &self,
        start: &WorldState,
        actions: &Tensor,
        first: usize,
        options: &RolloutOptions,
    ) -> (WorldState, Option<WorldState>) {
        let (steps, worlds, motors) = (actions.shape()[0], actions.shape()[1], actions.shape()[2]);
        let substeps = self.description.substeps;
        // Without motors there is still something to count the steps by.
        let width = motors.max(1);
        let held =
            if motors == 0 { Tensor::zeros([steps, worlds, 1], self.device()) } else { actions.clone() };
        let whole = [steps, substeps, worlds, width];
        let held = held.unsqueeze(1).broadcast_to(whole).reshape([steps * substeps, worlds, width]);
        let flags = options.truncate.map(|every| self.flags(steps, first, every.max(1)));
        let mut sequences = vec![&held];
        sequences.extend(&flags);
        let (last, states) = scan(&start.tensors(), &sequences, |carries, slices| {
            let mut state = WorldState::from_tensors(carries);
            if let Some(flag) = slices.get(1) {
                state = cut(&state, flag);
            }
            let own = if motors == 0 { Tensor::zeros([worlds, 0], self.device()) } else { slices[0].clone() };
            let next = self.substep(&state, &own).tensors().map(Tensor::clone).to_vec();
            (next.clone(), if options.states { next } else { vec![] })
        });
        let ends = |t: &Tensor| {
            let rest = t.shape();
            let sizes: Vec<usize> = [steps, substeps].into_iter().chain(rest[1..].iter().copied()).collect();
            t.reshape(sizes).narrow(1, substeps - 1, 1).squeeze(1)
        };
        let states =
            options.states.then(|| WorldState::from_tensors(&states.iter().map(ends).collect::<Vec<_>>()));
        (WorldState::from_tensors(&last), states)
    }

    /// Zero where gradients are cut, else one, for every sub-step.
    fn flags(&self, steps: usize, first: usize, every: usize) -> Tensor {
        let substeps = self.description.substeps;
        let flag = |n: usize| {
            let cut = n % substeps == 0 && (first + n / substeps).is_multiple_of(every);
            f32::from(u8::from(!cut))
        };
        Tensor::from_vec((0..steps * substeps).map(flag).collect(), [steps * substeps], self.device())
    }

    /// An error that names step, world and body if something exploded in a roll-out that kept its states, or at its end.
    pub fn check_rollout(&self, rollout: &Rollout) -> Result<(), farad_tensor::Error> {
        let Some(states) = &rollout.states else { return self.check(&rollout.last) };
        let sane = |t: &Tensor| t.abs().flatten(1).max_axes([1]).less(1e4);
        let sane = states.tensors().map(sane).into_iter().reduce(|a, b| a & b).expect("four tensors");
        let sane = sane.cast(DType::I32).to_vec::<i32>()?;
        let Some(step) = sane.iter().position(|&sane| sane == 0) else { return Ok(()) };
        let one = states.tensors().map(|t| t.narrow(0, step, 1).squeeze(0));
        self.check_from(&WorldState::from_tensors(&one), step)
    }
}

/// The same state; gradients go through it where the flag is one.
fn cut(state: &WorldState, flag: &Tensor) -> WorldState {
    let one = |t: &Tensor| {
        let still = t.stop_gradient();
        &still + (t - &still) * flag
    };
    WorldState::from_tensors(&state.tensors().map(one))
}

fn joined(parts: &[WorldState]) -> WorldState {
    let join = |n: usize| {
        let own: Vec<&Tensor> = parts.iter().map(|part| part.tensors()[n]).collect();
        Tensor::concat(&own, 0)
    };
    WorldState::from_tensors(&[join(0), join(1), join(2), join(3)])
}
