//! The definition of the two ops, in double precision and as simple as possible.

use farad_circuit::Edge;

use super::extent::RollOutExtent;
use super::op::RollOutOperands;

/// Everything one cell computed in one step, layer by layer.
struct CellTrace {
    /// For each kernel and channel, the values of every layer of its circuit, inputs first.
    perceived: Vec<Vec<Vec<f64>>>,
    /// The values of every layer of the update circuit, inputs first.
    update: Vec<Vec<f64>>,
}

/// One automaton of the operands.
struct One<'a> {
    extent: &'a RollOutExtent<'a>,
    coefficients: &'a [f64],
    wires: &'a [u32],
}

/// The value of a soft gate with coefficients `c`.
fn gate(c: &[f64], a: f64, b: f64) -> f64 {
    c[0] + c[1] * a + c[2] * b + c[3] * a * b
}

impl<'a> One<'a> {
    fn of(
        extent: &'a RollOutExtent<'a>,
        wires: &'a [u32],
        operands: &RollOutOperands<'a, f64>,
        seed: usize,
    ) -> One<'a> {
        let (gates, count) = (extent.topology.gates(), extent.topology.wires());
        One {
            extent,
            coefficients: &operands.coefficients[seed * gates * 4..(seed + 1) * gates * 4],
            wires: &wires[seed * count..(seed + 1) * count],
        }
    }

    /// The values of all layers of a circuit whose first gate and first wire are given.
    fn circuit(
        &self,
        widths: &[usize],
        mut first: usize,
        mut wire: usize,
        inputs: Vec<f64>,
    ) -> Vec<Vec<f64>> {
        let mut layers = vec![inputs];
        for &width in &widths[1..] {
            let before = layers.last().expect("the inputs");
            let value = |n: usize| {
                let word = self.wires[wire + n];
                let (a, b) = (before[(word & 0xffff) as usize], before[(word >> 16) as usize]);
                gate(&self.coefficients[4 * (first + n)..], a, b)
            };
            let layer = (0..width).map(value).collect();
            layers.push(layer);
            (first, wire) = (first + width, wire + width);
        }
        layers
    }

    /// Gradients of a circuit's inputs from those of its outputs; accumulates those of its coefficients.
    fn circuit_back(
        &self,
        layers: &[Vec<f64>],
        first: usize,
        wire: usize,
        upstream: Vec<f64>,
        coefficients: &mut [f64],
    ) -> Vec<f64> {
        let mut g = upstream;
        let gates: usize = layers[1..].iter().map(Vec::len).sum();
        let (mut first, mut wire) = (first + gates, wire + gates);
        for pair in layers.windows(2).rev() {
            (first, wire) = (first - pair[1].len(), wire - pair[1].len());
            let mut below = vec![0.0; pair[0].len()];
            for (n, &g) in g.iter().enumerate() {
                let word = self.wires[wire + n];
                let (i, j) = ((word & 0xffff) as usize, (word >> 16) as usize);
                let (a, b) = (pair[0][i], pair[0][j]);
                let c = &self.coefficients[4 * (first + n)..4 * (first + n) + 4];
                below[i] += g * (c[1] + c[3] * b);
                below[j] += g * (c[2] + c[3] * a);
                let sums = [g, g * a, g * b, g * a * b];
                for (to, sum) in coefficients[4 * (first + n)..].iter_mut().zip(sums) {
                    *to += sum;
                }
            }
            g = below;
        }
        g
    }

    fn cell(&self, patch: &[f64]) -> CellTrace {
        let topology = self.extent.topology;
        let (channels, kernels, bits) = (topology.channels, topology.kernels, topology.bits());
        let mut inputs = vec![0.0; topology.update[0]];
        inputs[..channels].copy_from_slice(&patch[4 * channels..5 * channels]);
        let mut perceived = Vec::new();
        for kernel in 0..kernels {
            for channel in 0..channels {
                let seen = (0..9).map(|n| patch[n * channels + channel]).collect();
                let layers =
                    self.circuit(&topology.perception, kernel * topology.perception_gates(), 0, seen);
                for (bit, &value) in layers.last().expect("a layer").iter().enumerate() {
                    inputs[channels + (channel * bits + bit) * kernels + kernel] = value;
                }
                perceived.push(layers);
            }
        }
        let first = kernels * topology.perception_gates();
        let update = self.circuit(&topology.update, first, topology.perception_gates(), inputs);
        CellTrace { perceived, update }
    }

    /// The gradient of a cell's neighborhood, `[9, channels]`.
    fn cell_back(&self, trace: &CellTrace, upstream: Vec<f64>, coefficients: &mut [f64]) -> Vec<f64> {
        let topology = self.extent.topology;
        let (channels, kernels, bits) = (topology.channels, topology.kernels, topology.bits());
        let first = kernels * topology.perception_gates();
        let g = self.circuit_back(&trace.update, first, topology.perception_gates(), upstream, coefficients);
        let mut patch = vec![0.0; 9 * channels];
        patch[4 * channels..5 * channels].copy_from_slice(&g[..channels]);
        for kernel in 0..kernels {
            for channel in 0..channels {
                let layers = &trace.perceived[kernel * channels + channel];
                let at = |bit| g[channels + (channel * bits + bit) * kernels + kernel];
                let first = kernel * topology.perception_gates();
                let seen = self.circuit_back(layers, first, 0, (0..bits).map(at).collect(), coefficients);
                for (n, g) in seen.into_iter().enumerate() {
                    patch[n * channels + channel] += g;
                }
            }
        }
        patch
    }
}

