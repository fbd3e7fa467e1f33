//! Positions of everything in a drawing: levels become columns, and within a column the order has few
//! crossings.
//!
//! Sugiyama's method: a wire that spans several columns has a place in each of them. Columns are ordered by the
//! mean position of neighbors, from left to right and back, and the order with the fewest crossings is kept.
//! Then heights are chosen so that wires are as straight as the order allows. Invariant: heights are multiples
//! of [`UNIT`], and no two places overlap.

use super::parts::{DrawnPart, DrawnParts, DrawnSignal};

/// The grid of heights.
pub const UNIT: f64 = 4.5;
/// From the middle of a gate to its pins.
pub const PIN: f64 = 9.0;
/// How many times columns are ordered, back and forth.
const SWEEPS: usize = 24;
/// How often heights are straightened.
const STRAIGHTENINGS: usize = 40;

/// A place in a column: a part, or where a long wire passes.
#[derive(Clone, Debug)]
pub struct ColumnPlace {
    /// The part at this place, or the part whose wire passes.
    pub part: usize,
    /// Whether only a wire passes here.
    pub passes: bool,
    /// Its column.
    pub column: usize,
    /// The height of its middle.
    pub y: f64,
}

/// A segment of a wire between neighboring columns.
#[derive(Clone, Copy, Debug)]
pub struct WireSegment {
    /// The place that it leaves.
    pub from: usize,
    /// The place that it reaches.
    pub to: usize,
    /// Which operand it is there.
    pub operand: usize,
}

/// Places and pieces.
pub struct DrawingLayout {
    /// All places.
    pub places: Vec<ColumnPlace>,
    /// The places of every column, from the top.
    pub columns: Vec<Vec<usize>>,
    /// All pieces of wires.
    pub pieces: Vec<WireSegment>,
    /// For every part, whether its operands swap pins.
    pub swapped: Vec<bool>,
    /// How tall the drawing is.
    pub height: f64,
    /// For every place, the pieces that leave or reach it.
    touching: Vec<Vec<usize>>,
}

impl DrawingLayout {
    /// How many places there would be: the cost of a layout.
    pub fn cost(parts: &DrawnParts) -> usize {
        let last = last_readers(parts);
        let long = |(n, part): (usize, &super::parts::Placed)| last[n].saturating_sub(part.level + 1);
        parts.all.len() + parts.all.iter().enumerate().map(long).sum::<usize>()
    }

    /// Assigns places to all parts.
    pub fn of(parts: &DrawnParts) -> DrawingLayout {
        let mut layout = DrawingLayout {
            places: Vec::new(),
            columns: vec![Vec::new(); parts.depth + 2],
            pieces: Vec::new(),
            swapped: vec![false; parts.all.len()],
            height: 0.0,
            touching: Vec::new(),
        };
        layout.connect(parts);
        layout.order();
        layout.stack();
        (0..STRAIGHTENINGS).for_each(|n| layout.straighten(parts, n));
        layout.swap(parts);
        (0..STRAIGHTENINGS).for_each(|n| layout.straighten(parts, n));
        layout.settle();
        layout
    }

    fn add(&mut self, part: usize, passes: bool, column: usize) -> usize {
        self.places.push(ColumnPlace { part, passes, column, y: 0.0 });
        self.columns[column].push(self.places.len() - 1);
        self.places.len() - 1
    }

    /// Makes places for parts, then for the wires that pass columns, and the segments between them.
    fn connect(&mut self, parts: &DrawnParts) {
        for (n, part) in parts.all.iter().enumerate() {
            self.add(n, false, part.level);
        }
        let last = last_readers(parts);
        // For every part, the places of its wire in the columns after it.
        let mut passing: Vec<Vec<usize>> = Vec::with_capacity(parts.all.len());
        for (n, part) in parts.all.iter().enumerate() {
            let mut chain = vec![n];
            for column in part.level + 1..last[n] {
                let place = self.add(n, true, column);
                self.pieces.push(WireSegment { from: chain[chain.len() - 1], to: place, operand: 0 });
                chain.push(place);
            }
            passing.push(chain);
        }
        for (n, part) in parts.all.iter().enumerate() {
            for (operand, signal) in part.reads.iter().enumerate() {
                if let DrawnSignal::Part(read) = *signal {
                    let from = passing[read][part.level - 1 - parts.all[read].level];
                    self.pieces.push(WireSegment { from, to: n, operand });
                }
            }
        }
        self.touching = vec![Vec::new(); self.places.len()];
        for (n, piece) in self.pieces.iter().enumerate() {
            self.touching[piece.from].push(n);
            self.touching[piece.to].push(n);
        }
    }

