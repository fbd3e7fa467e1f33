//! Merges kernels that run over the same space and share data: side by side (two results of one input), or in
//! sequence (a result used at the same positions).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use farad_ir::{Graph, NodeId};

use super::limits;
use crate::fusion::draft::{Draft, Written};
use crate::fusion::work::{Work, touches};
use crate::program::{Code, Instr, Reg, Target};

/// Merges what can be merged, then drops results that nobody reads.
pub fn merge(
    graph: &Graph,
    outputs: &[NodeId],
    materialized: &[bool],
    works: &mut Vec<Work>,
    target: &Target,
) {
    if target.fuse {
        *works = Joining::of(graph, std::mem::take(works), target).run();
    }
    drop_unread(graph, outputs, materialized, works);
}

/// Kernels during merging, which goes through the nodes that kernels have in common. A merged kernel replaces
/// its first part, and is tried again with all nodes that it touches.
struct Joining<'a> {
    target: &'a Target,
    /// The kernels; `None` where a kernel was merged into another.
    works: Vec<Option<Work>>,
    touched: Vec<Touched>,
    /// A unique number per kernel; a merged kernel gets a new one.
    names: Vec<usize>,
    next: usize,
    flow: Flow,
    /// The kernels that load or write each node, ascending.
    groups: BTreeMap<NodeId, Vec<usize>>,
    /// Pairs of kernel numbers that cannot be merged.
    refused: HashSet<(usize, usize)>,
}

impl<'a> Joining<'a> {
    fn of(graph: &Graph, works: Vec<Work>, target: &'a Target) -> Joining<'a> {
        let flow = Flow::of(graph, &works);
        let touched: Vec<Touched> = works.iter().map(Touched::of).collect();
        let mut groups: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        for (i, Touched { loads, writes }) in touched.iter().enumerate() {
            loads.union(writes).for_each(|&node| groups.entry(node).or_default().push(i));
        }
        Joining {
            target,
            touched,
            names: (0..works.len()).collect(),
            next: works.len(),
            works: works.into_iter().map(Some).collect(),
            flow,
            groups,
            refused: HashSet::new(),
        }
    }

    fn run(mut self) -> Vec<Work> {
        for node in self.groups.keys().copied().collect::<Vec<_>>() {
            let mut first = 0;
            while let Some(&i) = self.groups[&node].get(first) {
                match self.partner(node, i, first + 1) {
                    // The kernel that is at this index now is tried with those after it.
                    Some(joined) => self.settle(joined, node),
                    None => first += 1,
                }
            }
        }
        self.works.into_iter().flatten().collect()
    }

    /// Merges a kernel with the first one that it can be merged with, among those that touch `node`, starting
    /// at index `from`.
    fn partner(&mut self, node: NodeId, kernel: usize, from: usize) -> Option<usize> {
        let list = &self.groups[&node];
        let at = list.partition_point(|&k| k < kernel);
        let near = from.max(at.saturating_sub(limits::NEIGHBORS))..list.len().min(at + limits::NEIGHBORS);
        let others: Vec<usize> =
            list.get(near).unwrap_or_default().iter().copied().filter(|&other| other != kernel).collect();
        others.into_iter().find_map(|other| self.pair(kernel.min(other), kernel.max(other)))
    }

    /// Tries a merged kernel again with all kernels that touch the same nodes, up to the current node.
    fn settle(&mut self, joined: usize, until: NodeId) {
        let mut kernel = joined;
        'again: loop {
            let Touched { loads, writes } = &self.touched[kernel];
            let both: Vec<NodeId> = loads.union(writes).copied().filter(|&node| node <= until).collect();
            for node in both {
                if let Some(larger) = self.partner(node, kernel, 0) {
                    kernel = larger;
                    continue 'again;
                }
            }
            return;
        }
    }

    /// Merges two kernels if possible and returns the index of the result.
    fn pair(&mut self, i: usize, j: usize) -> Option<usize> {
        let (a, b) = if self.flow.all.has(j, i) { (j, i) } else { (i, j) };
        let (Some(x), Some(y)) = (&self.works[a], &self.works[b]) else { return None };
        let names = (self.names[a], self.names[b]);
        if !same_space(x, y) || self.refused.contains(&names) {
            return None;
        }
        let flow = &self.flow;
        let apart = !self.binds(a, b)
            || flow.all.has(b, a)
            || flow.packed.has(a, b)
            || flow.detour(a, b)
            || flow.detour(b, a);
        let Some(joined) = (!apart).then(|| try_join(x, y)).flatten() else {
            self.refused.insert(names);
            return None;
        };
        for &node in self.touched[b].loads.union(&self.touched[b].writes) {
            let list = self.groups.get_mut(&node).expect("every kernel is in its groups");
            list.retain(|&k| k != b);
            if let Err(at) = list.binary_search(&a) {
                list.insert(at, a);
            }
        }
        self.works[b] = None;
        (self.touched[a], self.touched[b]) = (Touched::by(&joined), Touched::default());
        self.works[a] = Some(Work::Draft(Box::new(joined)));
        self.names[a] = self.next;
        self.next += 1;
        self.flow.join(a, b);
        Some(a)
    }

