//! Cart-pole worlds under random actions: physics, ends and new starts of all worlds for many steps, in one program.

use farad::prelude::*;

use super::case::{CaseWork, Workload};
use super::reference::NormDifference;

/// Steps of an iteration.
const STEPS: usize = 1000;
/// Worlds and steps that are compared with f64.
const SAMPLE: (usize, usize) = (64, 120);
/// Steps after which an episode ends in any case.
const LONGEST: f64 = 500.0;
/// How far the cart (in meters) and the pole (in radians) may go.
const LIMITS: [f64; 2] = [2.4, 12.0 * std::f64::consts::PI / 180.0];
/// Starts lie within this much of standing still.
const START: f64 = 0.05;

/// Thousand steps of so many worlds; an item is a step of a world.
pub fn steps(worlds: usize, device: &Device) -> farad::Result<Workload> {
    let (device, other) = (device.clone(), device.clone());
    let iterate = move || {
        let start = begin(worlds, &device);
        let (last, _) = repeat(STEPS, &start.iter().collect::<Vec<_>>(), |world, _| (step(world).0, vec![]));
        Tensor::compute_all(&last.iter().collect::<Vec<_>>())
    };
    Ok(Workload {
        iterate: Box::new(iterate),
        error: Box::new(move || error(&other)),
        work: CaseWork { items: (worlds * STEPS) as f64, ..CaseWork::default() },
    })
}

/// Place and speed of the cart, angle and turning of the pole, steps so far, and ends so far.
fn begin(worlds: usize, device: &Device) -> Vec<Tensor> {
    let mut state: Vec<Tensor> = (0..4).map(|_| drawn(worlds, device)).collect();
    let zero = Tensor::zeros([worlds], device).cast(DType::I32);
    state.extend([zero.clone(), zero]);
    state
}

fn drawn(worlds: usize, device: &Device) -> Tensor {
    Tensor::rand([worlds], device) * (2.0 * START) - START
}

/// The next state, and what was drawn for it: pushes and where a world starts if it ends.
fn step(world: &[Tensor]) -> (Vec<Tensor>, Vec<Tensor>) {
    let (worlds, device) = (world[0].numel(), world[0].device().clone());
    let full = |value: f64| world[0].full_like(value);
    let push = Tensor::random_mask(0.5, [worlds], &device).select(&full(10.0), &full(-10.0));
    let fresh: Vec<Tensor> = (0..4).map(|_| drawn(worlds, &device)).collect();
    let [x, v, angle, turning] = [0, 1, 2, 3].map(|n| &world[n]);
    let (cos, sin) = (angle.cos(), angle.sin());
    let shared = (&push + turning.square() * &sin * 0.05) * (1.0 / 1.1);
    let swing = (&sin * 9.8 - &cos * &shared) / ((cos.square() * (-0.1 / 1.1) + 4.0 / 3.0) * 0.5);
    let pull = &shared - &swing * &cos * (0.05 / 1.1);
    let moved = [x + v * 0.02, v + &pull * 0.02, angle + turning * 0.02, turning + &swing * 0.02];
    let time = &world[4] + 1.0;
    let out = moved[0].abs().greater(LIMITS[0]).or(moved[2].abs().greater(LIMITS[1]));
    let ends = out.or(time.greater_equal(LONGEST));
    let mut next: Vec<Tensor> = fresh.iter().zip(&moved).map(|(new, old)| ends.select(new, old)).collect();
    next.push(ends.select(&time.full_like(0.0), &time));
    next.push(&world[5] + &ends.cast(DType::I32));
    (next, [vec![push], fresh].concat())
}

/// Every step of some worlds in f64, from the state and the draws that the device had.
fn error(device: &Device) -> farad::Result<f64> {
    let (worlds, steps) = SAMPLE;
    let start = begin(worlds, device);
    let (_, seen) = repeat(steps, &start.iter().collect::<Vec<_>>(), |world, _| {
        let (next, draws) = step(world);
        let states = world.iter().chain(&next).map(|t| t.cast(DType::F32));
        (next.clone(), states.chain(draws).collect())
    });
    let seen = seen.iter().map(|t| t.to_vec::<f32>()).collect::<farad::Result<Vec<_>>>()?;
    let mut difference = NormDifference::default();
    let mut ended = 0;
    for all in (0..worlds * steps).map(|at| seen.iter().map(|values| values[at]).collect::<Vec<f32>>()) {
        let value = |n: usize| f64::from(all[n]);
        let wanted = reference([0, 1, 2, 3, 4, 5].map(value), value(12), [13, 14, 15, 16].map(value));
        // At a limit, rounding decides whether a world ends.
        if wanted[4] == value(10) {
            all[6..].iter().zip(wanted).for_each(|(&found, wanted)| difference.add(found, wanted));
        }
        ended += usize::from(value(10) == 0.0);
    }
    // Worlds fall within some twenty steps; draws that repeat would have some of them stand.
    Ok(if ended * 60 > worlds * steps { difference.relative() } else { f64::INFINITY })
}

fn reference(world: [f64; 6], push: f64, fresh: [f64; 4]) -> [f64; 6] {
    let [x, v, angle, turning, time, ends] = world;
    let (sin, cos) = angle.sin_cos();
    let shared = (push + 0.05 * turning * turning * sin) / 1.1;
    let swing = (9.8 * sin - cos * shared) / (0.5 * (4.0 / 3.0 - 0.1 * cos * cos / 1.1));
    let pull = shared - 0.05 * swing * cos / 1.1;
    let moved = [x + 0.02 * v, v + 0.02 * pull, angle + 0.02 * turning, turning + 0.02 * swing];
    let over = moved[0].abs() > LIMITS[0] || moved[2].abs() > LIMITS[1] || time + 1.0 >= LONGEST;
    let [a, b, c, d] = if over { fresh } else { moved };
    [a, b, c, d, if over { 0.0 } else { time + 1.0 }, ends + f64::from(u8::from(over))]
}
