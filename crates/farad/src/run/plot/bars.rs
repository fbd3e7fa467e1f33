//! Bars by name: how often each of some named things occurs.
//!
//! Names stand at the left, one a line, so that long ones stay readable.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{Axis, number};
use super::{
    Area, Drawn, FAINT_INK, FONT, INK, MARGIN, TEXT_SIZE, WIDTH, colour, fitted, heading, styled, svg,
    text_width,
};

const BAR: u32 = 13;
const GAP: u32 = 9;
const LONGEST_NAME: i32 = 240;

/// A chart of one or several bars for every name.
///
/// ```
/// use farad::run::Bars;
/// let svg = Bars::new("gates", "count", &["and", "or"]).series("before", [3.0, 1.0]).svg();
/// assert!(svg.contains("and"));
/// ```
#[derive(Clone, Debug)]
pub struct Bars {
    title: String,
    value_name: String,
    names: Vec<String>,
    series: Vec<(String, Vec<f64>)>,
}

impl Bars {
    /// An empty chart with a title, a name for what is counted, and the names of the bars.
    pub fn new<S: AsRef<str>>(title: &str, value_name: &str, names: &[S]) -> Bars {
        let names = names.iter().map(|name| name.as_ref().to_string()).collect();
        Bars { title: title.into(), value_name: value_name.into(), names, series: Vec::new() }
    }

    /// Adds one value for every name; several series stand beside one another. Values that are not
    /// finite have no bar.
    #[track_caller]
    pub fn series(mut self, name: &str, values: impl IntoIterator<Item = f64>) -> Bars {
        let values: Vec<f64> = values.into_iter().collect();
        let (got, wanted) = (values.len(), self.names.len());
        assert!(got == wanted, "bars: one value a name: ({got} vs {wanted})");
        self.series.push((name.into(), values));
        self
    }

    /// The chart as the text of an SVG file.
    pub fn svg(&self) -> String {
        // As much as title, legend and axis take, whatever the legend's length.
        let legend_lines =
            1 + self.series.iter().map(|(n, _)| text_width(n, TEXT_SIZE) + 48).sum::<i32>() / 600;
        let rows = self.names.len().max(3) as u32 * self.row();
        svg(120 + legend_lines as u32 * 20 + rows, |area| self.draw(area))
    }

    /// The height of everything that belongs to one name.
    fn row(&self) -> u32 {
        BAR * self.series.len().max(1) as u32 + GAP
    }

    fn draw(&self, area: &Area) -> Drawn {
        let series: Vec<&str> = self.series.iter().map(|(name, _)| name.as_str()).collect();
        let top = heading(area, &self.title, &series)?;
        let names: Vec<String> = self.names.iter().map(|n| fitted(n, TEXT_SIZE, LONGEST_NAME)).collect();
        let left = names.iter().map(|n| text_width(n, TEXT_SIZE)).max().unwrap_or(0) + 12;
        let count = names.len().max(1);
        let values = self.series.iter().flat_map(|(_, values)| values).copied();
        // Room for the numbers at the ends of bars.
        let axis = Axis::with_zero(values.filter(Self::shows), 0.08);
        let low = axis.start();
        let mut chart = ChartBuilder::on(area)
            .margin_top(top)
            .margin_left(MARGIN + left)
            .margin_right(MARGIN + 10)
            .margin_bottom(MARGIN)
            .x_label_area_size(46)
            .build_cartesian_2d(axis, (count as f64)..0.0)?;
        let mut mesh = chart.configure_mesh();
        styled(mesh.disable_y_mesh().disable_y_axis().x_desc(&self.value_name)).draw()?;
        let plot = chart.plotting_area();
        let (first, _) = plot.map_coordinate(&(low, 0.0));
        for (index, name) in names.iter().enumerate() {
            let (_, y) = plot.map_coordinate(&(low, index as f64 + 0.5));
            let style = (FONT, TEXT_SIZE).into_font().color(&INK).pos(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(name.clone(), (first - 8, y), style))?;
        }
        for (index, (_, values)) in self.series.iter().enumerate() {
            for (row, &value) in values.iter().enumerate().filter(|(_, value)| Self::shows(value)) {
                let (zero, middle) = plot.map_coordinate(&(0.0, row as f64 + 0.5));
                let (end, _) = plot.map_coordinate(&(value, 0.0));
                let y =
                    middle - (BAR as usize * self.series.len()) as i32 / 2 + (BAR as usize * index) as i32;
                self.bar(area, index, value, (zero, end), y)?;
            }
        }
        Ok(())
    }

    fn bar(&self, area: &Area, series: usize, value: f64, (zero, end): (i32, i32), y: i32) -> Drawn {
        let corners = [(zero.min(end), y), (zero.max(end), y + BAR as i32 - 1)];
        if value != 0.0 {
            area.draw(&Rectangle::new(corners, colour(series).filled()))?;
        }
        let (label, middle) = (number(value), y + BAR as i32 / 2);
        let right = value >= 0.0 && end + 8 + text_width(&label, TEXT_SIZE) <= WIDTH as i32;
        let (x, side) = if right { (end + 5, HPos::Left) } else { (end - 5, HPos::Right) };
        let style = (FONT, TEXT_SIZE - 2).into_font().color(&FAINT_INK).pos(Pos::new(side, VPos::Center));
        area.draw(&Text::new(label, (x, middle), style))
    }

    /// Whether a value has a bar.
    fn shows(value: &f64) -> bool {
        Axis::shows(false, *value)
    }
}
