//! The WGSL of the update circuit, unrolled layer by layer, forward and backward. Every index is a literal in
//! the text, so that an invocation does little else than gates, and its loads from memory are issued layers
//! ahead.
//!
//! Invariant: names end with their layer and the round of the invocation's gate in it: `w`, `c` are wires and
//! gates of the forward pass, `v`, `d` those of the backward pass, `x` values, `b` readers, `o` sums so far.

use std::fmt::Write;

use super::super::topology::Topology;
use super::plan::KernelPlan;

/// The update circuit of a topology, divided by a plan.
pub struct CutCircuit<'a> {
    /// Inputs, then outputs of every layer.
    widths: &'a [usize],
    invocations: usize,
    /// First gate and first row of activations of every layer.
    starts: Vec<(usize, usize)>,
    gates: usize,
    rows: usize,
    /// Whether values stay in the registers of the invocation that computed them.
    registers: bool,
    /// Whether values come from the forward pass.
    kept: bool,
    /// Whether sums stay in registers from group to group.
    accumulates: bool,
}

/// The share of one invocation in a layer, in one round.
struct LayerShare {
    name: String,
    /// What to add to `lane`.
    offset: usize,
    /// Lanes that have a gate or a row; `None` for all of them.
    lanes: Option<usize>,
}

impl<'a> CutCircuit<'a> {
    pub fn new(topology: &'a Topology, plan: &KernelPlan, kept: bool) -> CutCircuit<'a> {
        let widths = &topology.update[..];
        let start = |n: usize| (widths[1..=n].iter().sum(), widths[..n].iter().sum());
        CutCircuit {
            widths,
            invocations: plan.invocations,
            starts: (0..widths.len() - 1).map(start).collect(),
            gates: topology.update_gates(),
            rows: topology.activations(),
            registers: plan.registers,
            kept,
            accumulates: plan.accumulates,
        }
    }

    fn layers(&self) -> usize {
        self.widths.len() - 1
    }

    /// Rounds over a layer's outputs or over a row of values: `number` is the layer that they belong to.
    fn parts(&self, number: usize, width: usize) -> Vec<LayerShare> {
        let part = |round: usize| {
            let offset = round * self.invocations;
            let lanes = Some(width - offset).filter(|&left| left < self.invocations);
            LayerShare { name: format!("{number}_{round}"), offset, lanes }
        };
        (0..width.div_ceil(self.invocations)).map(part).collect()
    }

    fn gate_parts(&self, n: usize) -> Vec<LayerShare> {
        self.parts(n, self.widths[n + 1])
    }

    fn row_parts(&self, n: usize) -> Vec<LayerShare> {
        self.parts(n, self.widths[n])
    }

    /// Loads for one part, by name, type and expression. They are guarded if idle lanes might read beyond the
    /// array: `end` is where it may end, counted from lane 0.
    fn load(&self, part: &LayerShare, at: usize, end: usize, loads: &[(char, &str, String)]) -> String {
        let inside = at + part.offset + self.invocations <= end;
        match part.lanes.filter(|_| !inside) {
            None => {
                let line = |(letter, _, from): &(char, &str, String)| {
                    format!("    let {letter}{} = {from};\n", part.name)
                };
                loads.iter().map(line).collect()
            }
            Some(lanes) => {
                let declare = |(letter, kind, _): &(char, &str, String)| {
                    format!("    var {letter}{}: {kind};\n", part.name)
                };
                let assign = |(letter, _, from): &(char, &str, String)| {
                    format!("        {letter}{} = {from};\n", part.name)
                };
                let (all, set): (String, String) =
                    (loads.iter().map(declare).collect(), loads.iter().map(assign).collect());
                format!("{all}    if lane < {lanes}u {{\n{set}    }}\n")
            }
        }
    }

    /// Loads the wires and gates of a layer, under these letters.
    fn load_gates(&self, n: usize, [wire, gate]: [char; 2]) -> String {
        let start = self.starts[n].0;
        let load = |part: &LayerShare| {
            let at = start + part.offset;
            let loads = [
                (wire, "u32", format!("wires[wired + {at}u]")),
                (gate, "vec4<f32>", format!("coefficients[gates + {at}u]")),
            ];
            self.load(part, start, self.gates, &loads)
        };
        self.gate_parts(n).iter().map(load).collect()
    }

    /// The buffer of a layer's inputs.
    fn buffer(n: usize) -> &'static str {
        if n.is_multiple_of(2) { "EVEN" } else { "ODD" }
    }

