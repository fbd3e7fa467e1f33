//! The worlds by name, one row each, with the settings that suit them.

use std::sync::Arc;

use farad::{Device, Error, Result};
use farad_world::Description;

use super::settings::Settings;
use crate::environment::Environment;
use crate::environments::{CartPole, CartPoleSwingUp, Locomotion, Pendulum};
use crate::shac::ShacSettings;

/// A world with a name.
pub struct NamedWorld {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Makes it.
    pub make: fn(&Settings, &Device) -> Result<Arc<dyn Environment>>,
    /// Changes the settings of an algorithm to those that suit the world.
    pub usual: fn(&mut Settings),
}

/// All of them.
pub const WORLDS: [NamedWorld; 9] = [
    NamedWorld {
        name: "cartpole",
        about: "a cart that is pushed left or right so that its pole stands (500 steps at most)",
        make: |_, _| Ok(Arc::new(CartPole)),
        usual: |settings| {
            settings.goal = vec![495.0];
            settings.updates = 150;
        },
    },
    NamedWorld {
        name: "pendulum",
        about: "a weak motor that should swing a pendulum up and hold it (Gym's reward, 0 at best)",
        make: |_, _| Ok(Arc::new(Pendulum)),
        usual: |settings| {
            let (ppo, evolution) = (&mut settings.ppo, &mut settings.evolution);
            (ppo.worlds, ppo.horizon, ppo.epochs, ppo.discount) = (64, 64, 8, 0.95);
            (ppo.normalize, ppo.normalize_rewards, ppo.bootstrap) = (true, true, true);
            (ppo.clip_value, ppo.entropy) = (false, 0.0);
            (evolution.population, evolution.trials, evolution.noise) = (64, 8, 0.1);
            (evolution.step, evolution.decay) = (0.1, 0.0);
            settings.updates = if settings.algorithm == "ppo" { 120 } else { 500 };
            if settings.algorithm == "cma" {
                // Returns vary much from start to start, and fewer trials mislead.
                (evolution.trials, evolution.noise, settings.updates) = (32, 0.3, 400);
            }
            if settings.algorithm == "sac" {
                (ppo.worlds, ppo.horizon, ppo.learning_rate, ppo.discount) = (8, 8, 2e-3, 0.98);
                settings.sac.reward_scale = 0.1;
                (settings.updates, settings.validation, settings.goal) = (400, 20, vec![-180.0]);
                settings.course.evaluate_every = 25;
            }
            if settings.algorithm == "shac" {
                (ppo.worlds, ppo.horizon, ppo.epochs, ppo.minibatches) = (16, 16, 2, 4);
                (ppo.learning_rate, ppo.gradient_norm, ppo.discount) = (1e-2, 1.0, 0.97);
                let shac =
                    ShacSettings { critic_rate: 5e-3, slow_critic: 0.2, reward_gain: 0.1, ..settings.shac };
                (settings.shac, settings.updates, settings.validation) = (shac, 800, 20);
                settings.course.evaluate_every = 50;
            }
        },
    },
    NamedWorld {
        name: "cartpole-swingup",
        about: "a cart that is pushed so that its hanging pole swings up and stands (1,000 steps, at most 1 each)",
        make: |settings, _| Ok(Arc::new(CartPoleSwingUp { images: settings.images })),
        usual: |settings| {
            let (ppo, evolution) = (&mut settings.ppo, &mut settings.evolution);
            (ppo.worlds, ppo.horizon, ppo.epochs, ppo.learning_rate) = (64, 64, 8, 1e-3);
            (ppo.normalize, ppo.normalize_rewards, ppo.bootstrap) = (true, true, true);
            (ppo.clip_value, ppo.entropy) = (false, 0.0);
            (evolution.population, evolution.trials, evolution.noise) = (64, 2, 0.1);
            (settings.updates, settings.validation, settings.episodes) = (200, 16, 32);
            if settings.algorithm == "sac" {
                (ppo.worlds, ppo.horizon, ppo.learning_rate) = (8, 8, 1e-3);
                settings.course.evaluate_every = 50;
                settings.updates = 1500;
            }
        },
    },
    NamedWorld {
        name: "swimmer",
        about: "five links that swim ahead through a fluid (the return is about the meters in 10 s)",
        make: bodies_by_name,
        usual: ahead,
    },
    NamedWorld {
        name: "hopper",
        about: "a leg with a torso that hops ahead in the plane",
        make: bodies_by_name,
        usual: |settings| {
            ahead(settings);
            (settings.task.alive, settings.task.lowest) = (0.5, vec![0.7]);
        },
    },
    NamedWorld {
        name: "crawler",
        about: "a ball on four legs that crawls ahead",
        make: bodies_by_name,
        usual: |settings| {
            ahead(settings);
            // Sub-steps four times as long cost a quarter. An action that lasts 40 ms explores farther than one of 10 ms,
            // and there are fewer to learn from. Gradients through the steps do not explore, and go through half as many.
            let steps = if settings.algorithm == "shac" { (0.02, 4) } else { (0.04, 8) };
            (settings.task.time_step, settings.task.substeps) = steps;
            if settings.algorithm == "ppo" {
                let ppo = &mut settings.ppo;
                (ppo.horizon, ppo.minibatches, ppo.learning_rate, ppo.discount) = (16, 4, 2e-3, 0.98);
                settings.updates = 500;
            }
        },
    },
    NamedWorld {
        name: "quadruped",
        about: "a box on four legs that walks ahead",
        make: bodies_by_name,
        usual: |settings| {
            ahead(settings);
            (settings.task.time_step, settings.task.substeps) = (0.02, 8);
        },
    },
    NamedWorld {
        name: "humanoid",
        about: "sixteen bodies with 21 hinges that walk ahead",
        make: bodies_by_name,
        usual: |settings| {
            ahead(settings);
            (settings.task.alive, settings.task.lowest) = (1.0, vec![0.8]);
        },
    },
    NamedWorld {
        name: "world",
        about: "bodies of a JSON file that should get ahead (--data FILE.json, or just `farad train FILE.json`)",
        make: |settings, device| {
            let text = read(&settings.data)?;
            bodies(&Description::from_json(&text)?, settings, device)
        },
        usual: ahead,
    },
];

