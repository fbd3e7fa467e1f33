//! Netlists as SVG drawings: gates by level from left to right.
//!
//! Invariant: the gates drawn are those that [`Statistics`](crate::Statistics) counts as active and live, and equal circuits give equal bytes. Small
//! circuits are drawn gate by gate ([`schematic`]), large ones level by level ([`overview`]), so that time and file stay
//! small. Start at [`Drawing`].

mod layout;
mod overview;
mod parts;
mod route;
mod schematic;
mod symbol;
mod terminal;

use farad_chart::{Anchor, Canvas, count, counted, fitted, palette, text_width};

use crate::automaton::Automaton;
use crate::netlist::Netlist;
use layout::DrawingLayout;
use parts::DrawnParts;
use schematic::Schematic;
use terminal::Terminals;

/// With more gates than this, gates are not drawn one by one.
const MOST_GATES: usize = 60;
/// Most places that wires may need in a drawing gate by gate.
const MOST_PLACES: usize = 900;

/// The width that the legend needs.
const NARROWEST: f64 = 560.0;

/// A picture of circuits, one below the other.
///
/// ```
/// use farad_circuit::{Drawing, Gate, Netlist};
/// let mut netlist = Netlist::new("half adder");
/// let (a, b) = (netlist.input("a"), netlist.input("b"));
/// let (sum, carry) = (netlist.gate(Gate::XOR, a, b), netlist.gate(Gate::AND, a, b));
/// netlist.output("sum", sum);
/// netlist.output("carry", carry);
/// let svg = Drawing::new("Circuit").netlist("half adder", &netlist).svg();
/// assert!(svg.contains("2 gates, depth 1"));
/// ```
pub struct Drawing<'a> {
    title: String,
    about: String,
    panels: Vec<(String, &'a Netlist, Option<&'a Automaton>)>,
}

impl<'a> Drawing<'a> {
    /// An empty picture with a title.
    pub fn new(title: &str) -> Drawing<'a> {
        Drawing { title: title.into(), about: String::new(), panels: Vec::new() }
    }

    /// A line below the title: which run it is, or what the picture shows.
    pub fn about(mut self, about: &str) -> Drawing<'a> {
        self.about = about.into();
        self
    }

    /// Adds a netlist.
    pub fn netlist(mut self, title: &str, netlist: &'a Netlist) -> Drawing<'a> {
        self.panels.push((title.into(), netlist, None));
        self
    }

    /// Adds the cell of an automaton; its inputs are drawn as neighborhoods.
    pub fn automaton(mut self, title: &str, automaton: &'a Automaton) -> Drawing<'a> {
        self.panels.push((title.into(), &automaton.cell, Some(automaton)));
        self
    }

    /// The text of an SVG file.
    pub fn svg(&self) -> String {
        let parts: Vec<DrawnParts> =
            self.panels.iter().map(|(_, netlist, _)| DrawnParts::of(netlist)).collect();
        let captions = self.panels.iter().zip(&parts);
        let captions =
            captions.map(|((title, netlist, _), parts)| format!("{title}: {}", caption(netlist, parts)));
        let description = format!("{} {}", self.about, captions.collect::<Vec<_>>().join("; "));
        let mut canvas = Canvas::new(&self.title, &description);
        let (mut y, mut width) = self.heading(&mut canvas);
        for ((title, netlist, automaton), parts) in self.panels.iter().zip(&parts) {
            let wide;
            (y, wide) = match parts.gates > MOST_GATES || DrawingLayout::cost(parts) > MOST_PLACES {
                true => (overview::draw(&mut canvas, title, netlist, parts, y + 4.0) - 10.0, palette::WIDTH),
                false => panel(&mut canvas, title, &Terminals::of(netlist, *automaton), parts, y + 38.0),
            };
            width = width.max(wide);
        }
        canvas.svg(width, y + palette::MARGIN)
    }

    /// The title and the line below it; returns their height and width.
    fn heading(&self, canvas: &mut Canvas) -> (f64, f64) {
        let (left, room) = (palette::MARGIN, palette::WIDTH - 2.0 * palette::MARGIN);
        let mut y = palette::MARGIN + 14.0;
        let title = fitted(&self.title, palette::TITLE, room);
        canvas.bold((left, y), &title, palette::TITLE, palette::INK, Anchor::Start);
        if !self.about.is_empty() {
            y += 20.0;
            let about = fitted(&self.about, palette::TEXT, room);
            canvas.text((left, y), &about, palette::TEXT, palette::FAINT_INK, Anchor::Start);
        }
        (y, (text_width(&self.about, palette::TEXT).min(room) + 2.0 * left).max(NARROWEST))
    }
}

/// Draws a small circuit with its title at this height; returns where it ends and how wide it is.
fn panel(canvas: &mut Canvas, title: &str, terminals: &Terminals, parts: &DrawnParts, y: f64) -> (f64, f64) {
    let (left, caption) = (palette::MARGIN, caption(terminals.netlist(), parts));
    canvas.bold((left, y), title, palette::TEXT + 1.0, palette::INK, Anchor::Start);
    let after = left + text_width(title, palette::TEXT + 2.0) + 8.0;
    canvas.text((after, y), &caption, palette::TEXT, palette::FAINT_INK, Anchor::Start);
    let schematic = Schematic::of(terminals.netlist(), terminals, parts);
    let width = (after + text_width(&caption, palette::TEXT) + left).max(schematic.width);
    (schematic.draw(canvas, y + 14.0), width)
}

/// The size of a circuit, in words.
fn caption(netlist: &Netlist, parts: &DrawnParts) -> String {
    let of = netlist.sources();
    let inputs = match parts.sources == of {
        true => counted(of, "input"),
        false => format!("reads {} of {}", count(parts.sources), counted(of, "input")),
    };
    format!("{}, depth {}, {inputs}", counted(parts.gates, "gate"), count(parts.depth))
}