    /// Whether the merged kernel stays within the device's bindings: what the first writes, the second need not
    /// load.
    fn binds(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.touched[a], &self.touched[b]);
        let loads =
            second.loads.iter().filter(|node| !first.writes.contains(node) && !first.loads.contains(node));
        let writes = second.writes.difference(&first.writes);
        first.loads.len() + first.writes.len() + loads.count() + writes.count() <= self.target.bindings
    }
}

/// The nodes that a kernel loads and those that it writes; empty for kernels that cannot be merged.
#[derive(Default)]
struct Touched {
    loads: BTreeSet<NodeId>,
    writes: BTreeSet<NodeId>,
}

impl Touched {
    fn of(work: &Work) -> Touched {
        match work {
            Work::Draft(draft) => Touched::by(draft),
            Work::Node(_) | Work::Sums(_) => Touched::default(),
        }
    }

    fn by(draft: &Draft) -> Touched {
        let writes = draft.results.iter().map(|result| result.node).collect();
        Touched { loads: draft.loads().into_iter().collect(), writes }
    }
}

fn same_space(a: &Work, b: &Work) -> bool {
    let (Work::Draft(x), Work::Draft(y)) = (a, b) else { return false };
    x.product.is_none()
        && y.product.is_none()
        && x.axes == y.axes
        && (x.reduced == y.reduced || x.reduced.is_empty() || y.reduced.is_empty())
        && x.tape.len() + y.tape.len() <= limits::MOST_JOINED
}

fn try_join(a: &Work, b: &Work) -> Option<Draft> {
    let (Work::Draft(x), Work::Draft(y)) = (a, b) else { return None };
    join((**x).clone(), (**y).clone())
}

/// One kernel that does the work of both; `None` if the second reads a result of the first at other
/// positions than it is written.
fn join(first: Draft, second: Draft) -> Option<Draft> {
    let mut draft = first;
    let mut written: HashMap<NodeId, Vec<Written>> = HashMap::new();
    draft.results.iter().for_each(|r| written.entry(r.node).or_default().push(r.clone()));
    let mut seen: HashMap<(Code, farad_ir::DType), Reg> = draft
        .tape
        .iter()
        .enumerate()
        .map(|(i, instr)| ((instr.code.clone(), instr.dtype), Reg(i as u32)))
        .collect();
    let sites = draft.sites.len();
    let mut map: Vec<Reg> = Vec::with_capacity(second.tape.len());
    for instr in second.tape {
        let mut code = instr.code.renumbered(|reg| map[reg.0 as usize]);
        if let Code::Load(buffer, view) = &code
            && let Some(results) = written.get(&NodeId(buffer.0))
        {
            map.push(results.iter().find(|result| result.view == *view)?.value);
            continue;
        }
        if let Code::Take { buffer, site, .. } = &mut code {
            if written.contains_key(&NodeId(buffer.0)) {
                return None;
            }
            *site += sites;
        }
        let key = (code, instr.dtype);
        let reg = *seen.entry(key.clone()).or_insert_with(|| {
            draft.tape.push(Instr { code: key.0, ..instr });
            Reg(draft.tape.len() as u32 - 1)
        });
        map.push(reg);
    }
    draft.sites.extend(second.sites);
    if draft.reduced.is_empty() {
        draft.reduced = second.reduced;
    }
    draft.computed.extend(second.computed);
    for result in second.results {
        draft.results.push(Written { value: map[result.value.0 as usize], ..result });
    }
    draft.relevel();
    Some(draft)
}

/// The dependencies between kernels.
struct Flow {
    /// All dependencies.
    all: Edges,
    /// Dependencies on a result as a part of something larger (a pack), which must be written by an earlier
    /// kernel.
    packed: Edges,
    /// The kernels in topological order, and the index of each in it. It rules out most searches for a path.
    order: Vec<usize>,
    place: Vec<usize>,
}

/// Edges from kernels to the readers of their results, and back.
struct Edges {
    next: Vec<BTreeSet<usize>>,
    before: Vec<BTreeSet<usize>>,
}

impl Edges {
    fn new(count: usize) -> Edges {
        Edges { next: vec![BTreeSet::new(); count], before: vec![BTreeSet::new(); count] }
    }

    fn add(&mut self, from: usize, to: usize) {
        self.next[from].insert(to);
        self.before[to].insert(from);
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.next[from].contains(&to)
    }

    /// The kernels in topological order, producers first.
    fn order(&self) -> Vec<usize> {
        let mut waits: Vec<usize> = self.before.iter().map(BTreeSet::len).collect();
        let mut free: Vec<usize> = (0..waits.len()).rev().filter(|&i| waits[i] == 0).collect();
        let mut order = Vec::with_capacity(waits.len());
        while let Some(i) = free.pop() {
            order.push(i);
            for &to in &self.next[i] {
                waits[to] -= 1;
                if waits[to] == 0 {
                    free.push(to);
                }
            }
        }
        order
    }

