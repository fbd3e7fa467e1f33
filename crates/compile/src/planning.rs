//! Assigns memory and order: every materialized node gets a location, nodes with disjoint lifetimes share
//! blocks, donated inputs are updated in place, and steps are grouped into waves.
//!
//! Invariant: every planned program passes [`verify`]. Debug builds check everything, release builds only
//! aliasing; a program that fails is refused. Start at [`plan`].

pub mod assemble;
pub mod bundle_sums;
mod limits;
mod loops;
mod sorts;
mod staging;
mod unroll_axes;
mod waves;

use std::collections::{HashMap, HashSet};

use farad_ir::{DType, Graph, NodeId, Op};

use crate::fusion::FusedGraph;
use crate::fusion::draft::{Draft, resident};
use crate::fusion::work::{Work, touches};
use crate::passes::PassWatcher;
use crate::program::verify::{aliases, verify};
use crate::program::{
    BufferId, Code, Custom, Kernel, Place, Program, ProgramBuffer, ProgramOutput, ProgramStep, Scatter,
    Segment, Site, Sort, Spec, Sums, Target, View,
};
use assemble::{PlannedMemory, kernel};
use bundle_sums::{Sum, bundle};
use limits::ALIGNMENT;
use unroll_axes::{apart, unroll};
use waves::waves;

/// Assigns memory and an order to the kernels of a graph.
pub fn plan(
    graph: &Graph,
    outputs: &[NodeId],
    donations: &[(usize, usize)],
    mut fused: FusedGraph,
    target: &Target,
    watcher: &mut PassWatcher<'_>,
) -> Program {
    let mut planner = Planner {
        graph,
        watcher,
        materialized: fused.materialized,
        program: Program::default(),
        homes: HashMap::new(),
        sorts: HashMap::new(),
    };
    planner.declare(outputs);
    let donated = planner.donate(outputs, donations, &mut fused.works);
    fused.works = bundle(graph, &planner.materialized, fused.works, target);
    planner.place(outputs, &donated, &fused.works, target);
    for work in &fused.works {
        planner.step(work, target);
    }
    let mut program = planner.program;
    let steps = std::mem::take(&mut program.steps);
    program.steps = waves(&program, steps);
    let checked = match cfg!(debug_assertions) {
        true => verify(&program, target),
        false => aliases::check(&program),
    };
    if let Err(error) = checked {
        panic!("{error}\n{program}");
    }
    program
}

struct Planner<'a, 'w> {
    graph: &'a Graph,
    /// Sees the passes over loop bodies.
    watcher: &'a mut PassWatcher<'w>,
    materialized: Vec<bool>,
    program: Program,
    homes: HashMap<NodeId, BufferId>,
    /// Sorts that already have memory but no step yet.
    sorts: HashMap<NodeId, Sort>,
}

impl PlannedMemory for Planner<'_, '_> {
    fn buffer(&self, node: NodeId) -> BufferId {
        let base = resident(self.graph, &self.materialized, node).unwrap_or(node);
        *self.homes.get(&base).unwrap_or_else(|| panic!("{} has no memory", self.graph.node(node).op.name()))
    }
}

impl Planner<'_, '_> {
    /// Declares inputs, parameters and outputs, in order.
    fn declare(&mut self, outputs: &[NodeId]) {
        for id in self.graph.ids() {
            let node = self.graph.node(id);
            match node.op {
                Op::Input(n) => {
                    let spec = Spec { dtype: node.dtype, len: node.shape.numel() };
                    grow(&mut self.program.inputs, n, Spec { dtype: node.dtype, len: 0 });
                    self.program.inputs[n] = spec;
                    let buffer = self.add_buffer(Place::Input(n), 0, spec);
                    self.homes.insert(id, buffer);
                }
                Op::Parameter(n) => {
                    grow(&mut self.program.parameters, n, node.dtype);
                    self.program.parameters[n] = node.dtype;
                    if node.dtype.is_wide() {
                        // The upper half of its bits follows.
                        grow(&mut self.program.parameters, n + 1, DType::U32);
                        self.program.parameters[n + 1] = DType::U32;
                    }
                }
                _ => {}
            }
        }
        for &id in outputs {
            let node = self.graph.node(id);
            let spec = Spec { dtype: node.dtype, len: node.shape.numel() };
            self.program.outputs.push(ProgramOutput { spec, donor: None });
        }
    }

