//! Pictures as SVG text: lines over steps ([`Chart`]), bars by name ([`Bars`]), matrices of counts
//! ([`Matrix`]), lines across axes ([`Parallel`]), small pictures in rows ([`Sheet`]), and the elements that drawings consist of ([`Canvas`],
//! [`palette`]).
//!
//! Invariant: any data give a picture that is valid XML, and the same data give the same bytes. Values that are
//! not finite are left out; without data there is an empty frame. This crate depends on neither tensors nor
//! circuits, and writes no files. Start at [`Chart`].

mod axis;
mod bars;
mod base64;
mod canvas;
mod frame;
mod lines;
mod matrix;
mod number;
pub mod palette;
mod parallel;
mod series;
mod sheet;
mod stack;
mod text;

pub use bars::Bars;
pub use base64::base64;
pub use canvas::{Anchor, Canvas, Color};
pub use lines::Chart;
pub use matrix::Matrix;
pub use number::{bytes, count, counted, number, thousands};
pub use parallel::Parallel;
pub use series::Series;
pub use sheet::{Sheet, Thumbnail};
pub use stack::Stack;
pub use text::{fitted, text_width};
