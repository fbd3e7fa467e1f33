//! Controllers that are circuits: bits of what is seen go in, gates decide, one bit comes out.
//!
//! `farad train cartpole-circuit` makes one for the cart-pole. A small policy is evolved first and acts as the teacher
//! (`teacher`). What it sees is coded in bits by thresholds ([`ObservationCode`]). Soft gates learn its answers and are hardened.
//! Then `crates/circuit` repairs the circuit on samples, a search holds it to the task itself in closed loop
//! ([`fn@settle_in_loop`]), and `crates/circuit` simplifies it and proves the result equal. The circuit files hold the thresholds too, so
//! a [`CircuitController`] needs nothing else.
//!
//! Invariant: everything depends on settings and seed alone. Start at [`Controllers`].

mod circuit_controller;
mod closed_loop;
mod finish;
mod kind;
mod observation_code;
mod search;
mod settings;
mod teacher;
mod trainee;

pub use circuit_controller::CircuitController;
pub use closed_loop::survived;
pub use finish::{ControllerVerdict, repaired, simplified};
pub use kind::{Controllers, KIND};
pub use observation_code::ObservationCode;
pub use search::{LoopSearch, settle_in_loop};
pub use settings::ControllerSettings;
