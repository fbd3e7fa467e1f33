//! Pooling layers. Start at [`MaxPool2d`](super::MaxPool2d).

mod adaptive;
mod average;
mod max;

pub use adaptive::{
    AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool, AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
};
pub use average::{AvgPool, AvgPool1d, AvgPool2d};
pub use max::{MaxPool, MaxPool1d, MaxPool2d};
