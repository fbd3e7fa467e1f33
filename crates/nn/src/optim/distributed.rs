//! A step of several ranks: gradients, their mean over all ranks, the update.
//!
//! The program of a step is cut in two. The first part computes the loss and the gradients, in one array per bucket
//! ([`buckets`](super::buckets)). The program is cut behind each bucket: its bytes are read and reduced on the communication
//! thread while the device computes the next one. The second part updates from the mean: it divides by the loss scale, clips,
//! and skips the step if a gradient of any rank is not finite. So all of that is the same on every rank.
//!
//! Invariant: parameters, moments and the loss scale have the same bits on every rank after every step.

use std::hash::{Hash, Hasher};
use std::panic::Location;

use farad_group::{Group, MeanPart, Underway, WireFormat};
use farad_ir::{DType, NodeId, Op};

use super::buckets::{self, Bucket};
use super::flat::{Flat, StepSource};
use super::layout::ParameterLayout;
use super::program::{Seeds, slot_gradients};
use super::rule::AnyRule;
use super::scale::Scale;
use super::shard::Shard;
use crate::error::{NnError, Result};
use crate::layers::norm::SUM_OVER_RANKS;
use farad_tensor::engine::{DeviceArray, EngineStep, Read, StepOutput, StepWriter};
use farad_tensor::{Device, Tensor};

/// What memory reports call gradients of all ranks.
const REDUCED: &str = "reduced gradients";

/// How the ranks of an optimizer share its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankOptions {
    /// What gradients are on their way between ranks.
    pub wire: WireFormat,
    /// Whether every rank keeps the moments of its share of the parameters only, and updates that share (ZeRO-1).
    pub sharded: bool,
    /// Whether gradients are reduced while the backward pass goes on. Results have the same bits either way.
    pub overlaps: bool,
    /// Bytes of a bucket of gradients; chosen by their number if none.
    pub bucket_bytes: Option<usize>,
}

impl Default for RankOptions {
    /// Full numbers, whole moments on every rank, reductions beside the backward pass.
    fn default() -> RankOptions {
        RankOptions { wire: WireFormat::Full, sharded: false, overlaps: true, bucket_bytes: None }
    }
}

/// The ranks of an optimizer.
pub(super) struct Distributed {
    pub group: Group,
    pub options: RankOptions,
    /// How gradients of the present layout are cut, once a step was made.
    pub buckets: Vec<Bucket>,
    /// This rank's share of the parameters, if the moments are sharded.
    pub shard: Option<Shard>,
    /// Whole moments on the host: restored ones before they are cut, and gathered ones for the next checkpoint.
    pub held: HeldMoments,
    /// Where the mean gradients of a step were put together, for the next one: new memory takes time.
    pub whole: Vec<u8>,
}

/// Whole moments on the host.
#[derive(Default)]
pub(super) struct HeldMoments {
    pub moments: Vec<Vec<u8>>,
    /// After which step they were so.
    pub step: u64,
}

/// What decides the program of gradients, beside what was recorded.
struct GradientProgram<'a> {
    seeds: &'a Seeds,
    ids: &'a [NodeId],
    scale: Option<Scale>,
    buckets: &'a [Bucket],
}

impl Hash for GradientProgram<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let GradientProgram { seeds, ids, scale, buckets } = self;
        ("gradients of a rank", seeds, ids, scale, buckets).hash(state);
    }
}

/// A bucket on its way: the bytes of its mean.
type ReducingBucket = Underway<Vec<u8>>;

