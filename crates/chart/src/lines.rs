//! Lines over steps.
//!
//! Invariant: every finite value is on the picture. A logarithmic axis has no zero, so values that are zero (or
//! below its end) are in a separate row below an axis break; they are never dropped.

use crate::axis::Axis;
use crate::canvas::{Anchor, Canvas, Color, Point};
use crate::frame::{Entry, Key, Plot, heading, left_of};
use crate::number::number;
use crate::palette::{AXIS, FAINT_INK, GRID, MARGIN, PAPER, SMALL, WIDTH, color};
use crate::series::{DASHES, Series, mark};

const HEIGHT: f64 = 470.0;
/// The distance from the end of a logarithmic axis to the row of zeros.
const BREAK: f64 = 26.0;
/// A line has at most twice as many points as this: more do not fit on a screen.
const BUCKETS: usize = 600;
/// Lines with fewer points than this are not smoothed, because single points are visible.
const NOISE: usize = 80;
/// The radius of a point that stands alone.
const DOT: f64 = 2.2;
/// With more points than this, a line has no markers, because they would hide it.
const MARKS: usize = 45;

/// A chart of named lines.
///
/// ```
/// use farad_chart::{Chart, Series};
/// let chart = Chart::new("Loss", "update", "loss").about("checkerboard, seed 2").log_y();
/// let svg = chart.line("soft", [(0.0, 1.0), (10.0, 0.1)]).series(Series::new("hard", [(5.0, 0.0)]).markers()).svg();
/// assert!(svg.starts_with("<svg") && svg.contains("update"));
/// ```
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    about: String,
    x_name: String,
    y_name: String,
    log_x: bool,
    log_y: bool,
    /// Smaller values are in the row below a logarithmic axis.
    floor: f64,
    series: Vec<Series>,
}

/// The lines as drawn: `None` is the row below the break.
type PlacedLine = Vec<(f64, Option<f64>)>;

impl Chart {
    /// An empty chart with a title and names for its axes.
    pub fn new(title: &str, x_name: &str, y_name: &str) -> Chart {
        let (title, x_name, y_name) = (title.into(), x_name.into(), y_name.into());
        Chart {
            title,
            about: String::new(),
            x_name,
            y_name,
            log_x: false,
            log_y: false,
            floor: 0.0,
            series: Vec::new(),
        }
    }

    /// A line below the title: which run it is, or what the picture shows.
    pub fn about(mut self, about: &str) -> Chart {
        self.about = about.into();
        self
    }

    /// A logarithmic x axis. Points at zero or below are left out.
    pub fn log_x(mut self) -> Chart {
        self.log_x = true;
        self
    }

    /// A logarithmic y axis; zeros are in a separate row below it.
    pub fn log_y(self) -> Chart {
        self.log_y_from(0.0)
    }

    /// A logarithmic y axis starting at `floor`; smaller values are in a separate row below it.
    pub fn log_y_from(mut self, floor: f64) -> Chart {
        (self.log_y, self.floor) = (true, floor);
        self
    }

