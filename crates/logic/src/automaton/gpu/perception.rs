//! The WGSL of perception circuits, unrolled: their layers are few and narrow, and what an invocation's
//! units need from memory is asked for early and kept in registers.
//!
//! Invariant: names `w`, `c` and `n` are followed by the layer and the round of the unit they belong to.

use std::fmt::Write;

use super::super::topology::Topology;
use super::plan::{Plan, Rows};

/// One layer of the perception circuits.
struct Layer {
    /// Its number, counted from 0.
    number: usize,
    /// Its first gate.
    first: usize,
    gates: usize,
    /// First row of the values it reads; `None`: the neighbourhood.
    inputs: Option<usize>,
    /// Rows of its values and of the gradients at them; `None`: inputs of the update circuit.
    outputs: Option<(usize, usize)>,
}

/// The perception circuits of a topology as a plan cuts them.
pub struct Perception {
    layers: Vec<Layer>,
    span: usize,
    invocations: usize,
}

impl Perception {
    pub fn new(topology: &Topology, plan: &Plan) -> Perception {
        let rows = Rows::new(&topology.perception);
        let widths = &topology.perception[1..];
        let layer = |(number, &gates): (usize, &usize)| Layer {
            number,
            first: widths[..number].iter().sum(),
            gates,
            inputs: number.checked_sub(1).map(|before| rows.values[before]),
            outputs: rows.values.get(number).map(|&values| (values, rows.gradients[number])),
        };
        let layers = widths.iter().enumerate().map(layer).collect();
        Perception { layers, span: topology.kernels * plan.block, invocations: plan.invocations }
    }

    /// Where the gradient at the neighbourhood is interrupted by that of the first layer, and for how long.
    pub fn gap(&self) -> (usize, usize) {
        let first = &self.layers[0];
        match first.outputs {
            Some((_, gradients)) => (gradients * self.span, first.gates * self.span),
            None => (9 * self.span, 0),
        }
    }

    fn hidden(&self) -> &[Layer] {
        &self.layers[..self.layers.len() - 1]
    }

    fn last(&self) -> &Layer {
        &self.layers[self.layers.len() - 1]
    }

    /// Every unit that an invocation may have in a layer, as an expression.
    fn units(&self, layer: &Layer) -> impl Iterator<Item = (String, String)> {
        let rounds = (layer.gates * self.span).div_ceil(self.invocations);
        let (number, step) = (layer.number, self.invocations);
        (0..rounds).map(move |round| (format!("{number}_{round}"), format!("lane + {}u", round * step)))
    }

    fn all_units(&self) -> impl Iterator<Item = (&Layer, String, String)> {
        self.layers.iter().flat_map(|layer| self.units(layer).map(move |(name, unit)| (layer, name, unit)))
    }

    /// Both operands of a unit's gate, or of one whose wire has another name.
    fn operands(&self, layer: &Layer, wire: &str) -> [String; 2] {
        [format!("{wire} & 0xffffu"), format!("{wire} >> 16u")].map(|number| match layer.inputs {
            None => format!("seen_at(t, {number})"),
            Some(row) => format!("value_at(VALUES + {}u, t, {number})", row * self.span),
        })
    }

    /// The region of the forward half.
    pub fn forward(&self) -> String {
        let mut text = String::from("// What an invocation's units need from memory.\nstruct Units {\n");
        for (_, name, _) in self.all_units() {
            let _ = writeln!(text, "    w{name}: u32, c{name}: vec4<f32>,");
        }
        text += "}\n\nfn units(seed: u32, lane: u32) -> Units {\n    var u: Units;\n";
        for (layer, name, unit) in self.all_units() {
            let gates = format!("seed, {unit}, {}u, {}u", layer.first, layer.gates);
            let _ = writeln!(text, "    u.w{name} = unit_wire({gates});");
            let _ = writeln!(text, "    u.c{name} = coefficients[unit_gate({gates})];");
        }
        text += "    return u;\n}\n\n\
                 // All layers but the last of the perception circuits, on channels whose neighbourhood is loaded.\n\
                 fn perceive_hidden(u: Units, lane: u32) {\n";
        for layer in self.hidden() {
            for (name, unit) in self.units(layer) {
                text += &self.guard(layer, &unit, false);
                let row = layer.outputs.map_or(0, |outputs| outputs.0);
                let _ = writeln!(
                    text,
                    "        put(VALUES + {}u + t, {});\n    }}",
                    row * self.span,
                    self.value(layer, &name)
                );
            }
            text += "    meet();\n";
        }
        text += "}\n\n\
                 // The last layer, into the update circuit's inputs.\n\
                 fn perceive_last(u: Units, lane: u32, first: u32) {\n";
        for (name, unit) in self.units(self.last()) {
            text += &self.guard(self.last(), &unit, true);
            let _ = writeln!(text, "        put(input_at(t, first), {});\n    }}", self.value(self.last(), &name));
        }
        text + "}\n"
    }

