//! Lines across upright axes: which settings go with which result.
//!
//! Each thing is a line that crosses every axis at its value. The last axis is the result. Things are given the best first: the
//! first is marked, and lines are paler the farther back they stand.

use crate::axis::Axis;
use crate::canvas::{Anchor, Canvas, Point};
use crate::frame::heading;
use crate::number::number;
use crate::palette::{AXIS, COLORS, FAINT_INK, INK, MARGIN, SMALL, TEXT, WIDTH, WRONG};
use crate::series::DASHES;
use crate::text::{fitted, text_width};

const HEIGHT: f64 = 300.0;
/// The palest line, as a share of its color.
const PALEST: f64 = 0.25;
/// Words on an axis at most; those beyond are not named.
const MOST_WORDS: usize = 24;

/// A picture of things with several properties.
///
/// ```
/// use farad_chart::Parallel;
/// let svg = Parallel::new("Trials", 2)
///     .numbers("rate", true, [0.1, 0.001])
///     .words("optimizer", ["adam", "sgd"])
///     .numbers("accuracy", false, [0.9, 0.7])
///     .svg();
/// assert!(svg.contains("optimizer") && svg.contains("sgd"));
/// ```
#[derive(Clone, Debug)]
pub struct Parallel {
    title: String,
    about: String,
    lines: usize,
    axes: Vec<ParallelAxis>,
}

/// A property, and the value that every thing has.
#[derive(Clone, Debug)]
struct ParallelAxis {
    name: String,
    /// Where each thing is, from 0 below to 1 above; none if it has no value.
    places: Vec<Option<f64>>,
    /// Labels and where they are.
    labels: Vec<(f64, String)>,
}

impl Parallel {
    /// A picture without axes, for so many things.
    pub fn new(title: &str, lines: usize) -> Parallel {
        Parallel { title: title.into(), about: String::new(), lines, axes: vec![] }
    }

    /// A line below the title.
    pub fn about(mut self, about: &str) -> Parallel {
        self.about = about.into();
        self
    }

    /// An axis of numbers: one per thing, perhaps by their logarithms. What is not finite is not on it.
    #[track_caller]
    pub fn numbers(self, name: &str, log: bool, values: impl IntoIterator<Item = f64>) -> Parallel {
        let values: Vec<f64> = values.into_iter().collect();
        let shown = || values.iter().copied().filter(|&value| Axis::shows(log, value));
        let axis = match log {
            true => Axis::logarithmic(shown(), 0.04),
            false if shown().all(|value| value.fract() == 0.0) => Axis::whole(shown()),
            false => Axis::linear(shown(), 0.04),
        };
        let places = values.iter().map(|&value| Axis::shows(log, value).then(|| axis.share(value))).collect();
        let labels = axis.ticks.iter().map(|&tick| (axis.share(tick), axis.label(tick))).collect();
        self.axis(name, places, labels)
    }

    /// An axis of words: one per thing, in the order in which they are sorted.
    #[track_caller]
    pub fn words<S: Into<String>>(self, name: &str, values: impl IntoIterator<Item = S>) -> Parallel {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        let mut names = values.clone();
        names.sort();
        names.dedup();
        let share = |at: usize| (at as f64 + 0.5) / names.len() as f64;
        let places = values.iter().map(|value| names.binary_search(value).ok().map(share)).collect();
        let named = names.len() <= MOST_WORDS;
        let labels = names.iter().enumerate().filter(|_| named).map(|(at, name)| (share(at), name.clone()));
        let labels = labels.collect();
        self.axis(name, places, labels)
    }

    #[track_caller]
    fn axis(mut self, name: &str, places: Vec<Option<f64>>, labels: Vec<(f64, String)>) -> Parallel {
        let (got, wanted) = (places.len(), self.lines);
        assert!(got == wanted, "parallel: one value per line: ({got} vs {wanted})");
        self.axes.push(ParallelAxis { name: name.into(), places, labels });
        self
    }

    /// The picture as the text of an SVG file.
    pub fn svg(&self) -> String {
        let mut canvas = Canvas::new(&self.title, &self.description());
        let top = heading(&mut canvas, &self.title, &self.about, &[], WIDTH) + 22.0;
        let wide = |axis: &ParallelAxis| {
            axis.labels.iter().map(|(_, label)| text_width(label, SMALL)).fold(0.0, f64::max)
        };
        let left = MARGIN + 14.0 + self.axes.first().map_or(0.0, wide).min(140.0);
        let gap = (WIDTH - MARGIN - 30.0 - left) / (self.axes.len().max(2) - 1) as f64;
        let at = |n: usize, share: f64| (left + gap * n as f64, top + HEIGHT * (1.0 - share.clamp(0.0, 1.0)));
        for line in (0..self.lines).rev() {
            self.draw(&mut canvas, line, &at);
        }
        for (n, axis) in self.axes.iter().enumerate() {
            let ((x, above), (_, below)) = (at(n, 1.0), at(n, 0.0));
            canvas.line((x, above), (x, below), AXIS, 1.5);
            let name = fitted(&axis.name, TEXT, gap.max(60.0) - 6.0);
            // The outer names stay inside of the picture.
            let half = text_width(&name, TEXT) / 2.0;
            let middle = x.clamp(MARGIN + half, WIDTH - MARGIN - half);
            canvas.bold((middle, top - 10.0), &name, TEXT, INK, Anchor::Middle);
            for (share, label) in &axis.labels {
                let (x, y) = at(n, *share);
                canvas.line((x - 4.0, y), (x, y), AXIS, 1.0);
                let label = fitted(label, SMALL, if n == 0 { 140.0 } else { gap - 14.0 });
                canvas.text((x - 7.0, y + 4.0), &label, SMALL, FAINT_INK, Anchor::End);
            }
        }
        canvas.svg(WIDTH, top + HEIGHT + MARGIN)
    }

    /// A line, as far as it has values. The first stands out, and those without a result are dashed.
    fn draw(&self, canvas: &mut Canvas, line: usize, at: &dyn Fn(usize, f64) -> Point) {
        let points: Vec<Point> = self
            .axes
            .iter()
            .enumerate()
            .filter_map(|(n, axis)| axis.places[line].map(|share| at(n, share)))
            .collect();
        let whole = self.axes.last().is_some_and(|axis| axis.places[line].is_some());
        let results = self.axes.last().map_or(0, |axis| axis.places.iter().flatten().count());
        let (color, width) = match (whole, line) {
            (true, 0) => (WRONG, 3.0),
            (true, _) => (COLORS[0].tint(1.0 - (1.0 - PALEST) * line as f64 / results.max(2) as f64), 1.6),
            (false, _) => (AXIS, 1.0),
        };
        canvas.polyline(&points, color, width, if whole { "" } else { DASHES });
    }

    fn description(&self) -> String {
        let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        let lines = number(self.lines as f64);
        format!("Lines across parallel axes: {lines} over {}. {}", names.join(", "), self.about)
    }
}
