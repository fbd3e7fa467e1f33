//! Small pictures in rows, each with a caption.

use crate::canvas::{Anchor, Canvas};
use crate::frame::heading;
use crate::palette::{AXIS, FAINT_INK, INK, MARGIN, PAPER, SMALL, TEXT, WIDTH, WRONG};
use crate::text::{fitted, text_width};

const GAP: f64 = 14.0;
const LINE: f64 = 15.0;

/// A small picture with lines of text below it.
#[derive(Clone, Debug)]
pub struct Thumbnail {
    png: Vec<u8>,
    lines: Vec<String>,
    wrong: bool,
    apart: bool,
}

impl Thumbnail {
    /// A picture, as the bytes of a PNG file, and the lines below it; the first is darker than the others.
    pub fn new<S: AsRef<str>>(png: Vec<u8>, lines: &[S]) -> Thumbnail {
        let lines = lines.iter().map(|line| line.as_ref().to_string()).collect();
        Thumbnail { png, lines, wrong: false, apart: false }
    }

    /// Marks a mistake: a thick frame, a cross in the corner.
    pub fn wrong(mut self) -> Thumbnail {
        self.wrong = true;
        self
    }

    /// Distinguishes a picture from those before it, such as a target: its frame is dashed.
    pub fn apart(mut self) -> Thumbnail {
        self.apart = true;
        self
    }
}

/// A sheet of small pictures.
///
/// ```
/// use farad_chart::{Sheet, Thumbnail};
/// let svg = Sheet::new("Roll-out", (60.0, 60.0)).tile(Thumbnail::new(vec![1, 2, 3], &["step 0"])).svg();
/// assert!(svg.contains("step 0") && svg.contains("data:image/png;base64,AQID"));
/// ```
#[derive(Clone, Debug)]
pub struct Sheet {
    title: String,
    about: String,
    /// Width and height of every picture.
    size: (f64, f64),
    tiles: Vec<Thumbnail>,
}

impl Sheet {
    /// An empty sheet for pictures that are drawn with this width and height.
    pub fn new(title: &str, size: (f64, f64)) -> Sheet {
        Sheet { title: title.into(), about: String::new(), size, tiles: Vec::new() }
    }

    /// A line below the title: which run it is, or what the picture shows.
    pub fn about(mut self, about: &str) -> Sheet {
        self.about = about.into();
        self
    }

    /// Adds a picture.
    pub fn tile(mut self, tile: Thumbnail) -> Sheet {
        self.tiles.push(tile);
        self
    }

    /// The sheet as the text of an SVG file.
    pub fn svg(&self) -> String {
        let words: Vec<String> = self.tiles.iter().map(|tile| tile.lines.join(", ")).collect();
        let about = format!("{} pictures. {} {}", self.tiles.len(), self.about, words.join("; "));
        let mut canvas = Canvas::new(&self.title, &about);
        let top = heading(&mut canvas, &self.title, &self.about, &[], WIDTH);
        let (width, height) = self.size;
        let columns = (((WIDTH - 2.0 * MARGIN + GAP) / (width + GAP)) as usize).max(1);
        let lines = self.tiles.iter().map(|tile| tile.lines.len()).max().unwrap_or(0);
        let place = height + 5.0 + LINE * lines as f64 + GAP;
        for (n, tile) in self.tiles.iter().enumerate() {
            let x = MARGIN + (n % columns) as f64 * (width + GAP);
            self.draw(&mut canvas, tile, (x, top + (n / columns) as f64 * place));
        }
        let rows = self.tiles.len().div_ceil(columns) as f64;
        canvas.svg(WIDTH, top + rows * place - GAP + MARGIN)
    }

    fn draw(&self, canvas: &mut Canvas, tile: &Thumbnail, (x, y): (f64, f64)) {
        let (width, height) = self.size;
        canvas.png((x, y), self.size, &tile.png);
        match (tile.wrong, tile.apart) {
            (true, _) => {
                canvas.outline((x - 1.0, y - 1.0), (width + 2.0, height + 2.0), WRONG, 3.0);
                let (right, top) = (x + width - 1.0, y + 1.0);
                canvas.circle((right, top), 8.0, WRONG);
                for (from, to) in [((-3.0, -3.0), (3.0, 3.0)), ((-3.0, 3.0), (3.0, -3.0))] {
                    canvas.line((right + from.0, top + from.1), (right + to.0, top + to.1), PAPER, 2.0);
                }
            }
            (false, true) => {
                let corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)];
                canvas.polyline(&corners, INK, 1.5, "stroke-dasharray=\"5 3\"");
            }
            _ => canvas.outline((x, y), self.size, AXIS, 0.75),
        }
        for (n, line) in tile.lines.iter().enumerate() {
            let (size, ink) = if n == 0 { (TEXT, INK) } else { (SMALL, FAINT_INK) };
            // Text may be slightly wider than the picture without reaching the next one.
            let size = size.min(size * (width + GAP - 4.0) / text_width(line, size).max(1.0)).max(9.0);
            // Slightly more than the width that it was fitted to, because of rounding.
            let line = fitted(line, size, width + GAP - 3.5);
            canvas.text((x, y + height + 4.0 + LINE * (n as f64 + 0.8)), &line, size, ink, Anchor::Start);
        }
    }
}
