//! Digits drawn by strokes, each a little different: a small stand-in for handwriting.

use std::f32::consts::{PI, TAU};

use crate::{Array, Random, TensorSet};

const DIGITS: u32 = 0x6469_0000;
/// Pixels along a side.
const SIDE: usize = 28;
/// Half the height of a digit in pixels, before it is scaled.
const HALF: f32 = 9.0;
/// Straight pieces that an arc is made of.
const PIECES: usize = 10;

/// A point; a digit lies in `-0.6..0.6` × `-1..1`, y downwards.
type StrokePoint = [f32; 2];

/// Drawn digits: images `[1, 28, 28]` of bytes, classes 0 to 9 in turn. Shift, size, slant, turn and width of the
/// strokes differ from sample to sample, and every pixel has some noise.
///
/// ```
/// use farad::data::{Dataset, digits};
/// assert_eq!(digits(30, 1).len(), 30);
/// ```
pub fn digits(count: usize, seed: u64) -> TensorSet {
    let strokes: Vec<Vec<StrokePoint>> = (0..10).flat_map(strokes_of).collect();
    // Where the strokes of each digit begin in that list.
    let first: Vec<usize> = (0..=10).map(|digit| (0..digit).map(|d| strokes_of(d).len()).sum()).collect();
    let mut pixels = Vec::with_capacity(count * SIDE * SIDE);
    for n in 0..count {
        let digit = n % 10;
        draw(&strokes[first[digit]..first[digit + 1]], &mut Random::at(seed, DIGITS, n as u64), &mut pixels);
    }
    let targets = Array::new((0..count).map(|n| (n % 10) as i32).collect::<Vec<i32>>(), [count]);
    let set = TensorSet::from_arrays(Array::new(pixels, [count, 1, SIDE, SIDE]), targets);
    let set = set.expect("a class per picture");
    set.with_classes((0..10).map(|digit| digit.to_string())).expect("classes below ten")
}

/// Drawn digits in color: images `[3, 32, 32]` of bytes, one color on another, classes 0 to 9 in turn. The shapes are
/// those of [`digits`].
///
/// ```
/// use farad::data::{Dataset, colored_digits};
/// assert_eq!(colored_digits(3, 1).get(2)?.input.shape()[..], [3, 32, 32]);
/// # Ok::<(), farad::Error>(())
/// ```
pub fn colored_digits(count: usize, seed: u64) -> TensorSet {
    const LARGE: usize = 32;
    let plain = digits(count, seed);
    let (inks, margin) = (plain.inputs().to_f32(), (LARGE - SIDE) / 2);
    let mut pixels = Vec::with_capacity(count * 3 * LARGE * LARGE);
    for (n, ink) in inks.chunks_exact(SIDE * SIDE).enumerate() {
        let mut random = Random::at(seed, DIGITS + 1, n as u64);
        for _ in 0..3 {
            // Each channel is light on dark or dark on light, and never alike.
            let (low, high) = (random.between(0.0, 90.0), random.between(150.0, 255.0));
            let (ground, front) = if random.bits() & 1 == 0 { (low, high) } else { (high, low) };
            for (y, x) in (0..LARGE).flat_map(|y| (0..LARGE).map(move |x| (y, x))) {
                let inside = |at: usize| at.checked_sub(margin).filter(|&at| at < SIDE);
                let here = inside(y).zip(inside(x)).map_or(0.0, |(y, x)| ink[y * SIDE + x]);
                pixels.push((ground + (front - ground) * here) as u8);
            }
        }
    }
    let set = TensorSet::from_arrays(Array::new(pixels, [count, 3, LARGE, LARGE]), plain.targets().clone());
    let set = set.expect("a class per picture");
    set.with_classes((0..10).map(|digit| digit.to_string())).expect("classes below ten")
}

