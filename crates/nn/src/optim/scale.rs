//! The loss scale: what keeps f16 gradients from vanishing, and what happens when they overflow.
//!
//! Small gradients are zero in `f16`. So an optimizer that finds `f16` between its parameters and the loss
//! multiplies the loss before it is differentiated. The gradients, in `f32` by then, are divided again. Both
//! factors are powers of two, so nothing is rounded. The scale grows while all gradients are finite. Where a
//! gradient is not finite, the step changes nothing but the scale. A step that clips is judged in the same
//! way.
//!
//! Scale, steps since it changed and overflows are three words on the device, which the step's own program
//! reads and writes. Gradients are examined by their exponent bits, and weights and moments are selected old
//! or new. So a skipped step runs the same plan in the same submission, and nothing waits. The host learns of
//! overflows when it asks (`overflows()`, which also warns). The words are part of `state` and `restore`.
//!
//! A skipped step counts in Adam's bias corrections, since the host does not know of it. After two skips at
//! the start the first update is 0.64 of what it would be, after ten 0.48. The difference fades with the
//! moments.
//!
//! Invariant: only the device knows the scale. A step reads it, judges its gradients and writes the next one
//! in the same submission.

use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};

use farad_ir::{Binary, DType, Graph, NodeId, Op, Reduce, Scalar, Shape, Span, Unary};

use crate::error::Result;
use farad_tensor::Device;
use farad_tensor::engine::{DeviceArray, EngineStep};

/// How the loss scale of an optimizer begins and grows. It is in use from the first loss on that was computed
/// with `f16` ([`Precision::Mixed`](farad_tensor::Precision)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossScale {
    /// The first scale. Powers of two round nothing.
    pub start: f32,
    /// Steps without overflow after which the scale doubles.
    pub growth: u32,
}

impl Default for LossScale {
    /// 65536, doubling after 2000 steps without overflow.
    fn default() -> LossScale {
        LossScale { start: 65536.0, growth: 2000 }
    }
}

/// Gradients that underflow at this scale are not worth more; its reciprocal is a normal number.
const LARGEST: f64 = (1u64 << 32) as f64;
/// An overflow at this scale is the forward pass's own.
const SMALLEST: f64 = 1.0 / 65536.0;
/// Scale, steps since it changed, overflows so far.
pub(super) const WORDS: usize = 3;

/// An optimizer's scale.
#[derive(Default)]
pub(super) struct Scaling {
    pub settings: LossScale,
    /// The words, once they are in use.
    pub words: Option<DeviceArray>,
    /// How many steps clipping skipped while there was no scale, in a word, once it judges.
    pub skipped: Option<DeviceArray>,
    /// Overflows that were told.
    told: AtomicU32,
}

impl Scaling {
    /// The words on the device, made if there are none yet.
    pub fn words(&mut self, device: &Device, location: &'static Location<'static>) -> Result<&DeviceArray> {
        if self.words.is_none() {
            self.words = Some(written(device, &[self.settings.start, 0.0, 0.0], location)?);
        }
        Ok(self.words.as_ref().expect("made above"))
    }

    /// The nodes of the scale in a step's program, if it `has_f16` or had some before; else that of the word
    /// that counts what clipping skips, if it is `judged` whether gradients are finite.
    pub fn record(
        &mut self,
        step: &mut EngineStep,
        has_f16: bool,
        judged: bool,
        location: &'static Location<'static>,
    ) -> Result<(Option<Scale>, Option<NodeId>)> {
        let device = step.device().clone();
        if has_f16 || self.words.is_some() {
            let words = step.input(self.words(&device, location)?);
            return Ok((Some(Scale { words, growth: step.number(self.settings.growth as f32) }), None));
        }
        if !judged {
            return Ok((None, None));
        }
        if self.skipped.is_none() {
            self.skipped = Some(written(&device, &[0.0], location)?);
        }
        Ok((None, self.skipped.as_ref().map(|word| step.input(word))))
    }

    /// The words as they are now; waits for the device.
    pub fn read(&self) -> Result<[f32; WORDS]> {
        let Some(words) = &self.words else { return Ok([self.settings.start, 0.0, 0.0]) };
        let words = floats(words)?;
        Ok([words[0], words[1], words[2]])
    }

    /// How many steps were skipped; waits for the device, and warns if there are new ones.
    pub fn overflows(&self) -> Result<u32> {
        let [scale, _, overflows] = self.read()?;
        let clipped = match &self.skipped {
            Some(word) => floats(word)?[0],
            None => 0.0,
        };
        let all = overflows as u32 + clipped as u32;
        if self.told.swap(all, Ordering::Relaxed) < all {
            match self.words {
                Some(_) => {
                    tracing::warn!("step: gradients overflowed: {all} steps were skipped (scale {scale} now)")
                }
                None => tracing::warn!("step: gradients were not finite: {all} steps were skipped"),
            }
        }
        Ok(all)
    }
}

