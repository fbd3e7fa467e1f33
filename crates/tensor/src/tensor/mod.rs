//! Tensors: lazy, device-aware values. Ops record; reading, `step` or a long recording runs.
//!
//! This file has the handle itself; ops are in the files named after their family.

mod activations;
mod attention;
mod contract;
mod convolution;
mod create;
mod cumulative;
mod custom;
mod display;
mod element;
mod host_conversion;
mod index;
mod losses;
mod mask;
mod movement;
mod operators;
mod pointwise;
mod pooling;
mod random;
mod reduce;
mod resample;
pub mod sequence;
mod slicing;
mod sort;
mod transfer;
mod windows;

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use farad_ir::{DType, Op, OpError, Shape};

pub use element::Element;
pub use pooling::Pooling;
pub use random::check_probability;
pub use resample::Corners;
pub use sequence::{repeat, scan, scan_along};
pub use slicing::{Part, Parts};
pub use sort::Order;

use crate::device::Device;
use crate::inside::{here, refuse};
use crate::node::{KnownValue, RecordedNode, has_live_ancestor};

/// A value on a device: numbers in some shape, known already or still to be computed.
///
/// Cheap to clone (a handle), never changes once made, and safe to send between threads. Ops do not
/// compute; they record, and reading the result runs everything it needs at once:
///
/// ```
/// use farad::prelude::*;
/// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0], [3], &Device::cpu());
/// let y = (&x * 2.0 + 1.0).sum();
/// assert_eq!(y.item()?, 15.0);
/// # Ok::<(), farad::Error>(())
/// ```
pub struct Tensor {
    pub(crate) node: Arc<RecordedNode>,
}

/// Pending chains of this length are looked at: if nobody can ask for anything inside, they run.
const FLUSH_EVERY: u32 = 64;
/// Pending chains never grow longer than this.
const FLUSH_ALWAYS: u32 = 8192;
/// History is cut beyond this length.
const LONGEST_HISTORY: u32 = 65_536;
/// Operands that may move to a device because an op mixed two before that is worth a warning.
const MOVES_UNTIL_WARNED: usize = 100;

impl Tensor {
    /// The sizes of the axes.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3], &Device::cpu()).shape()[..], [2, 3]);
    /// ```
    pub fn shape(&self) -> Shape {
        self.node.shape
    }

    /// Number of axes.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3], &Device::cpu()).rank(), 2);
    /// ```
    pub fn rank(&self) -> usize {
        self.node.shape.rank()
    }

    /// Number of elements.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3], &Device::cpu()).numel(), 6);
    /// ```
    pub fn numel(&self) -> usize {
        self.node.shape.numel()
    }

    /// The size of one axis; negative axes count from the end.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::zeros([2, 3], &Device::cpu()).size(-1), 3);
    /// ```
    #[track_caller]
    pub fn size(&self, axis: isize) -> usize {
        self.size_of("size", axis)
    }

    /// The size of one axis, for an op of this name.
    #[track_caller]
    pub(crate) fn size_of(&self, op: &'static str, axis: isize) -> usize {
        self.node.shape[self.axis(op, axis)]
    }

    /// The element type.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::arange(3, &Device::cpu()).dtype(), DType::I32);
    /// ```
    pub fn dtype(&self) -> DType {
        self.node.dtype
    }

    /// Where it lives.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::arange(3, &Device::cpu()).device(), &Device::cpu());
    /// ```
    pub fn device(&self) -> &Device {
        &self.node.device
    }

    pub(crate) fn of(node: Arc<RecordedNode>) -> Tensor {
        node.handles.fetch_add(1, Ordering::Relaxed);
        Tensor { node }
    }

