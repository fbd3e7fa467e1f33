//! The WGSL of the kernels: files joined, with regions between `//{ name` and `//}` swapped.
//!
//! Invariant: the texts depend on the topology, the plan, the policy and whether all cells fire, never on
//! the grid, the batch, the steps or the seeds; and every file is what rendering its own sample gives.

use std::fmt::Write;

use farad_circuit::Edge;

use super::super::topology::Topology;
use super::plan::{Plan, span};

const GRID: &str = include_str!("grid.wgsl");
const CELL: &str = include_str!("cell.wgsl");
const FORWARD: &str = include_str!("forward.wgsl");
const BACKWARD: &str = include_str!("backward.wgsl");
const FINISH: &str = include_str!("finish.wgsl");

/// The kernel that makes the gradient at the first states.
pub fn finish(topology: &Topology) -> String {
    Swapped(format!("{GRID}\n{FINISH}")).region("edge", &edge(topology)).0
}

fn edge(topology: &Topology) -> String {
    constant("WRAP", topology.edge == Edge::Wrap)
}

/// What a text depends on.
pub struct Text<'a> {
    pub topology: &'a Topology,
    pub plan: Plan,
    pub asynchronous: bool,
    /// The forward pass writes activations down, and the backward pass reads them.
    pub keeps: bool,
}

/// A text with regions swapped.
struct Swapped(String);

impl Swapped {
    /// Swaps a region's lines.
    ///
    /// # Panics
    /// If the text has no such region: a mistake in this module.
    fn region(mut self, name: &str, lines: &str) -> Swapped {
        let mark = format!("//{{ {name}\n");
        let from = self.0.find(&mark).unwrap_or_else(|| panic!("no region {name}")) + mark.len();
        let to = from + self.0[from..].find("//}").expect("a region ends");
        self.0.replace_range(from..to, lines);
        self
    }
}