    /// Adds a plain line through points `(x, y)`. Points that are not finite are left out.
    pub fn line(self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Chart {
        self.series(Series::new(name, points))
    }

    /// Adds a line. A line without points is not in the legend.
    pub fn series(mut self, series: Series) -> Chart {
        self.series.push(series);
        self
    }

    /// The chart as the text of an SVG file.
    pub fn svg(&self) -> String {
        let mut canvas = Canvas::new(&self.title, &self.description());
        let shown: Vec<(usize, &Series)> =
            self.series.iter().enumerate().filter(|(_, s)| s.points.iter().any(|p| self.shows(*p))).collect();
        let legend: Vec<Entry> = shown.iter().map(|&(n, series)| self.entry(n, series)).collect();
        // A single plain line needs no legend; a band or a mean does.
        let plain = |series: &Series| !self.is_smooth(series) && series.band.is_empty();
        let legend = if legend.len() == 1 && plain(shown[0].1) { &[][..] } else { &legend[..] };
        let top = heading(&mut canvas, &self.title, &self.about, legend, WIDTH);
        let (x, y) = (self.x_axis(), self.y_axis());
        let foot = top + HEIGHT - 150.0;
        let below = self.log_y && self.values().any(|y| self.is_below(y));
        let bottom = if below { foot - BREAK - 8.0 } else { foot };
        let row = self.row_label();
        let left = left_of(&y).max(MARGIN + 34.0 + crate::text::text_width(&row, SMALL));
        let plot = Plot { left, right: WIDTH - MARGIN - 14.0, top, bottom };
        plot.axis_across(&mut canvas, &x, &self.x_name, foot);
        plot.axis_upwards(&mut canvas, &y, &self.y_name);
        if below {
            row_below(&mut canvas, &plot, foot, &row);
        }
        let place = |points: &[(f64, f64)]| -> PlacedLine {
            let finite = points.iter().filter(|&&p| self.shows(p));
            let height = |v: f64| if self.is_below(v) { None } else { Some(plot.y(&y, v)) };
            finite.map(|&(at, v)| (plot.x(&x, at), height(v))).collect()
        };
        for &(n, series) in &shown {
            let band = [|b: &(f64, f64, f64)| (b.0, b.1), |b: &(f64, f64, f64)| (b.0, b.2)]
                .map(|side| place(&series.band.iter().map(side).collect::<Vec<_>>()));
            self.shade(&mut canvas, &band, plot.bottom, self.color(n, series));
        }
        for &(n, series) in &shown {
            self.draw(&mut canvas, n, series, place(&series.points), plot.bottom + BREAK);
        }
        canvas.svg(WIDTH, foot + 40.0 + MARGIN)
    }

    fn entry(&self, number: usize, series: &Series) -> Entry {
        let marks = (series.markers || series.scattered).then_some(number);
        let pale = self.is_smooth(series);
        let name = match pale {
            true => format!(
                "{} (pale; line: moving mean of {} points)",
                series.name,
                2 * reach(series.points.len()) + 1
            ),
            false => series.name.clone(),
        };
        let key = match series.scattered {
            true => Key::Square,
            false => Key::Line { marks, dashed: series.dashed, pale },
        };
        Entry { name, color: self.color(number, series), key }
    }

    fn color(&self, number: usize, series: &Series) -> Color {
        color(series.color.unwrap_or(number))
    }

    fn is_smooth(&self, series: &Series) -> bool {
        series.smoothed && series.points.len() >= NOISE
    }

    /// Whether a point can be drawn.
    fn shows(&self, (x, y): (f64, f64)) -> bool {
        Axis::shows(self.log_x, x) && Axis::shows(false, y)
    }

    /// Whether a value is in the row below a logarithmic axis.
    fn is_below(&self, y: f64) -> bool {
        self.log_y && (y < self.floor || !Axis::shows(true, y))
    }

    /// All finite points, including the ends of bands.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let band = |s: &Series| s.band.iter().flat_map(|&(x, l, h)| [(x, l), (x, h)]).collect::<Vec<_>>();
        let all = self.series.iter().flat_map(move |s| s.points.iter().copied().chain(band(s)));
        all.filter(|&point| self.shows(point))
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.points().map(|point| point.1)
    }

    fn x_axis(&self) -> Axis {
        let values = self.points().map(|point| point.0);
        if self.log_x {
            return Axis::logarithmic(values, 0.02);
        }
        if self.points().all(|point| point.0.fract() == 0.0) {
            Axis::whole(values)
        } else {
            Axis::linear(values, 0.0)
        }
    }

    fn y_axis(&self) -> Axis {
        match self.log_y {
            true => Axis::logarithmic(self.values().filter(|&y| !self.is_below(y)), 0.04),
            false => Axis::linear(self.values(), 0.05),
        }
    }

    /// The label of the row below the break.
    fn row_label(&self) -> String {
        match self.values().filter(|&y| self.is_below(y)).all(|y| y == 0.0) {
            true => "0".into(),
            false if self.floor > 0.0 => format!("< {}", self.y_axis().label(self.floor)),
            false => "≤ 0".into(),
        }
    }

    fn description(&self) -> String {
        let mut text = format!("Line chart of {} over {}. {}", self.y_name, self.x_name, self.about);
        for series in &self.series {
            let points: Vec<_> = series.points.iter().filter(|&&p| self.shows(p)).collect();
            if let (Some(first), Some(last)) = (points.first(), points.last()) {
                let (from, to, count) = (number(first.1), number(last.1), points.len());
                text += &format!(" {}: {count} points from {from} to {to}.", series.name);
            }
        }
        text
    }

    fn shade(&self, canvas: &mut Canvas, [low, high]: &[PlacedLine; 2], bottom: f64, color: Color) {
        let point = |&(x, y): &(f64, Option<f64>)| (x, y.unwrap_or(bottom));
        let around: Vec<Point> = low.iter().map(point).chain(high.iter().rev().map(point)).collect();
        if around.len() > 2 {
            canvas.polygon(&around, color, 0.18);
        }
    }

