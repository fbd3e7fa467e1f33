//! Loops over time that do not unroll: a body recorded once and run once per position.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::Arc;

use farad_ir::{DType, Graph, NodeId, Op, OpError, Scalar, Scan, Shape};

use super::{Tensor, raise};
use crate::device::Device;
use crate::node::RecordedNode;

/// Runs `body` once per position of the sequences' first axis, from first to last.
///
/// `body` takes the carries and one slice of every sequence, and gives the next carries (same
/// shapes) and slices of result sequences. Returns the final carries and the result sequences
/// `[time, ..]`. Tensors from outside that the body uses are the same at every position, random ones
/// included. What the body draws itself is fresh at every position, and the same on every device.
/// Scans do not nest: a body with a scan of its own panics.
///
/// A body that works on each element by itself (no products, no sums over long axes) is one kernel with
/// the loop inside: a position then costs no launch, and no memory but for the sequences.
///
/// ```
/// use farad::prelude::*;
/// let device = Device::cpu();
/// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], &device);
/// let (last, sums) = scan(&[&Tensor::zeros([], &device)], &[&x], |carry, slice| {
///     let sum = &carry[0] + &slice[0];
///     (vec![sum.clone()], vec![sum])
/// });
/// assert_eq!(sums[0].to_vec::<f32>()?, [1.0, 3.0, 6.0]);
/// assert_eq!(last[0].item()?, 6.0);
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn scan(
    carries: &[&Tensor],
    sequences: &[&Tensor],
    body: impl FnOnce(&[Tensor], &[Tensor]) -> (Vec<Tensor>, Vec<Tensor>),
) -> (Vec<Tensor>, Vec<Tensor>) {
    scan_along(carries, sequences, false, body)
}

/// As [`scan`], from the last position to the first if `reverse`.
///
/// ```
/// use farad::prelude::*;
/// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], &Device::cpu());
/// let (_, sums) = farad::scan_along(&[&x.full_like(0.0).sum()], &[&x], true, |carry, slice| {
///     let sum = &carry[0] + &slice[0];
///     (vec![sum.clone()], vec![sum])
/// });
/// assert_eq!(sums[0].to_vec::<f32>()?, [6.0, 5.0, 3.0]);
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn scan_along(
    carries: &[&Tensor],
    sequences: &[&Tensor],
    reverse: bool,
    body: impl FnOnce(&[Tensor], &[Tensor]) -> (Vec<Tensor>, Vec<Tensor>),
) -> (Vec<Tensor>, Vec<Tensor>) {
    let Some(first) = sequences.first() else { raise(OpError::Arity { op: "scan", got: 0, least: 1 }) };
    if first.rank() == 0 {
        raise(OpError::RankTooLow { op: "scan", shape: first.shape(), rank: 0, least: 1 });
    }
    let positions = positions(first.shape()[0], first.device());
    record(carries, sequences, &positions, reverse, |carry, slice, _| body(carry, slice))
}

/// Runs `body` so many times, with the number of the time (`i32`, from 0) as its second argument.
///
/// `body` gives the next carries (same shapes) and slices of result sequences. Returns the final carries and
/// the result sequences `[steps, ..]`; all else is as in [`scan`]. There is at least one carry.
///
/// ```
/// use farad::prelude::*;
/// let device = Device::cpu();
/// // A thousand walkers take a hundred random steps: one kernel.
/// let start = Tensor::zeros([1000], &device);
/// let (last, _) = repeat(100, &[&start], |place, _| {
///     let right = Tensor::random_mask(0.5, [1000], &device);
///     (vec![&place[0] + right.select(&start.full_like(1.0), &start.full_like(-1.0))], vec![])
/// });
/// let spread = last[0].square().mean().item()?;
/// assert!((60.0..140.0).contains(&spread), "{spread}");
/// # Ok::<(), farad::Error>(())
/// ```
#[track_caller]
pub fn repeat(
    steps: usize,
    carries: &[&Tensor],
    body: impl FnOnce(&[Tensor], &Tensor) -> (Vec<Tensor>, Vec<Tensor>),
) -> (Vec<Tensor>, Vec<Tensor>) {
    let Some(first) = carries.first() else { raise(OpError::Arity { op: "repeat", got: 0, least: 1 }) };
    let positions = positions(steps, first.device());
    record(carries, &[], &positions, false, |carry, _, position| body(carry, position))
}

