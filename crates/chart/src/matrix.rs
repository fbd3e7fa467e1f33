//! Matrices of counts: confusion matrices, gates by layer.

use crate::canvas::{Anchor, Canvas, Color};
use crate::frame::heading;
use crate::number::number;
use crate::palette::{AXIS, FAINT_INK, GRID, INK, MARGIN, PAPER, RIGHT, SMALL, TEXT, WIDTH, WRONG};
use crate::text::{fitted, text_width};

/// The smallest and largest side of a square.
const SIDES: (f64, f64) = (5.0, 46.0);
/// Squares smaller than this have no numbers.
const WITH_NUMBERS: f64 = 21.0;
/// Smaller squares have no outlines and no tooltips, so that large matrices stay small files.
const WITH_LINES: f64 = 9.0;
const LONGEST_NAME: f64 = 130.0;

/// A matrix of counts, one square each, shaded by its fraction of the row.
///
/// ```
/// use farad_chart::Matrix;
/// let names = ["cat", "dog"];
/// let svg = Matrix::new("Confusion", ("is", &names), ("seen as", &names), &[9.0, 1.0, 2.0, 8.0]).diagonal().svg();
/// assert!(svg.contains("dog"));
/// ```
#[derive(Clone, Debug)]
pub struct Matrix {
    title: String,
    about: String,
    rows: (String, Vec<String>),
    columns: (String, Vec<String>),
    counts: Vec<f64>,
    diagonal: bool,
}

impl Matrix {
    /// A matrix with a title, the names of rows and columns, and its counts row by row.
    #[track_caller]
    pub fn new<S: AsRef<str>>(
        title: &str,
        rows: (&str, &[S]),
        columns: (&str, &[S]),
        counts: &[f64],
    ) -> Matrix {
        let owned = |(about, names): (&str, &[S])| {
            (about.to_string(), names.iter().map(|name| name.as_ref().to_string()).collect::<Vec<_>>())
        };
        let (rows, columns) = (owned(rows), owned(columns));
        let (got, wanted) = (counts.len(), rows.1.len() * columns.1.len());
        assert!(got == wanted, "matrix: a count for every row and column: ({got} vs {wanted})");
        let (title, about, counts) = (title.into(), String::new(), counts.to_vec());
        Matrix { title, about, rows, columns, counts, diagonal: false }
    }

    /// A line below the title: which run it is, or what the picture shows.
    pub fn about(mut self, about: &str) -> Matrix {
        self.about = about.into();
        self
    }

    /// Marks the diagonal as right: it gets its own color and a frame.
    pub fn diagonal(mut self) -> Matrix {
        self.diagonal = true;
        self
    }

    /// The matrix as the text of an SVG file.
    pub fn svg(&self) -> String {
        let mut canvas = Canvas::new(&self.title, &self.description());
        let (rows, columns) = (self.rows.1.len(), self.columns.1.len());
        let longest = |names: &[String]| {
            names.iter().map(|n| text_width(n, TEXT)).fold(0.0, f64::max).min(LONGEST_NAME)
        };
        let left = MARGIN + 30.0 + longest(&self.rows.1) + 10.0;
        let side = ((WIDTH - left - MARGIN) / columns.max(1) as f64).clamp(SIDES.0, SIDES.1);
        let right = left + side * columns as f64;
        let width = (right + MARGIN).max(540.0);
        let turned = longest(&self.columns.1) > side - 6.0;
        let above = if turned { longest(&self.columns.1) + 12.0 } else { 20.0 };
        let head = heading(&mut canvas, &self.title, &self.about, &[], width);
        let top = head + 22.0 + above;
        canvas.text(((left + right) / 2.0, head + 10.0), &self.columns.0, TEXT, INK, Anchor::Middle);
        canvas.upright((MARGIN + 10.0, top + side * rows as f64 / 2.0), &self.rows.0, TEXT, INK);
        self.names(&mut canvas, (left, top), side, turned);
        for row in 0..rows {
            let total: f64 = (0..columns).map(|column| self.count(row, column)).sum();
            for column in 0..columns {
                let corner = (left + column as f64 * side, top + row as f64 * side);
                self.square(&mut canvas, (row, column), total, corner, side);
            }
        }
        let bottom = top + side * rows as f64;
        canvas.outline((left, top), (right - left, bottom - top), AXIS, 1.0);
        self.scale(&mut canvas, (MARGIN, bottom + 20.0));
        canvas.svg(width, bottom + 44.0 + MARGIN)
    }

