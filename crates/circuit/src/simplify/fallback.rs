//! The fallback for outputs that could not be proved: they keep their original gates.

use super::cone::copy;
use crate::netlist::{Netlist, Wire};

/// The candidate, with the original's gates for some roots.
pub(super) fn with_original(original: &Netlist, candidate: &Netlist, unproved: &[usize]) -> Netlist {
    let mut netlist = Netlist { gates: vec![], ..candidate.clone() };
    let is_unproved = |root: usize| unproved.binary_search(&root).is_ok();
    let roots = |from: &Netlist, wanted: bool| -> Vec<Wire> {
        let wires = from.roots().enumerate();
        wires.filter(|(root, _)| is_unproved(*root) == wanted).map(|(_, wire)| wire).collect()
    };
    let sources: Vec<Wire> = (0..original.sources() as u32).map(Wire).collect();
    let mut old = copy(original, &roots(original, true), &sources, &mut netlist).into_iter();
    let mut new = copy(candidate, &roots(candidate, false), &sources, &mut netlist).into_iter();
    let mut next =
        |root: usize| if is_unproved(root) { old.next() } else { new.next() }.expect("one wire a root");
    let outputs = netlist.outputs.len();
    for root in 0..outputs {
        netlist.outputs[root].wire = next(root);
    }
    for register in 0..netlist.registers.len() {
        netlist.registers[register].next = next(outputs + register);
    }
    netlist
}

/// The name of a root.
pub(super) fn name(netlist: &Netlist, root: usize) -> String {
    match root.checked_sub(netlist.outputs.len()) {
        None => netlist.outputs[root].name.clone(),
        Some(register) => netlist.registers[register].name.clone(),
    }
}
