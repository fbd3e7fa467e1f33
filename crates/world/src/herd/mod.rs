//! A herd: creatures with different bodies, one per world, in one program.
//!
//! Bodies are data. Every creature is padded to the same number of parts, and masses, axes, motors, who carries
//! whom and the weights of the networks are tensors with an entry for each world. So all herds of one size run the
//! same plan, whatever has grown. Invariant: a creature moves as it does in a [`World`](crate::World) of its own
//! ([`Grown::description`]).

mod tables;
mod trial;

use farad_tensor::{Device, Tensor};

use crate::error::WorldResult;
use crate::genotype::{Grown, MOST_PARTS, PART_AXES, PART_INPUTS, PART_NEURONS};
use crate::rows::Arrangement;
use crate::solver::Solver;
use crate::state::WorldState;
use tables::{MOST_HINGES, joined, padded, pattern};
pub use trial::{HerdMotion, HerdTrial, MEASURES, TrialResult};

/// Creatures with different bodies, one per world.
///
/// ```
/// use farad_tensor::Device;
/// use farad_world::{Genotype, Herd, HerdTrial};
/// let device = Device::cpu();
/// let grown = [Genotype::random(1).grown()?, Genotype::random(2).grown()?];
/// let trial = HerdTrial { settle: 0.1, seconds: 0.1 };
/// let results = Herd::new(&grown, &device)?.tried(&trial)?;
/// assert!(results.iter().all(|result| result.distance.is_finite()));
/// # Ok::<(), farad_tensor::Error>(())
/// ```
pub struct Herd {
    solver: Solver,
    device: Device,
    worlds: usize,
    start: WorldState,
    /// Seconds of a sub-step.
    time: f64,
    numbers: HerdNumbers,
}

/// Numbers of creatures, as the tensors that a trial reads.
struct HerdNumbers {
    /// The mass of every part as a share of the whole, `[parts, worlds]`; 0 where there is none.
    shares: Tensor,
    /// 1 for parts that there are, over their number, `[parts, worlds]`.
    parts: Tensor,
    /// Beats per second, `[1, worlds]`, and how far parts are ahead, `[joints, worlds]`.
    clock: Tensor,
    phase: Tensor,
    /// The largest angle of joints, `[joints, worlds]`.
    swing: Tensor,
    /// 1 for joints that there are, over their number, `[joints, worlds]`.
    joints: Tensor,
    /// Weights of the neurons, `[neurons, inputs, joints, worlds]`, and of the outputs, `[axes, neurons, joints, worlds]`.
    neurons: Tensor,
    outputs: Tensor,
}

impl Herd {
    /// A herd of these creatures.
    ///
    /// # Panics
    /// If there are none.
    #[track_caller]
    pub fn new(creatures: &[Grown], device: &Device) -> WorldResult<Herd> {
        assert!(!creatures.is_empty(), "herd: at least one creature (0 vs 1)");
        let worlds = creatures.len();
        let template = creatures[0].description();
        let own = tables_of(creatures)?;
        let pattern = pattern(own[0].contacts.planes[0].surface);
        let arrangement = Arrangement::Herd { worlds };
        let solver = Solver::arranged(&template, &joined(&own, &pattern), arrangement, device);
        let start = |width: usize, of: &dyn Fn(&crate::assembly::BodyRow) -> Vec<f64>| {
            let numbers = own.iter().flat_map(|own| own.bodies.iter().flat_map(of));
            Tensor::from_vec(numbers.map(|v| v as f32).collect(), [worlds, MOST_PARTS, width], device)
        };
        let start = WorldState {
            position: start(3, &|body| body.position.0.to_vec()),
            rotation: start(4, &|body| body.rotation.0.to_vec()),
            velocity: start(3, &|body| body.velocity.0.to_vec()),
            spin: start(3, &|body| body.spin.0.to_vec()),
        };
        Ok(Herd {
            solver,
            device: device.clone(),
            worlds,
            start,
            time: template.time_step / template.substeps as f64,
            numbers: HerdNumbers::new(creatures, device),
        })
    }

    /// How many creatures.
    pub fn worlds(&self) -> usize {
        self.worlds
    }
}

/// The padded tables of every creature, by several threads where there are many.
fn tables_of(creatures: &[Grown]) -> WorldResult<Vec<crate::assembly::Assembly>> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let each = creatures.len().div_ceil(threads).max(64);
    let one = |creature: &Grown| padded(&creature.description());
    let parts: Vec<WorldResult<Vec<_>>> = std::thread::scope(|scope| {
        let chunks = creatures.chunks(each);
        let running: Vec<_> = chunks.map(|own| scope.spawn(move || own.iter().map(one).collect())).collect();
        running.into_iter().map(|part| part.join().expect("no thread panics")).collect()
    });
    Ok(parts.into_iter().collect::<WorldResult<Vec<_>>>()?.into_iter().flatten().collect())
}

impl HerdNumbers {
    fn new(creatures: &[Grown], device: &Device) -> HerdNumbers {
        let worlds = creatures.len();
        let rows = |count: usize, of: &dyn Fn(&Grown, usize) -> f64| {
            let numbers = (0..count).flat_map(|n| creatures.iter().map(move |own| of(own, n) as f32));
            Tensor::from_vec(numbers.collect(), [count, worlds], device)
        };
        let hinge = |of: &dyn Fn(&Grown, usize) -> f64| {
            rows(MOST_HINGES, &|own, n| if n + 1 < own.parts.len() { of(own, n + 1) } else { 0.0 })
        };
        let masses: Vec<f64> = creatures.iter().map(Grown::mass).collect();
        let shares = (0..MOST_PARTS).flat_map(|n| {
            creatures.iter().zip(&masses).map(move |(own, mass)| (own.part_mass(n) / mass) as f32)
        });
        let weights: Vec<Vec<Vec<f64>>> = creatures
            .iter()
            .map(|own| (1..own.parts.len()).map(|part| own.weights(part).collect()).collect())
            .collect();
        let weight = |place: usize, joint: usize, world: usize| {
            weights[world].get(joint).map_or(0.0, |own: &Vec<f64>| own[place] as f32)
        };
        let block = |first: usize, a: usize, b: usize| {
            let mut all = Vec::with_capacity(a * b * MOST_HINGES * worlds);
            for place in first..first + a * b {
                for joint in 0..MOST_HINGES {
                    all.extend((0..worlds).map(|world| weight(place, joint, world)));
                }
            }
            Tensor::from_vec(all, [a, b, MOST_HINGES, worlds], device)
        };
        let inputs = PART_INPUTS.len();
        HerdNumbers {
            shares: Tensor::from_vec(shares.collect(), [MOST_PARTS, worlds], device),
            parts: rows(MOST_PARTS, &|own, n| {
                if n < own.parts.len() { 1.0 / own.parts.len() as f64 } else { 0.0 }
            }),
            clock: rows(1, &|own, _| own.clock()),
            phase: hinge(&|own, part| own.parts[part].phase),
            swing: hinge(&|own, part| own.gene(part).joint.swing),
            joints: hinge(&|own, _| 1.0 / (own.parts.len() - 1) as f64),
            neurons: block(0, PART_NEURONS, inputs),
            outputs: block(PART_NEURONS * inputs, PART_AXES, PART_NEURONS),
        }
    }
}
