//! An SVG document under construction: one element per shape or text.
//!
//! Invariant: the result is valid XML whatever texts and numbers go in. Coordinates have at most two decimals.

use std::fmt::{self, Display, Write};

use crate::base64::base64;
use crate::palette;

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// Mixed with white: 1 is the color itself, 0 is white.
    pub fn tint(self, share: f64) -> Color {
        let mix = |level: u8| (255.0 - (255.0 - f64::from(level)) * share.clamp(0.0, 1.0)).round() as u8;
        Color(mix(self.0), mix(self.1), mix(self.2))
    }

    /// Whether white text is more readable on it than dark text.
    pub fn is_dark(self) -> bool {
        0.299 * f64::from(self.0) + 0.587 * f64::from(self.1) + 0.114 * f64::from(self.2) < 140.0
    }
}

impl Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Which part of a text is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A drawing that elements are added to; later ones cover earlier ones.
///
/// ```
/// use farad_chart::{Canvas, palette};
/// let mut canvas = Canvas::new("a dot", "one dot in a square");
/// canvas.circle((5.0, 5.0), 2.0, palette::INK);
/// let svg = canvas.svg(10.0, 10.0);
/// assert!(svg.contains("<title>a dot</title>") && svg.contains("<circle"));
/// ```
#[derive(Clone, Debug)]
pub struct Canvas {
    title: String,
    about: String,
    body: String,
}

/// Across and down, from the upper left corner.
pub type Point = (f64, f64);

impl Canvas {
    /// An empty drawing with a title and a description for screen readers.
    pub fn new(title: &str, about: &str) -> Canvas {
        Canvas { title: title.into(), about: about.into(), body: String::new() }
    }

    /// The whole document, for a drawing of this size on white.
    pub fn svg(&self, width: f64, height: f64) -> String {
        let (width, height) = (Digits(width.ceil()), Digits(height.ceil()));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{}\" font-size=\"{}\">\n\
             <title>{}</title>\n<desc>{}</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{}</svg>\n",
            palette::FONT,
            palette::TEXT,
            escaped(&self.title),
            escaped(&self.about),
            palette::PAPER,
            self.body
        )
    }

    /// Adds an element verbatim. The caller must ensure that it is valid.
    pub fn raw(&mut self, element: &str) {
        self.body += element;
        self.body.push('\n');
    }

    /// A straight line.
    pub fn line(&mut self, from: Point, to: Point, color: Color, width: f64) {
        let _ = writeln!(
            self.body,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{color}\" stroke-width=\"{}\"/>",
            Digits(from.0),
            Digits(from.1),
            Digits(to.0),
            Digits(to.1),
            Digits(width)
        );
    }

    /// A line through points; `style` is further attributes, such as dashes.
    pub fn polyline(&mut self, points: &[Point], color: Color, width: f64, style: &str) {
        let space = if style.is_empty() { "" } else { " " };
        self.body += "<polyline points=\"";
        for (n, &(x, y)) in points.iter().enumerate() {
            let _ = write!(self.body, "{}{},{}", if n > 0 { " " } else { "" }, Digits(x), Digits(y));
        }
        let _ = writeln!(
            self.body,
            "\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{space}{style}/>",
            Digits(width)
        );
    }

    /// A filled shape with corners.
    pub fn polygon(&mut self, points: &[Point], color: Color, opacity: f64) {
        self.body += "<polygon points=\"";
        for (n, &(x, y)) in points.iter().enumerate() {
            let _ = write!(self.body, "{}{},{}", if n > 0 { " " } else { "" }, Digits(x), Digits(y));
        }
        let _ = writeln!(self.body, "\" fill=\"{color}\" fill-opacity=\"{}\"/>", Digits(opacity));
    }

    /// A path in SVG's syntax; `style` has the attributes of stroke and fill.
    pub fn path(&mut self, path: &str, style: &str) {
        let _ = writeln!(self.body, "<path d=\"{path}\" {style}/>");
    }

    /// A filled rectangle.
    pub fn rectangle(&mut self, corner: Point, size: Point, color: Color) {
        let _ = writeln!(self.body, "<rect {} fill=\"{color}\"/>", Corner(corner, size));
    }

    /// The outline of a rectangle.
    pub fn outline(&mut self, corner: Point, size: Point, color: Color, width: f64) {
        let _ = writeln!(
            self.body,
            "<rect {} fill=\"none\" stroke=\"{color}\" stroke-width=\"{}\"/>",
            Corner(corner, size),
            Digits(width)
        );
    }

    /// A filled circle.
    pub fn circle(&mut self, (x, y): Point, radius: f64, color: Color) {
        let (x, y, radius) = (Digits(x), Digits(y), Digits(radius));
        let _ = writeln!(self.body, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{color}\"/>");
    }

    /// A text whose baseline is at the point.
    pub fn text(&mut self, at: Point, text: &str, size: f64, color: Color, anchor: Anchor) {
        self.styled_text(at, text, size, color, anchor, "");
    }

    /// A text in bold letters.
    pub fn bold(&mut self, at: Point, text: &str, size: f64, color: Color, anchor: Anchor) {
        self.styled_text(at, text, size, color, anchor, " font-weight=\"bold\"");
    }

    /// A text that reads upward, with its middle at the point.
    pub fn upright(&mut self, (x, y): Point, text: &str, size: f64, color: Color) {
        let turn = format!(" transform=\"rotate(-90 {} {})\"", Digits(x), Digits(y));
        self.styled_text((x, y), text, size, color, Anchor::Middle, &turn);
    }

    /// A text with further attributes, each preceded by a space. A power such as `10^-3` is written with a
    /// raised exponent.
    pub fn styled_text(
        &mut self,
        (x, y): Point,
        text: &str,
        size: f64,
        color: Color,
        anchor: Anchor,
        style: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => String::new(),
            other => format!(" text-anchor=\"{}\"", other.name()),
        };
        let (x, y) = (Digits(x), Digits(y));
        let _ = write!(self.body, "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", Digits(size));
        let _ = writeln!(self.body, " fill=\"{color}\"{anchor}{style}>{}</text>", raised(text, size));
    }

    /// A pixel image, given as the bytes of a PNG file, drawn with sharp pixels.
    pub fn png(&mut self, corner: Point, size: Point, bytes: &[u8]) {
        let _ = writeln!(
            self.body,
            "<image {} style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>",
            Corner(corner, size),
            base64(bytes)
        );
    }

    /// Opens a group with attributes; every group must be closed by [`Canvas::close`].
    pub fn open(&mut self, attributes: &str) {
        let _ = writeln!(self.body, "<g {attributes}>");
    }

    /// Closes the last group.
    pub fn close(&mut self) {
        self.body += "</g>\n";
    }

    /// A group with a tooltip.
    pub fn open_named(&mut self, name: &str) {
        let _ = writeln!(self.body, "<g><title>{}</title>", escaped(name));
    }
}

