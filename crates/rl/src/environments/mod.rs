//! The environments that are here by name, one row each.

mod cart_pole;
mod pendulum;

pub use cart_pole::CartPole;
pub use pendulum::Pendulum;
