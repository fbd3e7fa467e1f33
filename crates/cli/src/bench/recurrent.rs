//! An LSTM over a sequence: the mean square of its outputs and the gradients at all its parameters.

use farad::prelude::*;

use super::case::{CaseWork, Workload, signed};
use super::reference::NormDifference;

/// Different rows of the batch that is compared with f64; the others repeat them, which changes neither loss nor
/// gradients.
const ROWS: usize = 2;

/// Positions, rows of a batch, and inputs, which are as many as hidden units.
#[derive(Clone, Copy)]
pub struct RecurrentSize {
    pub time: usize,
    pub batch: usize,
    pub hidden: usize,
}

/// Forward and backward pass of one layer.
pub fn lstm(size: RecurrentSize, device: &Device) -> farad::Result<Workload> {
    let RecurrentSize { time, batch, hidden } = size;
    let module = Lstm::new(hidden, hidden).try_to_device(device)?;
    let parameters = module.named_parameters().into_iter().map(|(_, p)| p.value().detach());
    let parameters = parameters.collect::<farad::Result<Vec<Tensor>>>()?;
    module.parameters().iter().zip(&parameters).for_each(|(cell, value)| cell.set(value.clone()));
    let x = signed(&[time, batch, hidden], device)?;
    let rows = signed(&[time, ROWS, hidden], device)?;
    let again = module.clone();
    let iterate = move || {
        let gradients = gradients(&again, &x)?;
        Tensor::compute_all(&gradients.iter().collect::<Vec<_>>())
    };
    let error = move || {
        let repeated = rows.unsqueeze(1).broadcast_to([time, batch / ROWS, ROWS, hidden]);
        let found = gradients(&module, &repeated.reshape([time, batch, hidden]).detach()?)?;
        let read = |t: &Tensor| Ok(t.to_vec::<f32>()?.into_iter().map(f64::from).collect());
        let parameters = parameters.iter().map(read).collect::<farad::Result<Vec<Vec<f64>>>>()?;
        let wanted = LstmReference { hidden, parameters: &parameters }.gradients(&read(&rows)?);
        let mut difference = NormDifference::default();
        for (found, wanted) in found.iter().zip(&wanted) {
            found.to_vec::<f32>()?.iter().zip(wanted).for_each(|(&got, &want)| difference.add(got, want));
        }
        Ok(difference.relative())
    };
    // Two products forward; backward the gradient at the hidden states and at both weights, as others count it.
    let flops = 3.0 * 2.0 * (time * batch * 2 * hidden * 4 * hidden) as f64;
    Ok(Workload {
        iterate: Box::new(iterate),
        error: Box::new(error),
        work: CaseWork { flops, ..CaseWork::default() },
    })
}

fn gradients(module: &Lstm, x: &Tensor) -> farad::Result<Vec<Tensor>> {
    module.forward(x).0.square().mean().gradients(&module.parameters())
}

/// The same in plain f64.
struct LstmReference<'a> {
    hidden: usize,
    /// Weights from inputs and hidden states, and the two biases.
    parameters: &'a [Vec<f64>],
}

/// What a position leaves for the way back.
struct KeptPosition {
    /// The gates after their activations: i, f, g, o.
    gates: Vec<f64>,
    hidden_before: Vec<f64>,
    cell_before: Vec<f64>,
    cell: Vec<f64>,
}

impl LstmReference<'_> {
    /// Gradients of the mean square of all outputs at all parameters.
    fn gradients(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let n = self.hidden;
        let outputs = x.len() as f64;
        let mut sums: Vec<Vec<f64>> = self.parameters.iter().map(|p| vec![0.0; p.len()]).collect();
        for row in 0..ROWS {
            let at = |t: usize| &x[(t * ROWS + row) * n..][..n];
            let kept = self.forward(x.len() / (ROWS * n), &at);
            let (mut g_hidden, mut g_cell) = (vec![0.0; n], vec![0.0; n]);
            for (t, kept) in kept.iter().enumerate().rev() {
                let d = self.gates(kept, &mut g_hidden, &mut g_cell, outputs);
                for (r, &d) in d.iter().enumerate() {
                    let add =
                        |sum: &mut [f64], by: &[f64]| sum.iter_mut().zip(by).for_each(|(s, b)| *s += d * b);
                    add(&mut sums[0][r * n..][..n], at(t));
                    add(&mut sums[1][r * n..][..n], &kept.hidden_before);
                    sums[2][r] += d;
                    sums[3][r] += d;
                    add(&mut g_hidden, &self.parameters[1][r * n..][..n]);
                }
            }
        }
        sums
    }

    fn forward<'x>(&self, steps: usize, at: &dyn Fn(usize) -> &'x [f64]) -> Vec<KeptPosition> {
        let n = self.hidden;
        let dot = |row: &[f64], x: &[f64]| row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>();
        let (mut hidden, mut cell) = (vec![0.0; n], vec![0.0; n]);
        let mut kept = Vec::new();
        for t in 0..steps {
            let gate = |r: usize| {
                let (from_x, from_h) = (&self.parameters[0][r * n..][..n], &self.parameters[1][r * n..][..n]);
                let sum =
                    dot(from_x, at(t)) + dot(from_h, &hidden) + self.parameters[2][r] + self.parameters[3][r];
                if r / n == 2 { sum.tanh() } else { 1.0 / (1.0 + (-sum).exp()) }
            };
            let gates: Vec<f64> = (0..4 * n).map(gate).collect();
            let next: Vec<f64> =
                (0..n).map(|j| gates[n + j] * cell[j] + gates[j] * gates[2 * n + j]).collect();
            let shown = (0..n).map(|j| gates[3 * n + j] * next[j].tanh()).collect();
            let hidden_before = std::mem::replace(&mut hidden, shown);
            let cell_before = std::mem::replace(&mut cell, next.clone());
            kept.push(KeptPosition { gates, hidden_before, cell_before, cell: next });
        }
        kept
    }

    /// Gradients at the gates' sums; leaves zeros for the hidden state before, and the gradient at the cell before.
    fn gates(&self, kept: &KeptPosition, g_hidden: &mut [f64], g_cell: &mut [f64], outputs: f64) -> Vec<f64> {
        let n = self.hidden;
        let mut d = vec![0.0; 4 * n];
        for j in 0..n {
            let [i, f, g, o] = [0, 1, 2, 3].map(|gate| kept.gates[gate * n + j]);
            let shown = kept.cell[j].tanh();
            // The output is o · tanh(c), and the loss its square over the number of outputs.
            let dh = g_hidden[j] + 2.0 * o * shown / outputs;
            let dc = g_cell[j] + dh * o * (1.0 - shown * shown);
            d[j] = dc * g * i * (1.0 - i);
            d[n + j] = dc * kept.cell_before[j] * f * (1.0 - f);
            d[2 * n + j] = dc * i * (1.0 - g * g);
            d[3 * n + j] = dh * shown * o * (1.0 - o);
            (g_hidden[j], g_cell[j]) = (0.0, dc * f);
        }
        d
    }
}
