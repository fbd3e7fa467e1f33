//! Joins kernels that run over the same space and share data: side by side (two results of one
//! input) or one after the other (a result used at the same positions).

use std::collections::{HashMap, HashSet};

use farad_ir::{Graph, NodeId};

use crate::draft::{Draft, Written};
use crate::fuse::{Work, touches};
use crate::program::{Code, Instr, Reg, Target};

/// Joins what can be joined, then drops results that nobody reads.
pub fn merge(
    graph: &Graph,
    outputs: &[NodeId],
    materialised: &[bool],
    works: &mut Vec<Work>,
    target: &Target,
) {
    if target.fuse {
        while let Some((a, b)) = pair(graph, works, target) {
            let (low, high) = (a.min(b), a.max(b));
            let second = works.remove(high);
            let first = works.remove(low);
            let (Work::Draft(x), Work::Draft(y)) = (first, second) else {
                unreachable!("only drafts are paired")
            };
            let (producer, consumer) = if a < b { (x, y) } else { (y, x) };
            let joined = join(*producer, *consumer).expect("tried before");
            works.push(Work::Draft(Box::new(joined)));
        }
    }
    drop_unread(graph, outputs, materialised, works);
}

/// Two kernels that can be one, producer first.
fn pair(graph: &Graph, works: &[Work], target: &Target) -> Option<(usize, usize)> {
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
    let mut tried = HashSet::new();
    for (_, list) in groups {
        for (n, &i) in list.iter().enumerate() {
            for &j in &list[n + 1..] {
                if i == j || !tried.insert((i.min(j), i.max(j))) {
                    continue;
                }
                let (a, b) = if flow.direct(j, i) { (j, i) } else { (i, j) };
                if compatible(works, a, b, target)
                    && !flow.detour(a, b)
                    && !flow.detour(b, a)
                    && !flow.direct(b, a)
                {
                    return Some((a, b));
                }
            }
        }
    }
    None
}

fn compatible(works: &[Work], a: usize, b: usize, target: &Target) -> bool {
    let (Work::Draft(x), Work::Draft(y)) = (&works[a], &works[b]) else { return false };
    let spaces = x.axes == y.axes && (x.reduced == y.reduced || x.reduced.is_empty() || y.reduced.is_empty());
    if !spaces || x.product.is_some() || y.product.is_some() || x.tape.len() + y.tape.len() > 200 {
        return false;
    }
    match join((**x).clone(), (**y).clone()) {
        Some(joined) => joined.loads().len() + joined.results.len() <= target.bindings,
        None => false,
    }
}

/// One kernel that does the work of both; `None` if the second reads a result of the first at other
/// positions than it is written.
fn join(first: Draft, second: Draft) -> Option<Draft> {
    let mut draft = first;
    let written: HashMap<NodeId, Written> = draft.results.iter().map(|r| (r.node, r.clone())).collect();
    let mut seen: HashMap<(Code, farad_ir::DType), Reg> = draft
        .tape
        .iter()
        .enumerate()
        .map(|(i, instr)| ((instr.code.clone(), instr.dtype), Reg(i as u32)))
        .collect();
    let sites = draft.sites.len();
    let mut map: Vec<Reg> = Vec::with_capacity(second.tape.len());
    for instr in second.tape {
        let mut code = renumber(&instr.code, &map);
        if let Code::Load(buffer, view) = &code
            && let Some(result) = written.get(&NodeId(buffer.0))
        {
            if result.view != *view {
                return None;
            }
            map.push(result.value);
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

/// The code with its operands renamed.
pub fn renumber(code: &Code, map: &[Reg]) -> Code {
    let at = |reg: &Reg| map[reg.0 as usize];
    match code {
        Code::Unary(op, x) => Code::Unary(*op, at(x)),
        Code::Binary(op, a, b) => Code::Binary(*op, at(a), at(b)),
        Code::Select(c, a, b) => Code::Select(at(c), at(a), at(b)),
        Code::Cast(x, to) => Code::Cast(at(x), *to),
        Code::Reduce(op, x) => Code::Reduce(*op, at(x)),
        Code::Random(key, view) => Code::Random(key.map(|r| at(&r)), view.clone()),
        Code::Take { buffer, view, position, stride, size, site } => Code::Take {
            buffer: *buffer,
            view: view.clone(),
            position: at(position),
            stride: *stride,
            size: *size,
            site: *site,
        },
        Code::Constant(_) | Code::Parameter(_) | Code::Load(..) | Code::Position(_) | Code::Accumulator => {
            code.clone()
        }
    }
}

/// Which kernels wait for which.
struct Flow {
    /// Direct consumers.
    next: Vec<Vec<usize>>,
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
            }
        }
        let mut next = vec![Vec::new(); works.len()];
        for (i, work) in works.iter().enumerate() {
            let mut stack: Vec<NodeId> = match work {
                Work::Draft(draft) => draft
                    .loads()
                    .into_iter()
                    .chain(draft.product.iter().flat_map(|p| graph.node(*p).operands.iter().copied()))
                    .collect(),
                Work::Node(id) => graph.node(*id).operands.clone(),
            };
            let mut seen = HashSet::new();
            while let Some(id) = stack.pop() {
                if !seen.insert(id) {
                    continue;
                }
                match owner.get(&id) {
                    Some(&from) if from != i => next[from].push(i),
                    Some(_) => {}
                    None => stack.extend(&graph.node(id).operands),
                }
            }
        }
        Flow { next }
    }

    fn direct(&self, from: usize, to: usize) -> bool {
        self.next[from].contains(&to)
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
