//! Philox random bits in bulk: sixteen blocks at once.

use farad_ir::philox;

const LANES: usize = 16;

/// The bits of elements `first..first + out.len()` of the tensor drawn with this seed, counter and stream.
#[inline(always)]
pub fn fill(seed: [u32; 2], [counter @ .., stream]: [u32; 3], first: u32, out: &mut [u32]) {
    let mut done = 0;
    while done < out.len() {
        let element = first.wrapping_add(done as u32);
        let left = out.len() - done;
        let ahead = element.checked_add(4 * LANES as u32 - 1);
        if element.is_multiple_of(4) && left >= 4 * LANES && ahead.is_some() {
            blocks(
                seed,
                [stream, counter[0], counter[1]],
                element / 4,
                (&mut out[done..done + 4 * LANES]).try_into().expect("the length fits"),
            );
            done += 4 * LANES;
        } else {
            out[done] = philox::bits_within(seed, counter, stream, element);
            done += 1;
        }
    }
}

/// The words of the blocks starting at `block`.
#[inline(always)]
fn blocks(seed: [u32; 2], counter: [u32; 3], block: u32, out: &mut [u32; 4 * LANES]) {
    let mut words = [[0; 4]; LANES];
    for (words, lane) in words.iter_mut().zip(0..) {
        *words = philox::block([block.wrapping_add(lane), counter[0], counter[1], counter[2]], seed);
    }
    out.copy_from_slice(words.as_flattened());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_is_the_same_as_single() {
        for first in [0, 1, 3, 4, 1000, u32::MAX - 20] {
            let mut out = vec![0; 203];
            fill([1, 2], [3, 4, 5], first, &mut out);
            for (i, &word) in out.iter().enumerate() {
                assert_eq!(word, philox::bits_within([1, 2], [3, 4], 5, first.wrapping_add(i as u32)));
            }
        }
    }
}
