//! The colors, fonts and sizes of all pictures, in one place.
//!
//! The colors of lines are those that Okabe and Ito chose to be distinguishable with every common kind of color
//! blindness. They are ordered so that neighbors also differ in brightness, for print without colors. Yellow is
//! left out, because a yellow line is invisible on white.

use crate::canvas::Color;

/// Colors of lines and bars, in this order; after the last comes the first again.
pub const COLORS: [Color; 7] = [
    Color(0x00, 0x72, 0xb2), // blue
    Color(0xd5, 0x5e, 0x00), // vermilion
    Color(0x00, 0x9e, 0x73), // green
    Color(0xcc, 0x79, 0xa7), // purple
    Color(0x56, 0xb4, 0xe9), // sky
    Color(0xe6, 0x9f, 0x00), // orange
    Color(0x4d, 0x4d, 0x4d), // gray
];
/// For right, where right and wrong are distinguished (never by color alone).
pub const RIGHT: Color = COLORS[0];
/// For wrong.
pub const WRONG: Color = COLORS[1];
/// The background, so that pictures can be read on dark pages too.
pub const PAPER: Color = Color(0xff, 0xff, 0xff);
/// Titles and names.
pub const INK: Color = Color(0x1c, 0x20, 0x26);
/// Numbers on axes, captions.
pub const FAINT_INK: Color = Color(0x55, 0x5c, 0x66);
/// Axes and frames.
pub const AXIS: Color = Color(0x8a, 0x91, 0x9b);
/// Lines behind the data.
pub const GRID: Color = Color(0xe3, 0xe6, 0xea);

/// Fonts of which every machine has at least one; all are about equally wide.
pub const FONT: &str = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
/// The width of all pictures without a natural width.
pub const WIDTH: f64 = 820.0;
/// The margin around everything.
pub const MARGIN: f64 = 20.0;
/// Font size of titles.
pub const TITLE: f64 = 18.0;
/// Font size of names.
pub const TEXT: f64 = 13.0;
/// Font size of axis labels and captions.
pub const SMALL: f64 = 11.5;

/// The color of the series with this index.
pub fn color(index: usize) -> Color {
    COLORS[index % COLORS.len()]
}
