//! Worlds that explode while agents learn: every algorithm names update, step, world and body, and reads nothing until then.

use std::sync::Arc;

use farad::prelude::*;
use farad_rl::train::{ALGORITHMS, Algorithm, NamedWorld, ReturnScore, Settings};
use farad_rl::{Agents, Environment, Locomotion, LocomotionTask, RlError, film};
use farad_world::Description;

/// A ball between four springs that pull at once: too stiff for the time step, so it swings six times as far after every step.
const SHAKY: &str = include_str!("shaky.json");

fn world(json: &str, device: &Device) -> farad::Result<Arc<dyn Environment>> {
    let task = LocomotionTask { seconds: 1.0, ..LocomotionTask::default() };
    Ok(Arc::new(Locomotion::new(&Description::from_json(json)?, task, device)?))
}

/// A small training by an algorithm, after no update. In eight steps nothing explodes yet, in sixteen it does.
fn learner(name: &str, json: &str, device: &Device) -> farad::Result<Box<dyn Algorithm>> {
    let row = ALGORITHMS.iter().find(|row| row.name == name).expect("a row");
    let mut settings = Settings::new(NamedWorld::of("world").expect("a row"), name);
    (settings.seeds, settings.updates) = (2, 10);
    (settings.ppo.worlds, settings.ppo.horizon, settings.ppo.minibatches) = (4, 8, 2);
    settings.ppo.hidden = vec![8];
    (settings.sac.replay, settings.sac.batch, settings.sac.gradients) = (256, 8, 1);
    (settings.evolution.population, settings.evolution.trials, settings.evolution.policy) = (4, 2, vec![]);
    (row.make)(world(json, device)?, &settings, device)
}

#[test]
fn every_algorithm_names_step_and_body_and_goes_no_further() -> farad::Result<()> {
    for row in &ALGORITHMS {
        let device = Device::cpu_with(Default::default());
        device.seed(1);
        let mut learner = learner(row.name, SHAKY, &device)?;
        // Evolution sees whole episodes of 50 steps.
        let sees_all = ["es", "cma"].contains(&row.name);
        let first = learner.update()?.to_vec::<f32>()?;
        if !sees_all {
            assert!(first.iter().all(|number| number.is_finite()), "{}: {first:?}", row.name);
            learner.check()?;
            learner.update()?;
        }
        // What is known stays known, however late somebody asks.
        let last = learner.update()?.to_vec::<f32>()?;
        assert!(last.iter().all(|number| number.is_nan()), "{}: {last:?}", row.name);
        let error = learner.check().expect_err("it exploded");
        let Some(RlError::Exploded { update, step, agent, body, .. }) = error.part() else {
            panic!("{error}")
        };
        assert_eq!(*update, Some(if sees_all { 1 } else { 2 }), "{}: {error}", row.name);
        assert!(if sees_all { 9..=16 } else { 1..=8 }.contains(step), "{}: {error}", row.name);
        assert_eq!((*agent, body.as_str()), (Some(1), "body \"ball\""), "{}: {error}", row.name);
        assert!(error.to_string().contains("smaller time step"), "{error}");
    }
    Ok(())
}

/// The same world with weak springs: nothing is reported, and an update of PPO is still one program that reads nothing.
#[test]
fn a_world_that_holds_costs_no_reads() -> farad::Result<()> {
    let device = Device::cpu_with(Default::default());
    device.seed(1);
    let calm = SHAKY.replace("50000", "50");
    let mut learner = learner("ppo", &calm, &device)?;
    for update in 0..6 {
        let before = device.counters();
        learner.update()?;
        let done = device.counters().since(&before);
        if update > 3 {
            assert_eq!((done.runs, done.plans_compiled, done.reads), (1, 0, 0), "update {update}");
        }
    }
    learner.check()
}

/// A policy whose numbers are lost is no fault of the world: then the loss says so, and nobody else.
#[test]
fn a_lost_policy_is_not_an_explosion() -> farad::Result<()> {
    let device = Device::cpu_with(Default::default());
    let mut learner = learner("ppo", &SHAKY.replace("50000", "50"), &device)?;
    let agents = learner.agents();
    let lost: Vec<Tensor> = agents.tensors().iter().map(|t| t.full_like(f64::NAN)).collect();
    learner.take(&agents.with(lost))?;
    let course = learner.update()?.to_vec::<f32>()?;
    assert!(course.iter().all(|number| number.is_nan()), "{course:?}");
    learner.check()
}

#[test]
fn judging_and_films_name_it_too() -> farad::Result<()> {
    let device = Device::cpu_with(Default::default());
    let (environment, agents) = (world(SHAKY, &device)?, learner("es", SHAKY, &device)?.agents());
    let judged = ReturnScore::of(&*environment, &agents, 3, 1, &device).expect_err("it explodes");
    let shown = film(&*environment, &one(&agents), 1, 10, &device).err().expect("it explodes");
    for error in [judged, shown] {
        let Some(RlError::Exploded { update: None, step, body, .. }) = error.part() else {
            panic!("{error}")
        };
        assert!((9..=16).contains(step) && body == "body \"ball\"", "{error}");
    }
    Ok(())
}

fn one(agents: &Agents) -> Agents {
    agents.one(0)
}
