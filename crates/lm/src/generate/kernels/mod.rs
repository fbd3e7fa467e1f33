//! Ops that text is made with, one token of a few texts at a time: products with weights as they are stored, attention
//! to a cache that is changed in place, and the choice of the next token.
//!
//! Invariant: none of them has a gradient; training uses ordinary ops. Start at [`rows_product`](fn@rows_product).

mod cache_rows;
mod cached_attention;
mod draw_tokens;
mod rows_on_cpu;
mod rows_product;

pub use cache_rows::CacheRows;
pub use cached_attention::CachedAttention;
pub use draw_tokens::DrawSettings;
pub use rows_product::{ProductOperands, RowActivation, rows_product};
