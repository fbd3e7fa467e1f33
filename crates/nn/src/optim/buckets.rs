//! Gradients in buckets: each is an array of its own, which ranks reduce while the device computes the next one.
//!
//! Invariant: every slot of the layout is in one bucket, and all ranks have the same buckets.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::layout::ParameterLayout;

/// Gradients that are reduced together.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Which slots of the layout, and where in the bucket each begins.
    pub slots: Vec<(usize, usize)>,
    /// How many numbers, with the gaps between slots.
    pub len: usize,
}

/// A bucket has at most so many bytes, unless one parameter has more. Above 4 MiB a reduction is slower per byte, by
/// `farad bench --group`.
const MOST: usize = 4 << 20;
/// On a GPU a bucket has at least so many bytes, since it costs a submission. Not measured.
const LEAST_ON_GPU: usize = 1 << 20;
/// On the CPU a bucket has at least so many bytes. Below that a reduction costs its latency, by `farad bench --group`.
const LEAST_ON_CPU: usize = 64 << 10;
/// So many buckets are enough to hide all but the last.
const ENOUGH: usize = 8;

/// How many bytes a bucket should have, of so many in all.
pub(super) fn bucket_bytes(all: usize, on_gpu: bool) -> usize {
    (all / ENOUGH).clamp(if on_gpu { LEAST_ON_GPU } else { LEAST_ON_CPU }, MOST)
}

/// Cuts the slots of a layout into buckets of about `most` numbers. `order` says for every slot when a backward pass is done
/// with it.
pub(super) fn cut(layout: &ParameterLayout, order: &[usize], most: usize) -> Vec<Bucket> {
    let mut slots: Vec<usize> = (0..layout.slots.len()).collect();
    slots.sort_by_key(|&slot| (order[slot], usize::MAX - slot));
    let mut buckets: Vec<Bucket> = Vec::new();
    for slot in slots {
        let len = layout.room(slot);
        match buckets.last_mut() {
            Some(bucket) if bucket.len + len <= most => {
                bucket.slots.push((slot, bucket.len));
                bucket.len += len;
            }
            _ => buckets.push(Bucket { slots: vec![(slot, 0)], len }),
        }
    }
    buckets
}

/// A number that differs where buckets do; ranks compare it.
pub(super) fn fingerprint(buckets: &[Bucket]) -> u64 {
    let mut hasher = DefaultHasher::new();
    buckets.hash(&mut hasher);
    hasher.finish()
}
