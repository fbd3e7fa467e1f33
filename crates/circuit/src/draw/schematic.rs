//! A small circuit with all its gates and wires.

use std::fmt::Write;

use farad_chart::{Anchor, Canvas, Color, palette, text_width};

use super::layout::{DrawingLayout, UNIT};
use super::parts::{DrawnPart, DrawnParts, DrawnSignal};
use super::route::{Channel, RoutedWire, TRACK, channels};
use super::symbol::{self, Family};
use super::terminal::Terminals;
use crate::gate::Gate;
use crate::netlist::Netlist;

/// The distance between a column and the first and last track.
const ROOM: f64 = 10.0;
/// With more gates than this, wires are distinguished by colors.
const FEW: usize = 16;
/// Room for the bubble of a result.
const RESULT: f64 = 7.0;
/// How round corners are.
const CORNER: f64 = 3.5;

/// Everything that drawing needs to know.
pub struct Schematic<'a> {
    netlist: &'a Netlist,
    terminals: &'a Terminals<'a>,
    parts: &'a DrawnParts,
    layout: DrawingLayout,
    channels: Vec<Channel>,
    /// The left edge of every column.
    columns: Vec<f64>,
    /// How wide the drawing is.
    pub width: f64,
}

impl<'a> Schematic<'a> {
    /// Assigns positions to everything.
    pub fn of(netlist: &'a Netlist, terminals: &'a Terminals<'a>, parts: &'a DrawnParts) -> Schematic<'a> {
        let layout = DrawingLayout::of(parts);
        let channels = channels(parts, &layout);
        let sources = layout.columns[0].iter().map(|&place| terminals.source_width(parts.all[place].part));
        let mut x = palette::MARGIN + sources.fold(0.0, f64::max);
        let mut columns = vec![x];
        for channel in &channels[..channels.len() - 1] {
            x += 2.0 * ROOM + TRACK * channel.tracks.saturating_sub(1) as f64;
            columns.push(x);
            x += symbol::WIDTH + RESULT;
        }
        let roots = parts.all.iter().map(|part| terminals.root_width(part.part));
        let width = columns[columns.len() - 1] + roots.fold(0.0, f64::max) + palette::MARGIN;
        Schematic { netlist, terminals, parts, layout, channels, columns, width }
    }

    /// Draws it from this height on; returns where it ends.
    pub fn draw(&self, canvas: &mut Canvas, top: f64) -> f64 {
        canvas.open(&format!("transform=\"translate(0 {top:.1})\""));
        for (column, channel) in self.channels.iter().enumerate() {
            for wire in &channel.wires {
                self.wire(canvas, column, wire);
            }
        }
        self.passing(canvas);
        for (n, part) in self.parts.all.iter().enumerate() {
            let place = &self.layout.places[n];
            let at = (self.columns[place.column], place.y);
            match part.part {
                DrawnPart::Source(_) => self.terminals.source(canvas, part.part, at),
                DrawnPart::Root(_) => self.terminals.root(canvas, part.part, part.reads[0], at),
                DrawnPart::Gate(gate) => {
                    symbol::draw(canvas, self.netlist.gates[gate].gate, self.layout.swapped[n], at);
                    self.constants(canvas, n, at);
                }
            }
        }
        let families = self.families();
        let bubbles = self.gates().any(symbol::has_bubbles);
        let bottom = self.layout.height + 16.0;
        symbol::legend(canvas, &families, bubbles, (palette::MARGIN, bottom + 12.0));
        let at = (palette::MARGIN, bottom + 12.0 + if families.is_empty() { 0.0 } else { 26.0 });
        let lines = self.terminals.legend(canvas, at);
        canvas.close();
        top + at.1 + 18.0 * lines + 6.0
    }

    fn gates(&self) -> impl Iterator<Item = Gate> + '_ {
        self.parts.all.iter().filter_map(|part| match part.part {
            DrawnPart::Gate(gate) => Some(self.netlist.gates[gate].gate),
            _ => None,
        })
    }

    fn families(&self) -> Vec<Family> {
        Family::ALL
            .into_iter()
            .filter(|&family| self.gates().any(|gate| Family::of(gate) == family))
            .collect()
    }

    fn color(&self, part: usize) -> Color {
        if self.parts.gates <= FEW { palette::FAINT_INK } else { palette::color(part) }
    }

    /// Where the wire that leaves a place of this column begins.
    fn start(&self, column: usize, part: usize, passes: bool) -> f64 {
        match self.parts.all[part].part {
            _ if passes => self.columns[column] + symbol::WIDTH,
            DrawnPart::Gate(gate) => {
                self.columns[column] + symbol::result_start(self.netlist.gates[gate].gate)
            }
            _ => self.columns[column],
        }
    }

    /// Where a wire that reaches a place ends.
    fn end(&self, place: usize, y: f64) -> f64 {
        let at = &self.layout.places[place];
        let left = self.columns[at.column];
        match self.parts.all[at.part].part {
            DrawnPart::Gate(gate) if !at.passes => {
                let upper = y < at.y;
                let operand = usize::from(upper == self.layout.swapped[at.part]);
                left + symbol::pin_end(self.netlist.gates[gate].gate, operand)
            }
            _ => left,
        }
    }

    fn wire(&self, canvas: &mut Canvas, column: usize, wire: &RoutedWire) {
        let passes = self.parts.all[wire.part].level != column;
        let (start, color) = (self.start(column, wire.part, passes), self.color(wire.part));
        let first = self.columns[column] + if column == 0 { 0.0 } else { symbol::WIDTH + RESULT };
        let track = first + ROOM + TRACK * wire.track.unwrap_or(0) as f64;
        let mut path = String::new();
        for &(y, place) in &wire.to {
            let end = self.end(place, y);
            let _ = match (wire.curved, (y - wire.from).abs() < 0.1) {
                (_, true) => write!(path, "M{start:.1} {y:.1}H{end:.1}"),
                (true, _) => {
                    let middle = (start + end) / 2.0;
                    write!(
                        path,
                        "M{start:.1} {:.1}C{middle:.1} {0:.1} {middle:.1} {y:.1} {end:.1} {y:.1}",
                        wire.from
                    )
                }
                (false, _) => {
                    let turn = if y > wire.from { CORNER.min(UNIT / 2.0) } else { -CORNER.min(UNIT / 2.0) };
                    let (before, after) = (track - turn.abs(), track + turn.abs());
                    write!(
                        path,
                        "M{start:.1} {0:.1}H{before:.1}Q{track:.1} {0:.1} {track:.1} {1:.1}V{2:.1}Q{track:.1} {y:.1} {after:.1} {y:.1}H{end:.1}",
                        wire.from,
                        wire.from + turn,
                        y - turn
                    )
                }
            };
        }
        canvas.path(&path, &format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"1.3\""));
        if wire.curved && wire.to.len() > 1 {
            canvas.circle((start + 4.0, wire.from), 2.4, color);
        } else if !wire.curved {
            self.dots(canvas, wire, track, color);
        }
    }

    /// Dots where a wire branches.
    fn dots(&self, canvas: &mut Canvas, wire: &RoutedWire, track: f64, color: Color) {
        let (low, high) = wire.span();
        let mut heights: Vec<f64> = wire.to.iter().map(|to| to.0).chain([wire.from]).collect();
        heights.sort_by(f64::total_cmp);
        heights.dedup();
        for y in heights {
            let ways = usize::from(y == wire.from)
                + wire.to.iter().filter(|to| to.0 == y).count()
                + usize::from(y > low)
                + usize::from(y < high);
            if ways > 2 {
                canvas.circle((track, y), 2.4, color);
            }
        }
    }

    /// Wires that pass a column.
    fn passing(&self, canvas: &mut Canvas) {
        for place in self.layout.places.iter().filter(|place| place.passes) {
            let left = self.columns[place.column];
            canvas.line((left, place.y), (left + symbol::WIDTH, place.y), self.color(place.part), 1.3);
        }
    }

    /// Bits at the pins of a gate that reads constants.
    fn constants(&self, canvas: &mut Canvas, part: usize, (x, y): (f64, f64)) {
        let DrawnPart::Gate(gate) = self.parts.all[part].part else { return };
        let reads = &self.parts.all[part].reads;
        for (operand, signal) in reads.iter().enumerate() {
            let DrawnSignal::Constant(bit) = *signal else { continue };
            let upper = (operand == 0) != self.layout.swapped[part];
            let pin = if reads.len() < 2 {
                y
            } else if upper {
                y - super::layout::PIN
            } else {
                y + super::layout::PIN
            };
            let (end, text) =
                (x + symbol::pin_end(self.netlist.gates[gate].gate, operand), u8::from(bit).to_string());
            canvas.line((end - 5.0, pin), (end, pin), palette::FAINT_INK, 1.3);
            let at = (end - 6.0 - text_width(&text, palette::SMALL) / 4.0, pin + 4.0);
            canvas.text(at, &text, palette::SMALL, palette::INK, Anchor::End);
        }
    }
}