    /// Wraps lines in `if lane < … {`, if a part does not use all lanes.
    fn guarded(part: &LayerShare, lines: &str) -> String {
        match part.lanes {
            None => format!("    {{\n{lines}    }}\n"),
            Some(lanes) => format!("    if lane < {lanes}u {{\n{lines}    }}\n"),
        }
    }

    /// The loads that come before everything else: gates of the first two layers.
    pub fn ahead(&self) -> String {
        let names: Vec<String> = (0..self.layers().min(2))
            .flat_map(|n| self.gate_parts(n).into_iter().map(|part| part.name))
            .collect();
        let fields: String =
            names.iter().map(|name| format!("    w{name}: u32,\n    c{name}: vec4<f32>,\n")).collect();
        let loads: String = (0..self.layers().min(2)).map(|n| self.load_gates(n, ['w', 'c'])).collect();
        let given: Vec<String> = names.iter().map(|name| format!("w{name}, c{name}")).collect();
        format!(
            "// An invocation's wires and gates of the first two layers of the update circuit.\n\
             struct Ahead {{\n{fields}}}\n\n\
             fn look_ahead(seed: u32, lane: u32) -> Ahead {{\n{}{loads}    return Ahead({});\n}}\n",
            self.bases(),
            given.join(", ")
        )
    }