/// The floats of an array; waits for the device.
fn floats(array: &DeviceArray) -> Result<Vec<f32>> {
    Ok(array.read()?.as_chunks().0.iter().map(|&word| f32::from_le_bytes(word)).collect())
}

/// A new array with these words.
pub(super) fn written(
    device: &Device,
    words: &[f32],
    location: &'static Location<'static>,
) -> Result<DeviceArray> {
    DeviceArray::from_bytes(device, DType::F32, bytemuck::cast_slice(words), "loss scale", location)
}

/// The nodes of a scale in a step's graph.
#[derive(Clone, Copy, Hash)]
pub(super) struct Scale {
    /// The words, `[3]`.
    pub words: NodeId,
    /// Steps after which it doubles.
    pub growth: NodeId,
}

impl Scale {
    fn word(self, graph: &mut Graph, n: usize) -> NodeId {
        let part = graph.push(Op::Slice(vec![Span { start: n, len: 1, step: 1 }]), &[self.words]);
        graph.reshape(part, Shape::scalar())
    }

    /// The loss times the scale.
    pub fn multiply(self, graph: &mut Graph, loss: NodeId) -> NodeId {
        let scale = self.word(graph, 0);
        let dtype = if graph.dtype(loss) == DType::F64 { DType::F64 } else { DType::F32 };
        let (loss, scale) = (graph.cast(loss, dtype), graph.cast(scale, dtype));
        let scale = graph.spread(scale, graph.shape(loss));
        graph.mul(loss, scale)
    }

    /// Gradients of the loss from those of the scaled loss.
    pub fn divide(self, graph: &mut Graph, g: NodeId) -> NodeId {
        let scale = self.word(graph, 0);
        let factor = graph.unary(Unary::Recip, scale);
        let factor = graph.cast(factor, graph.dtype(g));
        let factor = graph.spread(factor, graph.shape(g));
        graph.mul(g, factor)
    }

    /// The words after a step with gradients of which all are `fine`.
    pub fn next(self, graph: &mut Graph, fine: NodeId) -> NodeId {
        let [scale, steps, overflows] = [0, 1, 2].map(|n| self.word(graph, n));
        let number =
            |graph: &mut Graph, value: f64| graph.fill(Scalar::float(DType::F32, value), Shape::scalar());
        let (none, one) = (number(graph, 0.0), number(graph, 1.0));
        let more = graph.add(steps, one);
        let due = graph.binary(Binary::GreaterEqual, more, self.growth);
        let (twice, half) = (graph.scale(scale, 2.0), graph.scale(scale, 0.5));
        let (most, least) = (number(graph, LARGEST), number(graph, SMALLEST));
        let (twice, half) = (graph.binary(Binary::Min, twice, most), graph.binary(Binary::Max, half, least));
        let grown = graph.select(due, twice, scale);
        let scale = graph.select(fine, grown, half);
        let counted = graph.select(due, none, more);
        let steps = graph.select(fine, counted, none);
        let skipped = graph.add(overflows, one);
        let overflows = graph.select(fine, overflows, skipped);
        // One kernel of three elements, each of which picks its word.
        let shape = Shape::new(&[WORDS]);
        let place = graph.push(Op::Iota(WORDS), &[]);
        let is = |graph: &mut Graph, n: i64| {
            let wanted = graph.fill(Scalar::int(DType::I32, n), shape);
            graph.binary(Binary::Equal, place, wanted)
        };
        let (first, second) = (is(graph, 0), is(graph, 1));
        let [scale, steps, overflows] = [scale, steps, overflows].map(|word| graph.spread(word, shape));
        let rest = graph.select(second, steps, overflows);
        graph.select(first, scale, rest)
    }
}

/// How many steps were skipped, after one with gradients that are `fine` or not.
pub(super) fn counted(graph: &mut Graph, skipped: NodeId, fine: NodeId) -> NodeId {
    let one = graph.fill_like(skipped, 1.0);
    let more = graph.add(skipped, one);
    let fine = graph.spread(fine, graph.shape(skipped));
    graph.select(fine, skipped, more)
}

/// Whether all elements of a node of one axis, or a number, are finite: a bool value.
pub(super) fn all_finite(graph: &mut Graph, x: NodeId) -> NodeId {
    let finite = graph.unary(Unary::Finite, x);
    let least = match graph.shape(x).rank() {
        0 => finite,
        _ => graph.reduce(Reduce::Min, finite, &[0]),
    };
    graph.cast(least, DType::Bool)
}
