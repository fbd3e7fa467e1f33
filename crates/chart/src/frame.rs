//! What all pictures have above and around their data: title, subtitle, legend, axes.

use crate::axis::Axis;
use crate::canvas::{Anchor, Canvas, Color, Point};
use crate::palette::{AXIS, FAINT_INK, GRID, INK, MARGIN, SMALL, TEXT, TITLE};
use crate::series::{DASHES, mark};
use crate::text::{fitted, text_width, wrapped};

const LEGEND_LINE: f64 = 20.0;
/// The width of a line sample in the legend.
const SAMPLE: f64 = 30.0;

/// How a name in the legend is shown.
#[derive(Clone, Debug)]
pub enum Key {
    /// A line, perhaps with markers.
    Line {
        /// The shape of the markers.
        marks: Option<usize>,
        /// Whether it is dashed.
        dashed: bool,
        /// Whether there is a pale line of the data behind it.
        pale: bool,
    },
    /// A filled square.
    Square,
}

/// A name in the legend.
pub struct Entry {
    /// The name.
    pub name: String,
    /// Its color.
    pub color: Color,
    /// Its sample.
    pub key: Key,
}

/// Writes title, subtitle and legend; returns where the data may start.
pub fn heading(canvas: &mut Canvas, title: &str, subtitle: &str, legend: &[Entry], width: f64) -> f64 {
    heading_of_size(canvas, (title, TITLE), subtitle, legend, width)
}

/// The same with a given font size of the title.
pub fn heading_of_size(
    canvas: &mut Canvas,
    (title, size): (&str, f64),
    subtitle: &str,
    legend: &[Entry],
    width: f64,
) -> f64 {
    let room = width - 2.0 * MARGIN;
    let mut y = MARGIN + 14.0;
    canvas.bold((MARGIN, y), &fitted(title, size, room), size, INK, Anchor::Start);
    for line in wrapped(subtitle, TEXT, room) {
        y += 20.0;
        canvas.text((MARGIN, y), &line, TEXT, FAINT_INK, Anchor::Start);
    }
    if legend.is_empty() {
        return y + 18.0;
    }
    y += LEGEND_LINE + 4.0;
    let mut x = MARGIN;
    for entry in legend {
        let name = fitted(&entry.name, TEXT, room - SAMPLE);
        let sample = if matches!(entry.key, Key::Square) { 18.0 } else { SAMPLE + 7.0 };
        let wide = sample + text_width(&name, TEXT) + 16.0;
        if x > MARGIN && x + wide - 16.0 > width - MARGIN {
            (x, y) = (MARGIN, y + LEGEND_LINE);
        }
        draw_key(canvas, entry, (x, y - 4.5));
        canvas.text((x + sample, y), &name, TEXT, INK, Anchor::Start);
        x += wide;
    }
    y + 16.0
}

fn draw_key(canvas: &mut Canvas, entry: &Entry, (x, y): Point) {
    let color = entry.color;
    match entry.key {
        Key::Square => canvas.rectangle((x, y - 6.0), (12.0, 12.0), color),
        Key::Line { marks, dashed, pale } => {
            if pale {
                canvas.line((x, y), (x + SAMPLE, y), color.tint(0.35), 7.0);
            }
            let style = if dashed { DASHES } else { "" };
            canvas.polyline(&[(x, y), (x + SAMPLE, y)], color, 2.0, style);
            if let Some(shape) = marks {
                mark(canvas, shape, (x + SAMPLE / 2.0, y), color);
            }
        }
    }
}

/// The area in which data are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Plot {
    /// The left end of the x axis.
    pub left: f64,
    /// Its right end.
    pub right: f64,
    /// The upper end of the y axis.
    pub top: f64,
    /// Its lower end.
    pub bottom: f64,
}

impl Plot {
    /// The x coordinate of a value.
    pub fn x(&self, axis: &Axis, value: f64) -> f64 {
        self.left + axis.share(value) * (self.right - self.left)
    }

    /// The y coordinate of a value.
    pub fn y(&self, axis: &Axis, value: f64) -> f64 {
        self.bottom - axis.share(value) * (self.bottom - self.top)
    }

    /// The x axis below the data, at `foot`, with grid lines through the data.
    pub fn axis_across(&self, canvas: &mut Canvas, axis: &Axis, name: &str, foot: f64) {
        let mut free = f64::NEG_INFINITY;
        for &tick in &axis.ticks {
            let (x, label) = (self.x(axis, tick), axis.label(tick));
            canvas.line((x, self.top), (x, foot), GRID, 1.0);
            canvas.line((x, foot), (x, foot + 5.0), AXIS, 1.0);
            let half = text_width(&label, SMALL) / 2.0;
            // Long numbers must not overlap.
            if x - half > free {
                canvas.text((x, foot + 19.0), &label, SMALL, FAINT_INK, Anchor::Middle);
                free = x + half + 4.0;
            }
        }
        for &place in &axis.between {
            let x = self.x(axis, place);
            canvas.line((x, foot), (x, foot + 3.0), AXIS, 1.0);
        }
        canvas.line((self.left, foot), (self.right, foot), AXIS, 1.0);
        let middle = (self.left + self.right) / 2.0;
        let name = fitted(name, TEXT, self.right - self.left);
        canvas.text((middle, foot + 40.0), &name, TEXT, INK, Anchor::Middle);
    }

    /// The y axis left of the data, with grid lines through the data.
    pub fn axis_upwards(&self, canvas: &mut Canvas, axis: &Axis, name: &str) {
        for &tick in &axis.ticks {
            let y = self.y(axis, tick);
            canvas.line((self.left, y), (self.right, y), GRID, 1.0);
            canvas.line((self.left - 5.0, y), (self.left, y), AXIS, 1.0);
            canvas.text((self.left - 9.0, y + 4.0), &axis.label(tick), SMALL, FAINT_INK, Anchor::End);
        }
        for &place in &axis.between {
            let y = self.y(axis, place);
            canvas.line((self.left - 3.0, y), (self.left, y), AXIS, 1.0);
        }
        canvas.line((self.left, self.top), (self.left, self.bottom), AXIS, 1.0);
        let name = fitted(name, TEXT, self.bottom - self.top + 40.0);
        canvas.upright((MARGIN + 10.0, (self.top + self.bottom) / 2.0), &name, TEXT, INK);
    }
}

/// The width of a y axis's numbers and name.
pub fn left_of(axis: &Axis) -> f64 {
    let longest = axis.ticks.iter().map(|&tick| text_width(&axis.label(tick), SMALL)).fold(0.0, f64::max);
    MARGIN + 34.0 + longest
}
