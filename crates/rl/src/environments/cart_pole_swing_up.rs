//! Swing-up: the cart-pole with a pole that hangs at the start, a force of any size, and ends of the track that stop it.
//!
//! A test compares it with the published formulas in f64, step by step.

use std::f64::consts::PI;

use farad::run::{Picture, Value};
use farad::{DType, Device, Tensor};

use super::cart_pole::{CartPole, FORCE, SECONDS, START, accelerations, drawn, swing};
use crate::environment::{Actions, Environment, PortNames, Transition};

/// Cart-pole swing-up: the action is the force as a fraction of 10 N; a step gives (1 + cos θ) / 2, which is 1 while the
/// pole stands and 0 while it hangs.
///
/// Masses, lengths and accelerations are those of [`CartPole`]. A step is 0.02 s of semi-implicit Euler: speeds change
/// first, then places by the new speeds. The cart is kept within 2.4 m of the middle: at the ends of the track it stops at
/// once. The pole takes no blow from that: it keeps its angular speed, and swings about a point that stands. An episode is always 1,000 steps.
///
/// The state is place and speed of the cart, angle and angular speed of the pole, `[worlds, 4]`. An agent sees place, speed,
/// the angle's cosine and sine, and the angular speed; or a gray picture of cart and pole, which does not show speeds.
/// Everything starts within 0.05 of rest, with the pole hanging.
#[derive(Clone, Copy, Debug, Default)]
pub struct CartPoleSwingUp {
    /// Whether agents see pictures of [`CartPoleSwingUp::PIXELS`] by as many pixels.
    pub images: bool,
}

/// Width and height of what a picture shows, in m.
const VIEW: f64 = 5.2;
/// Half the width and half the height of the cart in pictures, half the width of the pole, and how bright the cart is.
const CART: [f64; 2] = [0.35, 0.18];
const THICK: f64 = 0.1;
const GRAY: f64 = 0.5;

impl CartPoleSwingUp {
    /// Steps of an episode.
    pub const LONGEST: usize = 1000;
    /// Width and height of pictures.
    pub const PIXELS: usize = 32;

    /// Pictures `[worlds, pixels · pixels]`: how far every pixel is from the cart, and from the line of the pole.
    fn pictures(state: &Tensor) -> Tensor {
        let pixels = CartPoleSwingUp::PIXELS;
        let [place, angle] = [0, 2].map(|n| state.narrow(1, n, 1));
        let pixel = VIEW / pixels as f64;
        let number = Tensor::arange(pixels * pixels, state.device()).cast(DType::F32);
        let row = (&number * (1.0 / pixels as f64)).floor();
        let middle = 0.5 * (pixels as f64 - 1.0);
        let [right, up] = [&number - &row * pixels as f64 - middle, middle - row].map(|x| x * pixel);
        let off = right - place;
        let share = |distance: Tensor| (0.5 - distance * (1.0 / pixel)).clamp(0.0, 1.0);
        let cart = share((off.abs() - CART[0]).maximum(up.abs() - CART[1]));
        // The pole is a line of 1 m from the middle of the cart.
        let (sin, cos) = (angle.sin(), angle.cos());
        let along = (&off * &sin + &up * &cos).clamp(0.0, 1.0);
        let aside = ((&off - &along * &sin).square() + (&up - &along * &cos).square()).sqrt();
        let pole = share(aside - THICK);
        cart * GRAY * (1.0 - &pole) + pole
    }
}

impl Environment for CartPoleSwingUp {
    fn observations(&self) -> usize {
        self.image().map_or(5, |sizes| sizes.iter().product())
    }

    fn image(&self) -> Option<[usize; 3]> {
        self.images.then_some([1, CartPoleSwingUp::PIXELS, CartPoleSwingUp::PIXELS])
    }

    fn actions(&self) -> Actions {
        Actions::Continuous(1)
    }

    fn longest(&self) -> usize {
        CartPoleSwingUp::LONGEST
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        let hanging = Tensor::from_vec(vec![0.0, 0.0, PI as f32, 0.0], [4], device);
        vec![Tensor::rand([worlds, 4], device) * (2.0 * START) - START + hanging]
    }

    fn observe(&self, state: &[Tensor]) -> Tensor {
        if self.images {
            return CartPoleSwingUp::pictures(&state[0]);
        }
        let [place, speed, angle, turning] = [0, 1, 2, 3].map(|n| state[0].narrow(1, n, 1));
        Tensor::concat(&[&place, &speed, &angle.cos(), &angle.sin(), &turning], 1)
    }

    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
        let [place, speed, angle, turning] = [0, 1, 2, 3].map(|n| state[0].narrow(1, n, 1).squeeze(1));
        let push = action.squeeze(1).clamp(-1.0, 1.0) * FORCE;
        let (cos, sin) = (angle.cos(), angle.sin());
        let [pull, _] = accelerations(&push, &cos, &sin, &turning);
        let faster = speed + &pull * SECONDS;
        let on = place + &faster * SECONDS;
        let is_free = on.abs().less_equal(CartPole::PLACE);
        // At an end the cart stands, and the pole swings about a point that stands.
        let or_nothing = |x: &Tensor| is_free.select(x, &x.full_like(0.0));
        let (place, speed) = (on.clamp(-CartPole::PLACE, CartPole::PLACE), or_nothing(&faster));
        let turning = turning + swing(&or_nothing(&pull), &cos, &sin) * SECONDS;
        let angle = angle + &turning * SECONDS;
        let reward = (angle.cos() + 1.0) * 0.5;
        // It ends only by the time limit.
        let ended = reward.full_like(0.0).cast(DType::Bool);
        Transition { state: vec![Tensor::stack(&[&place, &speed, &angle, &turning], 1)], reward, ended }
    }

    fn draw(&self, state: &[f32]) -> Option<Picture> {
        let &[place, _, angle, _] = state else { return None };
        Some(drawn(place, angle, 220.0, 130.0))
    }

    fn scene(&self) -> Option<Value> {
        let mut scene = CartPole.scene()?;
        scene["hangs"] = true.into();
        Some(scene)
    }

    fn names(&self) -> PortNames {
        let seen = ["place", "speed", "cosine of the angle", "sine of the angle", "turning"];
        PortNames::new(if self.images { &[] } else { &seen }, &["force"])
    }
}
