//! Evolution: policies are varied, evaluated in whole episodes, and moved toward the successful ones.
//!
//! A generation is one program: every policy of every seed acts in its own worlds, all in parallel. [`Es`] also
//! moves the mean on the device; [`Cma`] reads the returns and adapts its covariance in f64 on the host.
//!
//! Invariant: a generation depends on the tensors that `tensors` returns, the device's random numbers and the
//! number of generations before it.

mod cma;
mod es;
mod settings;

pub use cma::Cma;
pub use es::Es;
pub use settings::EvolutionSettings;

use farad::{Device, Tensor};

use crate::actor_critic::ActorCritic;
use crate::environment::Environment;
use crate::episodes::{Agents, episodes, returns};
use crate::normalizer::Normalizer;

/// The columns that a generation returns.
pub const GENERATION: [&str; 4] = ["loss", "return", "best", "spread"];

/// The network of an evolved policy.
fn network(environment: &dyn Environment, settings: &EvolutionSettings) -> ActorCritic {
    let hidden: Vec<usize> = settings.policy.iter().map(|&size| size as usize).collect();
    ActorCritic::actor(environment.observations(), &hidden, environment.actions())
}

/// Mean returns of policies `[policies, numbers]`, each evaluated in its own worlds.
fn fitness(
    environment: &dyn Environment,
    network: &ActorCritic,
    rows: &Tensor,
    trials: usize,
    device: &Device,
) -> Tensor {
    let agents = Agents { network: network.clone(), weights: network.unpack(rows), normalizer: None };
    let [totals, _] = returns(environment, &agents, trials, device);
    totals.mean_axes([1])
}

/// The same with observations scaled for every seed, and the scale after what was seen.
fn scaled_fitness(
    environment: &dyn Environment,
    network: &ActorCritic,
    rows: &Tensor,
    trials: usize,
    scale: &Normalizer,
    device: &Device,
) -> (Tensor, Normalizer) {
    let seeds = scale.mean.shape()[0];
    let each = rows.shape()[0] / seeds;
    let wide = scale.repeated(each);
    let agents =
        Agents { network: network.clone(), weights: network.unpack(rows), normalizer: Some(wide.clone()) };
    let totals = episodes(environment, &agents, trials, Some(&wide), device);
    let of_seed =
        |t: &Tensor, width: usize| t.reshape([seeds, each * trials, width]).sum_axes(farad::kept([1]));
    let samples = of_seed(&totals.lengths, 1);
    let seen = totals.seen.expect("a scale was given").map(|sum| of_seed(&sum, environment.observations()));
    (totals.returns.mean_axes([1]), scale.with_sums(&samples, seen.each_ref()))
}

/// What a generation was like, `[seeds, 4]` ([`GENERATION`]), of returns `[seeds, policies]` and deviations `[seeds]`.
fn course(returns: &Tensor, spread: &Tensor) -> Tensor {
    let mean = returns.mean_axes([1]);
    let all = Tensor::stack(&[&-&mean, &mean, &returns.max_axes([1]), spread], 1);
    mean.is_finite().unsqueeze(1).select(&all, &all.full_like(f64::NAN))
}
