//! Graph to graph: what is done before any kernel is thought of. Every pass takes a graph and its outputs and gives both back.
//!
//! In the order in which they run: [`simplify`] removes what need not be computed, [`rotate_loops`] and [`split_sums`]
//! cut long sums so that a device has enough to do, [`channels_last`] lays out what convolutions read, and [`copies`]
//! gives every value that needs two places a copy.

pub mod channels_last;
pub mod copies;
pub mod rotate_loops;
pub mod simplify;
pub mod split_sums;
pub mod tiles;
