//! What Farad's servers share: who is answered, which headers every answer has, and how long connections may be silent.
//!
//! `farad-dashboard` and `farad-serve` use it. Start at [`HostGuard`].

mod guard;
mod patience;

pub use guard::{CIRCUIT_POLICY, FILE_POLICY, HEADERS, HostGuard, PAGE_POLICY, protect};
pub use patience::{PatientListener, PatientStream};