impl Flat {
    /// A step with the mean gradients of all ranks.
    pub(super) fn update_together(
        &mut self,
        rules: &[&dyn AnyRule],
        source: &StepSource,
        values: Vec<Tensor>,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<()> {
        if self.noise.is_some() {
            return Err(NnError::RankNoise.into());
        }
        let parts = self.reduced(source, &values, device, location)?;
        let scaled = matches!(source, StepSource::Loss(_)) && self.scaling.words.is_some();
        if self.ranks().is_sharded() {
            return self.update_shard(rules, &parts, scaled, values, device, location);
        }
        let whole = self.put_together(parts)?;
        let reduced = DeviceArray::from_bytes(device, self.dtype()?, &whole, REDUCED, location)?;
        self.ranks_mut().whole = whole;
        self.update(rules, &StepSource::Reduced { gradients: &reduced, scaled }, values, device, location)
    }

    pub(super) fn ranks(&self) -> &Distributed {
        self.distributed.as_ref().expect("there are ranks")
    }

    pub(super) fn ranks_mut(&mut self) -> &mut Distributed {
        self.distributed.as_mut().expect("there are ranks")
    }

    /// The mean gradients of all ranks, bucket by bucket, or this rank's share of each. The loss and what else is in hand
    /// become values.
    fn reduced(
        &mut self,
        source: &StepSource,
        values: &[Tensor],
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<Vec<Vec<u8>>> {
        let mut step = self.record(device, source, location)?;
        let (seeds, ids) = self.nodes(&mut step, values, source)?;
        self.cut(&step, &seeds, &ids)?;
        let halves = step.spend(&ids);
        let scale = match source {
            StepSource::Loss(_) if self.layout.len > 0 => {
                self.scaling.record(&mut step, halves, false, location)?.0
            }
            _ => None,
        };
        let (dtype, layout, ranks) = (self.dtype()?, &self.layout, self.ranks());
        let Distributed { group, options, buckets, .. } = ranks;
        let part = if ranks.is_sharded() { MeanPart::Share } else { MeanPart::Whole };
        let start = |read: Read| -> ReducingBucket {
            let give = move || Ok(read.wait()?);
            match dtype {
                DType::F64 => group.start_mean::<f64>(give, part, options.wire),
                _ => group.start_mean::<f32>(give, part, options.wire),
            }
        };
        // Sums inside the program go through the same thread, so all ranks must make these calls in the same order.
        let overlaps = options.overlaps && !step.has_custom(SUM_OVER_RANKS);
        let (mut started, mut late) = (Vec::with_capacity(buckets.len()), Vec::new());
        let program = GradientProgram { seeds: &seeds, ids: &ids, scale, buckets };
        let write = |writer: &mut StepWriter<'_>| {
            let gradients = slot_gradients(writer, &seeds, &ids, scale)?;
            let outputs = buckets.iter().map(|bucket| {
                let parts: Vec<NodeId> = bucket.slots.iter().map(|&(slot, _)| gradients[slot]).collect();
                let offsets = bucket.slots.iter().map(|&(_, offset)| offset).collect();
                let node = writer.graph.push(Op::Pack(offsets, bucket.len), &parts);
                StepOutput { node, replaces: None }
            });
            Ok(outputs.collect())
        };
        step.run_reading(&program, write, |read| match overlaps {
            true => started.push(start(read)),
            false => late.push(read),
        })?;
        started.extend(late.into_iter().map(start));
        debug_assert!(started.len() == buckets.len() && layout.len > 0);
        device.waiting_for_others(|| started.into_iter().map(Underway::wait).collect())
    }

    /// Cuts the gradients into buckets, unless they are cut. All ranks must come to the same buckets.
    fn cut(&mut self, step: &EngineStep, seeds: &Seeds, ids: &[NodeId]) -> Result<()> {
        if !self.ranks().buckets.is_empty() {
            return Ok(());
        }
        let order = match seeds {
            Seeds::Loss(loss) => step.backward_order(*loss, ids)?,
            _ => vec![0; self.layout.slots.len()],
        };
        let size = self.dtype()?.size();
        let chosen = || buckets::bucket_bytes(self.layout.len * size, step.device().is_gpu());
        let most = self.ranks().options.bucket_bytes.unwrap_or_else(chosen) / size;
        let buckets = buckets::cut(&self.layout, &order, most.max(1));
        let found = format!("{} in buckets {:016x}", self.layout.len, buckets::fingerprint(&buckets));
        let group = &self.ranks().group;
        step.device().waiting_for_others(|| group.agree(&[("gradients", found)]))?;
        self.ranks_mut().buckets = buckets;
        Ok(())
    }

    /// Buckets as one array in the layout of the parameters.
    fn put_together(&mut self, parts: Vec<Vec<u8>>) -> Result<Vec<u8>> {
        let size = self.dtype()?.size();
        let mut whole = std::mem::take(&mut self.ranks_mut().whole);
        // All of it is written anew.
        whole.resize(self.layout.len * size, 0);
        for (bucket, bytes) in self.ranks().buckets.iter().zip(parts) {
            for &(slot, from) in &bucket.slots {
                let (to, len) = (self.layout.slots[slot].offset * size, self.layout.room(slot) * size);
                whole[to..][..len].copy_from_slice(&bytes[from * size..][..len]);
            }
        }
        Ok(whole)
    }

    /// Reduces gradients with these ranks from the next step on. Nothing is sent yet.
    pub(super) fn distribute(
        &mut self,
        rules: &[&dyn AnyRule],
        group: &Group,
        options: RankOptions,
    ) -> Result<()> {
        if group.is_alone() {
            return Ok(());
        }
        if options.sharded && !rules.iter().all(|rule| rule.is_elementwise()) {
            return Err(NnError::NotElementwise.into());
        }
        let mut held = HeldMoments { moments: vec![], step: self.step };
        if options.sharded {
            held.moments = self.states.iter().map(DeviceArray::read).collect::<Result<_>>()?;
            self.states.clear();
        }
        let group = group.clone();
        self.distributed =
            Some(Distributed { group, options, buckets: vec![], shard: None, held, whole: vec![] });
        Ok(())
    }

    /// All ranks take the parameters of rank 0.
    pub(super) fn synchronize(&mut self) -> Result<()> {
        let Some(Distributed { group, .. }) = &self.distributed else { return Ok(()) };
        for parameter in &self.parameters {
            let value = parameter.value();
            let mine = value.read()?.wait()?;
            let mut first = mine.to_vec();
            group.broadcast(&mut first, 0)?;
            if first[..] != mine[..] {
                parameter.set(Tensor::from_bytes(&first, value.shape(), value.dtype(), value.device())?);
            }
        }
        Ok(())
    }
}

impl Distributed {
    /// Whether every rank updates a share of its own. Ranks whose share would be empty keep everything.
    pub fn is_sharded(&self) -> bool {
        self.options.sharded && self.buckets.iter().any(|bucket| bucket.len >= self.group.size())
    }

    /// The layout has changed: what was cut by it is gone.
    pub fn forget(&mut self) {
        (self.buckets, self.shard) = (vec![], None);
    }
}

impl ParameterLayout {
    /// How many numbers a slot has, with the gap behind it.
    pub fn room(&self, slot: usize) -> usize {
        let next = self.slots.get(slot + 1).map_or(self.len, |next| next.offset);
        next - self.slots[slot].offset
    }
}
