//! A network with one hidden layer, trained by AdamW in plain f64: what training steps are compared
//! with.

/// What follows the hidden layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostActivation {
    /// Negative values become zero.
    Relu,
    /// The hyperbolic tangent.
    Tanh,
}

/// What the network is to learn.
#[derive(Clone, Debug)]
pub enum HostGoal {
    /// Classes, by cross-entropy.
    Classes(Vec<usize>),
    /// Values, by mean squared error.
    Values(Vec<f64>),
}

/// Samples and what is to be learned of them.
pub struct BenchBatch {
    /// `[samples, inputs]`
    pub x: Vec<f64>,
    /// One class, or one row of values per sample.
    pub goal: HostGoal,
}

/// Parameters in the order of the layers: weight `[hidden, inputs]`, bias, weight `[outputs, hidden]`, bias.
pub struct HostNetwork {
    /// Sizes: inputs, hidden, outputs.
    pub sizes: [usize; 3],
    /// What follows the hidden layer.
    pub activation: HostActivation,
    /// The four tensors.
    pub parameters: [Vec<f64>; 4],
    moments: [(Vec<f64>, Vec<f64>); 4],
    steps: i32,
}

/// AdamW with the usual betas and epsilon.
#[derive(Clone, Copy, Debug)]
pub struct BenchAdam {
    /// The learning rate.
    pub rate: f64,
    /// Decay of the weights.
    pub decay: f64,
}

impl HostNetwork {
    /// From parameters.
    pub fn new(sizes: [usize; 3], activation: HostActivation, parameters: [Vec<f64>; 4]) -> HostNetwork {
        let moments = parameters.each_ref().map(|p| (vec![0.0; p.len()], vec![0.0; p.len()]));
        HostNetwork { sizes, activation, parameters, moments, steps: 0 }
    }

    /// One step; gives the loss before it.
    pub fn step(&mut self, batch: &BenchBatch, adam: BenchAdam) -> f64 {
        let (loss, gradients) = self.gradients(batch);
        self.steps += 1;
        let correction = |beta: f64| 1.0 - beta.powi(self.steps);
        let (size, spread) = (adam.rate / correction(0.9), correction(0.999).sqrt());
        for ((parameters, (first, second)), gradients) in
            self.parameters.iter_mut().zip(&mut self.moments).zip(&gradients)
        {
            for (n, &g) in gradients.iter().enumerate() {
                first[n] = 0.9 * first[n] + 0.1 * g;
                second[n] = 0.999 * second[n] + 0.001 * g * g;
                let change = size * first[n] / (second[n].sqrt() / spread + 1e-8);
                parameters[n] = parameters[n] * (1.0 - adam.rate * adam.decay) - change;
            }
        }
        loss
    }

    /// The loss and its gradients at all parameters.
    pub fn gradients(&self, batch: &BenchBatch) -> (f64, [Vec<f64>; 4]) {
        let [inputs, hidden, outputs] = self.sizes;
        let samples = batch.x.len() / inputs;
        let mut gradients = self.parameters.each_ref().map(|p| vec![0.0; p.len()]);
        let mut total = 0.0;
        for (sample, x) in batch.x.chunks(inputs).enumerate() {
            let h: Vec<f64> = self.layer(0, x).into_iter().map(|v| self.activate(v)).collect();
            let (loss, g) = batch.goal.loss(sample, &self.layer(2, &h), samples);
            total += loss;
            let mut back = vec![0.0; hidden];
            for o in 0..outputs {
                gradients[3][o] += g[o];
                for n in 0..hidden {
                    gradients[2][o * hidden + n] += g[o] * h[n];
                    back[n] += g[o] * self.parameters[2][o * hidden + n];
                }
            }
            for n in 0..hidden {
                let g = back[n] * self.slope(h[n]);
                gradients[1][n] += g;
                let row = &mut gradients[0][n * inputs..][..inputs];
                row.iter_mut().zip(x).for_each(|(sum, x)| *sum += g * x);
            }
        }
        (total, gradients)
    }

    /// A fully connected layer, given the index of its weight.
    fn layer(&self, index: usize, x: &[f64]) -> Vec<f64> {
        let (weight, bias) = (&self.parameters[index], &self.parameters[index + 1]);
        let dot = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        weight.chunks(x.len()).zip(bias).map(|(row, bias)| dot(row) + bias).collect()
    }

    fn activate(&self, v: f64) -> f64 {
        match self.activation {
            HostActivation::Relu => v.max(0.0),
            HostActivation::Tanh => v.tanh(),
        }
    }

    /// The activation's derivative where its value is `h`.
    fn slope(&self, h: f64) -> f64 {
        match self.activation {
            HostActivation::Relu => (h > 0.0) as u8 as f64,
            HostActivation::Tanh => 1.0 - h * h,
        }
    }
}

impl HostGoal {
    /// A sample's share of the mean loss, and the gradient at its outputs.
    fn loss(&self, sample: usize, y: &[f64], samples: usize) -> (f64, Vec<f64>) {
        match self {
            HostGoal::Classes(classes) => {
                let top = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = y.iter().map(|v| (v - top).exp()).sum();
                let hit = |n: usize| (n == classes[sample]) as u8 as f64;
                let share = |(n, v): (usize, &f64)| ((v - top).exp() / sum - hit(n)) / samples as f64;
                let loss = (sum.ln() + top - y[classes[sample]]) / samples as f64;
                (loss, y.iter().enumerate().map(share).collect())
            }
            HostGoal::Values(values) => {
                let wanted = &values[sample * y.len()..][..y.len()];
                let count = (samples * y.len()) as f64;
                let differences: Vec<f64> = y.iter().zip(wanted).map(|(y, wanted)| y - wanted).collect();
                let loss = differences.iter().map(|d| d * d).sum::<f64>() / count;
                (loss, differences.iter().map(|d| 2.0 * d / count).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(count: usize, offset: usize) -> Vec<f64> {
        (0..count).map(|n| ((n + offset) as f64 * 0.7).sin()).collect()
    }

    /// Each gradient against central differences.
    fn check(activation: HostActivation, goal: HostGoal) {
        let parameters = [wave(12, 0), wave(4, 20), wave(12, 30), wave(3, 50)];
        let batch = BenchBatch { x: wave(6, 5), goal };
        let mut network = HostNetwork::new([3, 4, 3], activation, parameters);
        let (_, gradients) = network.gradients(&batch);
        for (tensor, gradients) in gradients.iter().enumerate() {
            for (n, &gradient) in gradients.iter().enumerate() {
                let middle = network.parameters[tensor][n];
                let mut loss = |shift: f64| {
                    network.parameters[tensor][n] = middle + shift;
                    network.gradients(&batch).0
                };
                let slope = (loss(1e-6) - loss(-1e-6)) / 2e-6;
                network.parameters[tensor][n] = middle;
                assert!((slope - gradient).abs() < 1e-7, "{tensor} {n}: {slope}");
            }
        }
    }

    #[test]
    fn gradients_are_right() {
        check(HostActivation::Tanh, HostGoal::Values(wave(6, 9)));
        check(HostActivation::Relu, HostGoal::Classes(vec![2, 0]));
    }
}