    /// The head of a block for a unit if it exists.
    fn guard(&self, layer: &Layer, unit: &str, in_block: bool) -> String {
        let checked = if in_block { format!(" && in_block({unit}, first)") } else { String::new() };
        format!("    if {unit} < {}u{checked} {{\n        let t = {unit};\n", layer.gates * self.span)
    }

    fn value(&self, layer: &Layer, name: &str) -> String {
        let [a, b] = self.operands(layer, &format!("u.w{name}"));
        format!("evaluate(u.c{name}, fetch({a}), fetch({b}))")
    }

    /// The region of the backward half.
    pub fn backward(&self) -> String {
        let mut text = String::from("// Sums of an invocation's units so far.\nstruct Noted {\n");
        for (_, name, _) in self.all_units() {
            let _ = writeln!(text, "    n{name}: vec4<f32>,");
        }
        text += "}\n\nfn noted_so_far(lane: u32, sums: u32, first: u32, fresh: bool) -> Noted {\n    \
                 var noted: Noted;\n    if fresh { return noted; }\n";
        for (layer, name, unit) in self.all_units() {
            let _ = writeln!(text, "    noted.n{name} = partials[{}];", sums_of(layer, &unit));
        }
        text += "    return noted;\n}\n\n\
                 fn write_down(lane: u32, sums: u32, first: u32, noted: ptr<function, Noted>) {\n";
        for (layer, name, unit) in self.all_units() {
            text += &self.guard(layer, &unit, true);
            let _ = writeln!(text, "        partials[{}] = (*noted).n{name};\n    }}", sums_of(layer, "t"));
        }
        text += "}\n\n\
                 // The sums of the last layer's gates.\n\
                 fn last_back(u: Units, lane: u32, first: u32, noted: ptr<function, Noted>) {\n";
        for (name, unit) in self.units(self.last()) {
            text += &self.guard(self.last(), &unit, true);
            text += "        let g = fetch(input_at(t, first));\n";
            text += &self.noting(self.last(), &name);
        }
        text += "}\n\n";
        for layer in self.layers.iter().rev() {
            text += &self.gradient(layer);
        }
        text + &self.block_back()
    }

    fn noting(&self, layer: &Layer, name: &str) -> String {
        let [a, b] = self.operands(layer, &format!("u.w{name}"));
        format!("        (*noted).n{name} += gate_sums(g, fetch({a}), fetch({b}));\n    }}\n")
    }

    /// The function for gradients at what a layer reads.
    fn gradient(&self, layer: &Layer) -> String {
        let number = layer.number;
        let mut text = format!(
            "// The gradient at value t / SPAN of layer {number}.\n\
             fn gradient_{number}(seed: u32, t: u32, first: u32) -> Lanes {{\n    \
             let gate = unit_gate(seed, t % SPAN, {}u, {}u);\n    var g = Lanes(0.0);\n",
            layer.first, layer.gates
        );
        for i in 0..layer.gates {
            let _ = writeln!(text, "    let w{i} = wires[seed * WIRES + {}u];", layer.first + i);
        }
        for i in 0..layer.gates {
            let upstream = match layer.outputs {
                None => format!("input_at(t % SPAN + {i}u * SPAN, first)"),
                Some((_, row)) => format!("value_at(VALUES + {}u, t, {i}u)", row * self.span),
            };
            let [a, b] = self.operands(layer, &format!("w{i}"));
            let _ = writeln!(text, "    g = read_by(g, t / SPAN, w{i}, gate + {i}u, {upstream}, {a}, {b});");
        }
        text + "    return g;\n}\n\n"
    }

    fn block_back(&self) -> String {
        let mut text = String::from(
            "// Gradients at all layers of the perception circuits, down to the neighbourhood's.\n\
             fn block_back(seed: u32, u: Units, lane: u32, first: u32, noted: ptr<function, Noted>) {\n    \
             last_back(u, lane, first, noted);\n",
        );
        for layer in self.hidden().iter().rev() {
            let row = layer.outputs.map_or(0, |outputs| outputs.1);
            for (name, unit) in self.units(layer) {
                text += &self.guard(layer, &unit, true);
                let _ = write!(
                    text,
                    "        let g = gradient_{}(seed, t, first);\n        put(VALUES + {}u + t, g);\n{}",
                    layer.number + 1,
                    row * self.span,
                    self.noting(layer, &name)
                );
            }
            text += "    meet();\n";
        }
        text + "    for (var t = lane; t < 9u * SPAN; t += INVOCATIONS) {\n        \
                if in_block(t, first) { put(slope_at(t), gradient_0(seed, t, first)); }\n    }\n    meet();\n}\n"
    }
}

fn sums_of(layer: &Layer, unit: &str) -> String {
    format!("unit_sums(sums, {unit}, first, {}u, {}u)", layer.first, layer.gates)
}