/// The index of neighbor `n` of cell (y, x) in its grid, if there is one.
fn neighbor(extent: &RollOutExtent, y: usize, x: usize, n: usize) -> Option<usize> {
    let shift = |at: usize, by: usize, size: usize| match extent.topology.edge {
        Edge::Wrap => Some((at + size + by - 1) % size),
        Edge::Zero => (at + by).checked_sub(1).filter(|&place| place < size),
    };
    Some(shift(y, n / 3, extent.height)? * extent.width + shift(x, n % 3, extent.width)?)
}

/// Every cell of a seed: its grid's first cell, its index in the grid, and its neighborhood's values.
fn patches<'a>(
    extent: &'a RollOutExtent,
    states: &'a [f64],
) -> impl Iterator<Item = (usize, usize, Vec<f64>)> + 'a {
    let (area, channels) = (extent.height * extent.width, extent.topology.channels);
    (0..extent.cells()).map(move |cell| {
        let (grid, place) = (cell / area * area, cell % area);
        let mut patch = vec![0.0; 9 * channels];
        for n in 0..9 {
            if let Some(other) = neighbor(extent, place / extent.width, place % extent.width, n) {
                let from = (grid + other) * channels;
                patch[n * channels..(n + 1) * channels].copy_from_slice(&states[from..from + channels]);
            }
        }
        (grid, place, patch)
    })
}

/// Whether a cell takes its next state, as a weight.
fn fires(
    extent: &RollOutExtent,
    operands: &RollOutOperands<f64>,
    seed: usize,
    step: usize,
    place: usize,
) -> f64 {
    let area = extent.height * extent.width;
    operands.fired.map_or(1.0, |fired| fired[(seed * extent.steps + step) * area + place])
}

/// The states of one seed before every step and after the last.
fn roll_out(
    extent: &RollOutExtent,
    wires: &[u32],
    operands: &RollOutOperands<f64>,
    seed: usize,
) -> Vec<Vec<f64>> {
    let one = One::of(extent, wires, operands, seed);
    let (len, channels) = (extent.cells() * extent.topology.channels, extent.topology.channels);
    let mut all = vec![operands.states[seed * len..(seed + 1) * len].to_vec()];
    for step in 0..extent.steps {
        let before = &all[step];
        let mut after = before.clone();
        for (grid, place, patch) in patches(extent, before) {
            let fire = fires(extent, operands, seed, step, place);
            let trace = one.cell(&patch);
            let at = (grid + place) * channels;
            for (to, new) in after[at..].iter_mut().zip(trace.update.last().expect("a layer")) {
                *to += fire * (new - *to);
            }
        }
        all.push(after);
    }
    all
}

/// The states after the last step.
pub fn forward(extent: &RollOutExtent, wires: &[u32], operands: &RollOutOperands<f64>) -> Vec<f64> {
    let last = |seed| roll_out(extent, wires, operands, seed).pop().expect("a step");
    (0..extent.seeds).flat_map(last).collect()
}

/// Gradients of the coefficients and of the first states.
pub fn backward(
    extent: &RollOutExtent,
    wires: &[u32],
    operands: &RollOutOperands<f64>,
) -> (Vec<f64>, Vec<f64>) {
    let channels = extent.topology.channels;
    let len = extent.cells() * channels;
    let (mut coefficients, mut first) = (vec![], vec![]);
    for seed in 0..extent.seeds {
        let one = One::of(extent, wires, operands, seed);
        let states = roll_out(extent, wires, operands, seed);
        let mut g = operands.upstream[seed * len..(seed + 1) * len].to_vec();
        let mut sums = vec![0.0; extent.topology.gates() * 4];
        for step in (0..extent.steps).rev() {
            let mut below = vec![0.0; len];
            for (grid, place, patch) in patches(extent, &states[step]) {
                let fire = fires(extent, operands, seed, step, place);
                let at = (grid + place) * channels;
                let upstream = &g[at..at + channels];
                for (to, g) in below[at..].iter_mut().zip(upstream) {
                    *to += (1.0 - fire) * g;
                }
                let trace = one.cell(&patch);
                let upstream = upstream.iter().map(|g| fire * g).collect();
                let patch = one.cell_back(&trace, upstream, &mut sums);
                for n in 0..9 {
                    if let Some(other) = neighbor(extent, place / extent.width, place % extent.width, n) {
                        let to = (grid + other) * channels;
                        for channel in 0..channels {
                            below[to + channel] += patch[n * channels + channel];
                        }
                    }
                }
            }
            g = below;
        }
        coefficients.extend(sums);
        first.extend(g);
    }
    (coefficients, first)
}
