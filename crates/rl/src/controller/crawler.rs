//! The crawler as a world of circuits: what its bits mean, and lessons that a circuit takes from the places where it errs.
//!
//! A policy that PPO trains acts as the teacher. Lessons are collected in rounds. In the first, the
//! teacher acts, by as many bits as the circuit has. In every later one a decision tree of all lessons so far acts, and the teacher
//! says what it would have done there (Ross and others, 2011). So the lessons are about states that circuits reach.
//!
//! Invariant: lessons depend only on the settings.

use std::sync::{Arc, Mutex};

use farad::{Device, Result, Tensor};

use super::driven::{DrivenStarts, HostCircuit, driven};
use super::lesson_tree::lesson_tree;
use super::settings::ControllerSettings;
use super::task::ControlTask;
use super::teacher::Lessons;
use super::trainee::{CodedLessons, blank};
use crate::environment::Environment;
use crate::episodes::{Actor as _, Agents};
use crate::train::{NamedAlgorithm, NamedWorld, ReturnScore, Settings, environment_of};

/// Steps of an episode.
pub(super) const LONGEST: usize = 250;
/// A return with which a circuit is good enough: about the meters of five body lengths.
pub(super) const ENOUGH: f64 = 6.5;
/// How many bits tell the torque of a motor.
pub(super) const TURN_BITS: usize = 2;

/// Worlds in which lessons are collected.
const WORLDS: usize = 32;
/// Updates between two looks at the teacher, and the episodes of a look.
const EVERY: u64 = 25;
const EPISODES: usize = 8;

/// The settings of the teacher.
fn taught(settings: &ControllerSettings) -> Settings {
    let world = NamedWorld::of("crawler").expect("a row");
    Settings { seed: settings.seed, updates: settings.teacher, ..Settings::new(world, "ppo") }
}

/// The world that teacher and circuit act in.
pub(super) fn world(device: &Device) -> Result<Arc<dyn Environment>> {
    environment_of(&taught(&ControllerSettings::default()), device)
}

/// Settings of its circuits.
pub(super) fn usual(settings: &mut ControllerSettings) {
    (settings.thresholds, settings.tree) = (15, 10);
    settings.layers = vec![384, 192, 96, 48];
    (settings.learning_rate, settings.updates) = (0.01, 300);
    (settings.repair, settings.search, settings.episodes) = (0, 0, 64);
}

/// A policy that crawls: the best that was seen.
fn teacher(settings: &ControllerSettings, world: &dyn Environment, device: &Device) -> Result<Agents> {
    let own = taught(settings);
    farad::seed(own.seed);
    device.seed(own.seed);
    let row = NamedAlgorithm::of(&own.algorithm).expect("a row");
    let mut learner = (row.make)(environment_of(&own, device)?, &own, device)?;
    let (mut best, mut kept) = (f64::NEG_INFINITY, learner.agents().detach()?);
    for update in 1..=own.updates {
        learner.update()?;
        if update.is_multiple_of(EVERY) || update == own.updates {
            learner.check()?;
            let score = ReturnScore::of(world, &learner.agents(), EPISODES, own.seed, device)?[0].mean();
            if score > best {
                (best, kept) = (score, learner.agents().detach()?);
            }
        }
    }
    Ok(kept)
}

/// The output bits that say most nearly what a policy does, of numbers from -1 to 1.
fn bits(done: &[f32]) -> u32 {
    let set = |number: f32| ((f64::from(number) + 1.0) / 2.0 * TURN_BITS as f64).round() as u32;
    let of = |(motor, &number): (usize, &f32)| ((1u32 << set(number)) - 1) << (motor * TURN_BITS);
    done.iter().enumerate().map(of).sum()
}

/// What lessons depend on, and the last that were collected: the end of a training wants those of its begin.
static LAST: Mutex<Option<([u64; 6], Lessons)>> = Mutex::new(None);

/// Lessons of all rounds.
pub(super) fn lessons(settings: &ControllerSettings) -> Result<Lessons> {
    let ControllerSettings { seed, teacher, rounds, .. } = *settings;
    let sizes = [settings.episode_steps(), settings.thresholds, settings.tree].map(|size| size as u64);
    let key = [seed, teacher, rounds, sizes[0], sizes[1], sizes[2]];
    let last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, lessons)) = last.as_ref().filter(|(of, _)| *of == key) {
        return Ok(lessons.clone());
    }
    drop(last);
    let lessons = collected(settings)?;
    *LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some((key, lessons.clone()));
    Ok(lessons)
}

