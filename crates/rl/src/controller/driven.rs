//! Worlds on a device that the host drives step by step, by bits.

use farad::{Device, Result, Tensor};
use farad_circuit::Netlist;

use super::closed_loop::{answer, earned};
use super::observation_code::ObservationCode;
use super::task::ControlTask;
use crate::environment::Environment;

/// What circuits come to, one number per start.
#[derive(Clone, Debug, Default)]
pub struct Earned {
    /// Returns.
    pub returns: Vec<f64>,
    /// Body lengths, in worlds of bodies.
    pub ahead: Option<Vec<f64>>,
}

/// Starts of episodes: how many, of how many steps, and the seed that they are drawn from.
#[derive(Clone, Copy, Debug)]
pub struct DrivenStarts {
    /// How many worlds there are.
    pub worlds: usize,
    /// Steps of an episode.
    pub steps: usize,
    /// What they are drawn from.
    pub seed: u64,
}

/// One episode in each world of a task on a device. Every step, `choose` gets the observations, world by world, and gives the output
/// bits of every world, the first one lowest. Does not advance the device's own random numbers.
pub fn driven(
    task: &ControlTask,
    world: &dyn Environment,
    starts: DrivenStarts,
    device: &Device,
    mut choose: impl FnMut(&[f32]) -> Result<Vec<u32>>,
) -> Result<Earned> {
    let DrivenStarts { worlds, steps, seed } = starts;
    let random = device.random_state();
    device.seed(seed);
    let mut state = world.begin(worlds, device);
    device.set_random_state(random);
    Tensor::compute_all(&state.iter().collect::<Vec<_>>())?;
    let mut found = Earned { returns: vec![0.0; worlds], ahead: None };
    let mut alive = vec![true; worlds];
    let place = |state: &[Tensor]| world.ahead(state).map(|ahead| ahead.to_vec::<f32>()).transpose();
    let start = place(&state)?;
    let mut reached = start.clone();
    for _ in 0..steps {
        let bits = choose(&world.observe(&state).to_vec::<f32>()?)?;
        let plane = |n: usize| {
            let own: Vec<bool> = bits.iter().map(|bits| bits >> n & 1 == 1).collect();
            Tensor::from_vec(own, [worlds], device)
        };
        let planes: Vec<Tensor> = (0..task.outputs.len()).map(plane).collect();
        let next = world.step(&state, &(task.action)(&planes));
        let all: Vec<&Tensor> = next.state.iter().chain([&next.reward, &next.ended]).collect();
        Tensor::compute_all(&all)?;
        state = next.state.iter().map(Tensor::detach).collect::<Result<_>>()?;
        let (rewards, ended) = (next.reward.to_vec::<f32>()?, next.ended.to_vec::<bool>()?);
        let now = place(&state)?;
        for n in (0..worlds).filter(|&n| alive[n]) {
            found.returns[n] += f64::from(rewards[n]);
            if let (Some(reached), Some(now)) = (&mut reached, &now) {
                reached[n] = now[n];
            }
        }
        alive.iter_mut().zip(ended).for_each(|(alive, ended)| *alive &= !ended);
    }
    let way = |(to, from): (&f32, &f32)| f64::from(to - from);
    found.ahead = reached.zip(start).map(|(to, from)| to.iter().zip(&from).map(way).collect());
    Ok(found)
}

/// A circuit with its thresholds, computed on the host.
pub(super) struct HostCircuit {
    netlist: Netlist,
    levels: Vec<(usize, f64)>,
    live: Vec<bool>,
}

impl HostCircuit {
    pub fn new(netlist: Netlist, code: ObservationCode) -> HostCircuit {
        HostCircuit { live: netlist.live_wires(), levels: code.all().collect(), netlist }
    }

    /// The output bits for every row of numbers, the first output lowest.
    pub fn answers(&self, rows: &[Vec<f64>]) -> Vec<u32> {
        let mut words = vec![0u64; self.netlist.wires()];
        let mut answers = Vec::with_capacity(rows.len());
        for group in rows.chunks(64) {
            for (input, &(number, level)) in self.levels.iter().enumerate() {
                let bits = group.iter().enumerate();
                words[input] = bits.map(|(n, row)| u64::from(row[number] > level) << n).sum();
            }
            answer(&self.netlist, &self.live, &mut words);
            let outputs: Vec<u64> =
                self.netlist.outputs.iter().map(|output| words[output.wire.index()]).collect();
            let of = |n: usize| -> u32 {
                outputs.iter().enumerate().map(|(bit, word)| ((word >> n & 1) as u32) << bit).sum()
            };
            answers.extend((0..group.len()).map(of));
        }
        answers
    }
}

/// What a circuit earns from these starts. Episodes of worlds that run on the host are whole ones.
pub fn earned_from(
    task: &ControlTask,
    netlist: &Netlist,
    code: &ObservationCode,
    starts: DrivenStarts,
) -> Result<Earned> {
    if let Some(host) = &task.host {
        let returns = earned(task, netlist, code, &(host.starts)(starts.worlds, starts.seed)?, None);
        return Ok(Earned { returns, ahead: None });
    }
    let device = Device::cpu();
    let world = (task.world)(&device)?;
    let circuit = HostCircuit::new(netlist.clone(), code.clone());
    driven(task, &*world, starts, &device, |rows| {
        let rows = rows.chunks(rows.len() / starts.worlds);
        Ok(circuit.answers(&rows.map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect::<Vec<_>>()))
    })
}