/// An environment of bodies with their task.
fn bodies(description: &Description, settings: &Settings, device: &Device) -> Result<Arc<dyn Environment>> {
    Ok(Arc::new(Locomotion::new(description, settings.task.clone(), device)?))
}

/// An environment of the built-in world with the same name.
fn bodies_by_name(settings: &Settings, device: &Device) -> Result<Arc<dyn Environment>> {
    let row = farad_world::WORLDS
        .iter()
        .find(|row| row.name == settings.world)
        .expect("a test holds the tables together");
    bodies(&Description::from_json(row.json)?, settings, device)
}

/// The contents of a file.
fn read(path: &str) -> Result<String> {
    let fail = |source| Error::File { op: "world", path: path.into(), source };
    std::fs::read_to_string(path).map_err(fail)
}

/// Settings for bodies that should move forward.
fn ahead(settings: &mut Settings) {
    let (ppo, evolution) = (&mut settings.ppo, &mut settings.evolution);
    (ppo.worlds, ppo.horizon, ppo.learning_rate) = (128, 32, 1e-3);
    (ppo.normalize, ppo.normalize_rewards, ppo.bootstrap) = (true, true, true);
    (ppo.clip_value, ppo.entropy) = (false, 0.0);
    (evolution.population, evolution.trials, evolution.noise, evolution.step) = (64, 1, 0.1, 0.05);
    // A linear policy of scaled observations is enough to walk, and has few weights to find.
    if settings.algorithm == "es" {
        (evolution.scale, evolution.policy) = (true, vec![]);
    }
    // Few worlds and short windows: every window is a step of the actor.
    if settings.algorithm == "shac" {
        (ppo.worlds, ppo.horizon, ppo.epochs, ppo.minibatches) = (16, 16, 2, 4);
        (ppo.learning_rate, ppo.gradient_norm) = (5e-3, 1.0);
    }
    (settings.validation, settings.episodes) = (8, 16);
    settings.course.evaluate_every = 50;
    settings.updates = match settings.algorithm.as_str() {
        "ppo" => 500,
        "shac" => 1000,
        _ => 300,
    };
}

impl NamedWorld {
    /// The world with this name.
    pub fn of(name: &str) -> Option<&'static NamedWorld> {
        WORLDS.iter().find(|world| world.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every world can be made, starts, and can be observed and drawn.
    #[test]
    fn all_worlds_can_be_made() -> Result<()> {
        let device = Device::cpu();
        for world in WORLDS.iter().filter(|world| world.name != "world") {
            let settings = Settings::new(world, "ppo");
            let environment = (world.make)(&settings, &device)?;
            let state = environment.begin(2, &device);
            assert_eq!(
                environment.observe(&state).shape()[..],
                [2, environment.observations()],
                "{}",
                world.name
            );
            let mut numbers = vec![];
            for tensor in &state {
                numbers.extend(tensor.narrow(0, 0, 1).to_vec::<f32>()?);
            }
            assert!(environment.draw(&numbers).is_some(), "{}", world.name);
        }
        Ok(())
    }
}
