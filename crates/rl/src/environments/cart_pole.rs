//! The classic cart-pole: a cart that is pushed left or right so that its pole stands.
//!
//! The rule is that of Barto, Sutton and Anderson (1983) with Gym's numbers. A test compares it with the
//! published formulas in f64, step by step.

use farad::run::{Picture, Value, json};
use farad::{Device, Result, Tensor};

use crate::environment::{Actions, Environment, PortNames, Transition};
use crate::raster::Raster;

/// Acceleration of gravity, in m/s².
const GRAVITY: f64 = 9.8;
/// Mass of the pole, and of pole and cart together, in kg.
const POLE: f64 = 0.1;
const TOTAL: f64 = 1.1;
/// Half the length of the pole, in m.
const HALF: f64 = 0.5;
/// The push, in N.
pub(super) const FORCE: f64 = 10.0;
/// Seconds per step.
pub(super) const SECONDS: f64 = 0.02;
/// Initial values are within this of zero.
pub(super) const START: f64 = 0.05;

/// The classic cart-pole: push left (0) or right (1); the reward is 1 per step.
///
/// The state is position and speed of the cart, and angle and angular speed of the pole, `[worlds, 4]`. It is
/// also the observation.
#[derive(Clone, Copy, Debug, Default)]
pub struct CartPole;

impl CartPole {
    /// How far the cart may go, in m.
    pub const PLACE: f64 = 2.4;
    /// How far the pole may lean, in radians: 12°.
    pub const ANGLE: f64 = 12.0 * std::f64::consts::PI / 180.0;
    /// Steps of the longest episode.
    pub const LONGEST: usize = 500;

    /// One step of one world on the host, in f64: the next state, and whether the episode is over.
    ///
    /// ```
    /// use farad_rl::CartPole;
    /// let (next, over) = CartPole::advance([0.0; 4], true);
    /// assert!(next[1] > 0.19 && next[3] < -0.29 && !over);
    /// ```
    pub fn advance([place, speed, angle, turning]: [f64; 4], right: bool) -> ([f64; 4], bool) {
        let push = if right { FORCE } else { -FORCE };
        let (sin, cos) = angle.sin_cos();
        let shared = (push + POLE * HALF * turning * turning * sin) / TOTAL;
        let swing = (GRAVITY * sin - cos * shared) / (HALF * (4.0 / 3.0 - POLE * cos * cos / TOTAL));
        let pull = shared - POLE * HALF * swing * cos / TOTAL;
        let (place, angle) = (place + SECONDS * speed, angle + SECONDS * turning);
        let over = place.abs() > CartPole::PLACE || angle.abs() > CartPole::ANGLE;
        ([place, speed + SECONDS * pull, angle, turning + SECONDS * swing], over)
    }

    /// Initial states of that many worlds, drawn from a seed.
    pub fn starts(count: usize, seed: u64) -> Result<Vec<[f64; 4]>> {
        let drawn = Tensor::rand_at(seed, 0, [count, 4], &Device::cpu()).to_vec::<f32>()?;
        let start = |row: &[f32]| [0, 1, 2, 3].map(|n| f64::from(row[n]) * (2.0 * START) - START);
        Ok(drawn.chunks(4).map(start).collect())
    }
}

/// Accelerations of the cart, and of the pole's angle, by a push.
pub(super) fn accelerations(push: &Tensor, cos: &Tensor, sin: &Tensor, turning: &Tensor) -> [Tensor; 2] {
    let shared = (push + turning.square() * sin * (POLE * HALF)) * (1.0 / TOTAL);
    let inertia = (cos.square() * (-POLE / TOTAL) + 4.0 / 3.0) * HALF;
    let swing = (sin * GRAVITY - cos * &shared) / inertia;
    let pull = &shared - &swing * cos * (POLE * HALF / TOTAL);
    [pull, swing]
}

/// The acceleration of the pole's angle while the cart is accelerated by so much, whatever does it.
pub(super) fn swing(pull: &Tensor, cos: &Tensor, sin: &Tensor) -> Tensor {
    (sin * GRAVITY - cos * pull) * (1.0 / (HALF * 4.0 / 3.0))
}

/// A picture of the cart on its track, 5 m wide, with the track in the middle or low.
pub(super) fn drawn(place: f32, angle: f32, height: f32, track: f32) -> Picture {
    let width = 360.0;
    let mut raster = Raster::new(width as usize, height as usize, [255; 3]);
    let meter = width / 5.0;
    let x = width / 2.0 + place * meter;
    raster.line((0.0, track), (width, track), 2.0, [0xb0, 0xb6, 0xbe]);
    for end in [-CartPole::PLACE, CartPole::PLACE] {
        let at = width / 2.0 + end as f32 * meter;
        raster.line((at, track - 8.0), (at, track + 8.0), 2.0, [0xd0, 0x60, 0x50]);
    }
    raster.rectangle((x, track - 10.0), (44.0, 20.0), [0x22, 0x26, 0x2b]);
    let long = 2.0 * HALF as f32 * meter;
    let top = (x + long * angle.sin(), track - 20.0 - long * angle.cos());
    raster.line((x, track - 20.0), top, 8.0, [0x2f, 0x6f, 0xc4]);
    raster.disc((x, track - 20.0), 3.0, [255; 3]);
    raster.picture()
}

impl Environment for CartPole {
    fn observations(&self) -> usize {
        4
    }

    fn actions(&self) -> Actions {
        Actions::Discrete(2)
    }

    fn longest(&self) -> usize {
        CartPole::LONGEST
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        vec![Tensor::rand([worlds, 4], device) * (2.0 * START) - START]
    }

    fn observe(&self, state: &[Tensor]) -> Tensor {
        state[0].clone()
    }

    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
        let [place, speed, angle, turning] = [0, 1, 2, 3].map(|n| state[0].narrow(1, n, 1).squeeze(1));
        let push = action.equal(1.0).select(&place.full_like(FORCE), &place.full_like(-FORCE));
        let (cos, sin) = (angle.cos(), angle.sin());
        let [pull, swing] = accelerations(&push, &cos, &sin, &turning);
        let (place, angle) = (&place + &speed * SECONDS, &angle + &turning * SECONDS);
        let (speed, turning) = (&speed + pull * SECONDS, &turning + swing * SECONDS);
        let ended = place.abs().greater(CartPole::PLACE).or(angle.abs().greater(CartPole::ANGLE));
        let moved = Tensor::stack(&[&place, &speed, &angle, &turning], 1);
        Transition { reward: place.full_like(1.0), ended, state: vec![moved] }
    }

    fn draw(&self, state: &[f32]) -> Option<Picture> {
        let &[place, _, angle, _] = state else { return None };
        Some(drawn(place, angle, 160.0, 130.0))
    }

    fn scene(&self) -> Option<Value> {
        let (place, length) = (CartPole::PLACE, 2.0 * HALF);
        Some(json!({ "drawer": "cart-pole", "seconds": SECONDS, "place": place, "length": length }))
    }

    fn names(&self) -> PortNames {
        PortNames::new(&["place", "speed", "angle", "turning"], &["push: 0 to the left, 1 to the right"])
    }
}
