//! The environments compared with the published equations, step by step in f64.

use std::f64::consts::PI;

use farad::prelude::*;
use farad_rl::{CartPole, Environment, Pendulum};

const WORLDS: usize = 64;
const STEPS: usize = 60;

/// The cart-pole as published: the next state, and whether the episode is over.
fn cart_pole(state: [f64; 4], right: bool) -> ([f64; 4], bool) {
    let [x, x_dot, theta, theta_dot] = state;
    let force = if right { 10.0 } else { -10.0 };
    let (sin, cos) = theta.sin_cos();
    let temp = (force + 0.1 * 0.5 * theta_dot * theta_dot * sin) / 1.1;
    let theta_acc = (9.8 * sin - cos * temp) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1));
    let x_acc = temp - 0.1 * 0.5 * theta_acc * cos / 1.1;
    let next =
        [x + 0.02 * x_dot, x_dot + 0.02 * x_acc, theta + 0.02 * theta_dot, theta_dot + 0.02 * theta_acc];
    (next, next[0].abs() > 2.4 || next[2].abs() > 12.0 * 2.0 * PI / 360.0)
}

/// Gym's pendulum: the next state and the reward.
fn pendulum([theta, speed]: [f64; 2], torque: f64) -> ([f64; 2], f64) {
    let u = torque.clamp(-2.0, 2.0);
    let upright = (theta + PI).rem_euclid(2.0 * PI) - PI;
    let cost = upright * upright + 0.1 * speed * speed + 0.001 * u * u;
    let faster = (speed + (3.0 * 10.0 / 2.0 * theta.sin() + 3.0 * u) * 0.05).clamp(-8.0, 8.0);
    ([theta + faster * 0.05, faster], -cost)
}

/// The numbers of every world.
fn column(state: &[Tensor]) -> Vec<Vec<f64>> {
    let columns: Vec<Vec<f32>> = state.iter().map(|t| t.to_vec::<f32>().unwrap()).collect();
    let of = |numbers: &Vec<f32>, world: usize| {
        let width = numbers.len() / WORLDS;
        numbers[world * width..][..width].iter().map(|&x| f64::from(x)).collect::<Vec<f64>>()
    };
    (0..WORLDS).map(|world| columns.iter().flat_map(|numbers| of(numbers, world)).collect()).collect()
}

#[test]
fn cart_pole_is_the_published_rule() {
    let device = Device::cpu();
    device.seed(3);
    let mut state = CartPole.begin(WORLDS, &device);
    assert!(column(&state).iter().flatten().all(|number| number.abs() <= 0.05));
    let mut ended = 0;
    for step in 0..STEPS {
        let actions: Vec<i32> = (0..WORLDS).map(|world| ((step * 7 + world * 3) / 5 % 2) as i32).collect();
        let next = CartPole.step(&state, &Tensor::from_vec(actions.clone(), [WORLDS], &device));
        let (before, after, ends) =
            (column(&state), column(&next.state), next.ended.to_vec::<bool>().unwrap());
        assert_eq!(next.reward.to_vec::<f32>().unwrap(), [1.0; WORLDS]);
        for world in 0..WORLDS {
            let start = [0, 1, 2, 3].map(|n| before[world][n]);
            let (wanted, over) = cart_pole(start, actions[world] == 1);
            for (found, wanted) in after[world].iter().zip(wanted) {
                assert!(
                    (found - wanted).abs() <= 2e-6 * (1.0 + wanted.abs()),
                    "step {step}: {found} {wanted}"
                );
            }
            // Within rounding error of a limit, either answer is right.
            let near =
                (wanted[0].abs() - 2.4).abs() < 1e-6 || (wanted[2].abs() - CartPole::ANGLE).abs() < 1e-6;
            assert!(near || ends[world] == over, "step {step}, world {world}");
            ended += usize::from(over);
        }
        state = next.state;
    }
    assert!(ended > 0, "nothing fell");
}

#[test]
fn pendulum_is_that_of_gym() {
    let device = Device::cpu();
    device.seed(4);
    let mut state = Pendulum.begin(WORLDS, &device);
    for step in 0..STEPS {
        let shares: Vec<f32> =
            (0..WORLDS).map(|world| ((step * 13 + world * 5) % 27) as f32 / 10.0 - 1.3).collect();
        let next = Pendulum.step(&state, &Tensor::from_vec(shares.clone(), [WORLDS, 1], &device));
        let (before, after) = (column(&state), column(&next.state));
        let rewards = next.reward.to_vec::<f32>().unwrap();
        assert!(next.ended.to_vec::<bool>().unwrap().iter().all(|&ended| !ended));
        for world in 0..WORLDS {
            let start = [before[world][0], before[world][1]];
            let (wanted, reward) = pendulum(start, 2.0 * f64::from(shares[world]));
            // On the host it is the same.
            let (host, earned) = Pendulum::advance(start, f64::from(shares[world]));
            let off = (host[0] - wanted[0]).abs() + (host[1] - wanted[1]).abs() + (earned - reward).abs();
            assert!(off < 1e-12, "step {step}: {host:?} {wanted:?}");
            for (found, wanted) in after[world].iter().zip(wanted) {
                assert!(
                    (found - wanted).abs() <= 3e-6 * (1.0 + wanted.abs()),
                    "step {step}: {found} {wanted}"
                );
            }
            let found = f64::from(rewards[world]);
            assert!((found - reward).abs() <= 1e-5 * (1.0 + reward.abs()), "step {step}: {found} {reward}");
        }
        state = next.state;
    }
}
