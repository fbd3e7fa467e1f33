//! Splits gradients of strided reads into phases, so that nothing is multiplied by zeros.
//!
//! The gradient of a convolution of stride `s` at its image reads the upstream gradient at `(p + offset - k) / s`, and
//! only where `s` divides. Of the elements of a window, every `s`-th counts, and which ones depends on `p mod s` alone.
//! So the result is `s` ordinary convolutions per axis, with windows of every `s`-th element, put together in turns.
//! Transposed convolutions have the same form.

use farad_ir::{Contraction, DType, Graph, IndexMap, NodeId, Op, Shape, Span};

use crate::fusion::product::Roles;
use crate::passes::limits;
use crate::passes::tiles::{moving, multiplying};
use crate::program::Target;

/// Rewrites the graph for the target; returns the new graph and outputs. `None` if there is nothing to split.
pub fn phases(graph: &Graph, outputs: &[NodeId], target: &Target) -> Option<(Graph, Vec<NodeId>)> {
    let wanted = |id: NodeId| match &graph.node(id).op {
        Op::Contract(contraction) => worth(contraction, graph.node(id).dtype, target),
        _ => false,
    };
    if !graph.ids().any(wanted) {
        return None;
    }
    let mut new = Graph::new();
    let map = graph.rewrite(graph.ids(), |id, node| match &node.op {
        Op::Contract(contraction) if wanted(id) => {
            write(&mut new, contraction, [node.operands[0], node.operands[1]])
        }
        _ => new.append(node),
    });
    let outputs = map.all(outputs);
    Some((new, outputs))
}

/// Whether a contraction has such a map, and enough to multiply.
fn worth(contraction: &Contraction, dtype: DType, target: &Target) -> bool {
    let work: usize = contraction.sizes.iter().product();
    if work < target.convolutions || Strided::of(contraction).is_none() || Roles::of(contraction).is_none() {
        return false;
    }
    let divisors = contraction.lhs.iter().chain(&contraction.rhs).map(|map| map.divisor as usize);
    let divisors: Vec<usize> = divisors.filter(|divisor| *divisor > 1).collect();
    if contraction.out.len() + divisors.len() > farad_ir::MAX_RANK {
        return false;
    }
    let count: usize = divisors.iter().product();
    let saved = multiplying(work - work / count, dtype == DType::F16) * limits::WINDOWED;
    target.parallel < limits::LARGE_DEVICE || saved > moving(3 * contraction.output().numel(), count)
}

/// A map with a divisor: `(place + factor · window + offset) / divisor`.
struct Strided {
    /// Its operand and axis there.
    side: usize,
    dim: usize,
    /// The result's axis.
    place: usize,
    /// The axis that is summed over, and where the other operand has it.
    window: usize,
    other: usize,
}

impl Strided {
    /// The first such map, if the rest of the contraction allows to split it.
    fn of(contraction: &Contraction) -> Option<Strided> {
        let sides = [&contraction.lhs, &contraction.rhs];
        let found = |side: usize| sides[side].iter().position(|map| map.divisor > 1).map(|dim| (side, dim));
        let (side, dim) = found(0).or_else(|| found(1))?;
        let map = &sides[side][dim];
        let [(a, _), (b, _)] = map.terms[..] else { return None };
        let (place, window) = if contraction.out.contains(&a) { (a, b) } else { (b, a) };
        let once = |axis: usize| {
            let reads = sides.iter().flat_map(|maps| maps.iter()).flat_map(|map| &map.terms);
            reads.filter(|term| term.0 == axis).count()
        };
        let other = sides[1 - side].iter().position(|map| map.plain() == Some(window))?;
        let fits = contraction.out.contains(&place)
            && !contraction.out.contains(&window)
            && (once(place), once(window)) == (1, 2)
            && factor(map, place) == 1
            && coprime(factor(map, window), map.divisor);
        fits.then_some(Strided { side, dim, place, window, other })
    }
}

fn factor(map: &IndexMap, axis: usize) -> i64 {
    map.terms.iter().find(|term| term.0 == axis).map_or(0, |term| term.1)
}

fn coprime(a: i64, b: i64) -> bool {
    if b == 0 { a.abs() == 1 } else { coprime(b, a % b) }
}

/// A part of the result, and where it goes.
struct Phase {
    part: NodeId,
    turns: Vec<Turn>,
}

