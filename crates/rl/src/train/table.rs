//! The worlds by name, one row each: what there is to learn in, and the settings that suit it.

use std::sync::Arc;

use farad::{Device, Error, Result};
use farad_world::Description;

use super::settings::Settings;
use crate::environment::Environment;
use crate::environments::{CartPole, Locomotion, Pendulum};

/// A world with a name.
pub struct NamedWorld {
    /// What the command calls it.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Makes it.
    pub make: fn(&Settings, &Device) -> Result<Arc<dyn Environment>>,
    /// Settings of an algorithm that differ from the usual ones.
    pub usual: fn(&mut Settings),
}

/// All of them.
pub const WORLDS: [NamedWorld; 3] = [
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
            (evolution.population, evolution.noise, evolution.step) = (64, 0.1, 0.1);
            settings.updates = if settings.algorithm == "ppo" { 120 } else { 300 };
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

/// Bodies with their task.
fn bodies(description: &Description, settings: &Settings, device: &Device) -> Result<Arc<dyn Environment>> {
    Ok(Arc::new(Locomotion::new(description, settings.task.clone(), device)?))
}

/// The text of a file.
fn read(path: &str) -> Result<String> {
    let fail = |source| Error::File { op: "world", path: path.into(), source };
    std::fs::read_to_string(path).map_err(fail)
}

/// What suits bodies that should get ahead.
fn ahead(settings: &mut Settings) {
    let (ppo, evolution) = (&mut settings.ppo, &mut settings.evolution);
    (ppo.worlds, ppo.horizon, ppo.learning_rate) = (128, 32, 1e-3);
    (ppo.normalize, ppo.normalize_rewards, ppo.bootstrap) = (true, true, true);
    (ppo.clip_value, ppo.entropy) = (false, 0.0);
    (evolution.population, evolution.trials, evolution.noise, evolution.step) = (64, 1, 0.1, 0.05);
    (settings.validation, settings.episodes) = (8, 16);
    settings.course.evaluate_every = 50;
    settings.updates = if settings.algorithm == "ppo" { 500 } else { 200 };
}

impl NamedWorld {
    /// The one of this name.
    pub fn of(name: &str) -> Option<&'static NamedWorld> {
        WORLDS.iter().find(|world| world.name == name)
    }
}
