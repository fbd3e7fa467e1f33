//! The ends of wires: inputs on the left, outputs on the right.
//!
//! An input of an automaton's cell is drawn as the 3×3 neighborhood, with the cell that it reads filled.

use farad_chart::{Anchor, Canvas, fitted, palette, text_width};

use super::parts::{DrawnPart, DrawnSignal};
use crate::automaton::Automaton;
use crate::netlist::Netlist;

/// A square of a neighborhood.
const SQUARE: f64 = 8.0;
/// The length of wires from names to the first column.
const LEAD: f64 = 8.0;
const LONGEST_NAME: f64 = 200.0;

/// Names and symbols of the ends.
pub struct Terminals<'a> {
    netlist: &'a Netlist,
    automaton: Option<&'a Automaton>,
}

impl<'a> Terminals<'a> {
    /// For a netlist, or for the cell of an automaton.
    pub fn of(netlist: &'a Netlist, automaton: Option<&'a Automaton>) -> Terminals<'a> {
        Terminals { netlist, automaton }
    }

    /// The netlist whose ends they are.
    pub fn netlist(&self) -> &'a Netlist {
        self.netlist
    }

    /// The neighbor and the channel of an input, if it is one of a cell.
    fn neighbor(&self, wire: usize) -> Option<(usize, usize)> {
        let channels = self.automaton?.channels;
        Some((wire / channels, wire % channels)).filter(|(position, _)| *position < 9)
    }

    fn source_name(&self, wire: usize) -> String {
        let inputs = self.netlist.inputs.len();
        let name = match self.neighbor(wire) {
            Some((_, channel)) => self.netlist.outputs[channel].name.clone(),
            None if wire < inputs => self.netlist.inputs[wire].clone(),
            None => self.netlist.registers[wire - inputs].name.clone(),
        };
        fitted(&name, palette::TEXT, LONGEST_NAME)
    }

    fn root_name(&self, root: usize) -> String {
        let name = match root.checked_sub(self.netlist.outputs.len()) {
            Some(register) => format!("next {}", self.netlist.registers[register].name),
            None => {
                let name = &self.netlist.outputs[root].name;
                match self.automaton {
                    Some(automaton) if automaton.visible.contains(&root) => format!("next {name}, visible"),
                    Some(_) => format!("next {name}"),
                    None => name.clone(),
                }
            }
        };
        fitted(&name, palette::TEXT, LONGEST_NAME)
    }

    /// The width of an input.
    pub fn source_width(&self, part: DrawnPart) -> f64 {
        let DrawnPart::Source(wire) = part else { return 0.0 };
        let symbol = if self.neighbor(wire).is_some() { 3.0 * SQUARE + 6.0 } else { 6.0 };
        text_width(&self.source_name(wire), palette::TEXT) + symbol + LEAD
    }

    /// The width of an output.
    pub fn root_width(&self, part: DrawnPart) -> f64 {
        let DrawnPart::Root(root) = part else { return 0.0 };
        text_width(&self.root_name(root), palette::TEXT) + 42.0
    }

    /// Draws an input that ends at a point.
    pub fn source(&self, canvas: &mut Canvas, part: DrawnPart, (x, y): (f64, f64)) {
        let DrawnPart::Source(wire) = part else { return };
        canvas.line((x - LEAD, y), (x, y), palette::FAINT_INK, 1.3);
        let name = self.source_name(wire);
        let Some((position, _)) = self.neighbor(wire) else {
            canvas.circle((x - LEAD, y), 2.6, palette::INK);
            return canvas.text((x - LEAD - 7.0, y + 4.5), &name, palette::TEXT, palette::INK, Anchor::End);
        };
        let left = x - LEAD - 3.0 * SQUARE;
        canvas.open_named(&format!("{} of the cell {}", name, DIRECTIONS[position]));
        neighborhood(canvas, (left, y - 1.5 * SQUARE), Some(position));
        canvas.close();
        canvas.text((left - 6.0, y + 4.5), &name, palette::TEXT, palette::INK, Anchor::End);
    }

    /// Draws an output that begins at a point.
    pub fn root(&self, canvas: &mut Canvas, part: DrawnPart, reads: DrawnSignal, (x, y): (f64, f64)) {
        let DrawnPart::Root(root) = part else { return };
        let mut name = self.root_name(root);
        if let DrawnSignal::Constant(bit) = reads {
            // A constant is not a gate and needs no wire.
            name = format!("{name} = {}", u8::from(bit));
        } else {
            canvas.line((x, y), (x + 8.0, y), palette::FAINT_INK, 1.3);
            canvas.polygon(&[(x + 8.0, y - 4.0), (x + 16.0, y), (x + 8.0, y + 4.0)], palette::INK, 1.0);
        }
        canvas.text((x + 21.0, y + 4.5), &name, palette::TEXT, palette::INK, Anchor::Start);
    }

    /// Explains the symbols of inputs; returns how many lines that takes.
    pub fn legend(&self, canvas: &mut Canvas, (x, y): (f64, f64)) -> f64 {
        if self.automaton.is_none() {
            return 0.0;
        }
        neighborhood(canvas, (x, y - 4.0 - 1.5 * SQUARE), None);
        for (line, text) in LEGEND.iter().enumerate() {
            let at = (x + 3.0 * SQUARE + 9.0, y + 16.0 * line as f64);
            canvas.text(at, text, palette::SMALL, palette::FAINT_INK, Anchor::Start);
        }
        2.2
    }
}

/// What the picture of a neighborhood means; each line is narrower than the narrowest drawing.
const LEGEND: [&str; 2] = [
    "the neighborhood of a cell: the filled square is the cell that is read,",
    "the ringed one the cell itself",
];

const DIRECTIONS: [&str; 9] = [
    "above left",
    "above",
    "above right",
    "to the left",
    "itself",
    "to the right",
    "below left",
    "below",
    "below right",
];

/// Nine squares, one of them filled, the middle one ringed.
fn neighborhood(canvas: &mut Canvas, (left, top): (f64, f64), filled: Option<usize>) {
    let square = |n: usize| (left + (n % 3) as f64 * SQUARE, top + (n / 3) as f64 * SQUARE);
    canvas.rectangle((left, top), (3.0 * SQUARE, 3.0 * SQUARE), palette::PAPER);
    if let Some(n) = filled {
        canvas.rectangle(square(n), (SQUARE, SQUARE), palette::INK);
    }
    for line in 0..=3 {
        let at = f64::from(line) * SQUARE;
        canvas.line((left + at, top), (left + at, top + 3.0 * SQUARE), palette::AXIS, 0.75);
        canvas.line((left, top + at), (left + 3.0 * SQUARE, top + at), palette::AXIS, 0.75);
    }
    let (x, y) = square(4);
    canvas.outline((x, y), (SQUARE, SQUARE), palette::WRONG, 1.5);
}
