//! The gradient of a window against differences in f64, and loss and targets against sums that are made by hand.

use farad::prelude::*;

use super::window::{Window, WindowSetting};
use super::*;
use crate::environment::Transition;
use crate::environments::{Locomotion, LocomotionTask, Pendulum};
use crate::episode_step;

fn networks(environment: &dyn Environment, seeds: usize, device: &Device) -> (ShacNetworks, Tensor, Tensor) {
    let (seen, actions) = (environment.observations(), environment.actions());
    let networks = ShacNetworks {
        actor: ActorCritic::actor(seen, &[8], actions).squashed(),
        critic: ActorCritic::actor(seen, &[8], Actions::Discrete(1)),
    };
    // Large weights, so that every part has a gradient.
    let actor = Tensor::rand_at(1, 0, [seeds, networks.actor.numbers() + actions.outputs()], device) - 0.5;
    let critic = Tensor::rand_at(1, 1, [seeds, networks.critic.numbers()], device) - 0.5;
    (networks, actor, critic)
}

/// How far the gradient of a window's loss at the actor's numbers is from differences in f64.
fn disagreement(environment: &dyn Environment, worlds: &[Tensor], seeds: usize, steps: usize) -> f64 {
    let device = Device::cpu();
    device.seed(5);
    let (networks, actor, critic) = networks(environment, seeds, &device);
    let scale = Normalizer::new(seeds, environment.observations(), &device);
    let setting = WindowSetting {
        environment,
        networks: &networks,
        scale: Some(&scale),
        seeds,
        steps,
        discount: 0.9,
        gain: 100.0,
    };
    let found = farad::check::gradients(&[actor], |inputs| {
        let window = setting.collect(&inputs[0], worlds);
        setting.loss(&window, &setting.ahead(&critic, &window)).sum()
    });
    let found = found.expect("it is computed");
    assert!(found.slope.abs() > 0.1, "{found:?}");
    found.error()
}

#[test]
fn the_gradient_of_a_window_agrees_with_differences() {
    let device = Device::cpu();
    device.seed(5);
    let mut worlds = episode_step::begin(&Pendulum, 4, &device);
    // The second and the fourth world reach the time limit within the window.
    worlds[2] = Tensor::from_vec(vec![0.0f32, 0.0, 196.0, -3.0, 7.0, 0.0, 193.0, 0.0], [4, 2], &device);
    let off = disagreement(&Pendulum, &worlds, 2, 10);
    assert!(off < 1e-5, "pendulum: {off}");
}

#[test]
fn the_gradient_of_a_window_of_legs_agrees_with_differences() {
    let device = Device::cpu();
    device.seed(5);
    let row = farad_world::WORLDS.iter().find(|row| row.name == "hopper").expect("a row");
    let description = farad_world::Description::from_json(row.json).expect("it is read");
    // It ends when it is lower than it began, which is soon.
    let task = LocomotionTask { substeps: 2, lowest: vec![0.5], alive: 1.0, ..LocomotionTask::default() };
    let hopper = Locomotion::new(&description, task, &device).expect("it is made");
    let off = disagreement(&hopper, &episode_step::begin(&hopper, 2, &device), 1, 12);
    assert!(off < 1e-3, "hopper: {off}");
}

/// A point that moves as it is told, is paid for its place, and ends beyond 1.
struct Point;

impl Environment for Point {
    fn observations(&self) -> usize {
        1
    }

    fn actions(&self) -> Actions {
        Actions::Continuous(1)
    }

    fn longest(&self) -> usize {
        5
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        vec![Tensor::rand([worlds], device)]
    }

    fn observe(&self, state: &[Tensor]) -> Tensor {
        state[0].unsqueeze(1)
    }

    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
        let place = &state[0] + action.squeeze(1) * 0.5;
        Transition { reward: place.square(), ended: place.greater(1.0), state: vec![place] }
    }
}

/// Discounted sums end with an episode: with the critic's value at the time limit, with nothing at a terminal state.
#[test]
fn loss_and_targets_are_those_made_by_hand() -> Result<()> {
    const STEPS: usize = 9;
    let (discount, trace, device) = (0.9f64, 0.7f64, Device::cpu());
    device.seed(2);
    let (networks, actor, critic) = networks(&Point, 2, &device);
    let setting = WindowSetting {
        environment: &Point,
        networks: &networks,
        scale: None,
        seeds: 2,
        steps: STEPS,
        discount,
        gain: 2.0,
    };
    let window = setting.collect(&actor, &episode_step::begin(&Point, 6, &device));
    let ahead = setting.ahead(&critic, &window);
    let (loss, wanted) = (setting.loss(&window, &ahead), setting.wanted(&window, &ahead, trace));
    let values = setting.networks.values(&critic, &by_seed(&window.after, 2));
    let Window { seen, after, rewards, ended, over, .. } = &window;
    let all = [seen, after, rewards, ended, over, &loss, &wanted, &values];
    Tensor::compute_all(&all)?;
    let numbers = all.iter().map(|t| t.to_vec::<f32>()).collect::<Result<Vec<_>>>()?;
    let at = |n: usize, time: usize, world: usize| f64::from(numbers[n][time * 6 + world]);
    let (mut sums, mut kinds) = ([0.0; 2], [0; 2]);
    for world in 0..6 {
        let (mut share, mut time_of_episode) = (1.0, 0);
        for time in 0..STEPS {
            let (place, reward) = (at(1, time, world), at(2, time, world));
            assert!((reward - 2.0 * place * place).abs() < 1e-5);
            time_of_episode += 1;
            let (ends, limit) = (place > 1.0, time_of_episode == 5);
            assert_eq!((at(3, time, world) > 0.0, at(4, time, world) > 0.0), (ends, ends || limit));
            kinds[0] += usize::from(ends);
            kinds[1] += usize::from(limit && !ends);
            let value = f64::from(numbers[7][(world / 3 * STEPS + time) * 3 + world % 3]);
            let next = if ends { 0.0 } else { value };
            sums[world / 3] -= share * reward;
            let last = ends || limit || time + 1 == STEPS;
            if last {
                sums[world / 3] -= share * discount * next;
            }
            let by_hand = match last {
                true => reward + discount * next,
                false => reward + discount * ((1.0 - trace) * next + trace * at(6, time + 1, world)),
            };
            assert!((at(6, time, world) - by_hand).abs() < 1e-4, "{time} {world}");
            (share, time_of_episode) = match ends || limit {
                true => (1.0, 0),
                false => (share * discount, time_of_episode),
            };
        }
    }
    assert!(kinds[0] > 0 && kinds[1] > 0, "terminal states and time limits: {kinds:?}");
    for (seed, sum) in sums.iter().enumerate() {
        let found = f64::from(numbers[5][seed]);
        assert!((found - sum / (3 * STEPS) as f64).abs() < 1e-4, "{found} {sum}");
    }
    Ok(())
}