/// Corner and size as attributes.
struct Corner(Point, Point);

impl Display for Corner {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [x, y, width, height] = [self.0.0, self.0.1, self.1.0, self.1.1].map(Digits);
        write!(f, "x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
    }
}

/// A coordinate with at most two decimals, without trailing zeros.
struct Digits(f64);

impl Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // A NaN has no position; the corner is as good as any.
        let value = if self.0.is_finite() { (self.0 * 100.0).round() / 100.0 } else { 0.0 };
        if value == 0.0 { f.write_str("0") } else { write!(f, "{value}") }
    }
}

/// Text inside of an element: characters that XML reserves or forbids are replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\t' | '\n' | '\r' => out.push(' '),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            other => out.push(other),
        }
    }
    out
}

/// A text with every `10^n` raised.
fn raised(text: &str, size: f64) -> String {
    let Some(at) = text.find("10^") else { return escaped(text) };
    let rest = &text[at + 3..];
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '-').unwrap_or(rest.len());
    let (exponent, after) = rest.split_at(end);
    let (up, small) = (Digits(0.36 * size), Digits(0.74 * size));
    let mut out = escaped(&text[..at + 2]);
    let _ = write!(out, "<tspan dy=\"-{up}\" font-size=\"{small}\">{}</tspan>", exponent.replace('-', "−"));
    if !after.is_empty() {
        let _ = write!(out, "<tspan dy=\"{up}\">{}</tspan>", escaped(after));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_break_the_file() {
        assert_eq!(escaped("a<b> & \"c\"\n\u{1}"), "a&lt;b&gt; &amp; &quot;c&quot; \u{fffd}");
        assert_eq!(raised("< 10^-3 nats", 10.0).matches("<tspan").count(), 2);
        assert!(raised("10^-3", 10.0).contains(">−3<"));
        let mut canvas = Canvas::new("", "");
        canvas.line((f64::NAN, f64::INFINITY), (1.0 / 3.0, -0.0), palette::INK, 1.0);
        assert!(canvas.body.contains("x1=\"0\" y1=\"0\" x2=\"0.33\" y2=\"0\""), "{}", canvas.body);
    }

    #[test]
    fn tints_go_to_white() {
        let blue = palette::COLORS[0];
        assert_eq!((blue.tint(1.0), blue.tint(0.0)), (blue, palette::PAPER));
        assert!(blue.is_dark() && !blue.tint(0.3).is_dark());
    }
}