fn collected(settings: &ControllerSettings) -> Result<Lessons> {
    let (device, task) = (Device::cpu(), settings.task());
    let world = world(&device)?;
    let teacher = teacher(settings, &*world, &device)?;
    let said = |rows: &[f32], worlds: usize| -> Result<Vec<u32>> {
        let seen = Tensor::from_vec(rows.to_vec(), [worlds, rows.len() / worlds], &device);
        let done = teacher.act(&seen).to_vec::<f32>()?;
        Ok(done.chunks(done.len() / worlds).map(bits).collect())
    };
    let mut lessons = Lessons { seen: vec![], wanted: vec![] };
    for round in 0..settings.rounds {
        let tree = (round > 0).then(|| tree_of(settings, task, &lessons));
        let mut wanted = vec![];
        let mut seen = vec![];
        let seed = settings.seed ^ round << 32;
        let starts = DrivenStarts { worlds: WORLDS, steps: settings.episode_steps(), seed };
        driven(task, &*world, starts, &device, |rows| {
            let right = said(rows, WORLDS)?;
            let numbers = rows.chunks(rows.len() / WORLDS);
            seen.extend(numbers.map(|row| row.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>()));
            wanted.extend_from_slice(&right);
            Ok(match &tree {
                None => right,
                Some(tree) => tree.answers(&seen[seen.len() - WORLDS..]),
            })
        })?;
        lessons.seen.extend(seen);
        lessons.wanted.extend(wanted);
    }
    Ok(lessons)
}

/// The tree of all lessons so far, as a circuit.
fn tree_of(settings: &ControllerSettings, task: &ControlTask, lessons: &Lessons) -> HostCircuit {
    let coded = CodedLessons::of(lessons, settings.thresholds);
    let tree = lesson_tree(&coded, &blank(task, &coded.code), settings.tree, task.group);
    HostCircuit::new(tree, coded.code)
}

/// The names of the numbers that are seen.
pub(super) const SEEN: [&str; 39] = [
    "height",
    "turn_w",
    "turn_x",
    "turn_y",
    "turn_z",
    "speed_x",
    "speed_y",
    "speed_z",
    "spin_x",
    "spin_y",
    "spin_z",
    "front_left_swing_angle",
    "front_left_swing_speed",
    "front_left_lift_angle",
    "front_left_lift_speed",
    "front_left_knee_angle",
    "front_left_knee_speed",
    "front_right_swing_angle",
    "front_right_swing_speed",
    "front_right_lift_angle",
    "front_right_lift_speed",
    "front_right_knee_angle",
    "front_right_knee_speed",
    "back_left_swing_angle",
    "back_left_swing_speed",
    "back_left_lift_angle",
    "back_left_lift_speed",
    "back_left_knee_angle",
    "back_left_knee_speed",
    "back_right_swing_angle",
    "back_right_swing_speed",
    "back_right_lift_angle",
    "back_right_lift_speed",
    "back_right_knee_angle",
    "back_right_knee_speed",
    "front_left_touch",
    "front_right_touch",
    "back_left_touch",
    "back_right_touch",
];

/// The names of the output bits: two for each motor.
pub(super) const TURNS: [&str; 24] = [
    "front_left_swing_0",
    "front_left_swing_1",
    "front_left_lift_0",
    "front_left_lift_1",
    "front_left_knee_0",
    "front_left_knee_1",
    "front_right_swing_0",
    "front_right_swing_1",
    "front_right_lift_0",
    "front_right_lift_1",
    "front_right_knee_0",
    "front_right_knee_1",
    "back_left_swing_0",
    "back_left_swing_1",
    "back_left_lift_0",
    "back_left_lift_1",
    "back_left_knee_0",
    "back_left_knee_1",
    "back_right_swing_0",
    "back_right_swing_1",
    "back_right_lift_0",
    "back_right_lift_1",
    "back_right_knee_0",
    "back_right_knee_1",
];