/// Adds one picture of strokes.
fn draw(strokes: &[Vec<StrokePoint>], random: &mut Random, pixels: &mut Vec<u8>) {
    let (scale, width) = (HALF * random.between(0.8, 1.1), random.between(1.0, 1.9));
    let (turn, slant) = (random.between(-0.2, 0.2), random.between(-0.15, 0.3));
    let (right, down) = (random.between(-2.5, 2.5), random.between(-2.5, 2.5));
    let middle = (SIDE - 1) as f32 / 2.0;
    let place = |[x, y]: StrokePoint| {
        let x = x - slant * y;
        let (x, y) = (x * turn.cos() - y * turn.sin(), x * turn.sin() + y * turn.cos());
        [middle + right + scale * x, middle + down + scale * y]
    };
    let pieces: Vec<[StrokePoint; 2]> = strokes
        .iter()
        .flat_map(|stroke| stroke.windows(2).map(|pair| [place(pair[0]), place(pair[1])]).collect::<Vec<_>>())
        .collect();
    for y in 0..SIDE {
        for x in 0..SIDE {
            let here = [x as f32, y as f32];
            let near = pieces.iter().map(|piece| distance(here, *piece)).fold(f32::INFINITY, f32::min);
            let ink = (width + 0.5 - near).clamp(0.0, 1.0);
            let light = ink * 235.0 + random.normal().abs() * 14.0;
            pixels.push(light.clamp(0.0, 255.0) as u8);
        }
    }
}

/// How far a point is from a piece of a line.
fn distance([x, y]: StrokePoint, [[ax, ay], [bx, by]]: [StrokePoint; 2]) -> f32 {
    let (dx, dy) = (bx - ax, by - ay);
    let length = (dx * dx + dy * dy).max(1e-9);
    let along = (((x - ax) * dx + (y - ay) * dy) / length).clamp(0.0, 1.0);
    (x - ax - along * dx).hypot(y - ay - along * dy)
}

/// Part of an ellipse, from one angle to another; 0 is right, a quarter turn is down.
fn arc(center: StrokePoint, radii: StrokePoint, from: f32, to: f32) -> Vec<StrokePoint> {
    let at = |n: usize| {
        let angle = from + (to - from) * n as f32 / PIECES as f32;
        [center[0] + radii[0] * angle.cos(), center[1] + radii[1] * angle.sin()]
    };
    (0..=PIECES).map(at).collect()
}

/// The strokes of a digit.
fn strokes_of(digit: usize) -> Vec<Vec<StrokePoint>> {
    let quarter = PI / 2.0;
    match digit {
        0 => vec![arc([0.0, 0.0], [0.55, 1.0], 0.0, TAU)],
        1 => vec![vec![[-0.3, -0.6], [0.05, -1.0], [0.05, 1.0]]],
        2 => {
            let mut stroke = arc([0.0, -0.5], [0.5, 0.5], -PI, 0.3);
            stroke.extend([[-0.55, 1.0], [0.6, 1.0]]);
            vec![stroke]
        }
        3 => vec![
            arc([0.0, -0.5], [0.5, 0.5], -PI * 0.9, quarter),
            arc([0.0, 0.5], [0.55, 0.5], -quarter, PI * 0.9),
        ],
        4 => vec![vec![[0.15, -1.0], [-0.6, 0.3], [0.6, 0.3]], vec![[0.3, -0.3], [0.3, 1.0]]],
        5 => {
            let mut stroke = vec![[0.5, -1.0], [-0.4, -1.0], [-0.45, -0.15]];
            stroke.extend(arc([-0.02, 0.4], [0.55, 0.6], -PI * 0.75, PI * 0.8));
            vec![stroke]
        }
        6 => vec![
            vec![[0.4, -1.0], [-0.1, -0.6], [-0.45, 0.0], [-0.5, 0.45]],
            arc([0.0, 0.45], [0.5, 0.55], 0.0, TAU),
        ],
        7 => vec![vec![[-0.55, -1.0], [0.55, -1.0], [-0.15, 1.0]]],
        8 => vec![arc([0.0, -0.5], [0.42, 0.48], 0.0, TAU), arc([0.0, 0.5], [0.52, 0.5], 0.0, TAU)],
        _ => vec![arc([0.0, -0.45], [0.5, 0.55], 0.0, TAU), vec![[0.5, -0.45], [0.45, 0.2], [0.2, 1.0]]],
    }
}