    fn add_buffer(&mut self, place: Place, offset: usize, spec: Spec) -> BufferId {
        self.program.buffers.push(ProgramBuffer { place, offset, dtype: spec.dtype, len: spec.len });
        BufferId(self.program.buffers.len() as u32 - 1)
    }

    fn add_block(&mut self, bytes: usize) -> usize {
        self.program.blocks.push(bytes.next_multiple_of(ALIGNMENT));
        self.program.blocks.len() - 1
    }

    fn spec(&self, id: NodeId) -> Spec {
        let node = self.graph.node(id);
        Spec { dtype: node.dtype, len: node.shape.numel() }
    }

    /// Which donations are possible: the update must read its input only where it writes, and nobody may read
    /// the input afterwards. An update that nobody depends on is moved to the end to make that true.
    fn donate(
        &mut self,
        outputs: &[NodeId],
        donations: &[(usize, usize)],
        works: &mut Vec<Work>,
    ) -> HashSet<usize> {
        let mut held = HashSet::new();
        for &(output, input) in donations {
            let id = outputs[output];
            let leaf =
                self.graph.ids().find(|&i| matches!(self.graph.node(i).op, Op::Input(n) if n == input));
            let Some(leaf) = leaf.filter(|&l| self.spec(l) == self.spec(id)) else { continue };
            let Some(at) = works.iter().position(|w| writes(self.graph, w, id)) else { continue };
            let possible = match &works[at] {
                Work::Node(custom) => self.changes(*custom, leaf, id),
                work => in_place(work, leaf, id),
            };
            if !possible {
                continue;
            }
            let reads = |w: &Work| touches(self.graph, &self.materialized, w).0.contains(&leaf);
            if works[at + 1..].iter().any(reads) {
                let written = touches(self.graph, &self.materialized, &works[at]).1;
                let awaited = works.iter().any(|w| {
                    touches(self.graph, &self.materialized, w).0.iter().any(|r| written.contains(r))
                });
                if awaited {
                    continue;
                }
                let work = works.remove(at);
                works.push(work);
            }
            self.program.outputs[output].donor = Some(input);
            held.insert(output);
        }
        held
    }

    /// Whether a custom op changes an input in place and reads it as nothing else.
    fn changes(&self, custom: NodeId, leaf: NodeId, result: NodeId) -> bool {
        let (node, &Op::Pick(number, ..)) = (self.graph.node(custom), &self.graph.node(result).op) else {
            return false;
        };
        let Op::Custom(op) = &node.op else { return false };
        let is_leaf = |operand: &NodeId| resident(self.graph, &self.materialized, *operand) == Some(leaf);
        let reads = node.operands.iter().filter(|operand| is_leaf(operand)).count();
        reads == 1 && op.in_place().iter().any(|&(from, to)| to == number && is_leaf(&node.operands[from]))
    }

