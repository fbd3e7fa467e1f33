//! Reads a contraction as a convolution over two axes: which axes are windows, which are channels, and where the
//! elements of each window are.
//!
//! A convolution has three arrays: an image, windows and results. Which of them is computed from the other two
//! makes it a convolution or a gradient. `result[h] += image[s·h + k + offset] · window[k]` is written as
//! ordinary convolutions with stride 1, one per *phase*: `k = s·k' + p`, and `image[s·(h + k') + p + offset]`
//! is read by phase `p` alone. The gradient of such a convolution at its image has its phases in the result.
//!
//! Start at [`Windows::of`].

use std::cmp::Ordering;

use farad_ir::{Contraction, IndexMap, Shape};

use crate::passes::tiles::ProductSizes;

/// A convolution over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    /// Which operand is the image.
    pub image: usize,
    /// Whether the windows are computed, from image and results.
    pub gradient: bool,
    /// Axes of all three arrays.
    pub group: Channel,
    /// Axes of image and results.
    pub batch: Channel,
    /// Axes of image and windows.
    pub inputs: Channel,
    /// Axes of windows and results.
    pub outputs: Channel,
    /// The two axes along which windows move.
    pub spatial: [Spatial; 2],
}

/// An axis that all arrays read directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its size; 1 if there is no such axis.
    pub size: usize,
    /// Elements between neighbors in image, windows and results; 0 where the array does not have it.
    pub strides: [i64; 3],
}

/// An axis along which windows move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spatial {
    /// Results of a phase.
    pub places: usize,
    /// Elements of a phase's window.
    pub taps: usize,
    /// How many phases there are.
    pub phases: usize,
    /// Whether the results have the phases, not the image.
    pub in_results: bool,
    /// Where the elements of image, windows and results are.
    pub lines: [Line; 3],
}

/// The position of element `j` in phase `p`: `offset + step · j + phase · p`, if it is in `0..size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Of the first.
    pub offset: i64,
    /// From one to the next.
    pub step: i64,
    /// From a phase to the next.
    pub phase: i64,
    /// How many positions there are.
    pub size: usize,
    /// Elements between positions in the array.
    pub stride: i64,
}

/// Numbers of the arrays.
pub const IMAGE: usize = 0;
/// See [`IMAGE`].
pub const WINDOW: usize = 1;
/// See [`IMAGE`].
pub const RESULT: usize = 2;

/// The axes of a contraction that move a window: one counts places, one is along the window.
struct Pair {
    place: usize,
    window: usize,
}

impl Windows {
    /// The convolution that a contraction of operands of these shapes is, if its windows are square and step by one.
    pub fn of(contraction: &Contraction, shapes: [&Shape; 2]) -> Option<Windows> {
        let sides = [&contraction.lhs, &contraction.rhs];
        let moves = |maps: &[IndexMap]| maps.iter().filter(|map| map.plain().is_none()).count();
        let image = match [moves(sides[0]), moves(sides[1])] {
            [2, 0] => 0,
            [0, 2] => 1,
            _ => return None,
        };
        let dims: Vec<usize> =
            (0..sides[image].len()).filter(|&dim| sides[image][dim].plain().is_none()).collect();
        let pairs = [pair(contraction, &sides[image][dims[0]])?, pair(contraction, &sides[image][dims[1]])?];
        let moving: Vec<usize> = pairs.iter().flat_map(|pair| [pair.place, pair.window]).collect();
        if (1..4).any(|at| moving[..at].contains(&moving[at])) {
            return None;
        }
        let computed = |pair: &Pair| contraction.out.contains(&pair.window);
        let gradient = computed(&pairs[0]);
        if computed(&pairs[1]) != gradient {
            return None;
        }
        let strides = strides(contraction, shapes, image, gradient);
        let spatial = |n: usize| {
            let (map, pair): (_, &Pair) = (&sides[image][dims[n]], &pairs[n]);
            let size = shapes[image][dims[n]];
            let stride = shapes[image].strides()[dims[n]] as i64;
            let own = [stride, strides[pair.window][WINDOW]?, strides[pair.place][RESULT]?];
            Spatial::of(map, pair, contraction, size, own)
        };
        let spatial = [spatial(0)?, spatial(1)?];
        let [first, second] = &spatial;
        if (first.taps, first.phases, first.in_results) != (second.taps, second.phases, second.in_results)
            || gradient && first.in_results
        {
            return None;
        }
        let mut found = Windows {
            image,
            gradient,
            group: Channel::NONE,
            batch: Channel::NONE,
            inputs: Channel::NONE,
            outputs: Channel::NONE,
            spatial,
        };
        for axis in (0..contraction.sizes.len()).filter(|axis| !moving.contains(axis)) {
            found.add(contraction.sizes[axis], strides[axis])?;
        }
        Some(found)
    }