    /// Orders columns by the mean position of their neighbors in the column before, then in the one after, and
    /// so on.
    fn order(&mut self) {
        let mut best = (self.crossings(), self.columns.clone());
        let count = self.columns.len();
        for sweep in 0..SWEEPS {
            if best.0 == 0 {
                break;
            }
            let forwards = sweep % 2 == 0;
            let columns: Vec<usize> =
                if forwards { (1..count).collect() } else { (0..count - 1).rev().collect() };
            for column in columns {
                let beside = if forwards { column - 1 } else { column + 1 };
                self.order_column(column, beside);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.columns.clone());
            }
        }
        self.columns = best.1;
    }

    fn order_column(&mut self, column: usize, beside: usize) {
        let ranks = self.ranks();
        let mean = |place: usize| {
            let near: Vec<f64> = self
                .pieces_at(place)
                .map(|piece| if piece.from == place { piece.to } else { piece.from })
                .filter(|&other| self.places[other].column == beside)
                .map(|other| ranks[other] as f64)
                .collect();
            // A place without neighbors keeps its relative position in the column.
            let share = ranks[place] as f64 / self.columns[column].len() as f64;
            match near.len() {
                0 => share * self.columns[beside].len() as f64,
                count => near.iter().sum::<f64>() / count as f64,
            }
        };
        let mut keyed: Vec<(f64, usize)> = self.columns[column].iter().map(|&p| (mean(p), p)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.columns[column] = keyed.into_iter().map(|(_, place)| place).collect();
    }

    /// The rank of every place in its column.
    fn ranks(&self) -> Vec<usize> {
        let mut ranks = vec![0; self.places.len()];
        for column in &self.columns {
            column.iter().enumerate().for_each(|(rank, &place)| ranks[place] = rank);
        }
        ranks
    }

    /// How often segments of wires cross.
    fn crossings(&self) -> usize {
        let ranks = self.ranks();
        let mut channels: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.columns.len()];
        for piece in &self.pieces {
            channels[self.places[piece.from].column].push((ranks[piece.from], ranks[piece.to]));
        }
        let crossed = |channel: &mut Vec<(usize, usize)>| {
            channel.sort_unstable();
            let pairs =
                channel.iter().enumerate().flat_map(|(n, a)| channel[..n].iter().map(move |b| (b, a)));
            pairs.filter(|(b, a)| b.0 < a.0 && b.1 > a.1).count()
        };
        channels.iter_mut().map(crossed).sum()
    }

    /// Half of the height that a place takes.
    fn half(&self, place: usize) -> f64 {
        if self.places[place].passes { UNIT } else { 4.0 * UNIT }
    }

    /// The initial heights: columns packed tightly around one middle.
    fn stack(&mut self) {
        for column in self.columns.clone() {
            let offsets = self.offsets(&column);
            let middle = offsets.last().copied().unwrap_or(0.0) / 2.0;
            column.iter().zip(offsets).for_each(|(&place, offset)| self.places[place].y = offset - middle);
        }
    }

    /// The least distance of each place below the first of its column.
    fn offsets(&self, column: &[usize]) -> Vec<f64> {
        let mut y = 0.0;
        let mut offsets = Vec::with_capacity(column.len());
        for (n, &place) in column.iter().enumerate() {
            if n > 0 {
                y += self.half(column[n - 1]) + self.half(place);
            }
            offsets.push(y);
        }
        offsets
    }

    /// Moves places toward their neighbors, as far as the order of their columns allows.
    fn straighten(&mut self, parts: &DrawnParts, round: usize) {
        let (count, lines) = (self.columns.len(), self.lines(parts));
        for step in 0..count {
            let column = if round.is_multiple_of(2) { step } else { count - 1 - step };
            let places = self.columns[column].clone();
            let offsets = self.offsets(&places);
            let wanted: Vec<(f64, f64)> = places
                .iter()
                .zip(&offsets)
                .map(|(&place, offset)| self.wanted(parts, &lines, place, *offset))
                .collect();
            for ((place, height), offset) in places.iter().zip(in_order(&wanted)).zip(&offsets) {
                self.places[*place].y = (height / UNIT).round() * UNIT + offset;
            }
        }
    }

    /// The preferred height of a place, minus its offset, and the weight of that preference.
    fn wanted(&self, parts: &DrawnParts, lines: &[f64], place: usize, offset: f64) -> (f64, f64) {
        if self.places[place].passes {
            // A wire that passes columns should be straight all the way; that matters more than being near its
            // neighbors.
            return (lines[self.places[place].part] - offset, 8.0);
        }
        let near = self.pieces_at(place).map(|piece| {
            let pin = self.pin(parts, piece) - self.places[piece.to].y;
            match piece.from == place {
                true => self.places[piece.to].y + pin,
                false => self.places[piece.from].y - pin,
            }
        });
        let (sum, count) = near.fold((0.0, 0.0), |(sum, count), y| (sum + y, count + 1.0));
        if count == 0.0 { (self.places[place].y - offset, 0.1) } else { (sum / count - offset, count) }
    }

    /// For every part whose wire passes columns, the preferred height of that wire: that of its ends, as far as
    /// others leave room there.
    fn lines(&self, parts: &DrawnParts) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); parts.all.len()];
        let mut add = |part: usize, y: f64, weight: f64| {
            sums[part].0 += y * weight;
            sums[part].1 += weight;
        };
        for place in &self.places {
            add(place.part, place.y, if place.passes { 1.0 } else { 0.5 });
        }
        for piece in self.pieces.iter().filter(|piece| !self.places[piece.to].passes) {
            add(self.places[piece.from].part, self.pin(parts, piece), 0.5);
        }
        sums.into_iter().map(|(sum, weight)| sum / f64::max(weight, 0.1)).collect()
    }

    fn pieces_at(&self, place: usize) -> impl Iterator<Item = &WireSegment> + '_ {
        self.touching[place].iter().map(|&n| &self.pieces[n])
    }

    /// The height at which a segment reaches its place.
    pub fn pin(&self, parts: &DrawnParts, piece: &WireSegment) -> f64 {
        let place = &self.places[piece.to];
        let part = &parts.all[place.part];
        if place.passes || !matches!(part.part, DrawnPart::Gate(_)) || part.reads.len() < 2 {
            return place.y;
        }
        let upper = (piece.operand == 0) != self.swapped[place.part];
        if upper { place.y - PIN } else { place.y + PIN }
    }

    /// The operand that comes from above takes the upper pin.
    fn swap(&mut self, parts: &DrawnParts) {
        for n in parts.sources..parts.sources + parts.gates {
            let height = |operand: usize| {
                let found = self.pieces_at(n).find(|piece| piece.to == n && piece.operand == operand);
                found.map(|piece| self.places[piece.from].y)
            };
            if let (Some(a), Some(b)) = (height(0), height(1)) {
                self.swapped[n] = a > b;
            }
        }
    }

    /// Shifts everything so that it starts at zero.
    fn settle(&mut self) {
        let edge = |place: usize, side: f64| self.places[place].y + side * self.half(place);
        let all = || 0..self.places.len();
        let top = all().map(|place| edge(place, -1.0)).fold(f64::INFINITY, f64::min);
        let bottom = all().map(|place| edge(place, 1.0)).fold(f64::NEG_INFINITY, f64::max);
        let (top, bottom) = if top > bottom { (0.0, 0.0) } else { (top, bottom) };
        self.places.iter_mut().for_each(|place| place.y -= top);
        self.height = bottom - top;
    }
}

