//! What a backend is, and where backends note what they do.
//!
//! [`profile`] is where they note phases, launches and bytes while somebody profiles.

pub mod profile;
