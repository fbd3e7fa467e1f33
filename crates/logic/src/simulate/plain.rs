//! The reference for simulations, one bit at a time.

use farad_circuit::{Edge, Netlist};

use super::{pack, unpack};

/// The values of all wires of a netlist, from those of its sources.
fn evaluate(netlist: &Netlist, sources: Vec<bool>) -> Vec<bool> {
    let mut values = sources;
    for node in &netlist.gates {
        // An operand that the gate does not read may be no valid wire.
        let value = |wire: farad_circuit::Wire| values.get(wire.index()).copied().unwrap_or(false);
        values.push(node.gate.output(value(node.a), value(node.b)));
    }
    values
}

/// `[steps, inputs, words] -> [steps, outputs, words]`
pub fn samples(netlist: &Netlist, x: &[u32], steps: usize, words: usize) -> Vec<u32> {
    let (inputs, outputs, samples) = (netlist.inputs.len(), netlist.outputs.len(), 32 * words);
    let (x, mut y) = (unpack(x, samples), vec![false; steps * outputs * samples]);
    for sample in 0..samples {
        let mut registers: Vec<bool> = netlist.registers.iter().map(|register| register.initial).collect();
        for step in 0..steps {
            let mut sources: Vec<bool> =
                (0..inputs).map(|input| x[(step * inputs + input) * samples + sample]).collect();
            sources.extend(&registers);
            let values = evaluate(netlist, sources);
            for (n, output) in netlist.outputs.iter().enumerate() {
                y[(step * outputs + n) * samples + sample] = values[output.wire.index()];
            }
            registers = netlist.registers.iter().map(|register| values[register.next.index()]).collect();
        }
    }
    pack(&y, samples)
}

/// The sizes of a batch of grids.
#[derive(Clone, Copy, Debug)]
pub struct GridSizes {
    pub grids: usize,
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

/// One step of automata. `[grids, channels, height, width], [height, width]` -> the first
pub fn step(cell: &Netlist, edge: Edge, sizes: GridSizes, states: &[bool], fired: &[bool]) -> Vec<bool> {
    let GridSizes { grids, channels, height, width } = sizes;
    let place = |grid: usize, channel: usize, y: usize, x: usize| {
        ((grid * channels + channel) * height + y) * width + x
    };
    let beside = |at: usize, by: usize, size: usize| match (at + by).checked_sub(1) {
        Some(there) if there < size => Some(there),
        _ if edge == Edge::Wrap => Some((at + by + size - 1) % size),
        _ => None,
    };
    let mut next = states.to_vec();
    for (grid, y, x) in
        (0..grids * height * width).map(|n| (n / width / height, n / width % height, n % width))
    {
        let neighbor = |n: usize| {
            let (position, channel) = (n / channels, n % channels);
            let (y, x) = (beside(y, position / 3, height), beside(x, position % 3, width));
            y.zip(x).is_some_and(|(y, x)| states[place(grid, channel, y, x)])
        };
        if !fired[y * width + x] {
            continue;
        }
        let values = evaluate(cell, (0..9 * channels).map(neighbor).collect());
        for (channel, output) in cell.outputs.iter().enumerate() {
            next[place(grid, channel, y, x)] = values[output.wire.index()];
        }
    }
    next
}