/// For every part, the level of its last reader.
fn last_readers(parts: &DrawnParts) -> Vec<usize> {
    let mut last = vec![0; parts.all.len()];
    for part in &parts.all {
        for signal in &part.reads {
            if let DrawnSignal::Part(read) = *signal {
                last[read] = last[read].max(part.level);
            }
        }
    }
    last
}

/// The ascending values closest to the wanted ones, by weight: neighbors that would pass each other share their
/// mean.
fn in_order(wanted: &[(f64, f64)]) -> Vec<f64> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(wanted.len());
    for &(value, weight) in wanted {
        let mut block = (value, weight, 1);
        while let Some(&before) = blocks.last().filter(|before| before.0 > block.0) {
            blocks.pop();
            let weight = before.1 + block.1;
            block = ((before.0 * before.1 + block.0 * block.1) / weight, weight, before.2 + block.2);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(value, _, count)| std::iter::repeat_n(value, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_rise_and_stay_near() {
        let equal = |values: &[f64]| values.iter().map(|&value| (value, 1.0)).collect::<Vec<_>>();
        assert_eq!(in_order(&equal(&[1.0, 2.0, 3.0])), [1.0, 2.0, 3.0]);
        assert_eq!(in_order(&equal(&[3.0, 1.0, 5.0])), [2.0, 2.0, 5.0]);
        assert_eq!(in_order(&[(4.0, 3.0), (0.0, 1.0)]), [3.0, 3.0]);
    }
}
