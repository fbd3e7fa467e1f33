//! Attention with learned projections, and how positions in a sequence are encoded: added to the inputs (sinusoidal,
//! learned) or turned into queries and keys (rotary). Start at [`MultiHeadAttention`].

mod angles;
mod learned;
mod multi_head;
mod rotary;
mod sinusoidal;

pub use learned::LearnedPositions;
pub use multi_head::MultiHeadAttention;
pub use rotary::Rotary;
pub use sinusoidal::SinusoidalPositions;
