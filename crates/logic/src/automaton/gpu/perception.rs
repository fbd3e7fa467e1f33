//! The WGSL of perception circuits, unrolled: their layers are few and narrow, and the loads of an invocation's
//! units are issued early and kept in registers.
//!
//! Invariant: the names `w`, `c` and `n` are followed by the layer and the round of their unit.

use std::fmt::Write;

use super::super::topology::Topology;
use super::plan::KernelPlan;

/// One layer of the perception circuits.
struct PerceptionLayer {
    /// Its number, counted from 0.
    number: usize,
    /// Its first gate.
    first: usize,
    gates: usize,
    /// First row of the values that it reads; `None` for the neighborhood.
    inputs: Option<usize>,
    /// First row of its values; `None` for inputs of the update circuit.
    outputs: Option<usize>,
}

/// One of an invocation's units in a layer.
struct PerceptionUnit {
    name: String,
    /// Its number, as an expression.
    number: String,
    /// Invocations that have it; `None` for all of them.
    left: Option<usize>,
}

/// The perception circuits of a topology, divided by a plan.
pub struct Perception {
    layers: Vec<PerceptionLayer>,
    span: usize,
    invocations: usize,
    /// Every block is full.
    even: bool,
    /// Whether sums are in private memory, because the update circuit's sums need the registers.
    aside: bool,
}

impl Perception {
    pub fn new(topology: &Topology, plan: &KernelPlan) -> Perception {
        let widths = &topology.perception[1..];
        let row = |number: usize| widths[..number].iter().sum::<usize>();
        let layer = |(number, &gates): (usize, &usize)| PerceptionLayer {
            number,
            first: row(number),
            gates,
            inputs: number.checked_sub(1).map(row),
            outputs: Some(row(number)).filter(|_| number + 1 < widths.len()),
        };
        let layers = widths.iter().enumerate().map(layer).collect();
        let even = topology.channels.is_multiple_of(plan.block);
        let (span, aside) = (topology.kernels * plan.block, plan.accumulates);
        Perception { layers, span, invocations: plan.invocations, even, aside }
    }

    fn hidden(&self) -> &[PerceptionLayer] {
        &self.layers[..self.layers.len() - 1]
    }

    fn last(&self) -> &PerceptionLayer {
        &self.layers[self.layers.len() - 1]
    }

    /// Every unit that an invocation may have in a layer.
    fn units(&self, layer: &PerceptionLayer) -> impl Iterator<Item = PerceptionUnit> {
        let (number, step, count) = (layer.number, self.invocations, layer.gates * self.span);
        let unit = move |round: usize| PerceptionUnit {
            name: format!("{number}_{round}"),
            number: format!("lane + {}u", round * step),
            left: Some(count - round * step).filter(|&left| left < step),
        };
        (0..count.div_ceil(step)).map(unit)
    }

    fn all_units(&self) -> impl Iterator<Item = (&PerceptionLayer, PerceptionUnit)> {
        self.layers.iter().flat_map(|layer| self.units(layer).map(move |unit| (layer, unit)))
    }

    /// The region of the forward half.
    pub fn forward(&self) -> String {
        let mut text = String::from("// What an invocation's units need from memory.\nstruct Units {\n");
        for (_, PerceptionUnit { name, .. }) in self.all_units() {
            let _ = writeln!(text, "    w{name}: u32, c{name}: vec4<f32>,");
        }
        text += "}\n\nfn units(seed: u32, lane: u32) -> Units {\n    var u: Units;\n";
        for (layer, PerceptionUnit { name, number, .. }) in self.all_units() {
            let gates = format!("seed, {number}, {}u, {}u", layer.first, layer.gates);
            let _ = writeln!(text, "    u.w{name} = unit_wire({gates});");
            let _ = writeln!(text, "    u.c{name} = coefficients[unit_gate({gates})];");
        }
        text += "    return u;\n}\n\n\
                 // All layers of the perception circuits but the last, on channels whose neighborhood is loaded.\n\
                 fn perceive_hidden(u: Units, lane: u32) {\n";
        for layer in self.hidden() {
            let values = self.span * layer.outputs.unwrap_or(0);
            for unit in self.units(layer) {
                text += &self.guard(&unit, true);
                text += &self.operand_lines(layer, &unit.name);
                let value = format!("evaluate(u.c{}, a, b)", unit.name);
                let _ = writeln!(text, "        put(VALUES + {values}u + t, {value});\n    }}");
            }
            text += "    meet();\n";
        }
        text += "}\n\n\
                 // The last layer, into the update circuit's inputs.\n\
                 fn perceive_last(u: Units, lane: u32, first: u32) {\n";
        for unit in self.units(self.last()) {
            text += &self.guard(&unit, self.even);
            text += &self.operand_lines(self.last(), &unit.name);
            let _ =
                writeln!(text, "        put(input_at(t, first), evaluate(u.c{}, a, b));\n    }}", unit.name);
        }
        text + "}\n"
    }