    /// Replaces two kernels by one.
    fn join(&mut self, a: usize, b: usize) {
        for to in std::mem::take(&mut self.next[b]) {
            self.before[to].remove(&b);
            if to != a {
                self.add(a, to);
            }
        }
        for from in std::mem::take(&mut self.before[b]) {
            self.next[from].remove(&b);
            if from != a {
                self.add(from, a);
            }
        }
    }
}

impl Flow {
    fn of(graph: &Graph, works: &[Work]) -> Flow {
        let mut owner: HashMap<NodeId, usize> = HashMap::new();
        for (i, work) in works.iter().enumerate() {
            let written: Vec<NodeId> = match work {
                Work::Draft(draft) => draft.results.iter().map(|r| r.node).collect(),
                Work::Node(id) => vec![*id],
                Work::Sums(sums) => sums.iter().map(|sum| sum.result).collect(),
            };
            written.into_iter().for_each(|node| {
                owner.insert(node, i);
            });
        }
        let (mut all, mut packed) = (Edges::new(works.len()), Edges::new(works.len()));
        for (i, work) in works.iter().enumerate() {
            let reads: Vec<NodeId> = match work {
                Work::Draft(draft) => draft
                    .loads()
                    .into_iter()
                    .chain(draft.product.iter().flat_map(|p| graph.node(*p).operands.iter().copied()))
                    .collect(),
                Work::Node(id) => graph.node(*id).operands.clone(),
                Work::Sums(sums) => sums.iter().map(|sum| sum.source).collect(),
            };
            let mut seen = HashSet::new();
            let mut stack: Vec<(NodeId, bool)> = reads.into_iter().map(|id| (id, false)).collect();
            while let Some((id, within)) = stack.pop() {
                if !seen.insert((id, within)) {
                    continue;
                }
                match owner.get(&id) {
                    Some(&from) if from != i => {
                        all.add(from, i);
                        if within {
                            packed.add(from, i);
                        }
                    }
                    Some(_) => {}
                    None => stack.extend(graph.node(id).operands.iter().map(|&operand| (operand, true))),
                }
            }
        }
        let order = all.order();
        let mut place = vec![0; works.len()];
        order.iter().enumerate().for_each(|(n, &i)| place[i] = n);
        Flow { all, packed, order, place }
    }

    /// Replaces two kernels by one.
    fn join(&mut self, a: usize, b: usize) {
        let (from, to) = (self.place[a].min(self.place[b]), self.place[a].max(self.place[b]));
        // Of the kernels between the two, those that depend on the first go after both, and the rest before.
        let between: Vec<usize> = self.order[from..=to].to_vec();
        let mut waits = HashSet::from([between[0]]);
        let (mut earlier, mut later) = (Vec::new(), Vec::new());
        for &k in between[1..].iter().filter(|&&k| k != a && k != b) {
            if self.all.before[k].iter().any(|j| waits.contains(j)) {
                waits.insert(k);
                later.push(k);
            } else {
                earlier.push(k);
            }
        }
        self.all.join(a, b);
        self.packed.join(a, b);
        // The kernel that was merged away keeps an index, but nothing depends on it.
        for (n, k) in earlier.into_iter().chain([a]).chain(later).chain([b]).enumerate() {
            (self.order[from + n], self.place[k]) = (k, from + n);
        }
    }

    /// Whether a path leads from one kernel to the other through a third.
    fn detour(&self, from: usize, to: usize) -> bool {
        let leads = |k: &usize| self.place[*k] <= self.place[to];
        let third = self.all.next[from].iter().copied().filter(|&k| k != to);
        let mut stack: Vec<usize> = third.filter(leads).collect();
        let mut seen = HashSet::new();
        while let Some(k) = stack.pop() {
            if k == to {
                return true;
            }
            if seen.insert(k) {
                stack.extend(self.all.next[k].iter().copied().filter(leads));
            }
        }
        false
    }
}

/// Drops results that no other kernel reads, and everything that only they needed.
fn drop_unread(graph: &Graph, outputs: &[NodeId], materialized: &[bool], works: &mut [Work]) {
    let mut read: HashSet<NodeId> = outputs.iter().copied().collect();
    for work in works.iter() {
        read.extend(touches(graph, materialized, work).0);
    }
    let packed = graph.nodes.iter().filter(|n| matches!(n.op, farad_ir::Op::Pack(..)));
    read.extend(packed.flat_map(|n| n.operands.iter().copied()));
    for work in works.iter_mut() {
        if let Work::Draft(draft) = work {
            if draft.results.iter().any(|r| read.contains(&r.node)) {
                draft.results.retain(|r| read.contains(&r.node));
            }
            draft.sweep();
        }
    }
}
