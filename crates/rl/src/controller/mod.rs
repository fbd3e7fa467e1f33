//! Controllers that are circuits: observations encoded as bits go in, gates decide, bits come out.
//!
//! `farad train cartpole-circuit` makes one for the cart-pole, `pendulum-circuit` one that swings a pendulum up, `crawler-circuit`
//! one that crawls; [`TASKS`] has a row for each. A policy is evolved or trained first and acts as the teacher (`teacher`). Thresholds encode its observations as bits ([`ObservationCode`]). Soft gates learn its
//! actions and are hardened. Then `crates/circuit` repairs the circuit on samples. A search in closed loop
//! improves it on the task itself ([`fn@settle_in_loop`]). Finally `crates/circuit` simplifies it and proves
//! the result equal. The circuit files contain the thresholds too, so a [`CircuitController`] needs nothing
//! else.
//!
//! Invariant: everything depends only on the settings and the seed. Start at [`Controllers`].

mod circuit_controller;
mod closed_loop;
mod crawler;
mod driven;
mod finish;
mod kind;
mod lesson_tree;
mod observation_code;
mod page;
mod search;
mod settings;
mod task;
mod teacher;
mod trainee;

pub use circuit_controller::CircuitController;
pub use closed_loop::{earned, survived};
pub use driven::{DrivenStarts, Earned, driven, earned_from};
pub use finish::{ControllerVerdict, repaired, simplified};
pub use kind::{Controllers, KIND};
pub use observation_code::ObservationCode;
pub use page::controller_page;
pub use search::{LoopSearch, settle_in_loop};
pub use settings::ControllerSettings;
pub use task::{ControlGoal, ControlTask, HostState, HostWorld, SearchSizes, TASKS};
