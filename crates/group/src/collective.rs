//! Collectives on numbers, made of the moves of an engine.
//!
//! An all-reduce of much data has two moves. Each rank gets everybody's numbers of its share, adds them up, and gives the
//! sums to all. Each rank sends and receives `2 (n - 1) / n` of the data, as in a ring. An all-reduce of little data is
//! one move: everybody's numbers to everybody. Both add up in the order of ranks, so the result has the same bits. Large arrays
//! go in pieces, so that what a rank gets, adds up and gives stays in its caches.
//!
//! Invariant: the bits of a result depend on the numbers and on the number of ranks only.

use std::any::TypeId;
use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut, pod_collect_to_vec, try_cast_slice_mut, zeroed_vec};

use crate::engine::{GroupEngine, Membership};
use crate::error::Result;
use crate::numbers::Summable;
use crate::wire;

/// Up to so many bytes, all numbers go to all ranks.
const SMALL: usize = 4096;
/// Bytes that one call moves at most; engines count in `i32`.
const LARGEST: usize = 256 << 20;
/// Bytes of a rank's share that are reduced at once. By `farad bench --group` with two ranks.
const PIECE: usize = 512 << 10;

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
    match size_of_val(numbers) <= SMALL {
        true => reduce_small(engine, numbers, by),
        false => reduce(engine, numbers, by, MeanPart::Whole),
    }
}

/// Everybody's numbers to everybody.
fn reduce_small<T: Summable>(engine: &mut dyn GroupEngine, numbers: &mut [T], by: Combine) -> Result<()> {
    let Membership { rank, size, .. } = *engine.membership();
    let mut all: Vec<T> = zeroed_vec(numbers.len() * size);
    engine.all_gather(cast_slice(numbers), &vec![size_of_val(numbers); size], cast_slice_mut(&mut all))?;
    let len = numbers.len();
    let others: Vec<&[T]> =
        (0..size).filter(|&other| other != rank).map(|other| &all[other * len..][..len]).collect();
    combine(numbers, &others, rank, by);
    Ok(())
}

/// This rank's share of the combined numbers ([`share`]).
pub(crate) fn reduce_scatter<T: Summable>(
    engine: &mut dyn GroupEngine,
    mut numbers: Vec<T>,
    by: Combine,
) -> Result<Vec<T>> {
    reduce(engine, &mut numbers, by, MeanPart::Share)?;
    let own = own_share(engine, numbers.len());
    keep(&mut numbers, own);
    Ok(numbers)
}

fn own_share(engine: &dyn GroupEngine, len: usize) -> Range<usize> {
    let Membership { rank, size, .. } = *engine.membership();
    share(len, size, rank)
}

/// Nothing but a range is left.
fn keep<T: Copy>(numbers: &mut Vec<T>, range: Range<usize>) {
    let len = range.len();
    numbers.copy_within(range, 0);
    numbers.truncate(len);
}

/// Combines this rank's share of the numbers, piece by piece, and gives it to all if they want it.
fn reduce<T: Summable>(
    engine: &mut dyn GroupEngine,
    numbers: &mut [T],
    by: Combine,
    part: MeanPart,
) -> Result<()> {
    let Membership { rank, size, .. } = *engine.membership();
    for ranges in pieces::<T>(numbers.len(), size) {
        let bytes: &mut [u8] = cast_slice_mut(numbers);
        engine.exchange(bytes, &ranges, &mut |own, others| {
            let others: Vec<&[T]> = others.iter().map(|other| cast_slice(other)).collect();
            combine(cast_slice_mut(own), &others, rank, by);
        })?;
        if part == MeanPart::Whole {
            engine.spread(bytes, &ranges)?;
        }
    }
    Ok(())
}

/// Pieces of all shares of `len` numbers, as ranges of bytes, rank by rank.
fn pieces<T>(len: usize, size: usize) -> impl Iterator<Item = Vec<Range<usize>>> {
    let each = (PIECE / size_of::<T>()).max(1);
    (0..len.div_ceil(size)).step_by(each).map(move |start| {
        let piece = |rank| {
            let own = share(len, size, rank);
            let from = (own.start + start).min(own.end);
            from * size_of::<T>()..(from + each).min(own.end) * size_of::<T>()
        };
        (0..size).map(piece).collect()
    })
}

