//! The reference for the kernel of candidates: the same, one run after another and one neighbor bit at a time.

use rayon::prelude::*;

use super::device::Board;

/// What all runs read, in the kernel's layout.
pub struct Operands<'a> {
    pub board: Board,
    pub runs: &'a [u32],
    pub tape: &'a [u32],
    pub starts: &'a [u32],
    pub fires: &'a [u32],
    pub wanted: &'a [u32],
}

/// The scores of all runs, four words each.
pub fn scores(operands: &Operands) -> Vec<u32> {
    let run = |run: &[u32]| CandidateRun::new(operands, run).scores();
    operands.runs.par_chunks_exact(8).flat_map_iter(run).collect()
}

/// One candidate from one word of starts.
struct CandidateRun<'a> {
    operands: &'a Operands<'a>,
    channels: &'a [[u32; 4]],
    ops: &'a [[u32; 4]],
    fires: usize,
    /// `[channels, places]`
    state: Vec<u32>,
}

impl<'a> CandidateRun<'a> {
    fn new(operands: &'a Operands<'a>, run: &[u32]) -> CandidateRun<'a> {
        let [first, channels, ops, _, start, fires] = std::array::from_fn(|n| run[n] as usize);
        let rows = &operands.tape.as_chunks::<4>().0[first..][..channels + ops];
        let (channels, ops) = rows.split_at(channels);
        let places = operands.board.places;
        let channel =
            |row: &[u32; 4]| operands.starts[start + row[0] as usize * places..][..places].iter().copied();
        CandidateRun { operands, channels, ops, fires, state: channels.iter().flat_map(channel).collect() }
    }

    fn scores(mut self) -> [u32; 4] {
        let board = self.operands.board;
        let [early, late] = board.looks.unwrap_or_default();
        let mut scores = [0; 4];
        for step in 0..board.steps {
            let places: Vec<Vec<u32>> = (0..board.places).map(|place| self.next(place, step)).collect();
            for (place, channels) in places.iter().enumerate() {
                for (channel, &value) in channels.iter().enumerate() {
                    self.state[channel * board.places + place] = value;
                }
            }
            let looks = [board.steps, late, early].into_iter().enumerate();
            looks.filter(|&(_, look)| look == step + 1).for_each(|(kind, _)| self.count(kind, &mut scores));
        }
        scores
    }

    /// The next values of all channels of a place.
    fn next(&self, place: usize, step: usize) -> Vec<u32> {
        let mut slots = vec![0; self.channels.len() + self.ops.len()];
        let mask = |bits: u32, bit: u32| (bits >> bit & 1).wrapping_neg();
        for &[gate, a, b, target] in self.ops {
            let (a, b) = (self.operand(&slots, place, a), self.operand(&slots, place, b));
            slots[target as usize] =
                mask(gate, 0) ^ (mask(gate, 1) & a) ^ (mask(gate, 2) & b) ^ (mask(gate, 3) & a & b);
        }
        let board = self.operands.board;
        let fired = match board.asynchronous {
            true => self.operands.fires[self.fires + step * board.places + place],
            false => !0,
        };
        let value = |(channel, row): (usize, &[u32; 4])| {
            let plain = if row[3] & 2 == 0 { self.operand(&slots, place, row[2]) } else { 0 };
            let old = self.state[channel * board.places + place];
            ((plain ^ mask(row[3], 0)) & fired | old & !fired) & board.inside(place)
        };
        self.channels.iter().enumerate().map(value).collect()
    }

    fn operand(&self, slots: &[u32], place: usize, code: u32) -> u32 {
        if code >> 31 == 0 {
            return slots[code as usize];
        }
        let (channel, position) = (code as usize & 0xffff, code as usize >> 16 & 15);
        let cells = &self.state[channel * self.operands.board.places..];
        self.operands.board.neighbor(cells, place, position)
    }

    fn count(&self, kind: usize, scores: &mut [u32; 4]) {
        let board = self.operands.board;
        for (channel, row) in self.channels.iter().enumerate().filter(|(_, row)| row[1] > 0) {
            for place in 0..board.places {
                let wanted = self.operands.wanted[(row[1] as usize - 1) * board.places + place];
                let wrong = (self.state[channel * board.places + place] ^ wanted) & board.inside(place);
                scores[kind] += wrong.count_ones();
                scores[3] |= if kind < 2 && board.row == 0 { wrong } else { 0 };
            }
        }
    }
}

impl Board {
    /// The bits of a place that are cells.
    fn inside(&self, place: usize) -> u32 {
        match self.row {
            0 => !0,
            row => !0 >> (32 - (self.width - place % row * 32).min(32)),
        }
    }

    /// The neighbors' bits at a position, for a place of a channel.
    fn neighbor(&self, cells: &[u32], place: usize, position: usize) -> u32 {
        let (down, right) = (position / 3, position % 3);
        if self.row == 0 {
            let (y, x) = (place / self.width, place % self.width);
            return self.cell(y + down, x + right).map_or(0, |cell| cells[cell]);
        }
        let (y, first) = (place / self.row, place % self.row * 32);
        let bit = |n: usize| {
            let there = (first + n < self.width).then(|| self.cell(y + down, first + n + right)).flatten();
            there.map_or(0, |cell| {
                let (y, x) = (cell / self.width, cell % self.width);
                cells[y * self.row + x / 32] >> (x % 32) & 1
            })
        };
        (0..32).fold(0, |word, n| word | bit(n) << n)
    }

    /// The index of the cell in this row and column, both counted from one; `None` beyond the edge.
    fn cell(&self, y: usize, x: usize) -> Option<usize> {
        let within = |at: usize, size: usize| match at.checked_sub(1).filter(|&at| at < size) {
            None if self.wraps => Some((at + size - 1) % size),
            at => at,
        };
        Some(within(y, self.height)? * self.width + within(x, self.width)?)
    }
}
