//! Worlds that explode: which, at which step, shown by which body.
//!
//! A loop over steps carries two numbers per world: the step of its first explosion, and the part that shows it. They stay on
//! the device. A seed with an explosion has no finite loss, so they are read only where a loss says that something is wrong.
//!
//! Invariant: what a policy does whose actions are not finite is no explosion: that is a loss that diverged.

use farad::{DType, Device, Result, Tensor, kept};

use crate::environment::Environment;
use crate::error::RlError;

/// Numbers of a report: update, step, world and part. All are zero as long as nothing exploded.
const REPORT: usize = 4;

/// What comes after every step.
const NEVER: f64 = 1e9;

/// No explosion yet, `[worlds, 2]`; none where worlds cannot explode.
pub(crate) fn unharmed(environment: &dyn Environment, state: &[Tensor]) -> Option<Tensor> {
    let broken = environment.broken(state, state)?;
    Some(Tensor::zeros([broken.shape()[0], 2], broken.device()))
}

/// The same after a step, number `position` from 0. Of every world the first explosion counts; `counts` says which worlds
/// are looked at.
pub(crate) fn noted(
    environment: &dyn Environment,
    noted: &Tensor,
    [before, after]: [&[Tensor]; 2],
    action: &Tensor,
    position: &Tensor,
    counts: Option<&Tensor>,
) -> Tensor {
    let Some(part) = environment.broken(before, after) else { return noted.clone() };
    let first = noted.narrow(1, 0, 1).squeeze(1).equal(0.0);
    let mut now = part.greater(0) & first;
    if action.dtype().is_float() {
        now = now & action.is_finite().flatten(1).all_axes([1]);
    }
    if let Some(counts) = counts {
        now = now & counts.clone();
    }
    let step = (position.cast(DType::F32) + 1.0).broadcast_to([part.shape()[0]]);
    let new = Tensor::stack(&[&step, &(part.cast(DType::F32) - 1.0)], 1);
    now.unsqueeze(1).select(&new, noted)
}

/// The first explosions of agents so far, `[agents, 4]`.
pub(crate) struct Explosions(Option<Tensor>);

impl Explosions {
    /// None yet.
    pub fn none(environment: &dyn Environment, agents: usize, device: &Device) -> Explosions {
        // A start is looked at, and draws no numbers that others would have drawn.
        let random = device.random_state();
        let can = unharmed(environment, &environment.begin(1, device)).is_some();
        device.set_random_state(random);
        Explosions(can.then(|| Tensor::zeros([agents, REPORT], device)))
    }

    /// With those of an update, counted from 1, whose loop carried these numbers: two per world, agent by agent.
    pub fn with(&self, notes: Option<&Tensor>, update: u64) -> Explosions {
        let Some((old, notes)) = self.0.as_ref().zip(notes) else { return Explosions(self.0.clone()) };
        let known = old.narrow(1, 0, 1).greater(0.0);
        Explosions(Some(known.select(old, &report(notes, old.shape()[0], update))))
    }

    /// Its tensor, to be computed with everything else of an update.
    pub fn tensor(&self) -> Option<&Tensor> {
        self.0.as_ref()
    }

    /// Its values without history.
    pub fn detach(&self) -> Result<Explosions> {
        Ok(Explosions(self.0.as_ref().map(Tensor::detach).transpose()?))
    }

    /// Statistics `[agents, columns]`, not finite for agents in whose worlds something exploded.
    pub fn marked(&self, course: &Tensor) -> Tensor {
        match &self.0 {
            Some(all) => all.narrow(1, 0, 1).equal(0.0).select(course, &course.full_like(f64::NAN)),
            None => course.clone(),
        }
    }

    /// An error that names update, step, world and part, if something exploded. Reads.
    pub fn check(&self, environment: &dyn Environment) -> Result<()> {
        let Some(all) = &self.0 else { return Ok(()) };
        let numbers = all.to_vec::<f32>()?;
        let rows = numbers.chunks(REPORT).enumerate().filter(|(_, row)| row[0] > 0.0);
        let first = rows.min_by(|(_, a), (_, b)| (a[0], a[1]).partial_cmp(&(b[0], b[1])).expect("finite"));
        let Some((agent, &[update, step, world, part])) =
            first.map(|(agent, row)| (agent, row.first_chunk().expect("whole rows")))
        else {
            return Ok(());
        };
        Err(RlError::Exploded {
            update: Some(update as u64),
            step: step as usize,
            world: world as usize,
            agent: (numbers.len() > REPORT).then_some(agent + 1),
            body: environment.part(part as usize),
        }
        .into())
    }
}

/// The first explosion of every agent by its worlds' numbers, `[agents, 4]`.
fn report(notes: &Tensor, agents: usize, update: u64) -> Tensor {
    let worlds = notes.numel() / (2 * agents);
    let notes = notes.reshape([agents, worlds, 2]);
    let [step, part] = [0, 1].map(|n| notes.narrow(2, n, 1).squeeze(2));
    let when = step.greater(0.0).select(&step, &step.full_like(NEVER));
    let (first, world) = (when.min_axes(kept([1])), when.argmin(1).cast(DType::F32).unsqueeze(1));
    let places = Tensor::arange(worlds, notes.device()).cast(DType::F32);
    let part = world.equal(&places).select(&part, &part.full_like(0.0)).sum_axes(kept([1]));
    let update = Tensor::number(update as f64, notes.device()).broadcast_to([agents, 1]);
    let all = Tensor::concat(&[&update, &first, &world, &part], 1);
    first.less(NEVER).select(&all, &all.full_like(0.0))
}

/// An error for episodes whose loop carried these numbers, `[agents, worlds, 2]`, if one of them exploded. Reads.
pub(crate) fn check_episodes(environment: &dyn Environment, notes: &Tensor) -> Result<()> {
    let (agents, worlds) = (notes.shape()[0], notes.shape()[1]);
    let numbers = notes.to_vec::<f32>()?;
    let exploded = numbers.chunks(2).enumerate().filter(|(_, row)| row[0] > 0.0);
    let Some((place, row)) = exploded.min_by(|(_, a), (_, b)| a[0].total_cmp(&b[0])) else { return Ok(()) };
    Err(RlError::Exploded {
        update: None,
        step: row[0] as usize,
        world: place % worlds,
        agent: (agents > 1).then_some(place / worlds + 1),
        body: environment.part(row[1] as usize),
    }
    .into())
}
