//! Gym's pendulum (`Pendulum-v1`): it starts at any angle, and a weak motor should swing it up and hold it.

use std::f64::consts::{PI, TAU};

use farad::run::{Picture, Value, json};
use farad::{DType, Device, Result, Tensor};

use crate::environment::{Actions, Environment, PortNames, Transition};
use crate::raster::Raster;

/// Acceleration of gravity, in m/s²; the pendulum weighs 1 kg and is 1 m long.
const GRAVITY: f64 = 10.0;
/// The strongest torque, in Nm.
const TORQUE: f64 = 2.0;
/// The highest angular speed, in radians per second.
const FASTEST: f64 = 8.0;
/// Seconds per step.
const SECONDS: f64 = 0.05;

/// Gym's pendulum: the action is one torque; a step costs angle² + 0.1 speed² + 0.001 torque². The angle is 0
/// when it is upright.
///
/// The state is angle and angular speed, `[worlds]` each. An agent sees the angle's cosine and sine, and the
/// speed. An action is the torque as a fraction of the maximum, 2 Nm.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pendulum;

impl Pendulum {
    /// Steps of an episode.
    pub const LONGEST: usize = 200;

    /// One step of one world on the host, in f64: the next angle and speed, and the reward. The torque is a fraction of the
    /// maximum.
    ///
    /// ```
    /// use farad_rl::Pendulum;
    /// let ([angle, speed], reward) = Pendulum::advance([0.1, 0.0], -1.0);
    /// assert!(angle < 0.1 && speed < 0.0 && (-0.02..0.0).contains(&reward));
    /// ```
    pub fn advance([angle, speed]: [f64; 2], torque: f64) -> ([f64; 2], f64) {
        let torque = torque.clamp(-1.0, 1.0) * TORQUE;
        let upright = Pendulum::wrapped(angle);
        let cost = upright * upright + 0.1 * speed * speed + 0.001 * torque * torque;
        let faster = speed + (1.5 * GRAVITY * angle.sin() + 3.0 * torque) * SECONDS;
        let faster = faster.clamp(-FASTEST, FASTEST);
        ([angle + faster * SECONDS, faster], -cost)
    }

    /// An angle from -π to π.
    pub(crate) fn wrapped(angle: f64) -> f64 {
        if (-PI..PI).contains(&angle) { angle } else { (angle + PI).rem_euclid(TAU) - PI }
    }

    /// Initial states of that many worlds, drawn from a seed.
    pub fn starts(count: usize, seed: u64) -> Result<Vec<[f64; 2]>> {
        let drawn = Tensor::rand_at(seed, 0, [count, 2], &Device::cpu()).to_vec::<f32>()?;
        let within = |number: f32| f64::from(number) * 2.0 - 1.0;
        Ok(drawn.chunks(2).map(|row| [within(row[0]) * PI, within(row[1])]).collect())
    }
}

impl Environment for Pendulum {
    fn observations(&self) -> usize {
        3
    }

    fn actions(&self) -> Actions {
        Actions::Continuous(1)
    }

    fn longest(&self) -> usize {
        Pendulum::LONGEST
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        let angle = (Tensor::rand([worlds], device) * 2.0 - 1.0) * PI;
        vec![angle, Tensor::rand([worlds], device) * 2.0 - 1.0]
    }

    fn observe(&self, state: &[Tensor]) -> Tensor {
        Tensor::stack(&[&state[0].cos(), &state[0].sin(), &state[1]], 1)
    }

    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
        let (angle, speed) = (&state[0], &state[1]);
        let torque = action.squeeze(1).clamp(-1.0, 1.0) * TORQUE;
        // The angle from -π to π.
        let upright = (angle + PI).remainder(TAU) - PI;
        let cost = upright.square() + speed.square() * 0.1 + torque.square() * 0.001;
        let faster = speed + (angle.sin() * (1.5 * GRAVITY) + &torque * 3.0) * SECONDS;
        let faster = faster.clamp(-FASTEST, FASTEST);
        let turned = angle + &faster * SECONDS;
        // It ends only by the time limit.
        let ended = cost.full_like(0.0).cast(DType::Bool);
        Transition { state: vec![turned, faster], reward: -cost, ended }
    }

    fn draw(&self, state: &[f32]) -> Option<Picture> {
        let &[angle, _] = state else { return None };
        let (size, long) = (200.0, 80.0);
        let mut raster = Raster::new(size as usize, size as usize, [255; 3]);
        let middle = (size / 2.0, size / 2.0);
        let end = (middle.0 - long * angle.sin(), middle.1 - long * angle.cos());
        raster.line(middle, end, 12.0, [0x2f, 0x6f, 0xc4]);
        raster.disc(end, 9.0, [0x22, 0x26, 0x2b]);
        raster.disc(middle, 4.0, [0x22, 0x26, 0x2b]);
        Some(raster.picture())
    }

    fn scene(&self) -> Option<Value> {
        Some(json!({ "drawer": "pendulum", "seconds": SECONDS }))
    }

    fn names(&self) -> PortNames {
        PortNames::new(&["cosine of the angle", "sine of the angle", "speed"], &["torque"])
    }
}