    fn bases(&self) -> &'static str {
        "    let wired = seed * WIRES + PERCEPTION + lane;\n    \
         let gates = seed * GATES + KERNELS * PERCEPTION + lane;\n"
    }

    /// Lines for this many layers, from inputs at EVEN. `after` adds lines for a row's value, given its layer
    /// and its part, and says whether the value is needed later.
    fn forward(&self, layers: usize, after: impl Fn(usize, &LayerShare) -> String, stays: bool) -> String {
        let mut text = String::new();
        for n in 0..self.layers().min(2) {
            for part in self.gate_parts(n) {
                let _ = writeln!(text, "    let w{0} = ahead.w{0};\n    let c{0} = ahead.c{0};", part.name);
            }
        }
        for n in 0..layers {
            if n + 2 < layers {
                text += &self.load_gates(n + 2, ['w', 'c']);
            }
            let (inputs, outputs) = (CutCircuit::buffer(n), CutCircuit::buffer(n + 1));
            for (gate, row) in self.gate_parts(n).iter().zip(self.parts(n + 1, self.widths[n + 1])) {
                let (name, x) = (&gate.name, format!("x{}", row.name));
                let value =
                    format!("evaluate(c{name}, operand({inputs}, w{name}), other({inputs}, w{name}))");
                let put =
                    format!("        put({outputs} + lane + {}u, {x});\n{}", row.offset, after(n + 1, &row));
                if stays {
                    let _ = writeln!(text, "    var {x}: Lanes;");
                    text += &CutCircuit::guarded(gate, &format!("        {x} = {value};\n{put}"));
                } else {
                    text += &CutCircuit::guarded(gate, &format!("        let {x} = {value};\n{put}"));
                }
            }
            text += "    meet();\n";
        }
        text
    }

    /// Lines that store a row's value.
    fn keep(&self, n: usize, part: &LayerShare) -> String {
        if n == self.layers() {
            return String::new();
        }
        format!("        keep(base, lane + {}u, x{});\n", self.starts[n].1 + part.offset, part.name)
    }

    /// Lines that load the inputs' values, and store them if `keeps`.
    fn inputs(&self, keeps: bool, stays: bool) -> String {
        let mut text = String::new();
        for part in self.row_parts(0) {
            let fetch = format!("fetch(EVEN + lane + {}u)", part.offset);
            let keep = if keeps { self.keep(0, &part) } else { String::new() };
            if stays {
                let _ = writeln!(text, "    var x{}: Lanes;", part.name);
                text += &CutCircuit::guarded(&part, &format!("        x{} = {fetch};\n{keep}", part.name));
            } else if keeps {
                text +=
                    &CutCircuit::guarded(&part, &format!("        let x{} = {fetch};\n{keep}", part.name));
            }
        }
        text
    }

    /// The region of a forward step.
    pub fn step(&self) -> String {
        let keep = |n: usize, part: &LayerShare| if self.kept { self.keep(n, part) } else { String::new() };
        format!(
            "// The update circuit, from its inputs at EVEN.\n\
             fn update(seed: u32, lane: u32, base: u32, ahead: Ahead) {{\n{}{}{}}}\n",
            self.bases(),
            self.inputs(self.kept, false),
            self.forward(self.layers(), keep, false)
        )
    }

    /// The region of a backward step: forward again unless values were kept, then back.
    pub fn step_back(&self) -> String {
        let keeps = !self.kept && !self.registers;
        let mut text = self.totals();
        text += concat!(
            "// The update circuit back from the gradient at its outputs to the one at its inputs, which comes\n",
            "// to lie at EVEN. One barrier a layer: an invocation gathers what a gate's readers left, and\n",
            "// leaves what the gate's operands gather.\n",
            "fn update_back(\n    seed: u32,\n    lane: u32,\n    base: u32,\n    sums: u32,\n    fresh: bool,\n",
            "    ahead: Ahead,\n    totals: ptr<function, Totals>,\n) {\n",
        );
        text += self.bases();
        if self.kept {
            for part in self.row_parts(self.layers() - 1) {
                let (n, row) = (self.layers() - 1, self.starts[self.layers() - 1].1);
                let put = format!(
                    "        put({} + lane + {}u, activation(base, lane + {}u));\n",
                    CutCircuit::buffer(n),
                    part.offset,
                    row + part.offset
                );
                text += &CutCircuit::guarded(&part, &put);
            }
        } else {
            let keep = |n: usize, part: &LayerShare| if keeps { self.keep(n, part) } else { String::new() };
            text += &self.inputs(keeps, self.registers);
            text += &self.forward(self.layers() - 1, keep, self.registers);
        }
        text += "    if lane < 2u { put(DELTAS + lane * DELTA, Lanes(0.0)); }\n";
        text += &self.back();
        text + "}\n"
    }

    /// Loads that phase `n` needs and no earlier phase made, for phases of this distance.
    fn load_for(&self, n: isize, near: bool) -> String {
        let Ok(n) = usize::try_from(n) else { return String::new() };
        if n >= self.layers() {
            return String::new();
        }
        if near {
            return self.load_gates(n, ['v', 'd']);
        }
        let mut text = if self.accumulates { String::new() } else { self.load_sums(n) };
        if n + 1 < self.layers() {
            text += &self.load_readers(n + 1);
        }
        if n > 0 && !self.registers {
            for part in self.row_parts(n - 1) {
                let at = self.starts[n - 1].1;
                let from = format!("activation(base, lane + {}u)", at + part.offset);
                text += &self.load(&part, at, self.rows, &[('x', "Lanes", from)]);
            }
        }
        text
    }

    fn load_sums(&self, n: usize) -> String {
        let at = self.starts[n].0;
        let load = |part: &LayerShare| {
            let from = format!("partials[sums + lane + {}u]", at + part.offset);
            self.load(part, at, self.gates, &[('o', "vec4<f32>", from)])
        };
        self.gate_parts(n).iter().map(load).collect()
    }

    /// The type of an invocation's sums, and how they are loaded and stored.
    fn totals(&self) -> String {
        let all: Vec<(usize, LayerShare)> = (0..self.layers())
            .filter(|_| self.accumulates)
            .flat_map(|n| self.gate_parts(n).into_iter().map(move |part| (self.starts[n].0, part)))
            .collect();
        let mut fields: String =
            all.iter().map(|(_, part)| format!("    o{}: vec4<f32>,\n", part.name)).collect();
        if all.is_empty() {
            fields = "    none: u32,\n".into();
        }
        let loads: String =
            (0..self.layers()).filter(|_| self.accumulates).map(|n| self.load_sums(n)).collect();
        let names: Vec<String> = all.iter().map(|(_, part)| format!("o{}", part.name)).collect();
        let given = if all.is_empty() { "0u".into() } else { names.join(", ") };
        let mut text = format!(
            "// An invocation's sums, if they stay with it from group to group.\nstruct Totals {{\n{fields}}}\n\n\
             fn totals_so_far(lane: u32, sums: u32, fresh: bool) -> Totals {{\n    \
             if fresh {{ return Totals(); }}\n{loads}    return Totals({given});\n}}\n\n\
             fn write_totals(lane: u32, sums: u32, totals: ptr<function, Totals>) {{\n"
        );
        for (start, part) in &all {
            let place = format!("partials[sums + lane + {}u]", start + part.offset);
            text += &CutCircuit::guarded(part, &format!("        {place} = (*totals).o{};\n", part.name));
        }
        text + "}\n\n"
    }

    /// Loads the readers of a layer's inputs.
    fn load_readers(&self, n: usize) -> String {
        let at = self.starts[n].1;
        let load = |part: &LayerShare| {
            let from = format!("readers[seed * ACTIVATIONS + lane + {}u]", at + part.offset);
            self.load(part, at, self.rows, &[('b', "vec2<u32>", from)])
        };
        self.row_parts(n).iter().map(load).collect()
    }

    fn back(&self) -> String {
        let last = self.layers() as isize - 1;
        let mut text =
            self.load_for(last, true) + &self.load_for(last, false) + &self.load_for(last - 1, false);
        if self.kept {
            text += "    meet();\n";
        }
        for n in (0..self.layers()).rev() {
            text += &self.load_for(n as isize - 1, true);
            text += &self.load_for(n as isize - 2, false);
            if n == 1 || last == 0 {
                text += &self.load_readers(0);
            }
            text += &self.gates_back(n);
            if n > 0 && (self.kept || n as isize != last) {
                for part in self.row_parts(n - 1) {
                    let place = format!("{} + lane + {}u", CutCircuit::buffer(n - 1), part.offset);
                    text += &CutCircuit::guarded(&part, &format!("        put({place}, x{});\n", part.name));
                }
            }
            text += "    meet();\n";
        }
        for part in self.row_parts(0) {
            let g = format!("gather(DELTAS, b{})", part.name);
            text +=
                &CutCircuit::guarded(&part, &format!("        put(EVEN + lane + {}u, {g});\n", part.offset));
        }
        text + "    meet();\n"
    }

    fn gates_back(&self, n: usize) -> String {
        let deltas = |n: usize| if n.is_multiple_of(2) { "DELTAS" } else { "DELTAS + DELTA" };
        let (inputs, outputs) = (CutCircuit::buffer(n), self.widths[n + 1]);
        let mut text = String::new();
        for (part, row) in self.gate_parts(n).iter().zip(self.parts(n + 1, outputs)) {
            let g = if n + 1 == self.layers() {
                format!("incoming_of(lane + {}u)", part.offset)
            } else {
                format!("gather({}, b{})", deltas(n + 1), row.name)
            };
            let (name, offset) = (&part.name, part.offset);
            let place = self.starts[n].0 + offset;
            let note = if self.accumulates {
                format!("(*totals).o{name} += gate_sums(g, a, b)")
            } else {
                format!("note(sums + lane + {place}u, o{name}, fresh, g, a, b)")
            };
            let lines = format!(
                "        let g = {g};\n        \
                 let a = operand({inputs}, v{name});\n        \
                 let b = other({inputs}, v{name});\n        \
                 put({0} + 1u + lane + {offset}u, g * fma(b, Lanes(d{name}.w), Lanes(d{name}.y)));\n        \
                 put({0} + 1u + lane + {1}u, g * fma(a, Lanes(d{name}.w), Lanes(d{name}.z)));\n        \
                 {note};\n",
                deltas(n),
                outputs + offset
            );
            text += &CutCircuit::guarded(part, &lines);
        }
        text
    }
}