    /// The head of a block for a unit, if the unit exists and, unless `any`, its channel does.
    fn guard(&self, unit: &PerceptionUnit, any: bool) -> String {
        let number = &unit.number;
        let exists = unit.left.map(|left| format!("lane < {left}u"));
        let inside = (!any).then(|| format!("in_block({number}, first)"));
        let checks: Vec<String> = exists.into_iter().chain(inside).collect();
        let head = if checks.is_empty() { String::new() } else { format!("if {} ", checks.join(" && ")) };
        format!("    {head}{{\n        let t = {number};\n")
    }

    /// Lines that fetch the operands of a unit's gate.
    fn operand_lines(&self, layer: &PerceptionLayer, name: &str) -> String {
        let place = |number: &str| match layer.inputs {
            None => format!("seen_at(t, u.w{name} {number})"),
            Some(row) => format!("value_at(VALUES + {}u, t, u.w{name} {number})", row * self.span),
        };
        let (a, b) = (place("& 0xffffu"), place(">> 16u"));
        format!("        let a = fetch({a});\n        let b = fetch({b});\n")
    }

    /// The region of the backward half.
    pub fn backward(&self) -> String {
        let mut text = String::from("// Sums of an invocation's units so far.\nstruct Noted {\n");
        if self.aside {
            let _ = writeln!(text, "    n: array<vec4<f32>, {}>,", self.all_units().count());
        } else {
            for (_, PerceptionUnit { name, .. }) in self.all_units() {
                let _ = writeln!(text, "    n{name}: vec4<f32>,");
            }
        }
        text += "}\n\nfn noted_so_far(lane: u32, sums: u32, first: u32, fresh: bool) -> Noted {\n    \
                 var noted: Noted;\n    if fresh { return noted; }\n";
        for (layer, PerceptionUnit { name, number, .. }) in self.all_units() {
            let _ =
                writeln!(text, "    noted.{} = partials[{}];", self.noted(&name), sums_of(layer, &number));
        }
        text += "    return noted;\n}\n\n\
                 fn write_down(lane: u32, sums: u32, first: u32, noted: ptr<function, Noted>) {\n";
        for (layer, unit) in self.all_units() {
            text += &self.guard(&unit, self.even);
            let sums = sums_of(layer, "t");
            let _ = writeln!(text, "        partials[{sums}] = (*noted).{};\n    }}", self.noted(&unit.name));
        }
        text += "}\n\n";
        for layer in self.hidden() {
            text += &self.gradient(layer.number + 1);
        }
        text + &self.block_back() + &self.patch_gradient()
    }

    /// First row of the gradients of a layer's operands: after values that are still needed.
    fn deltas(&self, number: usize) -> usize {
        self.span * self.layers[..number].iter().map(|layer| layer.gates).sum::<usize>()
    }