    /// Assigns memory to every materialized node: outputs first, packs with their parts, then blocks by
    /// lifetime.
    fn place(&mut self, outputs: &[NodeId], donated: &HashSet<usize>, works: &[Work], target: &Target) {
        for (n, &id) in outputs.iter().enumerate() {
            let home = match self.program.outputs[n].donor.filter(|_| donated.contains(&n)) {
                Some(input) => {
                    let leaf = self
                        .graph
                        .ids()
                        .find(|&i| matches!(self.graph.node(i).op, Op::Input(m) if m == input));
                    self.homes[&leaf.expect("a donor is an input")]
                }
                None => self.add_buffer(Place::Output(n), 0, self.spec(id)),
            };
            self.homes.insert(id, home);
        }
        for id in self.graph.ids() {
            if let Op::Pack(offsets, _) = &self.graph.node(id).op {
                let spec = self.spec(id);
                let block = self.add_block(spec.len * spec.dtype.size());
                let buffer = self.add_buffer(Place::Block(block), 0, spec);
                self.homes.insert(id, buffer);
                for (&part, &offset) in self.graph.node(id).operands.iter().zip(offsets) {
                    let spec = self.spec(part);
                    let buffer = self.add_buffer(Place::Block(block), offset * spec.dtype.size(), spec);
                    self.homes.insert(part, buffer);
                }
            }
        }
        for sums in
            works.iter().filter_map(|work| if let Work::Sums(sums) = work { Some(sums) } else { None })
        {
            self.place_sums(sums);
        }
        // No kernel writes an empty node, but a scan or a custom op may still name it.
        for id in self.graph.ids() {
            if self.materialized[id.index()] && self.spec(id).len == 0 && !self.homes.contains_key(&id) {
                let block = self.add_block(ALIGNMENT);
                let buffer = self.add_buffer(Place::Block(block), 0, self.spec(id));
                self.homes.insert(id, buffer);
            }
        }
        self.share_blocks(works, target);
    }

    /// One block for all sources of a kernel of sums.
    fn place_sums(&mut self, sums: &[Sum]) {
        let bytes = |sum: &Sum| (sum.parts * sum.results * 4).next_multiple_of(ALIGNMENT);
        let block = self.add_block(sums.iter().map(bytes).sum());
        let mut offset = 0;
        for sum in sums {
            let buffer = self.add_buffer(Place::Block(block), offset, self.spec(sum.source));
            self.homes.insert(sum.source, buffer);
            offset += bytes(sum);
        }
    }

    fn share_blocks(&mut self, works: &[Work], target: &Target) {
        let mut last: HashMap<NodeId, usize> = HashMap::new();
        let touched: Vec<(Vec<NodeId>, Vec<NodeId>)> =
            works.iter().map(|w| touches(self.graph, &self.materialized, w)).collect();
        for (i, (reads, writes)) in touched.iter().enumerate() {
            reads.iter().chain(writes).for_each(|id| {
                last.insert(*id, i);
            });
        }
        let mut free: Vec<usize> = Vec::new();
        let mut expiring: Vec<Vec<usize>> = vec![Vec::new(); works.len()];
        for (i, (_, writes)) in touched.iter().enumerate() {
            for &id in writes {
                if self.homes.contains_key(&id)
                    || matches!(self.graph.node(id).op, Op::Scan(_) | Op::Custom(_))
                {
                    continue;
                }
                let spec = self.spec(id);
                let bytes = (spec.len * spec.dtype.size()).max(4).next_multiple_of(ALIGNMENT);
                let block = self.take_block(&mut free, bytes);
                let buffer = self.add_buffer(Place::Block(block), 0, spec);
                self.homes.insert(id, buffer);
                expiring[last[&id]].push(block);
            }
            if let Work::Node(id) = works[i] {
                let scratch = self.place_sort(id, &mut free, target);
                expiring[i].extend(scratch);
            }
            free.append(&mut expiring[i]);
        }
    }

    /// The smallest free block that is large enough; otherwise the largest free block, grown; otherwise a new
    /// one.
    fn take_block(&mut self, free: &mut Vec<usize>, bytes: usize) -> usize {
        let sizes = &self.program.blocks;
        let fitting = free
            .iter()
            .enumerate()
            .filter(|(_, b)| sizes[**b] >= bytes)
            .min_by_key(|(_, b)| sizes[**b])
            .map(|(i, _)| i);
        let chosen =
            fitting.or_else(|| free.iter().enumerate().max_by_key(|(_, b)| sizes[**b]).map(|(i, _)| i));
        match chosen {
            Some(i) => {
                let block = free.swap_remove(i);
                self.program.blocks[block] = self.program.blocks[block].max(bytes);
                block
            }
            None => self.add_block(bytes),
        }
    }

