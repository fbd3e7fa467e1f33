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
mod trial_worlds;

pub use cma::Cma;
pub use es::Es;
pub use settings::EvolutionSettings;
use trial_worlds::TrialWorlds;

use farad::group::Group;
use farad::{Device, Result, Tensor};

use crate::actor_critic::ActorCritic;
use crate::environment::Environment;
use crate::episodes::{Agents, EpisodeTotals, episodes};
use crate::normalizer::Normalizer;
use crate::ranks::{Ranks, SharedWorlds, WorldShare};

/// The columns that a generation returns.
pub const GENERATION: [&str; 4] = ["loss", "return", "best", "spread"];

/// The network of an evolved policy.
fn network(environment: &dyn Environment, settings: &EvolutionSettings) -> ActorCritic {
    let hidden: Vec<usize> = settings.policy.iter().map(|&size| size as usize).collect();
    ActorCritic::actor(environment.observations(), &hidden, environment.actions())
}

/// Mean returns of policies `[policies, numbers]`, each evaluated in its own worlds, and what exploded there.
fn fitness(trial: &PolicyTrial, network: &ActorCritic, rows: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
    let agents = Agents { network: network.clone().into(), weights: network.unpack(rows), normalizer: None };
    let totals = trial.totals(&agents, None)?;
    Ok((totals.returns.mean_axes([1]), totals.broken))
}

/// The same with observations scaled for every seed, and the scale after what was seen.
fn scaled_fitness(
    trial: &PolicyTrial,
    network: &ActorCritic,
    rows: &Tensor,
    scale: &Normalizer,
) -> Result<(Tensor, Option<Tensor>, Normalizer)> {
    let seeds = scale.mean.shape()[0];
    let each = rows.shape()[0] / seeds;
    let wide = scale.repeated(each);
    let agents = Agents {
        network: network.clone().into(),
        weights: network.unpack(rows),
        normalizer: Some(wide.clone()),
    };
    let totals = trial.totals(&agents, Some(&wide))?;
    let of_seed =
        |t: &Tensor, width: usize| t.reshape([seeds, each * trial.trials, width]).sum_axes(farad::kept([1]));
    let samples = of_seed(&totals.lengths, 1);
    let observations = trial.environment.observations();
    let seen = totals.seen.expect("a scale was given").map(|sum| of_seed(&sum, observations));
    Ok((totals.returns.mean_axes([1]), totals.broken, scale.with_sums(&samples, seen.each_ref())))
}

/// Where policies are tried: each in so many worlds of its own.
struct PolicyTrial<'a> {
    environment: TrialWorlds<'a>,
    trials: usize,
    device: &'a Device,
    ranks: &'a Ranks,
}

impl<'a> PolicyTrial<'a> {
    /// For episodes of this share of the longest.
    fn new(
        environment: &'a dyn Environment,
        settings: &EvolutionSettings,
        share: f64,
        device: &'a Device,
        ranks: &'a Ranks,
    ) -> PolicyTrial<'a> {
        let &EvolutionSettings { population, trials, alike, .. } = settings;
        let longest = ((environment.longest() as f64 * share).round() as usize).max(1);
        let environment = TrialWorlds { environment, population, trials, alike, longest };
        PolicyTrial { environment, trials, device, ranks }
    }

    /// What episodes of all agents come to. Of several ranks each tries its share of them.
    fn totals(&self, agents: &Agents, scale: Option<&Normalizer>) -> Result<EpisodeTotals> {
        let PolicyTrial { ref environment, trials, device, ranks } = *self;
        let Some((group, share)) = ranks else {
            return Ok(episodes(environment, agents, trials, scale, device));
        };
        let own = agents.with(agents.tensors().into_iter().map(|all| share.take(all)).collect());
        let environment = SharedWorlds { environment, share: share.times(trials) };
        let scale = scale.and(own.normalizer.as_ref());
        let totals = episodes(&environment, &own, trials, scale, device);
        let rows = [&totals.returns, &totals.lengths].into_iter().chain(totals.seen.iter().flatten());
        let rows: Vec<Tensor> = rows.chain(&totals.broken).map(|own| own.unsqueeze(0)).collect();
        let all = share.all(group, &rows.iter().collect::<Vec<_>>())?;
        let mut all = all.iter().map(|all| all.squeeze(0));
        let mut take = || all.next().expect("as many as were given");
        let (returns, lengths) = (take(), take());
        let seen = totals.seen.is_some().then(|| [take(), take()]);
        let broken = totals.broken.is_some().then(take);
        Ok(EpisodeTotals { returns, lengths, seen, ahead: None, broken })
    }
}

/// The ranks of a population, if there are several.
fn ranks_of(group: &Group, policies: usize) -> Result<Ranks> {
    Ok(WorldShare::of(group, 1, policies)?.map(|share| (group.clone(), share)))
}

/// What a generation was like, `[seeds, 4]` ([`GENERATION`]), of returns `[seeds, policies]` and deviations `[seeds]`.
fn course(returns: &Tensor, spread: &Tensor) -> Tensor {
    let mean = returns.mean_axes([1]);
    let all = Tensor::stack(&[&-&mean, &mean, &returns.max_axes([1]), spread], 1);
    mean.is_finite().unsqueeze(1).select(&all, &all.full_like(f64::NAN))
}