    /// The function for the gradient of a value that a layer reads: the sum over all gates that read it.
    fn gradient(&self, number: usize) -> String {
        let layer = &self.layers[number];
        let mut text = format!(
            "// The gradient at a value that layer {number} reads.\n\
             fn gradient_{number}(seed: u32, t: u32) -> Lanes {{\n    \
             let j = t / SPAN;\n    let deltas = VALUES + {}u + t % SPAN;\n    var g = Lanes(0.0);\n",
            self.deltas(number)
        );
        for i in 0..layer.gates {
            let _ = writeln!(text, "    let w{i} = wires[seed * WIRES + {}u];", layer.first + i);
        }
        for i in 0..layer.gates {
            let (a, b) = (i * self.span, (layer.gates + i) * self.span);
            let _ = writeln!(text, "    if (w{i} & 0xffffu) == j {{ g += fetch(deltas + {a}u); }}");
            let _ = writeln!(text, "    if (w{i} >> 16u) == j {{ g += fetch(deltas + {b}u); }}");
        }
        text + "    return g;\n}\n\n"
    }

    /// Gradients of the operands of all layers, from the last to the first.
    fn block_back(&self) -> String {
        let mut text = String::from(
            "// Gradients at the operands of all layers of the perception circuits, the last layer first, and\n\
             // their gates' sums.\n\
             fn block_back(seed: u32, u: Units, lane: u32, first: u32, noted: ptr<function, Noted>) {\n",
        );
        for layer in self.layers.iter().rev() {
            for unit in self.units(layer) {
                let _ = writeln!(text, "    var g{}: Lanes;", unit.name);
                text += &self.guard(&unit, self.even);
                let g = match layer.outputs {
                    None => "fetch(input_at(t, first))".into(),
                    Some(_) => format!("gradient_{}(seed, t)", layer.number + 1),
                };
                let _ = writeln!(text, "        g{} = {g};\n    }}", unit.name);
            }
            if layer.outputs.is_some() {
                text += "    meet();\n";
            }
            for unit in self.units(layer) {
                text += &self.guard(&unit, self.even);
                text += &self.unit_back(layer, &unit.name);
            }
            text += "    meet();\n";
        }
        text + "}\n\n"
    }

    /// A unit's sums. A dynamic index keeps them out of registers.
    fn noted(&self, name: &str) -> String {
        match self.all_units().position(|(_, unit)| unit.name == name).filter(|_| self.aside) {
            Some(number) => format!("n[parameters[3].z + {number}u]"),
            None => format!("n{name}"),
        }
    }

    fn unit_back(&self, layer: &PerceptionLayer, name: &str) -> String {
        let deltas = self.deltas(layer.number);
        let operands = self.operand_lines(layer, name);
        format!(
            "{operands}        let c = u.c{name};\n        \
             put(VALUES + {deltas}u + t, g{name} * fma(b, Lanes(c.w), Lanes(c.y)));\n        \
             put(VALUES + {}u + t, g{name} * fma(a, Lanes(c.w), Lanes(c.z)));\n        \
             (*noted).{} += gate_sums(g{name}, a, b);\n    }}\n",
            deltas + layer.gates * self.span,
            self.noted(name)
        )
    }

    /// The function for the gradient of the neighborhood, from the sums over kernels.
    fn patch_gradient(&self) -> String {
        let layer = &self.layers[0];
        let mut text = String::from(
            "// What the first layer's gates say about neighbor n, in sums over kernels from `sums` on.\n\
             fn patch_gradient(seed: u32, n: u32, sums: u32) -> Lanes {\n    var g = Lanes(0.0);\n",
        );
        for i in 0..layer.gates {
            let _ = writeln!(text, "    let w{i} = wires[seed * WIRES + {i}u];");
        }
        for i in 0..layer.gates {
            let b = layer.gates + i;
            let _ = writeln!(text, "    if (w{i} & 0xffffu) == n {{ g += fetch(sums + {i}u * BLOCK); }}");
            let _ = writeln!(text, "    if (w{i} >> 16u) == n {{ g += fetch(sums + {b}u * BLOCK); }}");
        }
        text + "    return g;\n}\n"
    }
}

fn sums_of(layer: &PerceptionLayer, unit: &str) -> String {
    format!("unit_sums(sums, {unit}, first, {}u, {}u)", layer.first, layer.gates)
}
