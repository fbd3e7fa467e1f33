//! Films of agents: an episode as pictures.

use farad::run::Picture;
use farad::{Device, Result};

use crate::environment::Environment;
use crate::episodes::{Actor, trace};
use crate::error::RlError;

/// An episode in pictures.
pub struct Film {
    /// One per shown step, with a caption.
    pub frames: Vec<Picture>,
    /// Steps of the episode.
    pub steps: usize,
    /// The sum of its rewards.
    pub total: f64,
}

/// Plays one episode of an actor from a start that depends on the seed, and draws at most `most` steps of it,
/// evenly spaced. Does not advance the device's own random numbers.
pub fn film(
    environment: &dyn Environment,
    actor: &dyn Actor,
    seed: u64,
    most: usize,
    device: &Device,
) -> Result<Film> {
    let random = device.random_state();
    device.seed(seed);
    let played = trace(environment, actor, device);
    device.set_random_state(random);
    let played = played?;
    let steps = played.rewards.len();
    let every = steps.div_ceil(most.max(1)).max(1);
    let mut frames = vec![];
    let mut total = 0.0;
    for (step, (state, reward)) in played.states.iter().zip(&played.rewards).enumerate() {
        total += f64::from(*reward);
        if step % every == 0 || step + 1 == steps {
            let picture = environment.draw(state).ok_or(RlError::NoScene)?;
            let words = format!("step {} return {total:.0}", step + 1);
            frames.push(picture.with_progress(&words, (step + 1) as f64 / environment.longest() as f64));
        }
    }
    Ok(Film { frames, steps, total })
}
