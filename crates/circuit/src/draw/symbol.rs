//! The symbols of gates: one shape per family, with a bubble wherever a bit is inverted.

use farad_chart::{Anchor, Canvas, Color, palette};

use super::layout::PIN;
use crate::gate::Gate;

/// A gate's width, without bubbles.
pub const WIDTH: f64 = 34.0;
/// Its height.
pub const HEIGHT: f64 = 27.0;
/// A bubble's radius.
const BUBBLE: f64 = 3.2;

/// Families of gates that share a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// And, with any bits inverted.
    And,
    /// Or, with any bits inverted.
    Or,
    /// Exclusive or, and its inverse.
    Xor,
    /// Not.
    Not,
}

impl Family {
    /// All, in the order of legends.
    pub const ALL: [Family; 4] = [Family::And, Family::Or, Family::Xor, Family::Not];

    /// The family of an active gate.
    pub fn of(gate: Gate) -> Family {
        match gate {
            Gate::XOR | Gate::XNOR => Family::Xor,
            Gate::NOT_A | Gate::NOT_B => Family::Not,
            Gate::OR | Gate::NOR | Gate::A_OR_NOT_B | Gate::NOT_A_OR_B => Family::Or,
            _ => Family::And,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Family::And => "and",
            Family::Or => "or",
            Family::Xor => "exclusive or",
            Family::Not => "not",
        }
    }

    /// The index of its color.
    pub const fn color(self) -> usize {
        match self {
            Family::And => 0,
            Family::Or => 2,
            Family::Xor => 1,
            Family::Not => 6,
        }
    }
}

/// Which of two operands and the result are inverted.
fn inverted(gate: Gate) -> ([bool; 2], bool) {
    match gate {
        Gate::A_AND_NOT_B | Gate::A_OR_NOT_B => ([false, true], false),
        Gate::NOT_A_AND_B | Gate::NOT_A_OR_B => ([true, false], false),
        Gate::NAND | Gate::NOR | Gate::XNOR | Gate::NOT_A | Gate::NOT_B => ([false, false], true),
        _ => ([false, false], false),
    }
}

/// Draws a gate with its left edge at `x` and its middle at `y`. If `swapped`, its second operand is the upper
/// one.
pub fn draw(canvas: &mut Canvas, gate: Gate, swapped: bool, (x, y): (f64, f64)) {
    let family = Family::of(gate);
    let color = palette::color(family.color());
    canvas.open_named(&gate.name().replace('_', " "));
    canvas.path(&outline(family, x, y), &style(color, 0.16));
    if family == Family::Xor {
        let (top, bottom) = (y - HEIGHT / 2.0, y + HEIGHT / 2.0);
        let back = format!("M{:.1} {top:.1}Q{:.1} {y:.1} {:.1} {bottom:.1}", x - 4.0, x + 6.0, x - 4.0);
        canvas.path(&back, &format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"1.6\""));
    }
    let ([a, b], result) = inverted(gate);
    let pins = if swapped { [b, a] } else { [a, b] };
    for (bubble, pin) in pins.into_iter().zip([-PIN, PIN]) {
        if bubble {
            circle(canvas, (x + inset(family) - BUBBLE, y + pin), color);
        }
    }
    if result {
        circle(canvas, (x + WIDTH + BUBBLE, y), color);
    }
    canvas.close();
}

/// The distance of a family's pins from the left edge.
fn inset(family: Family) -> f64 {
    match family {
        Family::Or => 3.0,
        Family::Xor => -1.0,
        _ => 0.0,
    }
}

/// Where the wire of an operand ends, relative to the left edge: before the bubble if there is one.
pub fn pin_end(gate: Gate, operand: usize) -> f64 {
    let bubble = operand < 2 && inverted(gate).0[operand];
    inset(Family::of(gate)) - if bubble { 2.0 * BUBBLE } else { 0.0 }
}

/// Where the wire of the result begins, relative to the left edge.
pub fn result_start(gate: Gate) -> f64 {
    WIDTH + if inverted(gate).1 { 2.0 * BUBBLE } else { 0.0 }
}

fn style(color: Color, share: f64) -> String {
    let fill = color.tint(share);
    format!("fill=\"{fill}\" stroke=\"{color}\" stroke-width=\"1.6\" stroke-linejoin=\"round\"")
}

fn circle(canvas: &mut Canvas, (x, y): (f64, f64), color: Color) {
    let fill = palette::PAPER;
    canvas.raw(&format!(
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{BUBBLE}\" fill=\"{fill}\" stroke=\"{color}\" stroke-width=\"1.5\"/>"
    ));
}

fn outline(family: Family, x: f64, y: f64) -> String {
    let (top, bottom, right) = (y - HEIGHT / 2.0, y + HEIGHT / 2.0, x + WIDTH);
    let radius = HEIGHT / 2.0;
    match family {
        Family::And => {
            let turn = right - radius;
            format!("M{x:.1} {top:.1}H{turn:.1}A{radius:.1} {radius:.1} 0 0 1 {turn:.1} {bottom:.1}H{x:.1}Z")
        }
        Family::Or | Family::Xor => {
            let (back, bend) = (x + 10.0, x + 0.62 * WIDTH);
            format!(
                "M{x:.1} {top:.1}Q{bend:.1} {top:.1} {right:.1} {y:.1}Q{bend:.1} {bottom:.1} {x:.1} {bottom:.1}Q{back:.1} {y:.1} {x:.1} {top:.1}Z"
            )
        }
        Family::Not => {
            let (top, bottom) = (y - 10.0, y + 10.0);
            format!("M{x:.1} {top:.1}L{right:.1} {y:.1}L{x:.1} {bottom:.1}Z")
        }
    }
}

/// Draws the given families with their names, in one line.
pub fn legend(canvas: &mut Canvas, families: &[Family], bubbles: bool, (mut x, y): (f64, f64)) {
    let (size, ink) = (palette::SMALL, palette::FAINT_INK);
    for &family in families {
        let gate = match family {
            Family::And => Gate::AND,
            Family::Or => Gate::OR,
            Family::Xor => Gate::XOR,
            Family::Not => Gate::NOT_A,
        };
        canvas.open(&format!("transform=\"translate({x:.1} {:.1}) scale(0.7)\"", y - 4.0));
        draw(canvas, gate, false, (0.0, 0.0));
        canvas.close();
        canvas.text((x + 34.0, y), family.name(), size, ink, Anchor::Start);
        x += 34.0 + farad_chart::text_width(family.name(), size) + 14.0;
    }
    if bubbles {
        circle(canvas, (x + 4.0, y - 4.0), ink);
        canvas.text((x + 13.0, y), "inverted", size, ink, Anchor::Start);
    }
}

/// Whether a gate has a bubble in addition to its family's plain symbol.
pub fn has_bubbles(gate: Gate) -> bool {
    let (operands, result) = inverted(gate);
    operands != [false, false] || result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_bubbles_mean_the_gate() {
        for gate in Gate::ALL.into_iter().filter(|gate| gate.is_active()) {
            let ([not_a, not_b], not) = inverted(gate);
            for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
                let (x, y) = (a != not_a, b != not_b);
                let drawn = match Family::of(gate) {
                    Family::And => x && y,
                    Family::Or => x || y,
                    Family::Xor => x != y,
                    Family::Not if gate == Gate::NOT_A => a,
                    Family::Not => b,
                };
                assert_eq!(drawn != not, gate.output(a, b), "{}", gate.name());
            }
        }
    }
}
