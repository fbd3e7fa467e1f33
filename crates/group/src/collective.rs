//! Collectives on numbers, made of the moves of an engine.
//!
//! An all-reduce of much data has two moves. Each rank gets everybody's numbers of its share, adds them up, and gives the
//! sums to all. Each rank sends and receives `2 (n - 1) / n` of the data, as in a ring. An all-reduce of little data is
//! one move: everybody's numbers to everybody. Both add up in the order of ranks, so the result has the same bits.
//!
//! Invariant: the bits of a result depend on the numbers and on the number of ranks only.

use std::any::TypeId;
use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut, cast_vec, zeroed_vec};

use crate::engine::GroupEngine;
use crate::error::Result;
use crate::numbers::Summable;
use crate::wire;

/// Up to so many bytes, all numbers go to all ranks.
const SMALL: usize = 4096;
/// Bytes that one call moves at most; engines count in `i32`.
const LARGEST: usize = 256 << 20;

/// How numbers of several ranks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// Their sum.
    Sum,
    /// Their sum, divided by the number of ranks.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// What a rank gets of a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeanPart {
    /// All of it.
    Whole,
    /// Its [`share`].
    Share,
}

/// What numbers are on their way between ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WireFormat {
    /// What they are.
    #[default]
    Full,
    /// f16 with a scale for each share, if they are f32: half the bytes. A number is off by at most 2^-11 of itself, or by 2^-39
    /// of the largest one in its share. A mean is rounded twice.
    Half,
}

/// The part of `len` that belongs to a rank of `size`: the first ranks have one more where it cannot be divided.
///
/// ```
/// use farad_group::share;
/// assert_eq!([0, 1, 2].map(|rank| share(8, 3, rank)), [0..3, 3..6, 6..8]);
/// ```
pub fn share(len: usize, size: usize, rank: usize) -> Range<usize> {
    let (each, more) = (len / size, len % size);
    let start = rank * each + rank.min(more);
    start..start + each + usize::from(rank < more)
}

/// All numbers combined, on every rank.
pub(crate) fn all_reduce<T: Summable>(
    engine: &mut dyn GroupEngine,
    numbers: &mut [T],
    by: Combine,
) -> Result<()> {
    for part in numbers.chunks_mut((LARGEST / size_of::<T>()).max(1)) {
        let mine = reduce_part(engine, part, by)?;
        if let Some(mine) = mine {
            let lengths = lengths::<T>(part.len(), engine.membership().size);
            engine.all_gather(cast_slice(&mine), &lengths, cast_slice_mut(part))?;
        }
    }
    Ok(())
}

/// Reduces `part` where it is if it is small; else gives this rank's share of the result.
fn reduce_part<T: Summable>(
    engine: &mut dyn GroupEngine,
    part: &mut [T],
    by: Combine,
) -> Result<Option<Vec<T>>> {
    if size_of_val(part) > SMALL {
        return share_of_sum(engine, part, by).map(Some);
    }
    let size = engine.membership().size;
    let mut all: Vec<T> = zeroed_vec(part.len() * size);
    engine.all_gather(cast_slice(part), &vec![size_of_val(part); size], cast_slice_mut(&mut all))?;
    combine(&all, part, by, size);
    Ok(None)
}

/// This rank's share of the combined numbers ([`share`]).
pub(crate) fn reduce_scatter<T: Summable>(
    engine: &mut dyn GroupEngine,
    numbers: &[T],
    by: Combine,
) -> Result<Vec<T>> {
    share_of_sum(engine, numbers, by)
}

fn share_of_sum<T: Summable>(engine: &mut dyn GroupEngine, numbers: &[T], by: Combine) -> Result<Vec<T>> {
    let place = engine.membership();
    let len = share(numbers.len(), place.size, place.rank).len();
    let mut all: Vec<T> = zeroed_vec(len * place.size);
    let lengths = lengths::<T>(numbers.len(), place.size);
    engine.exchange(cast_slice(numbers), &lengths, cast_slice_mut(&mut all))?;
    let mut mine: Vec<T> = zeroed_vec(len);
    combine(&all, &mut mine, by, place.size);
    Ok(mine)
}

/// The mean of all ranks' numbers, or this rank's share of it.
pub(crate) fn mean<T: Summable>(
    engine: &mut dyn GroupEngine,
    mut numbers: Vec<T>,
    part: MeanPart,
    wire: WireFormat,
) -> Result<Vec<T>> {
    let is_small = size_of_val(&numbers[..]) <= SMALL;
    if wire == WireFormat::Half && !is_small && TypeId::of::<T>() == TypeId::of::<f32>() {
        if part == MeanPart::Share {
            return Ok(cast_vec(wire::share_of_mean(engine, cast_slice(&numbers))?));
        }
        for part in cast_slice_mut::<T, f32>(&mut numbers).chunks_mut(LARGEST / size_of::<f32>()) {
            wire::all_reduce(engine, part)?;
        }
        return Ok(numbers);
    }
    match part {
        MeanPart::Whole => all_reduce(engine, &mut numbers, Combine::Mean).map(|()| numbers),
        MeanPart::Share => reduce_scatter(engine, &numbers, Combine::Mean),
    }
}