/// The mean of all ranks' numbers, or this rank's share of it. Numbers come and go as bytes, and stay where they are.
pub(crate) fn mean<T: Summable>(
    engine: &mut dyn GroupEngine,
    mut bytes: Vec<u8>,
    part: MeanPart,
    wire: WireFormat,
) -> Result<Vec<u8>> {
    match try_cast_slice_mut::<u8, T>(&mut bytes) {
        Ok(numbers) => mean_in_place(engine, numbers, part, wire)?,
        // What begins at an odd place is copied.
        Err(_) => {
            let mut numbers: Vec<T> = pod_collect_to_vec(&bytes);
            mean_in_place(engine, &mut numbers, part, wire)?;
            bytes.copy_from_slice(cast_slice(&numbers));
        }
    }
    if part == MeanPart::Share {
        let own = own_share(engine, bytes.len() / size_of::<T>());
        keep(&mut bytes, own.start * size_of::<T>()..own.end * size_of::<T>());
    }
    Ok(bytes)
}

/// The mean, everywhere or in this rank's share of the numbers only.
fn mean_in_place<T: Summable>(
    engine: &mut dyn GroupEngine,
    numbers: &mut [T],
    part: MeanPart,
    wire: WireFormat,
) -> Result<()> {
    let is_small = size_of_val(numbers) <= SMALL;
    let is_packed = wire == WireFormat::Half && !is_small && TypeId::of::<T>() == TypeId::of::<f32>();
    match part {
        MeanPart::Share if is_packed => wire::mean_of_share(engine, cast_slice_mut(numbers)),
        MeanPart::Share => reduce(engine, numbers, Combine::Mean, part),
        MeanPart::Whole if is_packed => {
            let mut parts = cast_slice_mut(numbers).chunks_mut(LARGEST / size_of::<f32>());
            parts.try_for_each(|part| wire::mean(engine, part))
        }
        MeanPart::Whole => all_reduce(engine, numbers, Combine::Mean),
    }
}

/// Numbers of all ranks into one of each, in the order of ranks: the own ones of `rank`, in place, and those of all others.
pub(crate) fn combine<T: Summable>(own: &mut [T], others: &[&[T]], rank: usize, by: Combine) {
    let size = others.len() + 1;
    match by {
        Combine::Sum => fold(own, others, rank, |a, b| a + b, |sum| sum),
        Combine::Mean => fold(own, others, rank, |a, b| a + b, |sum| T::divide(sum, size)),
        Combine::Min => fold(own, others, rank, |a, b| if b < a { b } else { a }, |least| least),
        Combine::Max => fold(own, others, rank, |a, b| if b > a { b } else { a }, |most| most),
    }
}

/// Numbers that are folded together, so that they stay in the cache.
const TOGETHER: usize = 1024;

fn fold<'a, T: Summable>(
    own: &mut [T],
    others: &'a [&'a [T]],
    rank: usize,
    two: impl Fn(T::Wide, T::Wide) -> T::Wide,
    end: impl Fn(T::Wide) -> T::Wide,
) {
    let (before, behind) = others.split_at(rank);
    let mut wide: Vec<T::Wide> = own.iter().take(TOGETHER).map(|number| number.widen()).collect();
    for (n, own) in own.chunks_mut(TOGETHER).enumerate() {
        let len = own.len();
        let of = |&other: &'a &[T]| &other[n * TOGETHER..][..len];
        let mut all = before.iter().map(of).chain([&*own]).chain(behind.iter().map(of));
        let (first, wide) = (all.next().expect("this rank's at least"), &mut wide[..len]);
        wide.iter_mut().zip(first).for_each(|(so_far, number)| *so_far = number.widen());
        for part in all {
            wide.iter_mut().zip(part).for_each(|(so_far, other)| *so_far = two(*so_far, other.widen()));
        }
        own.iter_mut().zip(&*wide).for_each(|(out, &wide)| *out = T::narrow(end(wide)));
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
