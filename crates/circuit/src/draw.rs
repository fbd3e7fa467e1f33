//! Netlists as pictures: gates by level from left to right, in SVG.

use std::fmt::Write;

use crate::gate::Gate;
use crate::netlist::Netlist;

const WIDTH: f64 = 960.0;
const PANEL: f64 = 420.0;
const MARGIN: f64 = 36.0;

/// Draws netlists one below the other, each with a title. Only what outputs or registers depend on
/// is shown, copies are drawn as the wires that they are.
pub fn draw(netlists: &[(&str, &Netlist)]) -> String {
    let height = PANEL * netlists.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for (n, (title, netlist)) in netlists.iter().enumerate() {
        panel(&mut svg, title, netlist, PANEL * n as f64);
    }
    svg + "</svg>\n"
}

/// Where a wire is drawn.
type Point = (f64, f64);

fn panel(svg: &mut String, title: &str, netlist: &Netlist, top: f64) {
    let (live, levels, origins) = (netlist.live_wires(), netlist.levels(), origins(netlist));
    let drawn: Vec<usize> =
        (0..netlist.wires()).filter(|&wire| live[wire] && origins[wire] == wire).collect();
    let gates = drawn.iter().filter(|&&wire| wire >= netlist.sources()).count();
    let depth = drawn.iter().map(|&wire| levels[wire]).max().unwrap_or(0);
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{}\" fill=\"#222\">{}: {gates} gates, depth {depth}</text>",
        top + 24.0,
        escape(title)
    );
    let points = place(netlist, &drawn, &levels, depth, top);
    let radius = (160.0 / (gates as f64 + 1.0).sqrt()).clamp(2.0, 9.0);
    let faint = (12.0 / (gates as f64 + 1.0).sqrt()).clamp(0.15, 0.7);
    let _ = writeln!(svg, "<g stroke=\"#889\" stroke-opacity=\"{faint:.2}\" fill=\"none\">");
    for &wire in drawn.iter().filter(|&&wire| wire >= netlist.sources()) {
        let to = points[wire].expect("drawn");
        for operand in netlist.gates[wire - netlist.sources()].operands() {
            if let Some(from) = points[origins[operand.index()]] {
                let middle = (from.0 + to.0) / 2.0;
                let _ = writeln!(
                    svg,
                    "<path d=\"M{:.1} {:.1}C{middle:.1} {:.1} {middle:.1} {:.1} {:.1} {:.1}\"/>",
                    from.0, from.1, from.1, to.1, to.0, to.1
                );
            }
        }
    }
    *svg += "</g>\n";
    for &wire in &drawn {
        let Some((x, y)) = points[wire] else { continue };
        let name = match wire.checked_sub(netlist.sources()) {
            Some(gate) => netlist.gates[gate].gate.name(),
            None => "input",
        };
        let colour =
            wire.checked_sub(netlist.sources()).map_or("#333", |gate| colour(netlist.gates[gate].gate));
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{colour}\"><title>{name}</title></circle>"
        );
    }
    roots(svg, netlist, &points, &origins, radius);
}

/// Rings around what is seen from outside.
fn roots(svg: &mut String, netlist: &Netlist, points: &[Option<Point>], origins: &[usize], radius: f64) {
    for output in &netlist.outputs {
        if let Some((x, y)) = points[origins[output.wire.index()]] {
            let _ = writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"none\" stroke=\"#000\"><title>output {}</title></circle>",
                radius + 2.0,
                escape(&output.name)
            );
        }
    }
}

/// For every wire, the wire that it is a copy of, through any number of copies.
fn origins(netlist: &Netlist) -> Vec<usize> {
    let mut origins: Vec<usize> = (0..netlist.wires()).collect();
    for (n, node) in netlist.gates.iter().enumerate() {
        let copied = match node.gate {
            Gate::A => node.a,
            Gate::B => node.b,
            _ => continue,
        };
        origins[netlist.sources() + n] = origins[copied.index()];
    }
    origins
}

/// Levels become columns; within a column, wires keep their order.
fn place(netlist: &Netlist, drawn: &[usize], levels: &[u32], depth: u32, top: f64) -> Vec<Option<Point>> {
    let mut columns: Vec<Vec<usize>> = vec![vec![]; depth as usize + 1];
    for &wire in drawn {
        columns[levels[wire] as usize].push(wire);
    }
    let mut points = vec![None; netlist.wires()];
    for (level, column) in columns.iter().enumerate() {
        let x = MARGIN + (WIDTH - 2.0 * MARGIN) * level as f64 / f64::from(depth.max(1));
        for (row, &wire) in column.iter().enumerate() {
            let y = (PANEL - 2.0 * MARGIN - 10.0) * (row as f64 + 0.5) / column.len() as f64;
            points[wire] = Some((x, top + MARGIN + 10.0 + y));
        }
    }
    points
}

/// Gates of one family share a colour.
fn colour(gate: Gate) -> &'static str {
    match gate {
        Gate::XOR | Gate::XNOR => "#c2410c",
        Gate::AND | Gate::NAND | Gate::A_AND_NOT_B | Gate::NOT_A_AND_B => "#1d4ed8",
        Gate::OR | Gate::NOR | Gate::A_OR_NOT_B | Gate::NOT_A_OR_B => "#15803d",
        Gate::NOT_A | Gate::NOT_B => "#7e22ce",
        _ => "#777",
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_seen_is_drawn() {
        let mut netlist = Netlist::new("n");
        let (a, b) = (netlist.input("a"), netlist.input("b"));
        let both = netlist.gate(Gate::AND, a, b);
        let copy = netlist.gate(Gate::A, both, both);
        netlist.gate(Gate::XOR, a, b);
        netlist.output("y<1>", copy);
        let svg = draw(&[("before & after", &netlist)]);
        assert!(svg.contains("before &amp; after: 1 gates, depth 1"), "{svg}");
        assert!(svg.contains("output y&lt;1&gt;") && !svg.contains("<title>xor"), "{svg}");
        assert_eq!(svg.matches("<path").count(), 2);
    }
}