    /// Names at the left and above; if there are many, only as many as do not overlap.
    fn names(&self, canvas: &mut Canvas, (left, top): (f64, f64), side: f64, turned: bool) {
        let every = (14.0 / side).ceil().max(1.0) as usize;
        for (n, name) in self.rows.1.iter().enumerate().step_by(every) {
            let y = top + (n as f64 + 0.5) * side + 4.5;
            canvas.text((left - 8.0, y), &fitted(name, TEXT, LONGEST_NAME), TEXT, INK, Anchor::End);
        }
        for (n, name) in self.columns.1.iter().enumerate().step_by(every) {
            let x = left + (n as f64 + 0.5) * side;
            let name = fitted(name, TEXT, LONGEST_NAME);
            match turned {
                false => canvas.text((x, top - 8.0), &name, TEXT, INK, Anchor::Middle),
                true => {
                    let (x, y) = (x + 4.5, top - 8.0);
                    let turn = format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"");
                    canvas.styled_text((x, y), &name, TEXT, INK, Anchor::Start, &turn);
                }
            }
        }
    }

    fn count(&self, row: usize, column: usize) -> f64 {
        let count = self.counts[row * self.columns.1.len() + column];
        if count.is_finite() { count } else { 0.0 }
    }

    fn color(&self, right: bool) -> Color {
        if right || !self.diagonal { RIGHT } else { WRONG }
    }

    fn square(
        &self,
        canvas: &mut Canvas,
        (row, column): (usize, usize),
        total: f64,
        at: (f64, f64),
        side: f64,
    ) {
        let (count, right) = (self.count(row, column), row == column);
        let share = if total > 0.0 { count / total } else { 0.0 };
        let fill = self.color(right).tint(shade(share));
        if side < WITH_LINES {
            if count != 0.0 {
                canvas.rectangle(at, (side, side), fill);
            }
            return;
        }
        canvas.open_named(&format!(
            "{} {}, {} {}: {} ({:.1} %)",
            self.rows.0,
            self.rows.1[row],
            self.columns.0,
            self.columns.1[column],
            number(count),
            100.0 * share
        ));
        canvas.rectangle(at, (side, side), fill);
        canvas.outline(at, (side, side), GRID, 1.0);
        if side >= WITH_NUMBERS {
            let text = number(count);
            let size = SMALL.min(0.92 * SMALL * side / text_width(&text, SMALL).max(1.0));
            let ink = match count {
                0.0 => AXIS,
                _ if fill.is_dark() => PAPER,
                _ => INK,
            };
            canvas.text((at.0 + side / 2.0, at.1 + side / 2.0 + 4.0), &text, size, ink, Anchor::Middle);
        }
        canvas.close();
    }

    /// The legend of the shades.
    fn scale(&self, canvas: &mut Canvas, (left, y): (f64, f64)) {
        let mut x = left;
        canvas.text((x, y + 11.0), "share of the row", SMALL, FAINT_INK, Anchor::Start);
        x += text_width("share of the row", SMALL) + 8.0;
        for percent in [0.0, 1.0, 5.0, 20.0, 50.0, 100.0] {
            let colors: &[bool] = if self.diagonal { &[true, false] } else { &[true] };
            for (n, &right) in colors.iter().enumerate() {
                let height = 14.0 / colors.len() as f64;
                let fill = self.color(right).tint(shade(percent / 100.0));
                canvas.rectangle((x, y + n as f64 * height), (14.0, height), fill);
            }
            canvas.outline((x, y), (14.0, 14.0), GRID, 1.0);
            let label = format!("{percent} %");
            canvas.text((x + 18.0, y + 11.0), &label, SMALL, FAINT_INK, Anchor::Start);
            x += 18.0 + text_width(&label, SMALL) + 9.0;
        }
    }

    fn description(&self) -> String {
        format!(
            "A matrix of {} rows ({}) and {} columns ({}). {}",
            self.rows.1.len(),
            self.rows.0,
            self.columns.1.len(),
            self.columns.0,
            self.about
        )
    }
}

/// The shade of a fraction: its square root, so that few mistakes among many samples are visible.
fn shade(share: f64) -> f64 {
    share.clamp(0.0, 1.0).sqrt()
}