    fn draw(&self, canvas: &mut Canvas, number: usize, series: &Series, points: PlacedLine, row: f64) {
        let color = self.color(number, series);
        let at: Vec<Point> = points.iter().map(|&(x, y)| (x, y.unwrap_or(row))).collect();
        let style = if series.dashed { DASHES } else { "" };
        if series.scattered {
            return at.iter().for_each(|&point| canvas.circle(point, DOT, color));
        }
        if self.is_smooth(series) {
            canvas.polyline(&thinned(at.clone()), color.tint(0.35), 1.0, "");
            canvas.polyline(&thinned(moving_mean(&at)), color, 2.0, style);
        } else {
            canvas.polyline(&thinned(at.clone()), color, if series.markers { 1.6 } else { 2.0 }, style);
        }
        // A line of one point would be invisible.
        if series.markers && at.len() <= MARKS || at.len() == 1 {
            at.iter().for_each(|&point| mark(canvas, number, point, color));
        } else if series.markers {
            let every = at.len().div_ceil(MARKS);
            at.iter().step_by(every).for_each(|&point| mark(canvas, number, point, color));
        }
    }
}

/// The row of values that a logarithmic axis cannot show, and the break above it.
fn row_below(canvas: &mut Canvas, plot: &Plot, foot: f64, label: &str) {
    let (left, row) = (plot.left, plot.bottom + BREAK);
    canvas.line((left, row), (plot.right, row), GRID, 1.0);
    canvas.line((left, plot.bottom), (left, foot), AXIS, 1.0);
    canvas.line((left - 5.0, row), (left, row), AXIS, 1.0);
    canvas.text((left - 9.0, row + 4.0), label, SMALL, FAINT_INK, Anchor::End);
    let middle = plot.bottom + BREAK / 2.0 - 1.0;
    canvas.rectangle((left - 4.0, middle - 2.0), (8.0, 4.0), PAPER);
    for y in [middle - 2.5, middle + 2.5] {
        canvas.line((left - 5.0, y + 2.5), (left + 5.0, y - 2.5), AXIS, 1.0);
    }
}

/// How many points on either side a moving mean takes.
fn reach(points: usize) -> usize {
    (points / 40).max(2)
}

/// Means of the drawn heights, so that a logarithmic axis gets geometric means. At the ends the window narrows
/// on both sides equally, so that the line is not pulled inward.
fn moving_mean(points: &[Point]) -> Vec<Point> {
    let most = reach(points.len());
    let mut sums = vec![0.0];
    for point in points {
        sums.push(sums[sums.len() - 1] + point.1);
    }
    let mean = |n: usize| {
        let reach = most.min(n).min(points.len() - 1 - n);
        (points[n].0, (sums[n + reach + 1] - sums[n - reach]) / (2 * reach + 1) as f64)
    };
    (0..points.len()).map(mean).collect()
}

/// Keeps the lowest and the highest point of every bucket, so that no peak is lost.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    if points.len() <= 2 * BUCKETS {
        return points;
    }
    let mut kept = Vec::with_capacity(2 * BUCKETS + 2);
    for bucket in points.chunks(points.len().div_ceil(BUCKETS)) {
        let by_height = |a: &&Point, b: &&Point| a.1.total_cmp(&b.1);
        let low = bucket.iter().min_by(by_height).expect("chunks are not empty");
        let high = bucket.iter().max_by(by_height).expect("chunks are not empty");
        let (first, second) = if low.0 <= high.0 { (low, high) } else { (high, low) };
        kept.push(*first);
        if second != first {
            kept.push(*second);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_peaks_and_ends() {
        let mut points: Vec<Point> = (0..100_000).map(|i| (i as f64, (i as f64 * 0.01).sin())).collect();
        points[77_777].1 = 50.0;
        let thin = thinned(points);
        assert!(thin.len() <= 2 * BUCKETS + 2);
        assert!(thin.contains(&(77_777.0, 50.0)));
        assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
        assert!(thin[0].0 < 200.0 && thin[thin.len() - 1].0 > 99_800.0);
    }

    #[test]
    fn a_moving_mean_of_a_line_is_the_line() {
        let points: Vec<Point> = (0..200).map(|i| (i as f64, 3.0 * i as f64)).collect();
        for (mean, point) in moving_mean(&points).iter().zip(&points) {
            assert!((mean.1 - point.1).abs() < 1e-9);
        }
    }
}
