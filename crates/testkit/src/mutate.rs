//! Damaged files: valid bytes, changed as disks, careless tools and malice would change them.
//!
//! Invariant: the result is a function of the samples and the seed, so failures are reproducible. Start at
//! [`Mutator::damaged`].

/// Most bytes by which a damaged file exceeds its sample.
const MOST_MORE: usize = 1 << 17;

/// Numbers at which lengths, counts and offsets tend to break.
const EDGES: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff8,
    0xffff_ffff_ffff_ffff,
];

/// The same as text, and other numbers that parsers stumble over.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "-0",
    "1e999",
    "-1e999",
    "nan",
    "inf",
    "0.5",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "184467440737095516160",
    "1e18",
];

/// Tokens that open, close or mean something in the text formats.
const TOKENS: [&str; 18] = [
    "[", "]", "{", "}", "\"", ",", ":", "\n", "\r\n", "=", "\\", "\\ud800", "[[", "null", "true", "''",
    "\u{feff}", "\0",
];

/// Makes damaged files out of valid ones.
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// With a seed.
    pub fn new(seed: u64) -> Mutator {
        Mutator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d }
    }

    /// One of the samples with one to four kinds of damage, or occasionally something else altogether.
    pub fn damaged(&mut self, samples: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = samples[self.below(samples.len())].clone();
        if self.below(40) == 0 {
            return self.noise(300);
        }
        let most = bytes.len() + MOST_MORE;
        for _ in 0..=self.below(4) {
            self.damage(&mut bytes, samples);
        }
        bytes.truncate(most);
        bytes
    }

    fn damage(&mut self, bytes: &mut Vec<u8>, samples: &[Vec<u8>]) {
        match self.below(14) {
            0 => self.flip(bytes),
            1 => bytes.truncate(self.below(bytes.len() + 1)),
            2 => self.number_in_bytes(bytes),
            3 | 4 => self.number_in_text(bytes),
            5 => self.replace_with_token(bytes),
            6 => {
                let (at, noise) = (self.below(bytes.len() + 1), self.noise(16));
                bytes.splice(at..at, noise);
            }
            7 => {
                let chunk = self.chunk(bytes);
                bytes.drain(chunk);
            }
            8 => self.repeat(bytes),
            9 => self.splice(bytes, samples),
            10 => self.swap(bytes),
            11 => self.nest(bytes),
            12 => self.overwrite(bytes),
            _ => (0..4).for_each(|_| self.flip(bytes)),
        }
    }

    fn flip(&mut self, bytes: &mut [u8]) {
        if !bytes.is_empty() {
            let (at, bit) = (self.place(bytes.len()), self.below(8));
            bytes[at] ^= 1 << bit;
        }
    }

    /// Replaces a number of two, four or eight bytes, in either byte order, by one on the edge.
    fn number_in_bytes(&mut self, bytes: &mut [u8]) {
        let width = [2, 4, 8][self.below(3)];
        if bytes.len() < width {
            return;
        }
        let (at, edge) = (self.place(bytes.len() - width + 1), EDGES[self.below(EDGES.len())]);
        match self.below(2) {
            0 => bytes[at..at + width].copy_from_slice(&edge.to_le_bytes()[..width]),
            _ => bytes[at..at + width].copy_from_slice(&edge.to_be_bytes()[8 - width..]),
        }
    }

    /// Replaces a run of digits by another number.
    fn number_in_text(&mut self, bytes: &mut Vec<u8>) {
        let starts = |at: usize| bytes[at].is_ascii_digit() && (at == 0 || !bytes[at - 1].is_ascii_digit());
        let runs: Vec<usize> = (0..bytes.len()).filter(|&at| starts(at)).take(4000).collect();
        if runs.is_empty() {
            return self.number_in_bytes(bytes);
        }
        let start = runs[self.below(runs.len())];
        let end = start + bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = NUMBERS[self.below(NUMBERS.len())];
        bytes.splice(start..end, number.bytes());
    }

    fn replace_with_token(&mut self, bytes: &mut Vec<u8>) {
        let at = self.place(bytes.len() + 1).min(bytes.len());
        let end = (at + self.below(2)).min(bytes.len());
        let token = TOKENS[self.below(TOKENS.len())];
        bytes.splice(at..end, token.bytes());
    }

    /// Repeats a part, once or very often.
    fn repeat(&mut self, bytes: &mut Vec<u8>) {
        let chunk = self.chunk(bytes);
        let (end, part) = (chunk.end, bytes[chunk].to_vec());
        let times = [1, 2, 16, 1024][self.below(4)].min(MOST_MORE / part.len().max(1) + 1);
        bytes.splice(end..end, part.repeat(times));
    }

    /// The beginning of one sample and the end of another.
    fn splice(&mut self, bytes: &mut Vec<u8>, samples: &[Vec<u8>]) {
        let other = &samples[self.below(samples.len())];
        let (keep, from) = (self.below(bytes.len() + 1), self.below(other.len() + 1));
        bytes.truncate(keep);
        bytes.extend_from_slice(&other[from..]);
    }

    fn swap(&mut self, bytes: &mut [u8]) {
        if bytes.len() > 1 {
            let [a, b] = [self.place(bytes.len()), self.place(bytes.len())];
            bytes.swap(a, b);
        }
    }

    /// Nests brackets thousands deep: recursive parsers run out of stack.
    fn nest(&mut self, bytes: &mut Vec<u8>) {
        let open = ["[", "{\"a\":", "(", "[[", "{a={"][self.below(5)];
        let at = self.place(bytes.len() + 1).min(bytes.len());
        let times = [3, 200, 20_000][self.below(3)];
        bytes.splice(at..at, open.repeat(times).into_bytes());
    }

    fn overwrite(&mut self, bytes: &mut [u8]) {
        let chunk = self.chunk(bytes);
        let value = [0, 0xff, b' ', b'9'][self.below(4)];
        bytes[chunk].fill(value);
    }

    /// A part of the file, mostly a short one.
    fn chunk(&mut self, bytes: &[u8]) -> std::ops::Range<usize> {
        let at = self.place(bytes.len().max(1)).min(bytes.len());
        let longest = [4, 32, 4096][self.below(3)];
        at..(at + 1 + self.below(longest)).min(bytes.len())
    }

    /// An index below `len`, often near the beginning, where headers are.
    fn place(&mut self, len: usize) -> usize {
        match self.below(2) {
            0 => self.below(len.min(96)),
            _ => self.below(len),
        }
    }

    fn noise(&mut self, most: usize) -> Vec<u8> {
        let len = self.below(most + 1);
        (0..len).map(|_| self.below(256) as u8).collect()
    }

    /// A number below `most`, which is at least 1.
    fn below(&mut self, most: usize) -> usize {
        // SplitMix64: three lines, and good enough for choosing.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % most as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_repeats_differs_by_seed_and_stays_bounded() {
        let samples = [b"{\"length\": 12, \"data\": [1, 2, 3]}".to_vec(), vec![7; 5000], vec![]];
        let of = |seed| Mutator::new(seed).damaged(&samples);
        let all: Vec<Vec<u8>> = (0..2000).map(of).collect();
        assert!((0..2000).all(|seed| of(seed) == all[seed as usize]));
        let distinct: std::collections::BTreeSet<&Vec<u8>> = all.iter().collect();
        assert!(distinct.len() > 1500, "{} of 2000 differ", distinct.len());
        assert!(all.iter().all(|bytes| bytes.len() <= 5000 + MOST_MORE));
        let has = |part: &[u8]| all.iter().any(|bytes| bytes.windows(part.len()).any(|w| w == part));
        assert!(has(b"18446744073709551615") && has(&u64::MAX.to_le_bytes()) && has(&[b'['; 200]));
    }
}
