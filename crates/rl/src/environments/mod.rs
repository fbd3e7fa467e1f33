//! The built-in environments, one row each.

mod cart_pole;
mod locomotion;
mod pendulum;

pub use cart_pole::CartPole;
pub use locomotion::{Locomotion, LocomotionTask};
pub use pendulum::Pendulum;