    pub(crate) fn leaf(
        value: KnownValue,
        shape: Shape,
        dtype: DType,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Tensor {
        Tensor::of(RecordedNode::leaf(value, shape, dtype, device.clone(), location))
    }

    /// Records an op without operands.
    #[track_caller]
    pub(crate) fn source(op: Op, device: &Device) -> Tensor {
        let (shape, dtype) = expect(op.infer(&[]));
        Tensor::of(RecordedNode::recorded(
            op,
            vec![],
            shape,
            dtype,
            device.clone(),
            here(),
            crate::checkpoint::region(),
        ))
    }

    /// Records an op; panics at the caller's line if the operands do not fit.
    #[track_caller]
    pub(crate) fn record(op: Op, operands: &[&Tensor]) -> Tensor {
        let device = operands[0].device();
        if operands.iter().any(|t| t.device() != device) {
            let moved = on_one_device(operands);
            return Tensor::record(op, &moved.iter().collect::<Vec<_>>());
        }
        let mut few = [(Shape::scalar(), DType::F32); 4];
        let many: Vec<(Shape, DType)>;
        let kinds = if operands.len() <= few.len() {
            few.iter_mut().zip(operands).for_each(|(kind, t)| *kind = (t.shape(), t.dtype()));
            &few[..operands.len()]
        } else {
            many = operands.iter().map(|t| (t.shape(), t.dtype())).collect();
            &many
        };
        let (shape, dtype) = expect(op.infer(kinds));
        operands.iter().for_each(|operand| operand.relieve());
        let nodes = operands.iter().map(|t| t.node.clone()).collect();
        Tensor::of(RecordedNode::recorded(
            op,
            nodes,
            shape,
            dtype,
            device.clone(),
            here(),
            crate::checkpoint::region(),
        ))
    }

    /// Runs what is pending below an operand if it has become long, and drops history that nobody
    /// can reach, so that a running total over an epoch stays small.
    fn relieve(&self) {
        let pending = self.node.pending.load(Ordering::Relaxed);
        let due = pending > 0 && pending.is_multiple_of(FLUSH_EVERY);
        if pending >= FLUSH_ALWAYS || (due && !has_live_ancestor(&self.node)) {
            if let Err(error) = crate::evaluate::evaluate(std::slice::from_ref(&self.node)) {
                tracing::warn!("pending work failed and stays pending: {error}");
                return;
            }
            self.node.prune();
        }
        if self.node.depth >= LONGEST_HISTORY && self.node.value().is_some() {
            self.node.cut(true);
        }
    }

    /// A non-negative axis; panics with the op's name if there is none.
    #[track_caller]
    pub(crate) fn axis(&self, op: &'static str, axis: isize) -> usize {
        resolve(op, self.shape(), axis)
    }

    /// Non-negative axes.
    #[track_caller]
    pub(crate) fn axes(&self, op: &'static str, axes: &[isize]) -> Vec<usize> {
        let mut resolved = Vec::with_capacity(axes.len());
        for &axis in axes {
            resolved.push(resolve(op, self.shape(), axis));
        }
        resolved
    }
}

#[track_caller]
fn resolve(op: &'static str, shape: Shape, axis: isize) -> usize {
    let rank = shape.rank() as isize;
    if !(-rank..rank).contains(&axis) {
        raise(OpError::Axis { op, shape, axis, rank: shape.rank() });
    }
    axis.rem_euclid(rank) as usize
}

/// Panics at the caller's line: the program is wrong, not the world.
#[track_caller]
pub fn raise(error: OpError) -> ! {
    refuse(error)
}

/// The value, or a panic at the caller's line. Closures would lose the line.
#[track_caller]
pub fn expect<T>(result: Result<T, OpError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => raise(error),
    }
}

/// The dtype that operands meet in, or a panic at the caller's line ([`DType::promote`]).
#[track_caller]
pub(crate) fn meet(op: &'static str, lhs: DType, rhs: DType) -> DType {
    match lhs.promote(rhs) {
        Some(dtype) => dtype,
        None => raise(OpError::NoMeeting { op, lhs, rhs }),
    }
}

/// The operands, moved to the first GPU operand's device. No closures: they would lose the line.
#[track_caller]
fn on_one_device(operands: &[&Tensor]) -> Vec<Tensor> {
    let first = operands[0].device();
    let home = operands.iter().map(|t| t.device()).find(|d| d.is_gpu()).unwrap_or(first).clone();
    let at = Location::caller();
    let mut moved = Vec::with_capacity(operands.len());
    for t in operands {
        if *t.device() != home && !t.is_constant() {
            let before = home.0.moved.fetch_add(1, Ordering::Relaxed);
            if before == MOVES_UNTIL_WARNED {
                tracing::warn!("{at}: operands keep moving to {home}; move them once with `to_device`");
            }
        }
        match t.to_device(&home) {
            Ok(tensor) => moved.push(tensor),
            Err(error) => refuse(format_args!("moving an operand to {home}: {error}")),
        }
    }
    moved
}

impl Clone for Tensor {
    fn clone(&self) -> Tensor {
        Tensor::of(self.node.clone())
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        self.node.handles.fetch_sub(1, Ordering::Relaxed);
    }
}
