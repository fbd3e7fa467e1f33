//! What Farad's servers share: who is answered, and which headers every answer has.
//!
//! `farad-dashboard` and `farad-serve` use it. Start at [`HostGuard`].

mod guard;

pub use guard::{CIRCUIT_POLICY, FILE_POLICY, HEADERS, HostGuard, PAGE_POLICY, protect};
