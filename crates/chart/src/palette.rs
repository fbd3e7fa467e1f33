//! The colors, letters and sizes of all pictures, in one place.
//!
//! The colors of lines are those that Okabe and Ito chose to be told apart with every common kind of color blindness;
//! they are ordered such that neighbors also differ in brightness, for print without colors. Yellow is left out: a line
//! of it is not seen on white.

use crate::canvas::Color;

/// Lines and bars, in this order; after the last comes the first again.
pub const COLORS: [Color; 7] = [
    Color(0x00, 0x72, 0xb2), // blue
    Color(0xd5, 0x5e, 0x00), // vermilion
    Color(0x00, 0x9e, 0x73), // green
    Color(0xcc, 0x79, 0xa7), // purple
    Color(0x56, 0xb4, 0xe9), // sky
    Color(0xe6, 0x9f, 0x00), // orange
    Color(0x4d, 0x4d, 0x4d), // gray
];
/// What is right, where right and wrong are told apart (never by color alone).
pub const RIGHT: Color = COLORS[0];
/// What is wrong.
pub const WRONG: Color = COLORS[1];
/// Behind everything, so that pictures can be read on dark pages too.
pub const PAPER: Color = Color(0xff, 0xff, 0xff);
/// Titles and names.
pub const INK: Color = Color(0x1c, 0x20, 0x26);
/// Numbers on axes, captions.
pub const FAINT_INK: Color = Color(0x55, 0x5c, 0x66);
/// Axes and frames.
pub const AXIS: Color = Color(0x8a, 0x91, 0x9b);
/// Lines behind the data.
pub const GRID: Color = Color(0xe3, 0xe6, 0xea);

/// Fonts that some machine or other has; all of them are about equally wide.
pub const FONT: &str = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
/// The width of all pictures that have a choice.
pub const WIDTH: f64 = 820.0;
/// What is kept free around everything.
pub const MARGIN: f64 = 20.0;
/// Letters of titles.
pub const TITLE: f64 = 18.0;
/// Letters of names.
pub const TEXT: f64 = 13.0;
/// Letters of numbers on axes and of captions.
pub const SMALL: f64 = 11.5;

/// The color of the series with this number.
pub fn color(index: usize) -> Color {
    COLORS[index % COLORS.len()]
}
