//! A circuit in closed loop with the cart-pole, 64 worlds per machine word, in f64 on the host.

use farad_circuit::Netlist;

use super::observation_code::ObservationCode;
use crate::environments::CartPole;

/// The number of steps that the circuit survives from each start, up to the longest episode. With `hopeless`,
/// stops as soon as the total can no longer reach that number; the remaining steps then count as zero.
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
    let levels: Vec<(usize, f64)> = code.all().collect();
    let mut worlds = starts.to_vec();
    let mut steps = vec![0; starts.len()];
    let mut alive: Vec<usize> = (0..starts.len()).collect();
    let mut words = vec![0u64; netlist.wires()];
    let (mut sum, live) = (0, netlist.live_wires());
    for step in 0..CartPole::LONGEST as u64 {
        let left = CartPole::LONGEST as u64 - step;
        if alive.is_empty() || hopeless.is_some_and(|least| sum + left * (alive.len() as u64) < least) {
            break;
        }
        let mut next = Vec::with_capacity(alive.len());
        for group in alive.chunks(64) {
            for (input, &(number, level)) in levels.iter().enumerate().filter(|(input, _)| live[*input]) {
                let bits = group.iter().enumerate();
                words[input] = bits.map(|(n, &world)| u64::from(worlds[world][number] > level) << n).sum();
            }
            let right = answer(netlist, &live, &mut words);
            for (n, &world) in group.iter().enumerate() {
                let (moved, over) = CartPole::advance(worlds[world], right >> n & 1 == 1);
                worlds[world] = moved;
                steps[world] += 1;
                sum += 1;
                if !over {
                    next.push(world);
                }
            }
        }
        alive = next;
    }
    steps
}

/// The first output, computed from the gates that it needs.
fn answer(netlist: &Netlist, live: &[bool], words: &mut [u64]) -> u64 {
    let from = netlist.sources();
    let word =
        |words: &[u64], wire: farad_circuit::Wire, reads: bool| if reads { words[wire.index()] } else { 0 };
    for (n, node) in netlist.gates.iter().enumerate().filter(|(n, _)| live[from + *n]) {
        let (a, b) = (word(words, node.a, node.gate.reads_a()), word(words, node.b, node.gate.reads_b()));
        words[from + n] = node.gate.word(a, b);
    }
    words[netlist.outputs[0].wire.index()]
}
