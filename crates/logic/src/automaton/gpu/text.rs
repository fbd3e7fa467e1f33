//! The WGSL of the kernels: the shader of a cell is included in the kernels, and the circuits are regions
//! ([`WgslText`]).
//!
//! Invariant: the texts depend on the topology, the plan, the policy and whether all cells fire, never on the
//! grid, the batch, the steps or the seeds. Every file equals the rendering of its own sample topology.

use farad::WgslText;
use farad_circuit::Edge;

use super::super::topology::Topology;
use super::circuit::CutCircuit;
use super::perception::Perception;
use super::plan::KernelPlan;

const GRID: &str = include_str!("grid.wgsl");
const CELL: &str = include_str!("cell.wgsl");
const FORWARD: &str = include_str!("forward.wgsl");
const BACKWARD: &str = include_str!("backward.wgsl");
const BEGIN: &str = include_str!("begin.wgsl");
const FINISH: &str = include_str!("finish.wgsl");

/// The kernel that prepares the backward pass.
pub fn begin(topology: &Topology) -> WgslText {
    WgslText::new(BEGIN).region("parameters", parameters(2 + topology.update.len() - 1))
}

/// The kernel for the gradient of the first states.
pub fn finish(topology: &Topology) -> WgslText {
    with_grid(FINISH, topology)
}

/// A text with the grid functions included.
fn with_grid(file: &str, topology: &Topology) -> WgslText {
    let grid = WgslText::new(GRID).constant("WRAP", topology.edge == Edge::Wrap);
    WgslText::new(file).region("grid", grid)
}

/// What a text depends on.
pub struct TextKey<'a> {
    pub topology: &'a Topology,
    pub plan: KernelPlan,
    pub asynchronous: bool,
    /// Whether the forward pass stores activations for the backward pass.
    pub keeps: bool,
}

impl TextKey<'_> {
    /// The kernel of a forward step.
    pub fn forward(&self) -> WgslText {
        let text = WgslText::new(FORWARD).region("cell", self.cell("arena"));
        let first = 4 + self.asynchronous as usize;
        let mut outputs =
            storage(first, true, "target_states", "f32") + &storage(first + 1, true, "kept", "f32");
        if self.plan.spilled {
            outputs += &storage(first + 2, true, "arena", "f32");
        }
        let keep = self.keep() + &self.settle();
        let update = CutCircuit::new(self.topology, &self.plan, self.keeps).step();
        text.region("outputs", outputs).region("keep", keep).region("update", update)
    }

    /// The kernel of a backward step.
    pub fn backward(&self) -> WgslText {
        let text = WgslText::new(BACKWARD).region("cell", self.cell("gradients"));
        let first = 4 + self.asynchronous as usize;
        let kind = if self.keeps { "f32" } else { "Lanes" };
        let arrays = storage(first, false, "readers", "vec2<u32>")
            + &storage(first + 1, true, "gradients", "f32")
            + &storage(first + 2, true, "partials", "vec4<f32>")
            + &storage(first + 3, !self.keeps, "activations", kind);
        let memory = self.plan.memory;
        let perception = Perception::new(self.topology, &self.plan);
        let places = [
            ("DELTAS", memory.deltas),
            ("DELTA", memory.delta),
            ("SUMMED", memory.summed),
            ("SIDES", 2 * self.topology.perception[1]),
        ];
        text.constant("RECOMPUTE", !self.keeps)
            .sizes(&places)
            .region("arrays", arrays)
            .region("keep", self.activations() + &self.exchange_lanes())
            .region("update_back", CutCircuit::new(self.topology, &self.plan, self.keeps).step_back())
            .region("perceive_back", perception.backward())
    }

    fn cell(&self, array: &str) -> WgslText {
        let (topology, memory) = (self.topology, self.plan.memory);
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
            ("BLOCK", self.plan.block),
            ("EVEN", 0),
            ("PATCH", memory.patch),
            ("ODD", memory.odd),
            ("VALUES", memory.odd),
        ];
        with_grid(CELL, topology)
            .sizes(&sizes)
            .constant("ASYNCHRONOUS", self.asynchronous)
            .region("fired", self.fired())
            .region("memory", self.memory(array))
            .region("lanes", self.lanes())
            .region("perceive", Perception::new(topology, &self.plan).forward())
            .region("ahead", CutCircuit::new(topology, &self.plan, self.keeps).ahead())
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
            "const LANES = {}u;\nalias Lanes = {kind};\n\n\
             fn total(x: Lanes) -> f32 {{ return {total}; }}\n\
             fn along(x: Lanes, y: Lanes) -> f32 {{ return {along}; }}\n\
             fn patch_value(n: u32, channel: u32) -> Lanes {{\n    return {patch};\n}}\n",
            self.plan.lanes
        )
    }

    /// A vector from one expression per lane; they get the lane's index and its component of `x`.
    fn joined(&self, expression: impl Fn(usize, &str) -> String) -> String {
        let parts: Vec<String> =
            self.components().iter().enumerate().map(|(k, x)| expression(k, x)).collect();
        match &parts[..] {
            [one] => format!("Lanes({one})"),
            _ => format!("Lanes(\n        {},\n    )", parts.join(",\n        ")),
        }
    }

    /// One statement per lane.
    fn each(&self, statement: impl Fn(usize, &str) -> String) -> String {
        self.components().iter().enumerate().map(|(k, x)| format!("    {};\n", statement(k, x))).collect()
    }

    fn components(&self) -> &'static [&'static str] {
        if self.plan.lanes == 1 { &["x"] } else { &["x.x", "x.y", "x.z", "x.w"][..self.plan.lanes] }
    }

    /// The index of an activation in an array where those of one cell follow each other.
    fn kept(&self, array: &str, k: usize) -> String {
        format!("{array}[base + {k}u * ACTIVATIONS + row]")
    }

    /// `keep` of the forward pass.
    fn keep(&self) -> String {
        if !self.keeps {
            return String::new();
        }
        let lines = self.each(|k, x| format!("{} = {x}", self.kept("kept", k)));
        format!("fn keep(base: u32, row: u32, x: Lanes) {{\n{lines}}}\n\n")
    }

    /// `keep` of the backward pass, reading kept values, and their offset.
    fn activations(&self) -> String {
        let head = "fn activations_of(seed: u32, number: u32, group: u32) -> u32 {";
        if !self.keeps {
            return format!(
                "fn keep(base: u32, row: u32, x: Lanes) {{ activations[base + row] = x; }}\n\
                 fn activation(base: u32, row: u32) -> Lanes {{ return activations[base + row]; }}\n\n\
                 {head} return number * ACTIVATIONS; }}\n\n"
            );
        }
        let values = self.joined(|k, _| self.kept("activations", k));
        format!(
            "fn activation(base: u32, row: u32) -> Lanes {{\n    return {values};\n}}\n\n\
             {head}\n    \
             return parameters[2].w + (seed * padded(parameters[0].w) + group * LANES) * ACTIVATIONS;\n}}\n\n"
        )
    }

    fn settle(&self) -> String {
        let lines = self.each(|k, x| format!("settle(seed, group, {k}u, channel, {x})"));
        format!("fn settle_all(seed: u32, group: u32, channel: u32, x: Lanes) {{\n{lines}}}\n")
    }

    fn exchange_lanes(&self) -> String {
        let incoming = self.joined(|k, _| format!("incoming[channel * LANES + {k}u]"));
        let send = self.each(|k, x| format!("send_one(seed, group, {k}u, item, {x})"));
        format!(
            "fn incoming_of(channel: u32) -> Lanes {{\n    return {incoming};\n}}\n\n\
             fn send(seed: u32, group: u32, item: u32, x: Lanes) {{\n{send}}}\n"
        )
    }
}

