//! What Farad's servers share: who is answered, and which headers every answer has.
//!
//! `farad-dashboard` and `farad-serve` use it. Start at [`Guard`].

mod guard;

pub use guard::{CIRCUIT_POLICY, FILE_POLICY, Guard, HEADERS, PAGE_POLICY, protect};