/// `0, 1, …`: a sequence that tells a body where it is.
#[track_caller]
fn positions(steps: usize, device: &Device) -> Tensor {
    Tensor::arange(steps, device)
}

thread_local! {
    /// The positions of the loops whose bodies this thread records, the innermost last.
    static RECORDED: RefCell<Vec<Tensor>> = const { RefCell::new(Vec::new()) };
}

/// The body that is recorded, until this is dropped.
struct Recorded;

impl Recorded {
    fn begin(position: &Tensor) -> Recorded {
        RECORDED.with(|recorded| recorded.borrow_mut().push(position.clone()));
        Recorded
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        RECORDED.with(|recorded| recorded.borrow_mut().pop());
    }
}

/// The stream of what is drawn now: none outside of loops, else the position and one.
#[track_caller]
pub(super) fn stream() -> Option<Tensor> {
    let position = RECORDED.with(|recorded| recorded.borrow().last().cloned())?;
    Some(position.cast(DType::U32) + 1.0)
}

/// Records a loop over `positions`, which are a sequence that only bodies see that ask for them.
#[track_caller]
fn record(
    carries: &[&Tensor],
    sequences: &[&Tensor],
    positions: &Tensor,
    reverse: bool,
    body: impl FnOnce(&[Tensor], &[Tensor], &Tensor) -> (Vec<Tensor>, Vec<Tensor>),
) -> (Vec<Tensor>, Vec<Tensor>) {
    let steps = positions.shape()[0];
    let mut given: Vec<&Tensor> = carries.iter().chain(sequences).chain([&positions]).copied().collect();
    let mut holders: Vec<Tensor> =
        given.iter().enumerate().map(|(n, t)| placeholder(n, t, n >= carries.len())).collect();
    let position = holders.pop().expect("positions are given");
    let recorded = Recorded::begin(&position);
    let (next, results) = body(&holders[..carries.len()], &holders[carries.len()..], &position);
    drop(recorded);
    if next.len() != carries.len() {
        raise(OpError::Arity { op: "scan", got: next.len(), least: carries.len() });
    }
    let mut trace = BodyTrace {
        graph: Graph::new(),
        ids: HashMap::new(),
        depends: HashMap::new(),
        constants: Vec::new(),
        given: given.len(),
    };
    // A placeholder of another scan is a tensor from outside like any other.
    let own = holders.iter().chain([&position]);
    trace.depends.extend(own.map(|holder| (Arc::as_ptr(&holder.node), true)));
    if !next.iter().chain(&results).any(|t| trace.reaches(&t.node, &position.node)) {
        given.pop();
        trace.given -= 1;
    }
    let outputs: Vec<NodeId> = next.iter().chain(&results).map(|t| trace.visit(&t.node)).collect();
    let scan = Scan {
        body: trace.graph,
        outputs,
        carries: carries.len(),
        sequences: given.len() - carries.len(),
        steps,
        reverse,
    };
    let kinds = scan.results();
    let constants: Vec<Tensor> = trace.constants.into_iter().map(Tensor::of).collect();
    let operands: Vec<&Tensor> = given.into_iter().chain(&constants).collect();
    let node = Tensor::record(Op::Scan(Arc::new(scan)), &operands);
    let mut picks = kinds
        .iter()
        .enumerate()
        .map(|(n, &(shape, dtype))| Tensor::record(Op::Pick(n, shape, dtype), &[&node]));
    let last = picks.by_ref().take(carries.len()).collect();
    (last, picks.collect())
}

impl Tensor {
    /// The states `h` of `h[t] = decay[t] · h[t - 1] + x[t]` along an axis, from `h = 0`: one loop,
    /// forward and backward. The decay broadcasts; a constant one makes an exponential moving sum.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::cpu();
    /// let x = Tensor::ones([3], &device);
    /// let h = x.linear_recurrence(&Tensor::full(0.5, [], &device), 0);
    /// assert_eq!(h.to_vec::<f32>()?, [1.0, 1.5, 1.75]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn linear_recurrence(&self, decay: &Tensor, axis: isize) -> Tensor {
        let axis = self.axis("linear_recurrence", axis);
        if self.numel() == 0 {
            return self.clone();
        }
        let both = super::meet("linear_recurrence", self.dtype(), decay.dtype());
        let dtype = if both == DType::F16 { DType::F32 } else { both };
        let x = self.cast(dtype).axis_first(axis);
        let decay = decay.cast(dtype).broadcast_to(self.shape()).axis_first(axis);
        let start = Tensor::filled(Scalar::of(dtype, 0.0), x.shape().without(&[0]), self.device());
        let (_, states) = scan(&[&start], &[&decay, &x], |state, slice| {
            let next = &slice[0] * &state[0] + &slice[1];
            (vec![next.clone()], vec![next])
        });
        let mut order: Vec<isize> = (1..self.rank() as isize).collect();
        order.insert(axis, 0);
        states[0].permute(&order).cast(both)
    }

    #[track_caller]
    fn axis_first(&self, axis: usize) -> Tensor {
        let mut order: Vec<isize> = (0..self.rank() as isize).filter(|&a| a != axis as isize).collect();
        order.insert(0, axis as isize);
        self.permute(&order)
    }
}

