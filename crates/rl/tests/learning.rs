//! Agents that learn: PPO and evolution reach their thresholds, many seeds at once, and continue with the same
//! bits after a restore.

use std::sync::{Arc, Mutex, MutexGuard};

use farad::prelude::*;
use farad_rl::train::{NamedWorld, Settings, environment_of};
use farad_rl::{CartPole, Cma, Environment, Es, EvolutionSettings, Pendulum, Ppo, PpoSettings, returns};

/// Weights are drawn from random numbers that all tests of this process share, so tests run one at a time.
static ONE: Mutex<()> = Mutex::new(());

/// A separate device, with everything seeded.
fn begin(seed: u64) -> (MutexGuard<'static, ()>, Device) {
    let one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let device = Device::cpu_with(Default::default());
    farad::seed(seed);
    device.seed(seed);
    (one, device)
}

fn mean_returns(environment: &dyn Environment, agents: &farad_rl::Agents, device: &Device) -> Vec<f32> {
    let [totals, _] = returns(environment, agents, 50, device);
    totals.mean_axes([1]).to_vec::<f32>().unwrap()
}

#[test]
fn ppo_holds_the_pole_with_several_seeds_in_one_program() -> farad::Result<()> {
    let (_one, device) = begin(1);
    let mut ppo = Ppo::new(Arc::new(CartPole), PpoSettings::default(), 3, 60, &device)?;
    let before = mean_returns(&CartPole, &ppo.agents(), &device);
    assert!(before.iter().any(|&mean| mean < 300.0), "{before:?}");
    let mut best = [0.0f32; 3];
    for update in 0..60 {
        let before = device.counters();
        ppo.update()?;
        let done = device.counters().since(&before);
        if update > 3 {
            // One program, replayed, and nothing read back.
            assert_eq!((done.runs, done.plans_compiled, done.reads), (1, 0, 0), "update {update}");
        }
        if update % 20 == 19 {
            let now = mean_returns(&CartPole, &ppo.agents(), &device);
            best.iter_mut().zip(now).for_each(|(best, now)| *best = best.max(now));
        }
    }
    assert!(best.iter().filter(|&&mean| mean >= 475.0).count() >= 2, "{best:?}");
    Ok(())
}

#[test]
fn evolution_holds_the_pole() -> farad::Result<()> {
    let (_one, device) = begin(2);
    let linear = EvolutionSettings {
        policy: vec![],
        population: 16,
        trials: 8,
        noise: 0.5,
        ..EvolutionSettings::default()
    };
    let mut cma = Cma::new(Arc::new(CartPole), linear, 3, 5, &device)?;
    let mut es = Es::new(Arc::new(CartPole), EvolutionSettings::default(), 3, 60, &device)?;
    let mut best = [[0.0f32; 3]; 2];
    for generation in 0..60 {
        cma.update()?;
        es.update()?;
        if generation % 20 == 19 {
            let now = [cma.agents(), es.agents()].map(|agents| mean_returns(&CartPole, &agents, &device));
            let pairs = best.iter_mut().flatten().zip(now.into_iter().flatten());
            pairs.for_each(|(best, now)| *best = best.max(now));
        }
    }
    let learned = |best: &[f32; 3]| best.iter().filter(|&&mean| mean >= 475.0).count() >= 2;
    assert!(best.iter().all(learned), "cma and es: {best:?}");
    Ok(())
}

/// Training that is stored and restored continues as if nothing had happened.
#[test]
fn all_algorithms_go_on_with_the_same_bits() -> farad::Result<()> {
    let (_one, device) = begin(3);
    let settings = PpoSettings {
        worlds: 8,
        horizon: 8,
        minibatches: 2,
        hidden: vec![8],
        normalize: true,
        normalize_rewards: true,
        bootstrap: true,
        ..PpoSettings::default()
    };
    let ppo = || Ppo::new(Arc::new(Pendulum), settings.clone(), 2, 10, &device);
    let (mut first, mut second) = (ppo()?, ppo()?);
    first.update()?;
    let (stored, random) = (first.tensors(), device.random_state());
    first.update()?;
    second.restore(&stored, 1)?;
    device.set_random_state(random);
    second.update()?;
    assert_bits(&first.tensors(), &second.tensors());

    let small = EvolutionSettings {
        policy: vec![3],
        population: 6,
        trials: 1,
        scale: true,
        ..EvolutionSettings::default()
    };
    let es = || Es::new(Arc::new(Pendulum), small.clone(), 2, 100, &device);
    let (mut first, mut second) = (es()?, es()?);
    first.update()?;
    let (stored, random) = (first.tensors(), device.random_state());
    first.update()?;
    second.restore(&stored, 1)?;
    device.set_random_state(random);
    second.update()?;
    assert_bits(&first.tensors(), &second.tensors());
    // Every step of two generations was counted, six episodes of 200 steps each.
    let scale = first.agents().normalizer.expect("it is asked for");
    let seen = scale.count.to_vec::<f32>()?;
    assert!(seen.iter().all(|&count| (count - 2.0 * 6.0 * 200.0).abs() < 1.0), "{seen:?}");
    let spread = scale.variance.to_vec::<f32>()?;
    assert!(spread.iter().all(|&v| v > 0.01 && v < 64.0), "{spread:?}");

    let cma = || Cma::new(Arc::new(Pendulum), small.clone(), 2, 9, &device);
    let (mut first, mut second) = (cma()?, cma()?);
    first.update()?;
    let (stored, random) = (first.tensors(), device.random_state());
    first.update()?;
    second.restore(&stored, 1)?;
    device.set_random_state(random);
    second.update()?;
    assert_bits(&first.tensors(), &second.tensors());
    Ok(())
}

