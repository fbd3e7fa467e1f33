//! The colours, letters and sizes of all pictures, in one place.
//!
//! The colours of lines are those that Okabe and Ito chose to be told apart with every common kind of colour blindness;
//! they are ordered such that neighbours also differ in brightness, for print without colours. Yellow is left out: a line
//! of it is not seen on white.

use crate::canvas::Colour;

/// Lines and bars, in this order; after the last comes the first again.
pub const COLOURS: [Colour; 7] = [
    Colour(0x00, 0x72, 0xb2), // blue
    Colour(0xd5, 0x5e, 0x00), // vermilion
    Colour(0x00, 0x9e, 0x73), // green
    Colour(0xcc, 0x79, 0xa7), // purple
    Colour(0x56, 0xb4, 0xe9), // sky
    Colour(0xe6, 0x9f, 0x00), // orange
    Colour(0x4d, 0x4d, 0x4d), // grey
];
/// What is right, where right and wrong are told apart (never by colour alone).
pub const RIGHT: Colour = COLOURS[0];
/// What is wrong.
pub const WRONG: Colour = COLOURS[1];
/// Behind everything, so that pictures can be read on dark pages too.
pub const PAPER: Colour = Colour(0xff, 0xff, 0xff);
/// Titles and names.
pub const INK: Colour = Colour(0x1c, 0x20, 0x26);
/// Numbers on axes, captions.
pub const FAINT_INK: Colour = Colour(0x55, 0x5c, 0x66);
/// Axes and frames.
pub const AXIS: Colour = Colour(0x8a, 0x91, 0x9b);
/// Lines behind the data.
pub const GRID: Colour = Colour(0xe3, 0xe6, 0xea);

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

/// The colour of the series with this number.
pub fn colour(index: usize) -> Colour {
    COLOURS[index % COLOURS.len()]
}