    fn step(&mut self, work: &Work, target: &Target) {
        match work {
            Work::Draft(draft) => {
                let sites = self.program.sites.len();
                let kernel = kernel(self.graph, draft, &self.materialized, self, sites);
                self.program.sites.extend(draft.sites.iter().cloned());
                let label = label(self.graph, draft);
                match kernel {
                    Kernel::Fused(fused) if target.fuse => {
                        if let Some([first, second]) = apart(&fused, &self.program.buffers) {
                            self.push(label, Kernel::Fused(first));
                            return self.push("sum".into(), Kernel::Fused(second));
                        }
                        let fused = unroll(fused, &self.program.buffers);
                        self.push(label, Kernel::Fused(fused));
                    }
                    kernel => self.push(label, kernel),
                }
            }
            Work::Sums(sums) => self.sums(sums),
            Work::Node(id) => match &self.graph.node(*id).op {
                Op::ScatterAdd(axis, size) => self.scatter(*id, *axis, *size),
                op @ (Op::Order(_) | Op::Top(..)) => {
                    self.sort(*id, if let Op::Top(..) = op { "topk" } else { "sort" });
                }
                Op::Custom(_) => self.custom(*id),
                Op::Scan(_) => self.scan(*id, target),
                other => unreachable!("{} is computed by drafted kernels", other.name()),
            },
        }
    }

    fn push(&mut self, label: String, kernel: Kernel) {
        self.program.steps.push(ProgramStep { wave: 0, label, kernel });
    }

    fn sums(&mut self, sums: &[Sum]) {
        // Buffers for the whole block and the whole pack, which are bound once.
        let whole = |planner: &mut Self, id: NodeId| {
            let ProgramBuffer { place, dtype, .. } = planner.program.buffers[planner.buffer(id).0 as usize];
            let Place::Block(block) = place else { unreachable!("packs and sums have blocks of their own") };
            let len = planner.program.blocks[block] / dtype.size();
            planner.add_buffer(place, 0, Spec { dtype, len })
        };
        let (source, target) = (whole(self, sums[0].source), whole(self, sums[0].result));
        let start = |id: NodeId| self.program.buffers[self.buffer(id).0 as usize].offset / 4;
        let segment = |sum: &Sum| Segment {
            from: start(sum.source),
            to: start(sum.result),
            parts: sum.parts,
            results: sum.results,
        };
        let segments = sums.iter().map(segment).collect();
        self.push("sums".into(), Kernel::Sums(Sums { source, target, segments }));
    }

    fn scatter(&mut self, id: NodeId, axis: usize, size: usize) {
        let node = self.graph.node(id);
        let (source, index) = (node.operands[0], node.operands[1]);
        let (shape, at) = (self.graph.shape(source), self.graph.shape(index));
        let mut strides: Vec<i64> = at.strides().iter().map(|&s| s as i64).collect();
        (0..at.rank()).filter(|&a| at[a] == 1).for_each(|a| strides[a] = 0);
        let order = self.sort(id, "scatter_add order");
        self.program.sites.push(Site { op: "scatter_add".into(), location: node.location, size });
        let kernel = Kernel::Scatter(Scatter {
            axes: shape.to_vec(),
            axis,
            size,
            source: (self.buffer(source), View::contiguous(&shape)),
            index: (self.buffer(index), View { offset: 0, strides, guards: vec![] }),
            target: self.buffer(id),
            order,
            distinct: self.is_distinct(id),
            site: self.program.sites.len() - 1,
        });
        self.push("scatter_add".into(), kernel);
    }

    fn picks(&self, id: NodeId) -> Vec<(usize, NodeId)> {
        let of = |p: NodeId| match self.graph.node(p).op {
            Op::Pick(n, ..) if self.graph.node(p).operands[0] == id => Some((n, p)),
            _ => None,
        };
        self.graph.ids().filter_map(of).collect()
    }