/// Policies of a generation may begin alike and be tried in short episodes at first.
#[test]
fn trials_begin_alike_and_end_early_if_they_should() -> farad::Result<()> {
    let (_one, device) = begin(5);
    let generation = |alike: bool| -> farad::Result<(f32, f32)> {
        let small = EvolutionSettings {
            policy: vec![],
            population: 6,
            trials: 2,
            scale: true,
            alike,
            // Policies are hardly different, so returns differ by their starts only.
            noise: 1e-7,
            early_share: 0.25,
            early: 0.5,
            ..EvolutionSettings::default()
        };
        let mut es = Es::new(Arc::new(Pendulum), small, 1, 2, &device)?;
        let course = es.update()?.to_vec::<f32>()?;
        let seen = |es: &Es| es.agents().normalizer.expect("it is asked for").count.to_vec::<f32>();
        assert!((seen(&es)?[0] - 6.0 * 2.0 * 50.0).abs() < 1.0, "{:?}", seen(&es)?);
        es.update()?;
        assert!((seen(&es)?[0] - 6.0 * 2.0 * 250.0).abs() < 1.0, "{:?}", seen(&es)?);
        Ok((course[1], course[2]))
    };
    let (mean, best) = generation(true)?;
    assert!((mean - best).abs() < 1e-3 * mean.abs(), "{mean} {best}");
    let (mean, best) = generation(false)?;
    assert!(best - mean > 1e-2 * mean.abs(), "{mean} {best}");
    Ok(())
}

/// Along the slope, the first step is as long as it should be: so many deviations of a policy.
#[test]
fn evolution_may_move_all_weights_together() -> farad::Result<()> {
    let (_one, device) = begin(7);
    let small = EvolutionSettings {
        policy: vec![],
        population: 8,
        trials: 1,
        together: true,
        step: 0.3,
        ..EvolutionSettings::default()
    };
    let mut es = Es::new(Arc::new(Pendulum), small.clone(), 2, 2, &device)?;
    let before = es.agents().detach()?.weights;
    es.update()?;
    let after = es.agents().weights;
    let squares =
        before.iter().zip(&after).map(|(a, b)| (a - b).square().reshape([2, a.numel() / 2]).sum_axes([1]));
    let far = squares.reduce(|a, b| a + b).expect("there are weights").sqrt().to_vec::<f32>()?;
    // Three observations and a bias.
    let wanted = (small.step * small.noise * 4f64.sqrt()) as f32;
    assert!(far.iter().all(|far| (far - wanted).abs() < 1e-4), "{far:?} {wanted}");
    Ok(())
}

/// A linear policy that sees a clock begins to crawl within a few generations.
#[test]
fn evolution_with_a_clock_begins_to_crawl() -> farad::Result<()> {
    let (_one, device) = begin(6);
    let mut settings = Settings::new(NamedWorld::of("crawler").expect("a row"), "es");
    (settings.task.seconds, settings.task.clock, settings.updates) = (3.0, 2.0, 10);
    let evolution = &mut settings.evolution;
    (evolution.population, evolution.noise, evolution.clock_gain) = (32, 0.05, 8.0);
    (evolution.alike, evolution.step, evolution.early_share, evolution.early) = (true, 0.03, 0.5, 0.75);
    let world = environment_of(&settings, &device)?;
    assert_eq!((world.clocks(), world.names().seen.len()), (2, world.observations()));
    let mut es = Es::new(world.clone(), settings.evolution.clone(), 1, settings.updates, &device)?;
    let mut returns = vec![];
    for _ in 0..settings.updates {
        returns.push(es.update()?.to_vec::<f32>()?[1]);
    }
    println!("{returns:?}");
    assert!(returns[0] < 0.15 && returns[9] > 0.35, "{returns:?}");

    // What is stored as weights comes back as the same policy.
    let agents = es.agents().detach()?;
    let mut other = Es::new(world, settings.evolution, 1, settings.updates, &device)?;
    other.take(&agents)?;
    let pairs = agents.weights.iter().zip(other.agents().weights);
    for (one, two) in pairs.collect::<Vec<_>>() {
        let off = (one - &two).abs().max().item()?;
        assert!(off < 1e-6, "{off}");
    }
    Ok(())
}

fn assert_bits(first: &[(String, Tensor)], second: &[(String, Tensor)]) {
    for ((name, a), (_, b)) in first.iter().zip(second) {
        let same = match a.dtype() {
            DType::U32 => a.to_vec::<u32>().unwrap() == b.to_vec::<u32>().unwrap(),
            _ => {
                let bits =
                    |t: &Tensor| t.to_vec::<f32>().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
                bits(a) == bits(b)
            }
        };
        assert!(same, "{name}");
    }
}

/// Seeds learn independently: with a learning rate of zero, a seed stays unchanged.
#[test]
fn every_seed_has_its_own_learning_rate() -> farad::Result<()> {
    let (_one, device) = begin(4);
    let settings = PpoSettings { worlds: 4, horizon: 8, minibatches: 2, ..PpoSettings::default() };
    let mut ppo = Ppo::new(Arc::new(CartPole), settings, 2, 10, &device)?.learning_rates(&[0.0, 1e-3]);
    let before = ppo.agents().weights[0].to_vec::<f32>()?;
    ppo.update()?;
    let after = ppo.agents().weights[0].to_vec::<f32>()?;
    let half = before.len() / 2;
    assert_eq!(before[..half], after[..half]);
    assert_ne!(before[half..], after[half..]);
    Ok(())
}
