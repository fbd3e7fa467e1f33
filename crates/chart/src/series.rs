//! A named line of a chart, and how it looks.

use crate::canvas::{Canvas, Color, Point};
use crate::palette;

/// Points under one name.
///
/// ```
/// use farad_chart::Series;
/// let hard = Series::new("hard", [(0.0, 1.0), (10.0, 0.0)]).markers();
/// let soft = Series::new("soft", [(0.0, 0.9), (10.0, 0.2)]).color(3).smoothed();
/// # let _ = (hard, soft);
/// ```
#[derive(Clone, Debug)]
pub struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// Lowest and highest value at some positions.
    pub(crate) band: Vec<(f64, f64, f64)>,
    pub(crate) color: Option<usize>,
    pub(crate) markers: bool,
    pub(crate) dashed: bool,
    pub(crate) smoothed: bool,
    pub(crate) scattered: bool,
}

impl Series {
    /// A line through points `(x, y)`. Points that are not finite are left out.
    pub fn new(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        Series {
            name: name.into(),
            points: points.into_iter().collect(),
            band: Vec::new(),
            color: None,
            markers: false,
            dashed: false,
            smoothed: false,
            scattered: false,
        }
    }

    /// With a marker at every point, for occasional measurements. Each series has its own markers.
    pub fn markers(mut self) -> Series {
        self.markers = true;
        self
    }

    /// As single points, without a line between them.
    pub fn scattered(mut self) -> Series {
        self.scattered = true;
        self
    }

    /// As a dashed line.
    pub fn dashed(mut self) -> Series {
        self.dashed = true;
        self
    }

    /// For noisy data: the points themselves are pale, and their moving mean is drawn over them.
    pub fn smoothed(mut self) -> Series {
        self.smoothed = true;
        self
    }

    /// With a band from the lowest to the highest value `(x, low, high)`.
    pub fn band(mut self, band: impl IntoIterator<Item = (f64, f64, f64)>) -> Series {
        self.band = band.into_iter().collect();
        self
    }

    /// With the color of the series with this index instead of its own.
    pub fn color(mut self, number: usize) -> Series {
        self.color = Some(number);
        self
    }
}

/// The attribute for dashes.
pub(crate) const DASHES: &str = "stroke-dasharray=\"7 4\"";

/// A marker whose shape distinguishes series where colors do not.
pub(crate) fn mark(canvas: &mut Canvas, shape: usize, (x, y): Point, color: Color) {
    const R: f64 = 3.6;
    let corners: &[Point] = match shape % 4 {
        0 => {
            canvas.circle((x, y), R + 0.9, palette::PAPER);
            return canvas.circle((x, y), R, color);
        }
        1 => &[(-R, -R), (R, -R), (R, R), (-R, R)],
        2 => &[(0.0, -R * 1.3), (R * 1.2, R), (-R * 1.2, R)],
        _ => &[(0.0, -R * 1.4), (R * 1.4, 0.0), (0.0, R * 1.4), (-R * 1.4, 0.0)],
    };
    let at = |scale: f64| corners.iter().map(|c| (x + c.0 * scale, y + c.1 * scale)).collect::<Vec<_>>();
    canvas.polygon(&at(1.3), palette::PAPER, 1.0);
    canvas.polygon(&at(1.0), color, 1.0);
}