    /// A buffer for every result of a scan or custom node, whether it is used or not.
    fn result_buffers(&mut self, id: NodeId, specs: &[Spec]) -> Vec<BufferId> {
        let picks = self.picks(id);
        let mut buffers = Vec::new();
        for (n, &spec) in specs.iter().enumerate() {
            let asked = picks.iter().find(|(m, _)| *m == n).map(|(_, p)| self.homes[p]);
            buffers.push(asked.unwrap_or_else(|| {
                let block = self.add_block(spec.len * spec.dtype.size());
                self.add_buffer(Place::Block(block), 0, spec)
            }));
        }
        buffers
    }

    fn custom(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let Op::Custom(op) = &node.op else { unreachable!("checked by the caller") };
        let kinds: Vec<_> =
            node.operands.iter().map(|&o| (self.graph.shape(o), self.graph.dtype(o))).collect();
        let shapes: Vec<_> = kinds.iter().map(|k| k.0).collect();
        let results = op.infer(&kinds).expect("checked when the op was built");
        let specs: Vec<Spec> =
            results.iter().map(|&(shape, dtype)| Spec { dtype, len: shape.numel() }).collect();
        let results = self.result_buffers(id, &specs);
        let mut scratch = Vec::new();
        for words in op.scratch(&shapes) {
            let block = self.add_block(words * 4);
            let spec = Spec { dtype: farad_ir::DType::U32, len: words };
            scratch.push(self.add_buffer(Place::Block(block), 0, spec));
        }
        let mut operands: Vec<BufferId> = node.operands.iter().map(|&o| self.buffer(o)).collect();
        for &(operand, result) in op.in_place() {
            let (from, to) = (operands[operand], results[result]);
            if from != to {
                let Spec { dtype, len } = specs[result];
                self.push("copy".into(), assemble::copy(from, to, len, dtype));
            }
            operands[operand] = to;
        }
        let kernel = Kernel::Custom(Custom { op: op.clone(), shapes, operands, results, scratch });
        self.push(op.name().to_string(), kernel);
    }
}

fn grow<T: Clone>(list: &mut Vec<T>, n: usize, fill: T) {
    if list.len() <= n {
        list.resize(n + 1, fill);
    }
}

fn writes(graph: &Graph, work: &Work, id: NodeId) -> bool {
    match work {
        Work::Draft(draft) => draft.results.iter().any(|r| r.node == id),
        Work::Node(from) => matches!(graph.node(id).op, Op::Pick(..)) && graph.node(id).operands[0] == *from,
        Work::Sums(_) => false,
    }
}

/// Whether a kernel reads `leaf` only at the position where it writes `result`.
fn in_place(work: &Work, leaf: NodeId, result: NodeId) -> bool {
    let Work::Draft(draft) = work else { return false };
    let Some(to) = draft.results.iter().find(|r| r.node == result) else { return false };
    let reads = draft.tape.iter().all(|instr| match &instr.code {
        Code::Load(buffer, view) => buffer.0 != leaf.0 || *view == to.view,
        Code::Take { buffer, .. } => buffer.0 != leaf.0,
        _ => true,
    });
    reads && draft.reduced.is_empty() && draft.product.is_none()
}

/// The kernel's label in profiles: its most expensive ops, in order.
fn label(graph: &Graph, draft: &Draft) -> String {
    let mut ids: Vec<NodeId> = draft.computed.iter().copied().collect();
    ids.sort_unstable();
    let mut names: Vec<String> = Vec::new();
    for id in ids {
        let op = &graph.node(id).op;
        let shown = op.is_pointwise()
            || matches!(op, Op::Reduce(..) | Op::Contract(_) | Op::Gather(_) | Op::Random(_));
        let name = op.name();
        if shown && names.last() != Some(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(6);
    names.truncate(6);
    match (names.is_empty(), more) {
        (true, _) => "copy".into(),
        (_, 0) => names.join("+"),
        _ => format!("{}+{more} more", names.join("+")),
    }
}
