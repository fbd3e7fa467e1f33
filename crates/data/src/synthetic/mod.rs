//! Sets that are drawn from a seed: for tests, for examples, and where there are no files.
//!
//! Every sample is its own random stream, so the first hundred of a thousand are the hundred of a hundred.

mod digits;
mod points;
mod series;

pub use digits::{colored_digits, digits};
pub use points::{blobs, moons, spirals};
pub use series::sine;
