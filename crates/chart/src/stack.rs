//! Stacked columns: how many of each kind there are, position by position.

use crate::axis::Axis;
use crate::canvas::Canvas;
use crate::frame::{Entry, Key, Plot, heading_of_size, left_of};
use crate::number::number;
use crate::palette::{INK, MARGIN, TEXT, TITLE, WIDTH, color};
use crate::series::DASHES;

const HEIGHT: f64 = 300.0;
/// Columns narrower than this are invisible: neighbors are merged.
const NARROWEST: f64 = 3.0;

/// A chart of columns, one per position.
///
/// ```
/// use farad_chart::Stack;
/// let stack = Stack::new("Gates by level", "level", "gates").part("and", 0, [4.0, 2.0]).part("or", 1, [1.0, 2.0]);
/// assert!(stack.line("wires", [7.0, 3.0]).svg().contains("level"));
/// ```
#[derive(Clone, Debug)]
pub struct Stack {
    title: String,
    about: String,
    x_name: String,
    y_name: String,
    /// The number on the axis of the first column.
    first: usize,
    parts: Vec<(String, usize, Vec<f64>)>,
    line: Option<(String, Vec<f64>)>,
}

impl Stack {
    /// An empty chart with a title and names for its axes. The first column has the number 1.
    pub fn new(title: &str, x_name: &str, y_name: &str) -> Stack {
        let (title, x_name, y_name) = (title.into(), x_name.into(), y_name.into());
        Stack { title, about: String::new(), x_name, y_name, first: 1, parts: Vec::new(), line: None }
    }

    /// A line below the title: which run it is, or what the picture shows.
    pub fn about(mut self, about: &str) -> Stack {
        self.about = about.into();
        self
    }

    /// Adds a part with the color of this index, with one value per column; later parts are stacked on earlier
    /// ones.
    pub fn part(mut self, name: &str, color: usize, values: impl IntoIterator<Item = f64>) -> Stack {
        self.parts.push((name.into(), color, values.into_iter().collect()));
        self
    }

    /// Draws a line over the columns, with one value per column, on the same axis.
    pub fn line(mut self, name: &str, values: impl IntoIterator<Item = f64>) -> Stack {
        self.line = Some((name.into(), values.into_iter().collect()));
        self
    }

    /// The chart as the text of an SVG file.
    pub fn svg(&self) -> String {
        let mut canvas = Canvas::new(
            &self.title,
            &format!("Columns of {} by {}. {}", self.y_name, self.x_name, self.about),
        );
        let foot = self.draw(&mut canvas, 0.0);
        canvas.svg(WIDTH, foot)
    }

    /// Draws the chart into a larger drawing, starting at this height, with a smaller title; returns where it
    /// ends.
    pub fn draw(&self, canvas: &mut Canvas, from: f64) -> f64 {
        let shifted = from != 0.0;
        let size = if shifted { TEXT + 1.0 } else { TITLE };
        if shifted {
            canvas.open(&format!("transform=\"translate(0 {from:.1})\""));
        }
        let used = self.parts.iter().filter(|part| part.2.iter().any(|&value| value > 0.0));
        let mut legend: Vec<Entry> = used
            .map(|(name, number, _)| Entry { name: name.clone(), color: color(*number), key: Key::Square })
            .collect();
        if let Some((name, _)) = &self.line {
            let key = Key::Line { marks: None, dashed: true, pale: false };
            legend.push(Entry { name: name.clone(), color: INK, key });
        }
        let top = heading_of_size(canvas, (&self.title, size), &self.about, &legend, WIDTH) + 4.0;
        let columns = self.columns();
        let total = |n: usize| self.parts.iter().map(|part| value(&part.2, n)).sum::<f64>();
        let line = self.line.iter().flat_map(|(_, values)| values.iter().copied()).filter(|v| v.is_finite());
        let most = (0..columns).map(total).chain(line).fold(0.0, f64::max);
        let y = Axis::between(0.0, if most > 0.0 { most * 1.04 } else { 1.0 }, 1.0);
        let ends = (self.first as f64 - 0.5, (self.first + columns.max(1)) as f64 - 0.5);
        let x = Axis::between(ends.0, ends.1, 1.0);
        let plot = Plot { left: left_of(&y), right: WIDTH - MARGIN - 14.0, top, bottom: top + HEIGHT };
        plot.axis_across(canvas, &x, &self.x_name, plot.bottom);
        plot.axis_upwards(canvas, &y, &self.y_name);
        self.columns_of(canvas, &plot, &x, &y);
        if let Some((_, values)) = &self.line {
            let point = |n: usize| (plot.x(&x, (n + self.first) as f64), plot.y(&y, value(values, n)));
            canvas.polyline(&(0..values.len()).map(point).collect::<Vec<_>>(), INK, 1.6, DASHES);
        }
        if shifted {
            canvas.close();
        }
        from + plot.bottom + 40.0 + MARGIN
    }

    fn columns(&self) -> usize {
        self.parts.iter().map(|part| part.2.len()).max().unwrap_or(0)
    }

    fn columns_of(&self, canvas: &mut Canvas, plot: &Plot, x: &Axis, y: &Axis) {
        let columns = self.columns();
        let wide = (plot.right - plot.left) / columns.max(1) as f64;
        let every = (NARROWEST / wide).ceil().max(1.0) as usize;
        for first in (0..columns).step_by(every) {
            let together = first..(first + every).min(columns);
            let (left, right) = (self.first + together.start, self.first + together.end);
            let (left, right) = (plot.x(x, left as f64 - 0.5), plot.x(x, right as f64 - 0.5));
            let gap = if right - left > 6.0 { (0.12 * (right - left)).min(6.0) } else { 0.0 };
            let mut below = 0.0;
            for (name, number_of, values) in &self.parts {
                // Merged columns have their mean height.
                let mean = together.clone().map(|n| value(values, n)).sum::<f64>() / together.len() as f64;
                if mean <= 0.0 {
                    continue;
                }
                let (low, high) = (plot.y(y, below), plot.y(y, below + mean));
                canvas.open_named(&format!("{name}: {}", number(mean)));
                canvas.rectangle(
                    (left + gap, high),
                    (right - left - 2.0 * gap, low - high),
                    color(*number_of),
                );
                canvas.close();
                below += mean;
            }
        }
    }
}

fn value(values: &[f64], n: usize) -> f64 {
    values.get(n).copied().filter(|v| v.is_finite() && *v > 0.0).unwrap_or(0.0)
}
