//! The built-in environments, one row each.

mod cart_pole;
mod cart_pole_swing_up;
mod locomotion;
mod pendulum;

pub use cart_pole::CartPole;
pub use cart_pole_swing_up::CartPoleSwingUp;
pub use locomotion::{Locomotion, LocomotionTask};
pub use pendulum::Pendulum;
