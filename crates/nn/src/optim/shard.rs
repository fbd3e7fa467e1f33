//! Sharded optimizer state (ZeRO-1): every rank keeps moments of its share of the parameters, and updates that share.
//!
//! A rank gets the mean gradients of its share of every bucket, updates the share, and all ranks give each other the new
//! parameters. So moments take `1/n` of the memory on each of `n` ranks, and a step sends as much as without shards. The norm of all
//! gradients is a sum over ranks, made in f64 on the host.
//!
//! Invariant: checkpoints hold whole moments in the order of parameters, so they know no ranks ([`Flat::gather`]).

use std::panic::Location;

use farad_group::{Combine, Group, share};
use farad_ir::DType;

use super::Clip;
use super::buckets::Bucket;
use super::distributed::{Distributed, HeldMoments};
use super::flat::Flat;
use super::layout::{NumberSegment, ParameterLayout};
use super::program::{Seeds, StepParts, StepProgram};
use super::rule::AnyRule;
use crate::error::{NnError, Result};
use farad_tensor::engine::{DeviceArray, EngineStep};
use farad_tensor::{Device, Tensor};

/// What memory reports call a rank's share of the parameters.
const SHARE: &str = "share of the parameters";

/// This rank's share of the parameters.
pub(super) struct Shard {
    /// Segments and length; it has no slots, as a parameter may be cut.
    layout: ParameterLayout,
    pieces: Vec<ShardPiece>,
    array: DeviceArray,
}

/// Neighbors in a share that are neighbors in the layout too.
#[derive(Clone, Copy)]
struct ShardPiece {
    bucket: usize,
    /// Where it begins in this rank's share of the bucket.
    from: usize,
    /// Where it begins in the layout.
    whole: usize,
    len: usize,
    segment: usize,
}

/// A rank's pieces, in the order in which they lie in its share: by segment, so that there are as few segments as in the layout.
fn pieces(layout: &ParameterLayout, buckets: &[Bucket], size: usize, rank: usize) -> Vec<ShardPiece> {
    let mut pieces = Vec::new();
    for (n, bucket) in buckets.iter().enumerate() {
        let own = share(bucket.len, size, rank);
        for &(slot, at) in &bucket.slots {
            let (start, end) = (own.start.max(at), own.end.min(at + layout.room(slot)));
            if start < end {
                let whole = layout.slots[slot].offset + start - at;
                let segment = layout.segments.iter().position(|segment| whole < segment.end);
                let segment = segment.expect("segments cover the layout");
                pieces.push(ShardPiece {
                    bucket: n,
                    from: start - own.start,
                    whole,
                    len: end - start,
                    segment,
                });
            }
        }
    }
    pieces.sort_by_key(|piece| piece.segment);
    pieces
}

/// The segments of a share.
fn share_layout(layout: &ParameterLayout, pieces: &[ShardPiece]) -> ParameterLayout {
    let mut own = ParameterLayout { trained: layout.trained.clone(), ..ParameterLayout::default() };
    for (n, piece) in pieces.iter().enumerate() {
        own.len += piece.len;
        match own.segments.last_mut() {
            Some(last) if n > 0 && pieces[n - 1].segment == piece.segment => last.end = own.len,
            _ => own.segments.push(NumberSegment { end: own.len, ..layout.segments[piece.segment] }),
        }
    }
    own
}

/// A share of an array that lies as the layout does.
fn cut(pieces: &[ShardPiece], whole: &[u8], size: usize) -> Vec<u8> {
    let parts = pieces.iter().map(|piece| &whole[piece.whole * size..][..piece.len * size]);
    parts.collect::<Vec<_>>().concat()
}

