//! The environments compared with the published equations, step by step in f64.

use std::f64::consts::PI;

use farad::prelude::*;
use farad_rl::{CartPole, CartPoleSwingUp, Environment, Pendulum};

const WORLDS: usize = 64;
const STEPS: usize = 60;
const SWING_UP: CartPoleSwingUp = CartPoleSwingUp { images: false };

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

/// Swing-up: the cart-pole's accelerations, speeds first, and a track that ends. The next state and the reward.
fn swing_up([x, x_dot, theta, theta_dot]: [f64; 4], force: f64) -> ([f64; 4], f64) {
    let (sin, cos) = theta.sin_cos();
    let temp = (force + 0.1 * 0.5 * theta_dot * theta_dot * sin) / 1.1;
    let theta_acc = (9.8 * sin - cos * temp) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1));
    let x_acc = temp - 0.1 * 0.5 * theta_acc * cos / 1.1;
    let x_dot = x_dot + 0.02 * x_acc;
    let x = x + 0.02 * x_dot;
    // At an end, the pole is a pendulum.
    let theta_acc = if x.abs() > 2.4 { 9.8 * sin / (0.5 * 4.0 / 3.0) } else { theta_acc };
    let theta_dot = theta_dot + 0.02 * theta_acc;
    let theta = theta + 0.02 * theta_dot;
    let next =
        if x.abs() > 2.4 { [2.4 * x.signum(), 0.0, theta, theta_dot] } else { [x, x_dot, theta, theta_dot] };
    (next, (1.0 + theta.cos()) / 2.0)
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

#[test]
fn swing_up_is_a_cart_pole_that_hangs_on_a_track_with_ends() {
    let device = Device::cpu();
    device.seed(5);
    let mut state = SWING_UP.begin(WORLDS, &device);
    for start in column(&state) {
        assert!(
            (start[2] - PI).abs() <= 0.0501 && [0, 1, 3].iter().all(|&n| start[n].abs() <= 0.05),
            "{start:?}"
        );
    }
    let mut stopped = 0;
    for step in 0..3 * STEPS {
        // Worlds with low numbers swing, those with high ones are driven to an end.
        let share = |world: usize| match world {
            0..32 => ((step * 13 + world * 5) % 27) as f32 / 10.0 - 1.3,
            _ => {
                if world.is_multiple_of(2) {
                    1.0
                } else {
                    -0.7
                }
            }
        };
        let shares: Vec<f32> = (0..WORLDS).map(share).collect();
        let next = SWING_UP.step(&state, &Tensor::from_vec(shares.clone(), [WORLDS, 1], &device));
        let (before, after) = (column(&state), column(&next.state));
        let rewards = next.reward.to_vec::<f32>().unwrap();
        assert!(next.ended.to_vec::<bool>().unwrap().iter().all(|&ended| !ended));
        for world in 0..WORLDS {
            let start = [0, 1, 2, 3].map(|n| before[world][n]);
            let (wanted, reward) = swing_up(start, 10.0 * f64::from(shares[world]).clamp(-1.0, 1.0));
            // Within rounding error of the end, it may have stopped or not.
            let near = (wanted[0].abs() - 2.4).abs() < 1e-5 && wanted[1] != 0.0;
            for (n, (found, wanted)) in after[world].iter().zip(wanted).enumerate() {
                let close = (found - wanted).abs() <= 1e-5 * (1.0 + wanted.abs());
                assert!(close || near && n > 0, "step {step}, world {world}: {found} {wanted}");
            }
            assert!((f64::from(rewards[world]) - reward).abs() <= 1e-5, "step {step}, world {world}");
            assert!(after[world][0].abs() <= 2.4001);
            stopped += usize::from(wanted[0].abs() == 2.4 && wanted[1] == 0.0);
        }
        let seen = SWING_UP.observe(&next.state).to_vec::<f32>().unwrap();
        for (seen, state) in seen.chunks(5).zip(&after) {
            let wanted = [state[0], state[1], state[2].cos(), state[2].sin(), state[3]];
            assert!(seen.iter().zip(wanted).all(|(&a, b)| (f64::from(a) - b).abs() < 1e-5), "{seen:?}");
        }
        state = next.state;
    }
    assert!(stopped > 100, "{stopped}");
}

/// Pictures show cart and pole where they are: brightness and its middle, and one picture pixel by pixel.
#[test]
fn pictures_of_swing_up_show_cart_and_pole() {
    let device = Device::cpu();
    let seer = CartPoleSwingUp { images: true };
    assert_eq!((seer.observations(), seer.image()), (1024, Some([1, 32, 32])));
    let states = [[0.0f32, 1.0, 0.0, 2.0], [1.2, -3.0, 0.0, 0.0], [-1.0, 0.0, PI as f32 / 2.0, 0.0]];
    let state = Tensor::from_vec(states.concat(), [3, 4], &device);
    let seen = seer.observe(&[state]).to_vec::<f32>().unwrap();
    let meters = 5.2 / 32.0;
    for (picture, state) in seen.chunks(1024).zip(states) {
        assert!(picture.iter().all(|x| (0.0..=1.0).contains(x)));
        let at = |n: usize| ((n % 32) as f64 - 15.5, 15.5 - (n / 32) as f64);
        // What is brighter than the cart is mostly pole.
        let pole: Vec<(f64, f64)> =
            (0..1024).filter(|&n| picture[n] > 0.6).map(|n| (at(n).0 * meters, at(n).1 * meters)).collect();
        assert!(pole.len() >= 5, "{}", pole.len());
        for (x, y) in pole {
            let (x, angle) = (x - f64::from(state[0]), f64::from(state[2]));
            let along = x * angle.sin() + y * angle.cos();
            let aside = x * angle.cos() - y * angle.sin();
            assert!((-0.2..1.1).contains(&along) && aside.abs() < 0.16, "{x} {y}");
        }
        // What is as gray as the cart stands where the cart is.
        let gray: Vec<f64> =
            (0..1024).filter(|&n| (picture[n] - 0.5).abs() < 0.01).map(|n| at(n).0).collect();
        let middle = gray.iter().sum::<f64>() / gray.len() as f64 * meters;
        assert!(gray.len() >= 2 && (middle - f64::from(state[0])).abs() < 0.4, "{middle}");
    }
    // The speeds of the first state are not seen.
    let still = seer.observe(&[Tensor::from_vec(vec![0.0f32; 4], [1, 4], &device)]).to_vec::<f32>().unwrap();
    assert_eq!(still, seen[..1024]);
}