fn parameters(count: usize) -> String {
    format!("@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, {count}>;\n")
}

fn storage(binding: usize, write: bool, name: &str, kind: &str) -> String {
    let access = if write { "read_write" } else { "read" };
    format!("@group(0) @binding({binding}) var<storage, {access}> {name}: array<{kind}>;\n")
}

#[cfg(test)]
mod tests {
    use farad::CustomLimits;

    use super::super::super::extent::RollOutExtent;
    use super::super::super::op::Policy;
    use super::super::plan::PassDirection;
    use super::*;

    const LIMITS: CustomLimits = CustomLimits {
        invocations: 256,
        workgroup_memory: 16 << 10,
        workgroups: 65535,
        subgroups: false,
        matrices: 0,
    };

    /// The topology that the files show.
    fn sample() -> Topology {
        let (perception, update) = (vec![9, 3, 2], vec![14, 12, 6, 2]);
        Topology { channels: 2, kernels: 3, perception, update, edge: Edge::Wrap }
    }

    fn text(topology: &Topology, direction: PassDirection, policy: Policy) -> WgslText {
        let (steps, seeds, batch, height, width) = (2, 1, 1, 20, 20);
        let extent =
            RollOutExtent { topology, policy, asynchronous: true, steps, seeds, batch, height, width };
        let plan = KernelPlan::new(&extent, &LIMITS, direction);
        let text = TextKey { topology, plan, asynchronous: true, keeps: policy == Policy::KeepAll };
        match direction {
            PassDirection::Forward => text.forward(),
            PassDirection::Backward => text.backward(),
        }
    }

    #[test]
    fn files_are_what_their_sample_renders_to() {
        let cell = WgslText::new(CELL).region("grid", GRID);
        let forward = text(&sample(), PassDirection::Forward, Policy::KeepAll);
        assert_eq!(forward, WgslText::new(FORWARD).region("cell", &cell));
        let backward = text(&sample(), PassDirection::Backward, Policy::Recompute);
        let (_, behind) = BACKWARD.split_once("//}\n").expect("a region ends");
        assert!(backward.as_ref().ends_with(behind), "{backward}");
        assert_eq!(begin(&sample()).as_ref(), BEGIN);
        assert_eq!(finish(&sample()), WgslText::new(FINISH).region("grid", GRID));
    }
}