impl Flat {
    /// Updates this rank's share from its share of the gradients, and gets the others' parameters.
    pub(super) fn update_shard(
        &mut self,
        rules: &[&dyn AnyRule],
        parts: &[Vec<u8>],
        scaled: bool,
        values: Vec<Tensor>,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<()> {
        self.make_shard(rules[0], &values, device, location)?;
        drop(values);
        self.ranks_mut().held = HeldMoments::default();
        let (dtype, size) = (self.dtype()?, self.dtype()?.size());
        let mut shard = self.ranks_mut().shard.take().expect("made above");
        let own = shard.pieces.iter();
        let own = own.map(|piece| &parts[piece.bucket][piece.from * size..][..piece.len * size]);
        let gradients = own.collect::<Vec<_>>().concat();
        let norm = norm(&self.ranks().group, &gradients, dtype)?;
        let gradients =
            DeviceArray::from_bytes(device, dtype, &gradients, "share of the gradients", location)?;
        let updated = self.run_shard(rules, &mut shard, (&gradients, scaled), norm, device, location);
        self.ranks_mut().shard = Some(shard);
        updated?;
        drop(gradients);
        let whole = self.whole_parameters(device)?;
        self.array = Some(DeviceArray::from_bytes(device, dtype, &whole, "parameters", location)?);
        Ok(())
    }

    /// The program of the update.
    fn run_shard(
        &mut self,
        rules: &[&dyn AnyRule],
        shard: &mut Shard,
        (gradients, scaled): (&DeviceArray, bool),
        norm: f32,
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<()> {
        let numbers = self.numbers(&shard.layout, rules);
        let Flat { states, clip, scaling, .. } = self;
        let mut step = EngineStep::new(device, location);
        let seeds = Seeds::Packed { array: step.input(gradients), scaled };
        let array = Some(step.overwrite(&mut shard.array, vec![]));
        let states = states.iter_mut().map(|state| step.overwrite(state, vec![])).collect();
        let numbers = numbers.into_iter().map(|number| step.number(number)).collect();
        let limits = clip.numbers().into_iter().map(|number| step.number(number)).collect();
        let (scale, skipped) = scaling.record(&mut step, false, *clip != Clip::None, location)?;
        let norm = (scale.is_some() || skipped.is_some()).then(|| step.number(norm));
        let (ids, noise) = (vec![], None);
        let parts = StepParts { seeds, ids, array, states, numbers, limits, noise, scale, skipped, norm };
        let program = StepProgram { parts, layout: &shard.layout, clip: *clip, rule: rules[0] };
        let mut new = step.run(&program, |writer| program.write(writer))?.into_iter();
        if scale.is_some() {
            self.scaling.words = new.next();
        }
        if skipped.is_some() {
            self.scaling.skipped = new.next();
        }
        Ok(())
    }

    /// This rank's share of the parameters and its moments, unless they are there. Parameters that somebody has set since are
    /// taken from where they are.
    fn make_shard(
        &mut self,
        rule: &dyn AnyRule,
        values: &[Tensor],
        device: &Device,
        location: &'static Location<'static>,
    ) -> Result<()> {
        if self.ranks().shard.is_some() && self.is_packed(values) {
            return Ok(());
        }
        let (dtype, size) = (self.dtype()?, self.dtype()?.size());
        let Distributed { group, buckets, held, .. } = self.ranks();
        let pieces = pieces(&self.layout, buckets, group.size(), group.rank());
        let layout = share_layout(&self.layout, &pieces);
        let mut whole = vec![0; self.layout.len * size];
        for (value, slot) in values.iter().zip(&self.layout.slots) {
            let bytes = value.read()?.wait()?;
            whole[slot.offset * size..][..bytes.len()].copy_from_slice(&bytes);
        }
        let array = DeviceArray::from_bytes(device, dtype, &cut(&pieces, &whole, size), SHARE, location)?;
        if self.states.is_empty() {
            let mut states = Vec::with_capacity(rule.states());
            for n in 0..rule.states() {
                let bytes = match held.moments.get(n) {
                    Some(moment) => cut(&pieces, moment, size),
                    None => super::array::starting(rule, n, dtype).repeat(layout.len),
                };
                states.push(DeviceArray::from_bytes(device, dtype, &bytes, super::array::MOMENT, location)?);
            }
            self.states = states;
        }
        let ranks = self.ranks_mut();
        (ranks.shard, ranks.held) = (Some(Shard { layout, pieces, array }), HeldMoments::default());
        Ok(())
    }

    /// All parameters, from the shares of all ranks.
    fn whole_parameters(&self, device: &Device) -> Result<Vec<u8>> {
        let shard = self.ranks().shard.as_ref().expect("there is a share");
        let mine = shard.array.read()?;
        device.waiting_for_others(|| self.whole(&mine))
    }

    /// An array that lies as the layout does, from the shares of all ranks.
    fn whole(&self, mine: &[u8]) -> Result<Vec<u8>> {
        let Distributed { group, buckets, .. } = self.ranks();
        let size = self.dtype()?.size();
        let mut whole = vec![0; self.layout.len * size];
        for (rank, bytes) in group.all_gather(mine)?.iter().enumerate() {
            let mut rest = &bytes[..];
            for piece in pieces(&self.layout, buckets, group.size(), rank) {
                let (part, more) = rest.split_at(piece.len * size);
                whole[piece.whole * size..][..part.len()].copy_from_slice(part);
                rest = more;
            }
        }
        Ok(whole)
    }

    /// Whether moments lie on several ranks now.
    fn is_cut(&self) -> bool {
        self.distributed.as_ref().is_some_and(|ranks| ranks.shard.is_some())
    }

    /// Puts whole moments on the host of every rank, if they lie on several. All ranks call it.
    pub(super) fn gather(&mut self) -> Result<()> {
        if !self.is_cut() {
            return Ok(());
        }
        let mut moments = Vec::with_capacity(self.states.len());
        for state in &self.states {
            moments.push(self.whole(&state.read()?)?);
        }
        let step = self.step;
        self.ranks_mut().held = HeldMoments { moments, step };
        Ok(())
    }

    /// Whole moments as they are now, by number. Where ranks have shares of them they must have been gathered.
    pub(super) fn whole_moments(&self) -> Result<Vec<Vec<u8>>> {
        match &self.distributed {
            Some(ranks) if ranks.options.sharded && self.states.is_empty() => Ok(ranks.held.moments.clone()),
            Some(ranks) if self.is_cut() => match ranks.held.step == self.step {
                true => Ok(ranks.held.moments.clone()),
                false => Err(NnError::NotGathered { step: self.step }.into()),
            },
            _ => self.states.iter().map(DeviceArray::read).collect(),
        }
    }
}

/// The norm of the gradients of all ranks' shares; not finite if one of them is not.
fn norm(group: &Group, mine: &[u8], dtype: DType) -> Result<f32> {
    let sum: f64 = match dtype {
        DType::F64 => squares(mine, |bytes: [u8; 8]| f64::from_ne_bytes(bytes)),
        _ => squares(mine, |bytes: [u8; 4]| f64::from(f32::from_ne_bytes(bytes))),
    };
    let mut all = [sum];
    group.all_reduce(&mut all, Combine::Sum)?;
    Ok(all[0].sqrt() as f32)
}

fn squares<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f64) -> f64 {
    let (numbers, _) = bytes.as_chunks::<N>();
    numbers.iter().map(|&bytes| number(bytes)).map(|x| x * x).sum()
}