impl Text<'_> {
    /// The kernel of a step.
    pub fn forward(&self) -> String {
        let text = self.cell(format!("{GRID}\n{CELL}\n{FORWARD}"), "arena");
        let first = 4 + self.asynchronous as usize;
        let mut outputs =
            storage(first, true, "target_states", "f32") + &storage(first + 1, true, "kept", "f32");
        if self.plan.spilled {
            outputs += &storage(first + 2, true, "arena", "f32");
        }
        let keep = self.keep("kept", self.keeps) + &self.settle();
        text.region("outputs", &outputs).region("keep", &keep).0
    }

    /// The kernel of a step backward.
    pub fn backward(&self) -> String {
        let text = self.cell(format!("{GRID}\n{CELL}\n{BACKWARD}"), "gradients");
        let first = 4 + self.asynchronous as usize;
        let arrays = storage(first, false, "consumers", "u32")
            + &storage(first + 1, true, "gradients", "f32")
            + &storage(first + 2, true, "partials", "vec4<f32>")
            + &storage(first + 3, !self.keeps, "activations", "f32");
        let memory = self.plan.memory;
        let phases = constant("RECOMPUTE", !self.keeps)
            + &size("DELTAS", memory.deltas)
            + &size("DELTA", memory.delta)
            + &size("EXCHANGE", memory.odd)
            + &size("SPAN", span(self.topology, self.plan.invocations));
        let slopes = format!(
            "// Gradients at what `seen` holds.\nvar<private> slopes: array<Lanes, {}>;\n",
            self.seen()
        );
        text.region("phases", &phases)
            .region("arrays", &arrays)
            .region("slopes", &slopes)
            .region("keep", &(self.keep("activations", !self.keeps) + &self.exchange_lanes()))
            .region("perceive_back", &self.perceive_back())
            .region("exchange", &self.exchange())
            .0
    }

    fn cell(&self, text: String, array: &str) -> Swapped {
        let topology = self.topology;
        let sizes = [
            ("INVOCATIONS", self.plan.invocations),
            ("CHANNELS", topology.channels),
            ("KERNELS", topology.kernels),
            ("BITS", topology.bits()),
            ("PERCEPTION", topology.perception_gates()),
            ("UPDATE", topology.update_gates()),
            ("INPUTS", topology.update[0]),
            ("LAYERS", topology.update.len() - 1),
            ("ACTIVATIONS", topology.activations()),
        ];
        let mut lines: String = sizes.iter().map(|&(name, value)| size(name, value)).collect();
        lines += &constant("ASYNCHRONOUS", self.asynchronous);
        lines += &(size("EVEN", 0) + &size("ODD", self.plan.memory.odd));
        let parameters = format!(
            "@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, {}>;\n",
            super::HEAD / 4 + topology.update.len() - 1
        );
        Swapped(text)
            .region("edge", &edge(topology))
            .region("sizes", &lines)
            .region("parameters", &parameters)
            .region("fired", &self.fired())
            .region("memory", &self.memory(array))
            .region("seen", &format!("var<private> seen: array<Lanes, {}>;\n", self.seen()))
            .region("lanes", &self.lanes())
            .region("perceive", &self.perceive())
    }

    /// Values of a perception circuit before its last layer.
    fn seen(&self) -> usize {
        self.topology.perception.iter().rev().skip(1).sum()
    }

    fn fired(&self) -> String {
        if self.asynchronous {
            storage(4, false, "fired", "f32") + "\nfn fires(at: u32) -> f32 { return fired[at]; }\n"
        } else {
            "fn fires(at: u32) -> f32 { return 1.0; }\n".into()
        }
    }

    fn memory(&self, array: &str) -> String {
        let len = self.plan.memory.len;
        if !self.plan.spilled {
            return format!(
                "var<workgroup> work: array<Lanes, {len}>;\n\n\
                 fn fetch(at: u32) -> Lanes {{ return work[at]; }}\n\
                 fn put(at: u32, x: Lanes) {{ work[at] = x; }}\n\
                 fn meet() {{ workgroupBarrier(); }}\n\
                 fn start(number: u32) {{}}\n"
            );
        }
        format!(
            "var<private> work: u32;\n\n\
             fn fetch(at: u32) -> Lanes {{ return {array}[work + at]; }}\n\
             fn put(at: u32, x: Lanes) {{ {array}[work + at] = x; }}\n\
             fn meet() {{\n    storageBarrier();\n    workgroupBarrier();\n}}\n\
             fn start(number: u32) {{ work = parameters[3].y + number * {len}u; }}\n"
        )
    }

    fn lanes(&self) -> String {
        let (kind, total, along) = match self.plan.lanes {
            4 => (
                "vec4<f32>",
                "(x.x + x.y) + (x.z + x.w)",
                "fma(x.x, y.x, fma(x.y, y.y, fma(x.z, y.z, x.w * y.w)))",
            ),
            2 => ("vec2<f32>", "x.x + x.y", "fma(x.x, y.x, x.y * y.y)"),
            _ => ("f32", "x", "x * y"),
        };
        let patch = self.joined(|k, _| format!("state(n * LANES + {k}u, channel)"));
        format!(
            "{}alias Lanes = {kind};\n\n\
             fn total(x: Lanes) -> f32 {{ return {total}; }}\n\
             fn along(x: Lanes, y: Lanes) -> f32 {{ return {along}; }}\n\
             fn patch_value(n: u32, channel: u32) -> Lanes {{\n    return {patch};\n}}\n",
            size("LANES", self.plan.lanes)
        )
    }

    /// A vector from one expression a lane; they get the lane's number and its component of `x`.
    fn joined(&self, expression: impl Fn(usize, &str) -> String) -> String {
        let parts: Vec<String> =
            self.components().iter().enumerate().map(|(k, x)| expression(k, x)).collect();
        format!("Lanes({})", parts.join(", "))
    }

    /// One statement a lane.
    fn each(&self, statement: impl Fn(usize, &str) -> String) -> String {
        self.components().iter().enumerate().map(|(k, x)| format!("    {};\n", statement(k, x))).collect()
    }

    fn components(&self) -> &'static [&'static str] {
        if self.plan.lanes == 1 { &["x"] } else { &["x.x", "x.y", "x.z", "x.w"][..self.plan.lanes] }
    }

    /// `keep`, and with it the reading of what was kept, in this array.
    fn keep(&self, array: &str, writes: bool) -> String {
        let place = |k: usize| format!("{array}[base + {k}u * ACTIVATIONS + row]");
        let mut text = String::from("// Activations of one cell follow each other.\n");
        if writes {
            let lines = self.each(|k, x| format!("{} = {x}", place(k)));
            let _ = write!(text, "fn keep(base: u32, row: u32, x: Lanes) {{\n{lines}}}\n\n");
        } else {
            text += "fn keep(base: u32, row: u32, x: Lanes) {}\n\n";
        }
        if array == "activations" {
            let values = self.joined(|k, _| place(k));
            let _ =
                write!(text, "fn activation(base: u32, row: u32) -> Lanes {{\n    return {values};\n}}\n\n");
        }
        text
    }

    fn settle(&self) -> String {
        let lines = self.each(|k, x| format!("settle(seed, group, {k}u, channel, {x})"));
        format!("fn settle_all(seed: u32, group: u32, channel: u32, x: Lanes) {{\n{lines}}}\n")
    }

    fn exchange_lanes(&self) -> String {
        let incoming = self.joined(|k, _| format!("incoming[channel * LANES + {k}u]"));
        let send = self.each(|k, x| format!("send_one(seed, group, {k}u, item, {x})"));
        let sent = self.joined(|k, _| format!("sent_one(seed, group, {k}u, item)"));
        format!(
            "fn incoming_of(channel: u32) -> Lanes {{\n    return {incoming};\n}}\n\n\
             fn send(seed: u32, group: u32, item: u32, x: Lanes) {{\n{send}}}\n\n\
             fn sent(seed: u32, group: u32, item: u32) -> Lanes {{\n    return {sent};\n}}\n"
        )
    }

    /// The perception circuit's layers, each: first gate, first of its inputs among what is seen,
    /// gates.
    fn perception(&self) -> Vec<(usize, usize, usize)> {
        let mut layers = Vec::new();
        let (mut gate, mut inputs) = (0, 0);
        for pair in self.topology.perception.windows(2) {
            layers.push((gate, inputs, pair[1]));
            (gate, inputs) = (gate + pair[1], inputs + pair[0]);
        }
        layers
    }

    fn perceive(&self) -> String {
        let mut text = String::from(
            "// One kernel on one channel: its values, and if asked its bits among the update circuit's inputs.\n\
             fn perceive(seed: u32, pair: u32, store: bool) {\n    \
             let first = seed * GATES + pair / CHANNELS * PERCEPTION;\n    \
             for (var n = 0u; n < 9u; n++) {\n        \
             seen[n] = fetch(PATCH + n * CHANNELS + pair % CHANNELS);\n    }\n",
        );
        let layers = self.perception();
        for (number, &(first, inputs, gates)) in layers.iter().enumerate() {
            let last = number + 1 == layers.len();
            let indent = if last { "        " } else { "    " };
            if last {
                text += "    if store {\n";
            }
            for j in 0..gates {
                let gate = first + j;
                let value = format!(
                    "evaluate(coefficients[first + {gate}u], seen[{inputs}u + w{gate}.x], seen[{inputs}u + w{gate}.y])"
                );
                let line = if last {
                    format!("put(EVEN + input_of(pair, {j}u), {value});")
                } else {
                    format!("seen[{}] = {value};", 9 + gate)
                };
                let _ = write!(text, "{indent}let w{gate} = perceived(seed, {gate}u);\n{indent}{line}\n");
            }
        }
        text + "    }\n}\n"
    }

    fn perceive_back(&self) -> String {
        let mut text = format!(
            "// Gradients at one kernel's inputs on one channel, and the sums of its gates.\n\
             fn perceive_back(seed: u32, pair: u32, sums: u32, fresh: bool) {{\n    \
             let first = seed * GATES + pair / CHANNELS * PERCEPTION;\n    \
             for (var n = 0u; n < {}u; n++) {{ slopes[n] = Lanes(0.0); }}\n",
            self.seen()
        );
        let layers = self.perception();
        for (number, &(first, inputs, gates)) in layers.iter().enumerate().rev() {
            for j in 0..gates {
                let gate = first + j;
                let g = if number + 1 == layers.len() {
                    format!("fetch(EVEN + input_of(pair, {j}u))")
                } else {
                    format!("slopes[{}]", 9 + gate)
                };
                let _ = writeln!(
                    text,
                    "    perception_gate(first, sums + pair, {gate}u, {inputs}u, perceived(seed, {gate}u), {g}, fresh);"
                );
            }
        }
        text + "}\n"
    }

    fn exchange(&self) -> String {
        let mut text = String::from(
            "// The gradient at the neighbourhood: what all kernels found is added up by way of `work`.\n\
             fn perception_back(seed: u32, group: u32, lane: u32, sums: u32, fresh: bool) {\n    \
             for (var round = 0u; round < PAIRS; round += SPAN) {\n        \
             let pair = round + lane;\n        \
             if SPAN < PAIRS {\n            \
             load_patch(lane);\n            \
             meet();\n            \
             if lane < SPAN && pair < PAIRS { perceive(seed, pair, false); }\n            \
             meet();\n        }\n        \
             let mine = lane < SPAN && pair < PAIRS;\n",
        );
        let memory = self.plan.memory;
        let rows = ((memory.len - memory.odd) / span(self.topology, self.plan.invocations)).min(9);
        for row in (0..9).step_by(rows) {
            let count = rows.min(9 - row);
            let back = "            perceive_back(seed, pair, sums, fresh);\n";
            let _ = write!(
                text,
                "        if mine {{\n{}            \
                 for (var n = 0u; n < {count}u; n++) {{ put(EXCHANGE + n * SPAN + lane, slopes[{row}u + n]); }}\n        \
                 }}\n        meet();\n        combine(seed, group, lane, round, {row}u, {count}u);\n",
                if row == 0 { back } else { "" }
            );
        }
        text + "    }\n}\n"
    }
}

fn size(name: &str, value: usize) -> String {
    format!("const {name} = {value}u;\n")
}

fn constant(name: &str, value: bool) -> String {
    format!("const {name} = {value};\n")
}

fn storage(binding: usize, write: bool, name: &str, kind: &str) -> String {
    let access = if write { "read_write" } else { "read" };
    format!("@group(0) @binding({binding}) var<storage, {access}> {name}: array<{kind}>;\n")
}
