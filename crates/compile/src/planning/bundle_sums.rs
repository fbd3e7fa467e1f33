//! Merges small sums that go to one array into one kernel. These are the last additions of the gradients of
//! biases and norms. A network has dozens of them; alone, each would keep no device busy, and they would wait
//! for each other.
//!
//! Invariant: a sum joins only if its source has no other reader, and nobody reads its result before the whole
//! array is done. So all sources can wait in one block until the last is ready.

use std::collections::{HashMap, HashSet};

use farad_ir::{DType, Graph, NodeId, Op, Reduce};

use super::limits;
use crate::fusion::draft::Draft;
use crate::fusion::work::{Work, touches};
use crate::program::{Code, Target};

/// A sum over the first axis of a source: `[parts, results] -> [results]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// What is summed.
    pub source: NodeId,
    /// The result, a part of a pack.
    pub result: NodeId,
    /// Terms.
    pub parts: usize,
    /// Results.
    pub results: usize,
}

/// Merges the sums that go to one pack; each group runs where its last sum ran.
pub fn bundle(graph: &Graph, materialized: &[bool], works: Vec<Work>, target: &Target) -> Vec<Work> {
    if target.parallel <= 1 || !target.fuse {
        return works;
    }
    let mut readers: HashMap<NodeId, usize> = HashMap::new();
    let mut written: HashSet<NodeId> = HashSet::new();
    for work in &works {
        let (reads, writes) = touches(graph, materialized, work);
        reads.iter().for_each(|id| *readers.entry(*id).or_default() += 1);
        if matches!(work, Work::Draft(_)) {
            written.extend(writes);
        }
    }
    let packs = parts_of_packs(graph);
    let alone = |sum: &Sum| {
        readers.get(&sum.source) == Some(&1)
            && written.contains(&sum.source)
            && !readers.contains_key(&sum.result)
            && !packs.contains_key(&sum.source)
    };
    let mut groups: HashMap<NodeId, Vec<usize>> = HashMap::new();
    let mut sums: Vec<Option<Sum>> = Vec::new();
    for (n, work) in works.iter().enumerate() {
        let sum = sum_of(graph, work).filter(alone);
        if let Some(pack) = sum.as_ref().and_then(|sum| packs.get(&sum.result)) {
            groups.entry(*pack).or_default().push(n);
        }
        sums.push(sum);
    }
    // The position of each group's kernel, and its sums.
    let mut joined: HashMap<usize, Vec<Sum>> = HashMap::new();
    let mut gone = vec![false; works.len()];
    for group in
        groups.values().flat_map(|all| all.chunks(limits::BUNDLED_SUMS)).filter(|group| group.len() > 1)
    {
        let own = group.iter().filter_map(|&n| sums[n].clone()).collect();
        group.iter().for_each(|&n| gone[n] = true);
        joined.insert(group[group.len() - 1], own);
    }
    let place = |(n, work): (usize, Work)| match joined.remove(&n) {
        Some(sums) => Some(Work::Sums(sums)),
        None => (!gone[n]).then_some(work),
    };
    works.into_iter().enumerate().filter_map(place).collect()
}

/// The pack that each node is a part of; nodes that are parts of several packs were copied before.
fn parts_of_packs(graph: &Graph) -> HashMap<NodeId, NodeId> {
    let packs = graph.ids().filter(|&id| matches!(graph.node(id).op, Op::Pack(..)));
    packs.flat_map(|id| graph.node(id).operands.iter().map(move |&part| (part, id))).collect()
}

/// The sum that a piece of work consists of, if it does nothing else.
fn sum_of(graph: &Graph, work: &Work) -> Option<Sum> {
    let Work::Draft(draft) = work else { return None };
    let ([load, sum], [written]) = (&draft.tape[..], &draft.results[..]) else { return None };
    let (Code::Load(buffer, view), Code::Reduce(Reduce::Sum, _)) = (&load.code, &sum.code) else {
        return None;
    };
    let source = NodeId(buffer.0);
    let plain = graph.dtype(source) == DType::F32 && graph.dtype(written.node) == DType::F32;
    let whole = view.offset == 0 && view.guards.is_empty() && written.view.offset == 0;
    let (parts, results) = sizes(draft);
    let numel = graph.shape(source).numel();
    let fits = parts * results == numel
        && numel <= limits::BUNDLED_ELEMENTS
        && graph.shape(written.node).numel() == results;
    let outer: Vec<usize> = (0..draft.axes.len()).filter(|axis| !draft.reduced.contains(axis)).collect();
    let order: Vec<usize> = draft.reduced.iter().chain(&outer).copied().collect();
    let straight = row_major(draft, &order, &view.strides) && row_major(draft, &outer, &written.view.strides);
    (plain && whole && fits && straight).then_some(Sum { source, result: written.node, parts, results })
}

/// The number of terms and of results of a draft with reductions.
fn sizes(draft: &Draft) -> (usize, usize) {
    let parts: usize = draft.reduced.iter().map(|&axis| draft.axes[axis]).product();
    (parts, draft.axes.iter().product::<usize>() / parts.max(1))
}

/// Whether the strides are row-major over these axes, outermost first.
fn row_major(draft: &Draft, order: &[usize], strides: &[i64]) -> bool {
    let mut step = 1;
    order.iter().rev().all(|&axis| {
        let fits = draft.axes[axis] == 1 || strides[axis] == step;
        step *= draft.axes[axis] as i64;
        fits
    })
}
