//! Bars by name: how often each of some named things occurs.
//!
//! Names are at the left, one per line, so that long ones stay readable. Every series has its own panel and
//! axis: three gates would be invisible beside three thousand.

use crate::axis::Axis;
use crate::canvas::{Anchor, Canvas};
use crate::frame::{Plot, heading};
use crate::number::number;
use crate::palette::{AXIS, FAINT_INK, INK, MARGIN, SMALL, TEXT, WIDTH, color};
use crate::text::{fitted, text_width};

const BAR: f64 = 14.0;
const ROW: f64 = 21.0;
/// The height of a group's name, with the space above it.
const GROUP: f64 = 27.0;
const LONGEST_NAME: f64 = 220.0;
/// The distance between panels.
const GAP: f64 = 44.0;

/// A chart with a bar for every name, and one panel per series.
///
/// ```
/// use farad_chart::Bars;
/// let svg = Bars::new("Gates", "gates", &["and", "or"]).series("as learned", [3.0, 1.0]).svg();
/// assert!(svg.contains("and"));
/// ```
#[derive(Clone, Debug)]
pub struct Bars {
    title: String,
    about: String,
    value_name: String,
    names: Vec<String>,
    /// The names of groups, and the index of the first name in each.
    groups: Vec<(usize, String)>,
    series: Vec<(String, Vec<f64>)>,
}

impl Bars {
    /// An empty chart with a title, a name for what is counted, and the names of the bars.
    pub fn new<S: AsRef<str>>(title: &str, value_name: &str, names: &[S]) -> Bars {
        let names = names.iter().map(|name| name.as_ref().to_string()).collect();
        let (title, value_name, about) = (title.into(), value_name.into(), String::new());
        Bars { title, about, value_name, names, groups: Vec::new(), series: Vec::new() }
    }

    /// A line below the title: which run it is, or what the picture shows.
    pub fn about(mut self, about: &str) -> Bars {
        self.about = about.into();
        self
    }

    /// Writes a group name above the bars, starting with this one.
    pub fn group(mut self, from: usize, name: &str) -> Bars {
        self.groups.push((from, name.into()));
        self
    }

    /// Adds one value for every name. Values that are not finite have no bar.
    #[track_caller]
    pub fn series(mut self, name: &str, values: impl IntoIterator<Item = f64>) -> Bars {
        let values: Vec<f64> = values.into_iter().collect();
        let (got, wanted) = (values.len(), self.names.len());
        assert!(got == wanted, "bars: one value per name: ({got} vs {wanted})");
        self.series.push((name.into(), values));
        self
    }

    /// The chart as the text of an SVG file.
    pub fn svg(&self) -> String {
        let mut canvas = Canvas::new(&self.title, &self.description());
        let top = heading(&mut canvas, &self.title, &self.about, &[], WIDTH) + 2.0;
        let first = top + if self.series.len() > 1 { 24.0 } else { 6.0 };
        let rows = self.rows(first);
        let foot = rows.last().map_or(first + 40.0, |last| last + ROW / 2.0 + 5.0);
        let names: Vec<String> = self.names.iter().map(|n| fitted(n, TEXT, LONGEST_NAME)).collect();
        let widest = names.iter().map(|n| text_width(n, TEXT)).fold(0.0, f64::max);
        let groups = self.groups.iter().map(|(_, n)| text_width(n, SMALL)).fold(0.0, f64::max);
        let left = MARGIN + widest.max(groups.min(LONGEST_NAME)) + 12.0;
        for (name, y) in names.iter().zip(&rows) {
            canvas.text((left - 9.0, y + 4.5), name, TEXT, INK, Anchor::End);
        }
        for (from, group) in &self.groups {
            if let Some(y) = rows.get(*from) {
                let group = fitted(group, SMALL, LONGEST_NAME);
                canvas.bold((MARGIN, y - ROW / 2.0 - 3.0), &group, SMALL, FAINT_INK, Anchor::Start);
            }
        }
        let panels = self.series.len().max(1) as f64;
        let width = (WIDTH - MARGIN - 14.0 - left - GAP * (panels - 1.0)) / panels;
        for (n, (name, values)) in self.series.iter().enumerate() {
            let start = left + n as f64 * (width + GAP);
            let plot = Plot { left: start, right: start + width, top: first - 2.0, bottom: foot };
            if self.series.len() > 1 {
                let name = fitted(name, TEXT, width + GAP);
                canvas.bold((start, first - 12.0), &name, TEXT, color(n), Anchor::Start);
            }
            self.panel(&mut canvas, plot, n, values, &rows);
        }
        canvas.svg(WIDTH, foot + 40.0 + MARGIN)
    }

    /// The middle of every name's line.
    fn rows(&self, top: f64) -> Vec<f64> {
        let mut y = top;
        let row = |n: usize| {
            if self.groups.iter().any(|(from, _)| *from == n) {
                y += GROUP;
            }
            y += ROW;
            y - ROW / 2.0
        };
        (0..self.names.len()).map(row).collect()
    }

    fn panel(&self, canvas: &mut Canvas, plot: Plot, series: usize, values: &[f64], rows: &[f64]) {
        let shown = || values.iter().zip(rows).filter(|(value, _)| Axis::shows(false, **value));
        let longest = shown().map(|(v, _)| text_width(&number(*v), SMALL)).fold(0.0, f64::max);
        // Room for the numbers at the ends of bars.
        let room = (longest + 10.0) / (plot.right - plot.left - longest - 10.0).max(60.0);
        let whole = shown().all(|(value, _)| value.fract() == 0.0);
        let ends = shown().fold((0f64, 0f64), |(l, h), (v, _)| (l.min(*v), h.max(*v)));
        let axis = match ends {
            (low, high) if low == high => Axis::between(0.0, 1.0, 1.0),
            (low, high) => Axis::between(low * (1.0 + room), high * (1.0 + room), f64::from(u8::from(whole))),
        };
        plot.axis_across(canvas, &axis, &self.value_name, plot.bottom);
        let zero = plot.x(&axis, 0.0);
        for (&value, &y) in shown() {
            let (end, label) = (plot.x(&axis, value), number(value));
            if value != 0.0 {
                // Even the smallest count should be visible.
                let wide = (end - zero).abs().max(1.5);
                let from = if value > 0.0 { zero } else { zero - wide };
                canvas.rectangle((from, y - BAR / 2.0), (wide, BAR), color(series));
            }
            let ink = if value == 0.0 { AXIS } else { INK };
            let (x, anchor) = if value < 0.0 { (end - 5.0, Anchor::End) } else { (end + 5.0, Anchor::Start) };
            canvas.text((x, y + 4.0), &label, SMALL, ink, anchor);
        }
        canvas.line((zero, plot.top), (zero, plot.bottom), AXIS, 1.0);
    }

    fn description(&self) -> String {
        let mut text = format!("Bar chart of {} by name. {}", self.value_name, self.about);
        for (name, values) in &self.series {
            let all: Vec<String> =
                self.names.iter().zip(values).map(|(n, v)| format!("{n} {}", number(*v))).collect();
            text += &format!(" {name}: {}.", all.join(", "));
        }
        text
    }
}
