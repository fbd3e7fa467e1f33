//! Roll-outs: thousands of steps as one loop, with gradients through time.
//!
//! A roll-out is a loop over sub-steps, so its graph has the size of one sub-step, however long it is.
//! Invariant: truncating gradients and recomputing states change no state.

use farad_tensor::{DType, Tensor, checkpoint, repeat, scan};

use crate::state::WorldState;
use crate::world::World;

/// What a roll-out keeps, and how gradients pass through it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutOptions {
    /// Whether to keep the states of all steps, or only the last.
    pub states: bool,
    /// Truncates gradients every this many steps.
    pub truncate: Option<usize>,
    /// Gradients recompute the states of this many steps at a time, instead of keeping those of all steps.
    pub checkpoint: Option<usize>,
}

impl RolloutOptions {
    /// Keeps the states of all steps.
    pub fn states() -> RolloutOptions {
        RolloutOptions { states: true, ..RolloutOptions::default() }
    }
}

/// The result of a roll-out.
pub struct Rollout {
    /// The state after the last step.
    pub last: WorldState,
    /// The states after every step, with a leading axis of steps: `[steps, worlds, bodies, ..]`.
    pub states: Option<WorldState>,
}

/// The result of a roll-out with a policy.
pub struct DrivenRollout {
    /// The state after the last step.
    pub last: WorldState,
    /// The states after every step, `[steps, worlds, bodies, ..]`.
    pub states: WorldState,
    /// The observations before every step, `[steps, worlds, observations]`.
    pub observations: Tensor,
    /// The actions, `[steps, worlds, motors]`.
    pub actions: Tensor,
}

impl World {
    /// Runs as many steps as there are actions, `[steps, worlds, motors]`.
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

    /// Runs steps whose actions a policy chooses from observations, `[worlds, observations]` to
    /// `[worlds, motors]`.
    ///
    /// This is one loop over sub-steps, too, with the policy's graph in its body. The action is the same for
    /// all sub-steps of a step, but it is recomputed in each of them. So this is meant for worlds whose step is
    /// too large to be the body of a loop.
    ///
    /// ```
    /// use farad_tensor::Device;
    /// use farad_world::{RolloutOptions, World};
    /// let world = World::named("cart-pole", &Device::cpu()).expect("it is in the table");
    /// let driven = world.rollout_with(&world.reset(8, 1), 50, |seen| seen.narrow(1, 2, 1) * 10.0);
    /// assert_eq!(driven.observations.shape()[..], [50, 8, world.observations()]);
    /// assert_eq!(driven.actions.shape()[..], [50, 8, 1]);
    /// ```
    #[track_caller]
    pub fn rollout_with(
        &self,
        start: &WorldState,
        steps: usize,
        policy: impl FnOnce(&Tensor) -> Tensor,
    ) -> DrivenRollout {
        let (worlds, motors, substeps) = (start.worlds(), self.motors(), self.description.substeps);
        assert!(
            motors > 0 && steps > 0,
            "world roll-out: a policy needs a motor and a step: {}",
            self.description.name
        );
        let held = Tensor::zeros([worlds, motors], self.device());
        let carries: Vec<&Tensor> = start.tensors().into_iter().chain([&held]).collect();
        let (last, kept) = repeat(steps * substeps, &carries, |carries, position| {
            let state = WorldState::from_tensors(&carries[..WorldState::TENSORS]);
            let seen = self.observe(&state);
            let first = position.remainder(substeps as i32).equal(0).broadcast_to([worlds, motors]);
            let actions = first.select(&policy(&seen), &carries[WorldState::TENSORS]);
            let next = self.substep(&state, &actions).tensors().map(Tensor::clone).to_vec();
            (next.iter().cloned().chain([actions.clone()]).collect(), [vec![seen, actions], next].concat())
        });
        let at = |t: &Tensor, place: usize| {
            let sizes: Vec<usize> =
                [steps, substeps].into_iter().chain(t.shape()[1..].iter().copied()).collect();
            t.reshape(sizes).narrow(1, place, 1).squeeze(1)
        };
        let states: Vec<Tensor> = kept[2..].iter().map(|t| at(t, substeps - 1)).collect();
        DrivenRollout {
            last: WorldState::from_tensors(&last[..WorldState::TENSORS]),
            states: WorldState::from_tensors(&states),
            observations: at(&kept[0], 0),
            actions: at(&kept[1], 0),
        }
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
        // Without motors, a dummy column still counts the steps.
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

    /// For every sub-step, zero where gradients are truncated, otherwise one.
    fn flags(&self, steps: usize, first: usize, every: usize) -> Tensor {
        let substeps = self.description.substeps;
        let flag = |n: usize| {
            let cut = n.is_multiple_of(substeps) && (first + n / substeps).is_multiple_of(every);
            f32::from(u8::from(!cut))
        };
        Tensor::from_vec((0..steps * substeps).map(flag).collect(), [steps * substeps], self.device())
    }

    /// An error that names step, world and body if a roll-out that kept its states exploded, or if its last
    /// state did.
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

/// The same state; gradients pass through it where the flag is one.
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