/// Along an axis of the result: every `step`-th of its places, from `first` on.
#[derive(Clone, Copy)]
struct Turn {
    axis: usize,
    step: usize,
    first: usize,
}

/// Writes a contraction phase by phase.
fn write(graph: &mut Graph, contraction: &Contraction, operands: [NodeId; 2]) -> NodeId {
    let mut phases = Vec::new();
    split(graph, contraction, operands, &[], &mut phases);
    let whole = contraction.output();
    let mut put: Option<NodeId> = None;
    for phase in phases {
        let spread = spread(graph, &phase, &whole);
        put = Some(put.map_or(spread, |put| graph.add(put, spread)));
    }
    let put = put.expect("a window has an element");
    // Two axes become one, which may be a little too long.
    let mut sizes = whole.to_vec();
    for strided in contraction.lhs.iter().chain(&contraction.rhs).filter(|map| map.divisor > 1) {
        let place =
            strided.terms.iter().find_map(|term| contraction.out.iter().position(|axis| *axis == term.0));
        let axis = place.expect("a place is in the result");
        sizes[axis] = sizes[axis].next_multiple_of(strided.divisor as usize);
    }
    let put = graph.reshape(put, Shape::new(&sizes));
    if sizes == whole.to_vec() {
        return put;
    }
    let spans = whole.iter().map(|&len| Span { start: 0, len, step: 1 });
    graph.push(Op::Slice(spans.collect()), &[put])
}

/// Splits a contraction along all axes that have phases.
fn split(
    graph: &mut Graph,
    contraction: &Contraction,
    operands: [NodeId; 2],
    turns: &[Turn],
    phases: &mut Vec<Phase>,
) {
    let Some(Strided { side, dim, place, window, other }) = Strided::of(contraction) else {
        let part = graph.contract(contraction.clone(), operands[0], operands[1]);
        return phases.push(Phase { part, turns: turns.to_vec() });
    };
    let map = if side == 0 { &contraction.lhs[dim] } else { &contraction.rhs[dim] };
    let (step, by) = (map.divisor, factor(map, window));
    let (places, taps) = (contraction.sizes[place], contraction.sizes[window]);
    let axis = contraction.out.iter().position(|&axis| axis == place).expect("the place is in the result");
    for phase in 0..(step as usize).min(taps) {
        // Every `step`-th place, from this one on.
        let first = (-(by * phase as i64 + map.offset)).rem_euclid(step);
        let Some(after) = places.checked_sub(first as usize + 1) else { continue };
        let mut new = contraction.clone();
        new.sizes[place] = after / step as usize + 1;
        new.sizes[window] = (taps - phase).div_ceil(step as usize);
        let maps = if side == 0 { &mut new.lhs } else { &mut new.rhs };
        maps[dim] = IndexMap {
            terms: vec![(place, 1), (window, by)],
            offset: (first + by * phase as i64 + map.offset) / step,
            divisor: 1,
        };
        let mut own = operands;
        own[1 - side] = every(graph, operands[1 - side], other, phase, step as usize);
        let turn = Turn { axis, step: step as usize, first: first as usize };
        split(graph, &new, own, &[turns, &[turn]].concat(), phases);
    }
}

/// Every `step`-th element along an axis, from `first` on.
fn every(graph: &mut Graph, x: NodeId, axis: usize, first: usize, step: usize) -> NodeId {
    let spans = graph.shape(x).to_vec().into_iter().enumerate().map(|(at, size)| match at == axis {
        true => Span { start: first, len: (size - first).div_ceil(step), step },
        false => Span { start: 0, len: size, step: 1 },
    });
    graph.push(Op::Slice(spans.collect()), &[x])
}

/// A phase's part with each axis that takes turns as two: its elements at one place of the second, zeros elsewhere.
fn spread(graph: &mut Graph, phase: &Phase, whole: &Shape) -> NodeId {
    let (mut sizes, mut widths) = (Vec::new(), Vec::new());
    for (axis, &size) in graph.shape(phase.part).iter().enumerate() {
        sizes.push(size);
        match phase.turns.iter().find(|turn| turn.axis == axis) {
            Some(Turn { step, first, .. }) => {
                sizes.push(1);
                widths.extend([(0, whole[axis].div_ceil(*step) - size), (*first, step - 1 - first)]);
            }
            None => widths.push((0, 0)),
        }
    }
    let apart = graph.reshape(phase.part, Shape::new(&sizes));
    graph.push(Op::Pad(widths), &[apart])
}
