//! Charts as SVG text: what Python draws has the look of the pictures in reports.

use farad_chart::{Chart, Series};
use pyo3::prelude::*;

/// A chart of named lines over steps.
#[pyfunction]
pub fn line_chart(
    title: &str,
    x_name: &str,
    y_name: &str,
    lines: Vec<(String, Vec<(f64, f64)>)>,
    logarithmic: bool,
) -> String {
    let chart = Chart::new(title, x_name, y_name);
    let chart = if logarithmic { chart.log_y() } else { chart };
    let add =
        |chart: Chart, (name, points): (String, Vec<(f64, f64)>)| chart.series(Series::new(&name, points));
    lines.into_iter().fold(chart, add).svg()
}
