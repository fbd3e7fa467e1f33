//! Wires between neighboring columns: horizontal, then vertical on a track, and horizontal again.
//!
//! Tracks are ordered so that few wires cross and none overlap. Where no order avoids that, the wire is drawn
//! as a curve instead.

use super::layout::DrawingLayout;
use super::parts::DrawnParts;

/// The distance between neighboring tracks.
pub const TRACK: f64 = 7.0;
/// The cost of two overlapping wires, in crossings.
const OVERLAP: usize = 1000;
/// Heights closer than this count as equal.
const SAME: f64 = 2.0;

/// The wire of a part between two columns.
#[derive(Clone, Debug)]
pub struct RoutedWire {
    /// The part that drives it.
    pub part: usize,
    /// The height where it starts.
    pub from: f64,
    /// The heights where it ends, and the places there.
    pub to: Vec<(f64, usize)>,
    /// Its track, counted from the left; `None` if it is straight.
    pub track: Option<usize>,
    /// Whether it must be drawn as a curve, because it would overlap another.
    pub curved: bool,
}

impl RoutedWire {
    /// The highest and the lowest point.
    pub fn span(&self) -> (f64, f64) {
        let heights = self.to.iter().map(|to| to.0);
        heights.fold((self.from, self.from), |(low, high), y| (low.min(y), high.max(y)))
    }

    /// The cost if this wire's track is left of the other's.
    fn cost_left_of(&self, other: &RoutedWire) -> usize {
        let inside = |y: f64, (low, high): (f64, f64)| y > low + SAME && y < high - SAME;
        let mut cost = usize::from(inside(other.from, self.span()));
        for &(y, _) in &self.to {
            cost += usize::from(inside(y, other.span()));
            cost += if (other.from - y).abs() < SAME { OVERLAP } else { 0 };
        }
        cost
    }
}

/// All wires between two columns.
pub struct Channel {
    /// The wires.
    pub wires: Vec<RoutedWire>,
    /// How many tracks there are.
    pub tracks: usize,
}

/// The channel after every column.
pub fn channels(parts: &DrawnParts, layout: &DrawingLayout) -> Vec<Channel> {
    let mut wires: Vec<Vec<RoutedWire>> = vec![Vec::new(); layout.columns.len()];
    let mut of_place = vec![usize::MAX; layout.places.len()];
    for piece in &layout.pieces {
        let (place, channel) = (&layout.places[piece.from], &mut wires[layout.places[piece.from].column]);
        if of_place[piece.from] == usize::MAX {
            of_place[piece.from] = channel.len();
            let (part, from) = (place.part, place.y);
            channel.push(RoutedWire { part, from, to: Vec::new(), track: None, curved: false });
        }
        channel[of_place[piece.from]].to.push((layout.pin(parts, piece), piece.to));
    }
    wires.into_iter().map(with_tracks).collect()
}

fn with_tracks(mut wires: Vec<RoutedWire>) -> Channel {
    let bent = |wire: &RoutedWire| wire.to.iter().any(|to| (to.0 - wire.from).abs() >= 0.1);
    let mut order: Vec<usize> = (0..wires.len()).filter(|&n| bent(&wires[n])).collect();
    // Going down, the lowest wire leaves first; going up, the highest.
    order.sort_by(|&a, &b| {
        let key = |n: usize| {
            let mean = wires[n].to.iter().map(|to| to.0).sum::<f64>() / wires[n].to.len() as f64;
            if mean > wires[n].from { -wires[n].from } else { wires[n].from }
        };
        key(a).total_cmp(&key(b))
    });
    let cost = |a: usize, b: usize| wires[a].cost_left_of(&wires[b]);
    // Each pass that changes something lowers the cost, so this ends, and far sooner than after as many passes
    // as wires.
    for _ in 0..=order.len() {
        let mut changed = false;
        for n in 1..order.len() {
            let (a, b) = (order[n - 1], order[n]);
            if cost(b, a) < cost(a, b) {
                order.swap(n - 1, n);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let lies_on = |n: usize| order[..n].iter().any(|&left| cost(left, order[n]) >= OVERLAP);
    let curved: Vec<usize> = (0..order.len()).filter(|&n| lies_on(n)).map(|n| order[n]).collect();
    for (track, &wire) in order.iter().enumerate() {
        wires[wire].track = Some(track);
    }
    curved.into_iter().for_each(|wire| wires[wire].curved = true);
    Channel { wires, tracks: order.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(from: f64, to: &[f64]) -> RoutedWire {
        let to = to.iter().map(|&y| (y, 0)).collect();
        RoutedWire { part: 0, from, to, track: None, curved: false }
    }

    #[test]
    fn wires_do_not_lie_on_each_other() {
        // The first wire ends at the height where the second starts: so the second must turn first.
        let channel = with_tracks(vec![wire(0.0, &[20.0]), wire(20.0, &[60.0])]);
        assert!(channel.wires[1].track < channel.wires[0].track);
        assert!(channel.wires.iter().all(|wire| !wire.curved));
        // Two wires that swap heights cannot both be drawn with tracks.
        let channel = with_tracks(vec![wire(0.0, &[20.0]), wire(20.0, &[0.0]), wire(40.0, &[40.0])]);
        assert_eq!(channel.wires.iter().filter(|wire| wire.curved).count(), 1);
        assert_eq!((channel.tracks, channel.wires[2].track), (2, None));
    }
}
