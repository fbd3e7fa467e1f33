//! Joins kernels that run over the same space and share data: side by side (two results of one
//! input) or one after the other (a result used at the same positions).

use std::collections::{HashMap, HashSet};

use farad_ir::{Graph, NodeId};

use crate::draft::{Draft, Written};
use crate::program::{Code, Instr, Reg, Target};
use crate::works::{Work, touches};

/// Joins what can be joined, then drops results that nobody reads.
pub fn merge(
    graph: &Graph,
    outputs: &[NodeId],
    materialised: &[bool],
    works: &mut Vec<Work>,
    target: &Target,
) {
    if target.fuse {
        let mut search =
            Search { names: (0..works.len()).collect(), next: works.len(), refused: HashSet::new() };
        while let Some((a, b, joined)) = search.pair(graph, works, target) {
            works[a] = Work::Draft(Box::new(joined));
            search.names[a] = search.next;
            search.next += 1;
            works.swap_remove(b);
            search.names.swap_remove(b);
        }
    }
    drop_unread(graph, outputs, materialised, works);
}

/// Looks for kernels to join, and remembers pairs that cannot be.
struct Search {
    /// A number for every kernel; a joined one gets a new number.
    names: Vec<usize>,
    next: usize,
    refused: HashSet<(usize, usize)>,
}

impl Search {
    /// Two kernels, producer first, and the one that does the work of both.
    fn pair(&mut self, graph: &Graph, works: &[Work], target: &Target) -> Option<(usize, usize, Draft)> {
        let flow = Flow::of(graph, works);
        let mut by_load: HashMap<NodeId, Vec<usize>> = HashMap::new();
        for (i, work) in works.iter().enumerate() {
            if let Work::Draft(draft) = work {
                draft.loads().into_iter().for_each(|n| by_load.entry(n).or_default().push(i));
                draft.results.iter().for_each(|r| by_load.entry(r.node).or_default().push(i));
            }
        }
        let mut groups: Vec<(NodeId, Vec<usize>)> =
            by_load.into_iter().filter(|(_, list)| list.len() > 1).collect();
        groups.sort_unstable();
        for (_, list) in groups {
            for (n, &i) in list.iter().enumerate() {
                for &j in list[n + 1..].iter().filter(|&&j| j != i) {
                    let (a, b) = if flow.direct(j, i) { (j, i) } else { (i, j) };
                    if !same_space(&works[a], &works[b])
                        || self.refused.contains(&(self.names[a], self.names[b]))
                    {
                        continue;
                    }
                    let apart =
                        flow.detour(a, b) || flow.detour(b, a) || flow.direct(b, a) || flow.packed(a, b);
                    if let Some(joined) = (!apart).then(|| try_join(&works[a], &works[b], target)).flatten() {
                        return Some((a, b, joined));
                    }
                    self.refused.insert((self.names[a], self.names[b]));
                }
            }
        }
        None
    }
}

fn same_space(a: &Work, b: &Work) -> bool {
    let (Work::Draft(x), Work::Draft(y)) = (a, b) else { return false };
    x.product.is_none()
        && y.product.is_none()
        && x.axes == y.axes
        && (x.reduced == y.reduced || x.reduced.is_empty() || y.reduced.is_empty())
        && x.tape.len() + y.tape.len() <= MOST_INSTRUCTIONS
}

/// Joined kernels stay shorter than this.
const MOST_INSTRUCTIONS: usize = 200;

fn try_join(a: &Work, b: &Work, target: &Target) -> Option<Draft> {
    let (Work::Draft(x), Work::Draft(y)) = (a, b) else { return None };
    let joined = join((**x).clone(), (**y).clone())?;
    (joined.loads().len() + joined.written() <= target.bindings).then_some(joined)
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

/// Which kernels wait for which.
struct Flow {
    /// Direct consumers.
    next: Vec<Vec<usize>>,
    /// Those of them that read a result as a part of something larger: a pack.
    packed: Vec<Vec<usize>>,
}

impl Flow {
    fn of(graph: &Graph, works: &[Work]) -> Flow {
        let mut owner: HashMap<NodeId, usize> = HashMap::new();
        for (i, work) in works.iter().enumerate() {
            match work {
                Work::Draft(draft) => draft.results.iter().for_each(|r| {
                    owner.insert(r.node, i);
                }),
                Work::Node(id) => {
                    owner.insert(*id, i);
                }
                Work::Sums(sums) => sums.iter().for_each(|sum| {
                    owner.insert(sum.result, i);
                }),
            }
        }
        let mut next = vec![Vec::new(); works.len()];
        let mut packed = vec![Vec::new(); works.len()];
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
                        next[from].push(i);
                        if within {
                            packed[from].push(i);
                        }
                    }
                    Some(_) => {}
                    None => stack.extend(graph.node(id).operands.iter().map(|&operand| (operand, true))),
                }
            }
        }
        Flow { next, packed }
    }

    fn direct(&self, from: usize, to: usize) -> bool {
        self.next[from].contains(&to)
    }

    /// Whether one reads the other's result through a pack, so that it must be written before.
    fn packed(&self, from: usize, to: usize) -> bool {
        self.packed[from].contains(&to)
    }

    /// Whether a path leads from one to the other through a third.
    fn detour(&self, from: usize, to: usize) -> bool {
        let mut stack: Vec<usize> = self.next[from].iter().copied().filter(|&k| k != to).collect();
        let mut seen = HashSet::new();
        while let Some(k) = stack.pop() {
            if k == to {
                return true;
            }
            if seen.insert(k) {
                stack.extend(&self.next[k]);
            }
        }
        false
    }
}

/// Drops results that no other kernel reads, and what only they needed.
fn drop_unread(graph: &Graph, outputs: &[NodeId], materialised: &[bool], works: &mut [Work]) {
    let mut read: HashSet<NodeId> = outputs.iter().copied().collect();
    for work in works.iter() {
        read.extend(touches(graph, materialised, work).0);
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
