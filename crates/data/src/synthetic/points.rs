//! Points of the plane in classes: spirals, moons, blobs.

use std::f32::consts::{PI, TAU};

use crate::{Array, Random, TensorSet};

/// The streams of random numbers.
const POINTS: u32 = 0x706f_0000;

/// Points `[2]` on the arms of a spiral, one class per arm; `noise` is their standard deviation. No straight line
/// tells the arms apart.
///
/// ```
/// use farad::data::{Dataset, spirals};
/// assert_eq!(spirals(90, 3, 0.05, 1).classes().len(), 3);
/// ```
pub fn spirals(count: usize, arms: usize, noise: f64, seed: u64) -> TensorSet {
    let noise = noise as f32;
    drawn(count, arms, seed, 0, |class, random| {
        let along = random.uniform();
        let angle = TAU * (class as f32 / arms as f32 + 0.75 * along);
        let radius = 0.1 + 0.9 * along;
        [radius * angle.cos() + noise * random.normal(), radius * angle.sin() + noise * random.normal()]
    })
}

/// Points `[2]` on two half circles that reach into one another.
pub fn moons(count: usize, noise: f64, seed: u64) -> TensorSet {
    let noise = noise as f32;
    drawn(count, 2, seed, 1, |class, random| {
        let angle = PI * random.uniform();
        let [x, y] = match class {
            0 => [angle.cos(), angle.sin()],
            _ => [1.0 - angle.cos(), 0.5 - angle.sin()],
        };
        [x + noise * random.normal(), y + noise * random.normal()]
    })
}

/// Points `[2]` around `classes` centers on a circle of radius 1; `noise` is their standard deviation.
pub fn blobs(count: usize, classes: usize, noise: f64, seed: u64) -> TensorSet {
    let noise = noise as f32;
    drawn(count, classes, seed, 2, |class, random| {
        let angle = TAU * class as f32 / classes as f32;
        [angle.cos() + noise * random.normal(), angle.sin() + noise * random.normal()]
    })
}

/// Classes take turns; sample `n` is drawn from the stream at `n`.
fn drawn(
    count: usize,
    classes: usize,
    seed: u64,
    stream: u32,
    point: impl Fn(usize, &mut Random) -> [f32; 2],
) -> TensorSet {
    let classes = classes.max(1);
    let points =
        (0..count).flat_map(|n| point(n % classes, &mut Random::at(seed, POINTS + stream, n as u64)));
    let inputs = Array::new(points.collect::<Vec<f32>>(), [count, 2]);
    let targets = Array::new((0..count).map(|n| (n % classes) as i32).collect::<Vec<i32>>(), [count]);
    let set = TensorSet::from_arrays(inputs, targets).expect("as many points as classes");
    set.with_classes((0..classes).map(|n| n.to_string())).expect("classes below their number")
}
