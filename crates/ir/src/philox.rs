//! Philox4x32-10: counter-based random bits, the same on every device.
//!
//! Element `e` of the tensor with counter `c` is word `e % 4` of the block at `(e / 4, 0, c)`. In a tensor
//! drawn inside a loop, the block is at `(e / 4, p + 1, c)`, where `p` is the loop's position. So no two
//! positions share a block with each other or with any draw outside.

const M0: u64 = 0xD251_1F53;
const M1: u64 = 0xCD9E_8D57;
const W0: u32 = 0x9E37_79B9;
const W1: u32 = 0xBB67_AE85;

/// The four words at a counter under a key, ten rounds.
#[inline(always)]
pub fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (mut c, mut k) = (counter, key);
    for _ in 0..10 {
        let (p0, p1) = (M0 * c[0] as u64, M1 * c[2] as u64);
        c = [(p1 >> 32) as u32 ^ c[1] ^ k[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k[1], p0 as u32];
        k = [k[0].wrapping_add(W0), k[1].wrapping_add(W1)];
    }
    c
}

/// The bits of element `element` of the tensor drawn with this seed and counter.
#[inline(always)]
pub fn bits(seed: [u32; 2], counter: [u32; 2], element: u32) -> u32 {
    bits_within(seed, counter, 0, element)
}

/// As [`bits`], with a stream number: 0 outside of loops, the position plus one inside.
#[inline(always)]
pub fn bits_within(seed: [u32; 2], counter: [u32; 2], stream: u32, element: u32) -> u32 {
    block([element / 4, stream, counter[0], counter[1]], seed)[element as usize % 4]
}

#[cfg(test)]
mod tests {
    use super::block;

    // Known answers of Random123's Philox4x32-10.
    #[test]
    fn known_answers() {
        assert_eq!(block([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(block([u32::MAX; 4], [u32::MAX; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
    }
}
