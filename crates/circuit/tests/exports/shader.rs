//! WGSL, validated by naga and interpreted word by word from naga's representation.

use farad_circuit::{Automaton, Netlist};

use crate::circuits::{self, Game, exported, planes};
use crate::shader_machine::Machine;

/// 64-bit planes as 32-bit words, plane after plane.
fn halves(planes: &[Vec<u64>]) -> Vec<u32> {
    planes.iter().flatten().flat_map(|&word| [word as u32, (word >> 32) as u32]).collect()
}

fn check_netlist(netlist: &Netlist) {
    let mut machine = Machine::new(&exported(netlist.clone(), "wgsl")[0].1);
    let inputs = planes(netlist);
    let wanted = halves(&circuits::outputs(netlist, &inputs));
    machine.bind("inputs", halves(&inputs));
    machine.bind("outputs", vec![0; wanted.len()]);
    // One invocation too many: it must write nothing.
    (0..=2 * inputs[0].len() as u32).for_each(|word| machine.invoke([word, 0, 0]));
    assert!(machine.memory("outputs") == wanted, "{} differs from the simulator", netlist.name);
}

fn check_sequence(netlist: &Netlist) {
    let mut machine = Machine::new(&exported(netlist.clone(), "wgsl")[0].1);
    let given = circuits::words(9, netlist.inputs.len() * 50);
    let wanted = circuits::in_sequence(netlist, &given);
    let initial = netlist.registers.iter().map(|register| if register.initial { u32::MAX } else { 0 });
    machine.bind("registers", initial.collect());
    machine.bind("outputs", vec![0; netlist.outputs.len()]);
    let (inputs, outputs) = (netlist.inputs.len(), netlist.outputs.len());
    for (frame, wanted) in given.chunks(inputs).zip(wanted.chunks(outputs)) {
        machine.bind("inputs", frame.iter().map(|&word| word as u32).collect());
        machine.invoke([0, 0, 0]);
        let wanted: Vec<u32> = wanted.iter().map(|&word| word as u32).collect();
        assert!(machine.memory("outputs") == wanted, "{} differs from the simulator", netlist.name);
    }
}

/// Cells packed in rows of 32-bit words.
fn packed(cells: &[bool], width: usize) -> Vec<u32> {
    let word =
        |cells: &[bool]| cells.iter().enumerate().fold(0, |word, (bit, &cell)| word | (cell as u32) << bit);
    cells.chunks(width).flat_map(|row| row.chunks(32).map(word)).collect()
}

fn check_automaton(automaton: &Automaton) {
    for (width, height) in [(70, 9), (3, 1), (64, 5), (33, 2)] {
        let mut machine = Machine::new(&exported(automaton.clone(), "wgsl")[0].1);
        let game = Game::play(automaton, width, height, 4);
        machine.bind("size", vec![width as u32, height as u32]);
        let mut state = packed(&game.start, width);
        for step in 0..game.steps {
            machine.bind("next", vec![0; state.len()]);
            machine.bind("state", state);
            if automaton.fire_rate < 1.0 {
                machine.bind("fire", packed(&game.fire_cells(step), width));
            }
            for row in 0..=height as u32 {
                (0..=width.div_ceil(32) as u32).for_each(|word| machine.invoke([word, row, 0]));
            }
            state = machine.memory("next").to_vec();
        }
        assert!(state == packed(&game.end, width), "{} differs on {width}x{height}", automaton.cell.name);
    }
}

#[test]
fn shaders_are_valid_and_compute_the_same() {
    circuits::combinational().iter().for_each(check_netlist);
    check_netlist(&circuits::straight_through());
    circuits::sequential().iter().for_each(check_sequence);
    circuits::automata().iter().for_each(check_automaton);
}