/// What stands for a carry or a slice while the body is recorded.
#[track_caller]
fn placeholder(n: usize, of: &Tensor, slice: bool) -> Tensor {
    let shape = if slice { Shape::new(&of.shape()[of.rank().min(1)..]) } else { of.shape() };
    Tensor::of(RecordedNode::recorded(
        Op::Input(n),
        vec![],
        shape,
        of.dtype(),
        of.device().clone(),
        Location::caller(),
        None,
    ))
}

/// Copies the part of a recording that depends on placeholders into a body.
struct BodyTrace {
    graph: Graph,
    ids: HashMap<*const RecordedNode, NodeId>,
    depends: HashMap<*const RecordedNode, bool>,
    constants: Vec<Arc<RecordedNode>>,
    given: usize,
}

impl BodyTrace {
    /// Whether a node is computed from a placeholder. Operands are looked at first, by a stack of their own: bodies may
    /// be long.
    fn depends(&mut self, node: &Arc<RecordedNode>) -> bool {
        let mut stack = vec![node.clone()];
        while let Some(node) = stack.last() {
            let at = Arc::as_ptr(node);
            let operands = match (self.depends.contains_key(&at), &node.state().history) {
                (false, Some(history)) => history.operands.clone(),
                _ => vec![],
            };
            let open: Vec<Arc<RecordedNode>> =
                operands.iter().filter(|o| !self.depends.contains_key(&Arc::as_ptr(o))).cloned().collect();
            if open.is_empty() {
                let depends = operands.iter().any(|o| self.depends[&Arc::as_ptr(o)]);
                self.depends.entry(at).or_insert(depends);
                stack.pop();
            }
            stack.extend(open);
        }
        self.depends[&Arc::as_ptr(node)]
    }

    /// Whether a node is computed from a placeholder.
    fn reaches(&mut self, node: &Arc<RecordedNode>, placeholder: &Arc<RecordedNode>) -> bool {
        let (mut stack, mut seen) = (vec![node.clone()], HashSet::new());
        while let Some(node) = stack.pop() {
            if Arc::ptr_eq(&node, placeholder) {
                return true;
            }
            if self.depends(&node) && seen.insert(Arc::as_ptr(&node)) {
                stack
                    .extend(node.state().history.iter().flat_map(|history| history.operands.iter().cloned()));
            }
        }
        false
    }

    fn visit(&mut self, node: &Arc<RecordedNode>) -> NodeId {
        let mut stack = vec![node.clone()];
        while let Some(node) = stack.last().cloned() {
            let at = Arc::as_ptr(&node);
            if self.ids.contains_key(&at) {
                stack.pop();
                continue;
            }
            let id = if self.depends(&node) {
                let history = node.state().history.clone().expect("what depends on something has a history");
                let open = history.operands.iter().rev().filter(|o| !self.ids.contains_key(&Arc::as_ptr(o)));
                let open: Vec<Arc<RecordedNode>> = open.cloned().collect();
                if !open.is_empty() {
                    stack.extend(open);
                    continue;
                }
                self.graph.append(farad_ir::Node {
                    op: history.op,
                    operands: history.operands.iter().map(|o| self.ids[&Arc::as_ptr(o)]).collect(),
                    shape: node.shape,
                    dtype: node.dtype,
                    location: Some(node.location),
                    region: None,
                })
            } else {
                self.constants.push(node.clone());
                self.graph.input(self.given + self.constants.len() - 1, node.shape, node.dtype)
            };
            self.ids.insert(at, id);
            stack.pop();
        }
        self.ids[&Arc::as_ptr(node)]
    }
}
