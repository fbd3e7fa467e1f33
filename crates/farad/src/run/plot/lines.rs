//! Lines over steps.

use plotters::prelude::*;

use super::axis::Axis;
use super::{Area, Drawn, MARGIN, TEXT_SIZE, colour, heading, styled, svg, text_width};

const HEIGHT: u32 = 460;
/// A line has at most twice as many points as this: more do not fit on a screen.
const BUCKETS: usize = 1000;

/// A chart of named lines.
///
/// ```
/// use farad::run::Chart;
/// let svg = Chart::new("loss", "step", "loss").log_y().line("soft", [(0.0, 1.0), (10.0, 0.1)]).svg();
/// assert!(svg.starts_with("<svg") && svg.contains("step"));
/// ```
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    x_name: String,
    y_name: String,
    log_y: bool,
    lines: Vec<(String, Vec<(f64, f64)>)>,
}

impl Chart {
    /// An empty chart with a title and names for its axes.
    pub fn new(title: &str, x_name: &str, y_name: &str) -> Chart {
        let (title, x_name, y_name) = (title.into(), x_name.into(), y_name.into());
        Chart { title, x_name, y_name, log_y: false, lines: Vec::new() }
    }

    /// A logarithmic y axis; values that are not positive are left out.
    pub fn log_y(mut self) -> Chart {
        self.log_y = true;
        self
    }

    /// Adds a line through points `(x, y)`. Points that are not finite are left out.
    pub fn line(mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Chart {
        self.lines.push((name.into(), points.into_iter().collect()));
        self
    }

    /// The chart as the text of an SVG file.
    pub fn svg(&self) -> String {
        let lines: Vec<Vec<(f64, f64)>> = self.lines.iter().map(|(_, points)| self.shown(points)).collect();
        let heights = lines.iter().flatten().map(|p| p.1);
        let x = Axis::linear(lines.iter().flatten().map(|p| p.0), 0.0);
        let y = if self.log_y { Axis::logarithmic(heights, 0.04) } else { Axis::linear(heights, 0.05) };
        svg(HEIGHT, |area| self.draw(area, &lines, x, y))
    }

    fn draw(&self, area: &Area, lines: &[Vec<(f64, f64)>], x: Axis, y: Axis) -> Drawn {
        let names: Vec<&str> = self.lines.iter().map(|(name, _)| name.as_str()).collect();
        let top = heading(area, &self.title, &names)?;
        let mut chart = ChartBuilder::on(area)
            .margin_top(top)
            .margin_left(MARGIN)
            .margin_right(MARGIN + 10)
            .margin_bottom(MARGIN)
            .x_label_area_size(46)
            .y_label_area_size(32 + text_width(&"0".repeat(y.longest()), TEXT_SIZE))
            .build_cartesian_2d(x, y)?;
        styled(chart.configure_mesh().x_desc(&self.x_name).y_desc(&self.y_name)).draw()?;
        for (index, points) in lines.iter().enumerate() {
            let colour = colour(index);
            chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
            // A line of one point would not be seen.
            if let [point] = points[..] {
                chart.draw_series([Circle::new(point, 3, colour.filled())])?;
            }
        }
        Ok(())
    }

    /// The points that are drawn: finite, on the axis, and no more than a screen shows.
    fn shown(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let on_axis = |&(x, y): &(f64, f64)| Axis::shows(false, x) && Axis::shows(self.log_y, y);
        thinned(points.iter().copied().filter(on_axis).collect())
    }
}

/// Keeps the lowest and the highest point of every bucket, so that no peak is lost.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= 2 * BUCKETS {
        return points;
    }
    let mut kept = Vec::with_capacity(2 * BUCKETS + 2);
    for bucket in points.chunks(points.len().div_ceil(BUCKETS)) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
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
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (i as f64, (i as f64 * 0.01).sin())).collect();
        points[77_777].1 = 50.0;
        let thin = thinned(points);
        assert!(thin.len() <= 2 * BUCKETS + 2);
        assert!(thin.contains(&(77_777.0, 50.0)));
        assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
        assert!(thin[0].0 < 100.0 && thin[thin.len() - 1].0 > 99_900.0);
    }
}