    /// The matrix product that it is without transforms, and without products with zeros.
    pub fn product(&self) -> ProductSizes {
        let phases = self.spatial[0].phases.pow(2);
        let (shared, own) = if self.spatial[0].in_results { (1, phases) } else { (phases, 1) };
        let places = self.batch.size * own * self.spatial.iter().map(|axis| axis.places).product::<usize>();
        let elements = self.inputs.size * shared * self.spatial[0].taps.pow(2);
        let (columns, terms) = if self.gradient { (elements, places) } else { (places, elements) };
        ProductSizes { batches: self.group.size, rows: self.outputs.size, columns, terms }
    }

    /// Gives an axis its role; `None` if there is no such role, or another axis has it.
    fn add(&mut self, size: usize, strides: [Option<i64>; 3]) -> Option<()> {
        if size == 1 {
            return Some(());
        }
        let channel = match strides.map(|stride| stride.is_some()) {
            [true, true, true] => &mut self.group,
            [true, false, true] => &mut self.batch,
            [true, true, false] => &mut self.inputs,
            [false, true, true] => &mut self.outputs,
            _ => return None,
        };
        let free = *channel == Channel::NONE;
        *channel = Channel { size, strides: strides.map(|stride| stride.unwrap_or(0)) };
        free.then_some(())
    }
}

impl Channel {
    /// No axis.
    const NONE: Channel = Channel { size: 1, strides: [0; 3] };
}

/// The two axes of a map. Places have the stride, and windows are read backwards where a stride divides; otherwise
/// both could be either, and a window is the shorter one.
fn pair(contraction: &Contraction, map: &IndexMap) -> Option<Pair> {
    let [(a, by_a), (b, by_b)] = map.terms[..] else { return None };
    let first = match (by_a.abs().cmp(&by_b.abs()), map.divisor) {
        (Ordering::Equal, 1) => contraction.sizes[a] < contraction.sizes[b],
        (Ordering::Equal, _) => by_a < by_b,
        (order, _) => order == Ordering::Less,
    };
    let (window, place) = if first { (a, b) } else { (b, a) };
    Some(Pair { place, window })
}

/// The strides of each axis in image, windows and results, where the array reads it directly.
fn strides(
    contraction: &Contraction,
    shapes: [&Shape; 2],
    image: usize,
    gradient: bool,
) -> Vec<[Option<i64>; 3]> {
    let mut found = vec![[None; 3]; contraction.sizes.len()];
    let (other, computed) = if gradient { (RESULT, WINDOW) } else { (WINDOW, RESULT) };
    for (maps, shape, array) in [
        (if image == 0 { &contraction.lhs } else { &contraction.rhs }, shapes[image], IMAGE),
        (if image == 0 { &contraction.rhs } else { &contraction.lhs }, shapes[1 - image], other),
    ] {
        for (map, stride) in maps.iter().zip(shape.strides()) {
            if let Some(axis) = map.plain() {
                found[axis][array] = Some(stride as i64);
            }
        }
    }
    for (&axis, stride) in contraction.out.iter().zip(contraction.output().strides()) {
        found[axis][computed] = Some(stride as i64);
    }
    found
}

impl Spatial {
    fn of(
        map: &IndexMap,
        pair: &Pair,
        contraction: &Contraction,
        size: usize,
        strides: [i64; 3],
    ) -> Option<Spatial> {
        let factor = |axis: usize| map.terms.iter().find(|term| term.0 == axis).map_or(0, |term| term.1);
        let (by_place, by_tap) = (factor(pair.place), factor(pair.window));
        let (places, taps) = (contraction.sizes[pair.place], contraction.sizes[pair.window]);
        let line = |offset, step, phase, size, array: usize| Line {
            offset,
            step,
            phase,
            size,
            stride: strides[array],
        };
        let last = taps as i64 - 1;
        match (map.divisor, by_place, by_tap) {
            (1, step, 1 | -1) if step >= 1 => {
                let phases = (step as usize).min(taps);
                // A window that is read backwards.
                let back = by_tap == -1;
                let offset = if back { map.offset - last } else { map.offset };
                Some(Spatial {
                    places,
                    taps: taps.div_ceil(step as usize),
                    phases,
                    in_results: false,
                    lines: [
                        line(offset, step, 1, size, IMAGE),
                        if back {
                            line(last, -step, -1, taps, WINDOW)
                        } else {
                            line(0, step, 1, taps, WINDOW)
                        },
                        line(0, 1, 0, places, RESULT),
                    ],
                })
            }
            (step, 1, -1) => {
                let phases = step as usize;
                let own = taps.div_ceil(phases) as i64;
                let first = map.offset.div_euclid(step);
                let end = (map.offset + places as i64 - 1).div_euclid(step) + 1;
                Some(Spatial {
                    places: (end - first) as usize,
                    taps: own as usize,
                    phases,
                    in_results: true,
                    lines: [
                        line(first - (own - 1), 1, 0, size, IMAGE),
                        line(step * (own - 1), -step, 1, taps, WINDOW),
                        line(step * first - map.offset, step, 1, places, RESULT),
                    ],
                })
            }
            _ => None,
        }
    }
}
