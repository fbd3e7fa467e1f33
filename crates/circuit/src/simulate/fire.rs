//! Which cells fire at a step of an asynchronous automaton.

use pulp::{Arch, Simd, WithSimd};

use crate::random::block;

/// A random mask of the cells that fire, packed in rows: cell `(x, y)` is bit `x % 64` of word
/// `y·ceil(width / 64) + x / 64`; bits beyond the width are zero.
///
/// The cell fires if a uniform number is below `rate`: element `y·width + x` of the random tensor that Farad
/// draws with this seed and counter. So devices that draw that tensor fire the same cells.
pub fn fire_mask(width: usize, height: usize, rate: f32, seed: u64, counter: u64) -> Vec<u64> {
    // Uniform numbers are multiples of 2^-24, so integers can be compared instead.
    let threshold = (rate as f64 * (1u32 << 24) as f64).ceil() as u32;
    let mut mask = vec![0; width.div_ceil(64) * height];
    Arch::new().dispatch(FireDraw { width, threshold, seed, counter, mask: &mut mask });
    mask
}

struct FireDraw<'a> {
    width: usize,
    threshold: u32,
    seed: u64,
    counter: u64,
    mask: &'a mut [u64],
}

impl WithSimd for FireDraw<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        const BLOCKS: usize = 256;
        let FireDraw { width, threshold, seed, counter, mask } = self;
        let row_words = width.div_ceil(64);
        let (key, counter) = ([seed as u32, (seed >> 32) as u32], [counter as u32, (counter >> 32) as u32]);
        let cells = width * (mask.len() / row_words.max(1));
        let mut fires = [[false; 4]; BLOCKS];
        for first in (0..cells).step_by(4 * BLOCKS) {
            for (n, fires) in fires.iter_mut().enumerate() {
                let words = block([(first / 4 + n) as u32, 0, counter[0], counter[1]], key);
                *fires = words.map(|word| word >> 8 < threshold);
            }
            let (mut x, mut y) = (first % width, first / width);
            for &fires in fires.as_flattened().iter().take(cells - first) {
                mask[y * row_words + x / 64] |= (fires as u64) << (x % 64);
                x += 1;
                if x == width {
                    (x, y) = (0, y + 1);
                }
            }
        }
    }
}
