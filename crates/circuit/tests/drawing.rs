//! Drawings show the circuit that they are given: every gate once, every wire, in a valid small file.

use std::time::Instant;

use farad_circuit::{Automaton, Drawing, Edge, Gate, Netlist, Statistics};

/// Gates in a layered circuit, the same every time.
fn layered(inputs: usize, layers: usize, width: usize) -> Netlist {
    let mut netlist = Netlist::new("layered");
    let mut before: Vec<_> = (0..inputs).map(|n| netlist.input(format!("x{n}"))).collect();
    let mut state = 1u32;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for _ in 0..layers {
        let gate = |draw: &mut dyn FnMut(usize) -> usize, netlist: &mut Netlist| {
            let (gate, a, b) = (Gate::ALL[draw(16)], before[draw(before.len())], before[draw(before.len())]);
            netlist.gate(gate, a, b)
        };
        before = (0..width).map(|_| gate(&mut draw, &mut netlist)).collect();
    }
    before.iter().enumerate().for_each(|(n, &wire)| netlist.output(format!("y{n}"), wire));
    netlist
}

/// The gate symbols, counted by their tooltips.
fn symbols(svg: &str) -> [usize; 16] {
    // The legend's symbols are in scaled groups.
    let mut counts = [0; 16];
    for (before, after) in
        svg.match_indices("<g><title>").map(|(at, tag)| (&svg[..at], &svg[at + tag.len()..]))
    {
        let legend = before.trim_end().ends_with("scale(0.7)\">");
        let name = after.split('<').next().unwrap_or_default().replace(' ', "_");
        if let Some(gate) = Gate::named(&name).filter(|_| !legend) {
            counts[gate.number() as usize] += 1;
        }
    }
    counts
}

#[test]
fn every_live_gate_is_drawn_once() {
    for (inputs, layers, width) in [(2, 1, 2), (4, 3, 6), (9, 5, 9)] {
        let netlist = layered(inputs, layers, width);
        let (statistics, svg) = (Statistics::of(&netlist), Drawing::new("c").netlist("n", &netlist).svg());
        let mut wanted = statistics.live_counts;
        for gate in Gate::ALL.into_iter().filter(|gate| !gate.is_active()) {
            wanted[gate.number() as usize] = 0;
        }
        assert_eq!(symbols(&svg), wanted);
        let gates = if statistics.active_live == 1 { "gate" } else { "gates" };
        let caption = format!("{} {gates}, depth {}", statistics.active_live, statistics.depth);
        assert!(svg.contains(&caption), "{caption}");
    }
}

#[test]
fn constants_and_copies_are_no_gates() {
    let mut netlist = Netlist::new("n");
    let (a, b) = (netlist.input("a"), netlist.input("b"));
    let held = netlist.register("held", true);
    let both = netlist.gate(Gate::NOT_A_AND_B, a, b);
    let copy = netlist.gate(Gate::A, both, both);
    let one = netlist.gate(Gate::TRUE, a, b);
    netlist.gate(Gate::XOR, a, b);
    netlist.output("y<1>", copy);
    netlist.output("always", one);
    netlist.set_next(0, held);
    let svg = Drawing::new("t & u").about("run 7").netlist("before", &netlist).svg();
    for text in ["t &amp; u", "run 7", "1 gate, depth 1, 3 inputs", "y&lt;1&gt;", "always = 1", "next held"] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    assert!(!svg.contains("<title>xor") && svg.contains("<title>not a and b"), "{svg}");
}

#[test]
fn inputs_of_automata_are_neighborhoods() {
    let mut cell = Netlist::new("cell");
    let inputs: Vec<_> = (0..18).map(|n| cell.input(format!("n{}_{}", n / 2, n % 2))).collect();
    let next = cell.gate(Gate::XOR, inputs[3], inputs[8]);
    cell.output("c0", next);
    cell.output("c7", inputs[17]);
    let automaton = Automaton { cell, channels: 2, visible: vec![0], edge: Edge::Zero, fire_rate: 1.0 };
    automaton.check().unwrap();
    let svg = Drawing::new("cell").automaton("simplified", &automaton).svg();
    for text in
        ["c7 of the cell above<", "c0 of the cell itself<", "c7 of the cell below right<", "next c0, visible"]
    {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    assert!(svg.contains("reads 3 of 18 inputs"));
}

#[test]
fn large_circuits_are_small_files() {
    let netlist = layered(64, 40, 500);
    let statistics = Statistics::of(&netlist);
    assert!(statistics.active_live > 2000, "{}", statistics.active_live);
    let start = Instant::now();
    let svg = Drawing::new("large").netlist("as learned", &netlist).svg();
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    assert!(svg.len() < 100_000, "{} bytes", svg.len());
    assert!(svg.contains("shown level by level") && svg.contains("signals read at this level or later"));
    assert!(svg == Drawing::new("large").netlist("as learned", &netlist).svg(), "the same bytes");
    // A chain is deep but has few gates; a circuit whose wires pass many levels is not drawn wire by wire.
    let mut chain = Netlist::new("chain");
    let inputs: Vec<_> = (0..59).map(|n| chain.input(format!("x{n}"))).collect();
    let last = inputs[1..].iter().fold(inputs[0], |wire, &input| chain.gate(Gate::AND, wire, input));
    chain.output("y", last);
    let svg = Drawing::new("chain").netlist("as learned", &chain).svg();
    assert!(svg.contains("58 gates, depth 58") && svg.len() < 300_000, "{} bytes", svg.len());
}

#[test]
fn nothing_is_a_drawing_too() {
    let mut netlist = Netlist::new("nothing");
    assert!(Drawing::new("empty").svg().ends_with("</svg>\n"));
    assert!(Drawing::new("empty").netlist("n", &netlist).svg().contains("0 gates, depth 0, 0 inputs"));
    let zero = netlist.gate(Gate::FALSE, farad_circuit::Wire::NONE, farad_circuit::Wire::NONE);
    netlist.output("y", zero);
    assert!(Drawing::new("empty").netlist("n", &netlist).svg().contains("y = 0"));
}