/// How many bytes of `len` numbers are each rank's share.
fn lengths<T>(len: usize, size: usize) -> Vec<usize> {
    (0..size).map(|rank| share(len, size, rank).len() * size_of::<T>()).collect()
}

/// Numbers of `size` ranks, one after the other, into one of each: in the order of ranks.
pub(crate) fn combine<T: Summable>(all: &[T], into: &mut [T], by: Combine, size: usize) {
    match by {
        Combine::Sum => fold::<T>(all, into, size, |a, b| a + b, |sum| sum),
        Combine::Mean => fold::<T>(all, into, size, |a, b| a + b, |sum| T::divide(sum, size)),
        Combine::Min => fold::<T>(all, into, size, |a, b| if b < a { b } else { a }, |least| least),
        Combine::Max => fold::<T>(all, into, size, |a, b| if b > a { b } else { a }, |most| most),
    }
}

/// Numbers that are folded together, so that they stay in the cache.
const TOGETHER: usize = 1024;

fn fold<T: Summable>(
    all: &[T],
    into: &mut [T],
    size: usize,
    two: impl Fn(T::Wide, T::Wide) -> T::Wide,
    end: impl Fn(T::Wide) -> T::Wide,
) {
    let len = into.len();
    let mut wide: Vec<T::Wide> = Vec::with_capacity(TOGETHER);
    for (n, out) in into.chunks_mut(TOGETHER).enumerate() {
        let of = |rank: usize| &all[rank * len + n * TOGETHER..][..out.len()];
        wide.clear();
        wide.extend(of(0).iter().map(|number| number.widen()));
        for rank in 1..size {
            wide.iter_mut().zip(of(rank)).for_each(|(so_far, other)| *so_far = two(*so_far, other.widen()));
        }
        out.iter_mut().zip(&wide).for_each(|(out, &wide)| *out = T::narrow(end(wide)));
    }
}

/// The numbers of rank `root`, on every rank.
pub(crate) fn broadcast<T: Summable>(
    engine: &mut dyn GroupEngine,
    numbers: &mut [T],
    root: usize,
) -> Result<()> {
    let bytes: &mut [u8] = cast_slice_mut(numbers);
    bytes.chunks_mut(LARGEST).try_for_each(|part| engine.broadcast(part, root))
}

/// Everybody's numbers, however many each gives.
pub(crate) fn all_gather<T: Summable>(engine: &mut dyn GroupEngine, mine: &[T]) -> Result<Vec<Vec<T>>> {
    let lengths = all_lengths(engine, size_of_val(mine))?;
    let mut all: Vec<T> = zeroed_vec(lengths.iter().sum::<usize>() / size_of::<T>());
    engine.all_gather(cast_slice(mine), &lengths, cast_slice_mut(&mut all))?;
    Ok(cut(&all, &lengths))
}

/// Everybody's numbers on rank `root`; nothing elsewhere.
pub(crate) fn gather<T: Summable>(
    engine: &mut dyn GroupEngine,
    mine: &[T],
    root: usize,
) -> Result<Vec<Vec<T>>> {
    let lengths = all_lengths(engine, size_of_val(mine))?;
    let is_root = engine.membership().rank == root;
    let room = if is_root { lengths.iter().sum::<usize>() / size_of::<T>() } else { 0 };
    let mut all: Vec<T> = zeroed_vec(room);
    engine.gather(cast_slice(mine), &lengths, root, cast_slice_mut(&mut all))?;
    Ok(if is_root { cut(&all, &lengths) } else { vec![] })
}

/// How many bytes each rank gives.
fn all_lengths(engine: &mut dyn GroupEngine, mine: usize) -> Result<Vec<usize>> {
    let size = engine.membership().size;
    let mut all = vec![0u64; size];
    engine.all_gather(cast_slice(&[mine as u64]), &vec![8; size], cast_slice_mut(&mut all))?;
    Ok(all.into_iter().map(|length| length as usize).collect())
}

fn cut<T: Summable>(mut all: &[T], lengths: &[usize]) -> Vec<Vec<T>> {
    let mut parts = Vec::with_capacity(lengths.len());
    for bytes in lengths {
        let (part, rest) = all.split_at(bytes / size_of::<T>());
        parts.push(part.to_vec());
        all = rest;
    }
    parts
}
