//! A circuit in closed loop with its world, 64 worlds per machine word, in f64 on the host.

use farad_circuit::Netlist;

use super::observation_code::ObservationCode;
use super::task::{ControlTask, HostState, TASKS};

/// What the circuit earns from each start, up to the longest episode. With `hopeless`, stops as soon as the total
/// can no longer reach that number; the remaining steps then count as zero.
///
/// # Panics
/// If the world does not run on the host.
pub fn earned(
    task: &ControlTask,
    netlist: &Netlist,
    code: &ObservationCode,
    starts: &[HostState],
    hopeless: Option<f64>,
) -> Vec<f64> {
    let host = task.host.as_ref().expect("a world that runs on the host");
    let levels: Vec<(usize, f64)> = code.all().collect();
    let mut worlds = starts.to_vec();
    let mut earned = vec![0.0; starts.len()];
    let mut alive: Vec<usize> = (0..starts.len()).collect();
    let mut words = vec![0u64; netlist.wires()];
    let (mut sum, live) = (0.0, netlist.live_wires());
    for step in 0..task.longest {
        let left = (task.longest - step) as f64 * task.most;
        if alive.is_empty() || hopeless.is_some_and(|least| sum + left * (alive.len() as f64) < least) {
            break;
        }
        let mut next = Vec::with_capacity(alive.len());
        for group in alive.chunks(64) {
            let seen: Vec<HostState> = group.iter().map(|&world| (host.seen)(&worlds[world])).collect();
            for (input, &(number, level)) in levels.iter().enumerate().filter(|(input, _)| live[*input]) {
                let bits = seen.iter().enumerate();
                words[input] = bits.map(|(n, seen)| u64::from(seen[number] > level) << n).sum();
            }
            answer(netlist, &live, &mut words);
            let outputs = || netlist.outputs.iter().map(|output| words[output.wire.index()]).enumerate();
            for (n, &world) in group.iter().enumerate() {
                let bits = outputs().map(|(bit, word)| ((word >> n & 1) as u32) << bit).sum();
                let (moved, reward, over) = (host.advance)(worlds[world], bits);
                worlds[world] = moved;
                earned[world] += reward;
                sum += reward;
                if !over {
                    next.push(world);
                }
            }
        }
        alive = next;
    }
    earned
}

/// The number of steps for which the circuit holds the cart-pole from each start, as [`earned`].
///
/// ```
/// use farad_circuit::{Gate, Netlist, Wire};
/// use farad_rl::controller::{ObservationCode, survived};
/// // Push to where the pole leans.
/// let code = ObservationCode { levels: vec![vec![], vec![], vec![0.0], vec![]] };
/// let mut netlist = Netlist::new("lean");
/// let leans = netlist.input("angle_0");
/// netlist.output("right", leans);
/// let steps = survived(&netlist, &code, &[[0.0, 0.0, 0.02, 0.0]], None);
/// assert!((20..200).contains(&steps[0]), "{steps:?}");
/// ```
pub fn survived(
    netlist: &Netlist,
    code: &ObservationCode,
    starts: &[[f64; 4]],
    hopeless: Option<u64>,
) -> Vec<u64> {
    let found = earned(&TASKS[0], netlist, code, starts, hopeless.map(|least| least as f64));
    found.into_iter().map(|steps| steps as u64).collect()
}

/// Computes the gates that the outputs need.
pub(super) fn answer(netlist: &Netlist, live: &[bool], words: &mut [u64]) {
    let from = netlist.sources();
    let word =
        |words: &[u64], wire: farad_circuit::Wire, reads: bool| if reads { words[wire.index()] } else { 0 };
    for (n, node) in netlist.gates.iter().enumerate().filter(|(n, _)| live[from + *n]) {
        let (a, b) = (word(words, node.a, node.gate.reads_a()), word(words, node.b, node.gate.reads_b()));
        words[from + n] = node.gate.word(a, b);
    }
}
