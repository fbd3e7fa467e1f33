//! A step of worlds that begin again when their episode is over, with the steps and returns of episodes counted.
//!
//! Invariant: gradients pass from a step to the next within an episode, and never into the next episode.

use farad::{DType, Device, Tensor};

use crate::environment::Environment;

/// The result of one step of all worlds.
pub(crate) struct EpisodeStep {
    /// The state after the step, before any restart.
    pub state: Vec<Tensor>,
    /// The worlds afterwards, in the form of [`begin`].
    pub worlds: Vec<Tensor>,
    /// What is observed after the step, before any restart: `[worlds, observations]`.
    pub after: Tensor,
    /// `[worlds]`, and so are all below.
    pub reward: Tensor,
    /// Whether it reached a terminal state: 1 or 0.
    pub ended: Tensor,
    /// Whether it ended, or was cut by the time limit: 1 or 0.
    pub over: Tensor,
    /// The return of an episode at its last step, otherwise 0.
    pub finished: Tensor,
}

/// Worlds in their initial states, and the steps and the return of their episodes beside them, `[worlds, 2]`.
pub(crate) fn begin(environment: &dyn Environment, count: usize, device: &Device) -> Vec<Tensor> {
    let mut worlds = environment.begin(count, device);
    worlds.push(Tensor::zeros([count, 2], device));
    worlds
}

/// The starts of all worlds in a roll-out, where they are drawn once for it ([`Environment::starts_slowly`]).
pub(crate) fn starts(environment: &dyn Environment, count: usize, device: &Device) -> Option<Vec<Tensor>> {
    environment.starts_slowly().then(|| environment.begin(count, device))
}

/// Steps all worlds of [`begin`] with these actions. Those whose episode is over take these starts, otherwise new ones.
pub(crate) fn stepped(
    environment: &dyn Environment,
    worlds: &[Tensor],
    action: &Tensor,
    drawn: Option<Vec<Tensor>>,
) -> EpisodeStep {
    let (beside, state) = worlds.split_last().expect("a state, and what is counted");
    let step = environment.step(state, action);
    let time = beside.narrow(1, 0, 1).squeeze(1) + 1.0;
    let total = beside.narrow(1, 1, 1).squeeze(1) + step.reward.stop_gradient();
    let over = step.ended.or(time.greater_equal(environment.longest() as f64));
    let fresh = drawn.unwrap_or_else(|| environment.begin(total.numel(), total.device()));
    let along = |rank: usize| (1..rank).fold(over.clone(), |mask, _| mask.unsqueeze(-1));
    let starts = |(new, old): (&Tensor, &Tensor)| along(old.rank()).select(new, old);
    let mut next: Vec<Tensor> = fresh.iter().zip(&step.state).map(starts).collect();
    let counted = Tensor::stack(&[&time, &total], 1);
    next.push(along(2).select(&counted.full_like(0.0), &counted));
    EpisodeStep {
        worlds: next,
        after: environment.observe(&step.state),
        state: step.state,
        reward: step.reward,
        ended: step.ended.cast(DType::F32),
        finished: over.select(&total, &total.full_like(0.0)),
        over: over.cast(DType::F32),
    }
}
