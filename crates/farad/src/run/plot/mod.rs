//! Charts as SVG text: lines over steps ([`Chart`]) and bars by name ([`Bars`]).
//!
//! Invariant: any data give a chart. Values that are not finite are left out, and nothing to show is
//! an empty frame. What all charts share (colours, title, legend above the data) is here.

mod axis;
mod bars;
mod lines;

pub use bars::Bars;
pub use lines::Chart;

use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Drawing into a string does not fail, but the backend could also write files.
type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<std::io::Error>>;
/// Where a chart is drawn: all of it or a part.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Told apart with every common kind of colour blindness; after the last comes the first again.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x1f, 0x6f, 0xb4),
    RGBColor(0xe0, 0x6c, 0x00),
    RGBColor(0x1b, 0x9e, 0x77),
    RGBColor(0xc0, 0x2b, 0x5d),
    RGBColor(0x6f, 0x5b, 0xc4),
    RGBColor(0x8c, 0x6d, 0x1f),
    RGBColor(0x3d, 0xb4, 0xd8),
    RGBColor(0x70, 0x70, 0x70),
];
const INK: RGBColor = RGBColor(0x22, 0x26, 0x2b);
const FAINT_INK: RGBColor = RGBColor(0x5a, 0x60, 0x68);
const GRID: RGBColor = RGBColor(0xe2, 0xe5, 0xe9);
const FAINT_GRID: RGBColor = RGBColor(0xf3, 0xf4, 0xf6);
const FONT: &str = "sans-serif";
const WIDTH: u32 = 820;
const MARGIN: i32 = 18;
const TITLE_SIZE: u32 = 20;
const TEXT_SIZE: u32 = 13;
/// A letter's mean width against the size of the font, a little on the safe side.
const LETTER: f64 = 0.58;
const LEGEND_LINE: i32 = 20;

fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

/// About how many pixels a text takes.
fn text_width(text: &str, size: u32) -> i32 {
    (text.chars().count() as f64 * size as f64 * LETTER).ceil() as i32
}

/// A text cut to a width, with an ellipsis where it was cut.
fn fitted(text: &str, size: u32, width: i32) -> String {
    if text_width(text, size) <= width {
        return text.into();
    }
    let letters = ((width as f64 / (size as f64 * LETTER)) as usize).saturating_sub(1);
    text.chars().take(letters).chain(['…']).collect()
}

/// A drawing of this height, handed to `draw`.
fn svg(height: u32, draw: impl FnOnce(&Area) -> Drawn) -> String {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        let drawn = area.fill(&WHITE).and_then(|()| draw(&area)).and_then(|()| area.present());
        drawn.expect("drawing into a string does not fail");
    }
    text
}

/// Axes, their labels and the lines behind the data, as all charts have them.
fn styled<'m, 'a, 'b, X: Ranged, Y: Ranged, DB: DrawingBackend>(
    mesh: &'m mut MeshStyle<'a, 'b, X, Y, DB>,
) -> &'m mut MeshStyle<'a, 'b, X, Y, DB> {
    mesh.label_style((FONT, TEXT_SIZE).into_font().color(&FAINT_INK))
        .axis_desc_style((FONT, TEXT_SIZE + 1).into_font().color(&INK))
        .axis_style(FAINT_INK)
        .bold_line_style(GRID)
        .light_line_style(FAINT_GRID)
}

/// Writes title and legend at the top and returns the height that they take.
fn heading(area: &Area, title: &str, names: &[&str]) -> Drawn<i32> {
    let left = Pos::new(HPos::Left, VPos::Center);
    let style = (FONT, TITLE_SIZE).into_font().style(FontStyle::Bold).color(&INK).pos(left);
    let room = WIDTH as i32 - 2 * MARGIN;
    area.draw(&Text::new(fitted(title, TITLE_SIZE, room), (MARGIN, MARGIN + 8), style))?;
    let mut y = MARGIN + 34;
    if names.len() < 2 {
        return Ok(y - 8);
    }
    let style = (FONT, TEXT_SIZE).into_font().color(&INK).pos(left);
    let mut x = MARGIN;
    for (index, name) in names.iter().enumerate() {
        let name = fitted(name, TEXT_SIZE, room - 30);
        let width = 30 + text_width(&name, TEXT_SIZE) + 18;
        if x > MARGIN && x + width > WIDTH as i32 - MARGIN {
            (x, y) = (MARGIN, y + LEGEND_LINE);
        }
        area.draw(&Rectangle::new([(x, y - 2), (x + 22, y + 2)], colour(index).filled()))?;
        area.draw(&Text::new(name, (x + 28, y), style.clone()))?;
        x += width;
    }
    Ok(y + LEGEND_LINE - 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        assert_eq!(fitted("short", 10, 100), "short");
        let cut = fitted(&"long ".repeat(40), 10, 100);
        assert!(cut.ends_with('…') && text_width(&cut, 10) <= 100, "{cut}");
    }
}
