//! Soft gates: from sixteen logits to four coefficients, and back to one gate.

use farad::{Device, Tensor};
use farad_circuit::Gate;

/// Floating-point operations of a gate: `(cab·a + cb)·b + (ca·a + c0)` is three multiply-adds.
pub(crate) const GATE_FLOPS: u64 = 6;
/// FLOPs of its weight gradient: `g·a`, `g·b`, `g·a·b`, and four sums.
pub(crate) const WEIGHT_FLOPS: u64 = 7;
/// FLOPs of its input gradients: `g·(ca + cab·b)` and `g·(cb + cab·a)`, each added where the input is read.
pub(crate) const INPUT_FLOPS: u64 = 8;

/// The coefficients of the sixteen functions on a device, which turn logits into gates.
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::GateTable;
/// let device = Device::cpu();
/// let undecided = Tensor::zeros([1, 16], &device);
/// let c = GateTable::on(&device).soft(&undecided).to_vec::<f32>()?;
/// assert!((c[0] - 0.5).abs() < 1e-6 && c[1].abs() < 1e-6, "an even mixture knows nothing");
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GateTable(Tensor);

impl GateTable {
    /// The table on a device.
    pub fn on(device: &Device) -> GateTable {
        let numbers = Gate::ALL.iter().flat_map(|gate| gate.coefficients()).map(f32::from).collect();
        GateTable(Tensor::from_vec::<f32>(numbers, [16, 4], device))
    }

    /// The soft gates for these logits: the mixture of functions, softmax-weighted, as
    /// `c0 + ca·a + cb·b + cab·a·b`. `[..., 16] -> [..., 4]`
    #[track_caller]
    pub fn soft(&self, logits: &Tensor) -> Tensor {
        let sizes = four_of(logits);
        let rows = logits.numel() / 16;
        let mixed = logits.reshape([rows, 16]).softmax(-1).matmul(&self.0);
        mixed.reshape(sizes)
    }

    /// The coefficients of the most likely gate of each: exact integers. `[..., 16] -> [..., 4]`
    #[track_caller]
    pub fn hard(&self, logits: &Tensor) -> Tensor {
        four_of(logits);
        self.of_numbers(&logits.argmax(-1))
    }

    /// The coefficients of gates by their numbers. `[...] -> [..., 4]`
    #[track_caller]
    pub fn of_numbers(&self, numbers: &Tensor) -> Tensor {
        let picked = self.0.index_select(0, &numbers.reshape([numbers.numel()]));
        picked.reshape(numbers.shape().iter().copied().chain([4]).collect::<Vec<_>>())
    }
}

/// The shape of logits with the last axis set to four.
#[track_caller]
fn four_of(logits: &Tensor) -> Vec<usize> {
    let mut sizes = logits.shape().to_vec();
    match sizes.last_mut() {
        Some(last) if *last == 16 => *last = 4,
        _ => panic!("gates: the last axis of logits must be sixteen: {:?}", logits.shape()),
    }
    sizes
}

/// The most likely gate for each sixteen logits; the first among equals.
pub fn hard_gates(logits: &[f32]) -> Vec<Gate> {
    let likeliest = |row: &[f32]| {
        let better = |best: usize, n: usize| if row[n] > row[best] { n } else { best };
        Gate::ALL[(0..16).fold(0, better)]
    };
    logits.chunks_exact(16).map(likeliest).collect()
}

/// Logits of gates that pass their first operand through: `strength` there and 0 elsewhere. `[..gates, 16]`
pub fn initial_logits(gates: &[usize], strength: f32, device: &Device) -> Tensor {
    let count: usize = gates.iter().product();
    let mut row = [0f32; 16];
    row[Gate::A.number() as usize] = strength;
    let sizes: Vec<usize> = gates.iter().copied().chain([16]).collect();
    Tensor::from_vec::<f32>(row.repeat(count), sizes, device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad::optim::Clip;
    use farad::prelude::*;

    /// The CPU, and the first GPU if there is one.
    fn devices() -> Vec<Device> {
        std::iter::once(Device::cpu()).chain(Device::gpu(0)).collect()
    }

    /// A gate function by its definition, not by its coefficients: the relaxation of a truth table is the
    /// probability of a one if `a` and `b` are probabilities.
    fn relaxed(gate: Gate, a: f64, b: f64) -> f64 {
        let chance = |bit: bool, x: f64| if bit { x } else { 1.0 - x };
        let pairs = [(false, false), (false, true), (true, false), (true, true)];
        pairs.iter().filter(|pair| gate.output(pair.0, pair.1)).map(|p| chance(p.0, a) * chance(p.1, b)).sum()
    }

    #[test]
    fn one_soft_gate_and_its_gradient_are_what_they_mean() {
        let (a, b) = (0.7f32, 0.3f32);
        let values: Vec<f64> = Gate::ALL.iter().map(|&gate| relaxed(gate, a as f64, b as f64)).collect();
        let weights: Vec<f64> = (0..16).map(|n| if n == 3 { 10f64.exp() } else { 1.0 }).collect();
        let total: f64 = weights.iter().sum();
        let mean: f64 = weights.iter().zip(&values).map(|(weight, value)| weight / total * value).sum();
        for device in devices() {
            let logits = initial_logits(&[1], 10.0, &device);
            let products = Tensor::from_vec(vec![1.0, a, b, a * b], [1, 4], &device);
            let value = (GateTable::on(&device).soft(&logits) * products).sum();
            assert!((value.item().unwrap() as f64 - mean).abs() < 1e-6, "value on {device}");
            let slopes = value.gradient(&logits).unwrap().to_vec::<f32>().unwrap();
            for n in 0..16 {
                let weight = weights[n] / total;
                let wanted = weight * (values[n] - mean);
                // Differences of numbers below one, which may be off by a few units of 6e-8.
                let most = 1e-4 * wanted.abs() + weight * 2.4e-7;
                let error = (slopes[n] as f64 - wanted).abs();
                assert!(error < most, "logit {n} on {device}: {} vs {wanted}", slopes[n]);
            }
        }
    }

    #[test]
    fn gradients_are_clipped_one_by_one() {
        let g = vec![-200.0f32, -50.0, 0.0, 50.0, 200.0];
        for device in devices() {
            let parameter = Parameter::new(Tensor::zeros([5], &device));
            let mut descent = Sgd::new(vec![parameter.clone()]).learning_rate(1.0).clip(Clip::Value(100.0));
            let loss = (parameter.value() * Tensor::from_vec(g.clone(), [5], &device)).sum();
            descent.step(&loss).unwrap();
            let moved: Vec<f32> = parameter.value().to_vec().unwrap();
            assert_eq!(moved, [100.0, 50.0, 0.0, -50.0, -100.0], "on {device}");
        }
    }

    #[test]
    fn initial_gates_pass_their_first_operand() {
        for device in devices() {
            let logits = initial_logits(&[2, 3], 10.0, &device);
            assert_eq!(logits.shape().to_vec(), [2, 3, 16]);
            let numbers = logits.to_vec::<f32>().unwrap();
            assert!(numbers.chunks(16).all(|row| (0..16).all(|n| row[n] == if n == 3 { 10.0 } else { 0.0 })));
            assert_eq!(hard_gates(&numbers), [Gate::A; 6]);
            let table = GateTable::on(&device);
            let hard = table.hard(&logits);
            assert_eq!(hard.shape().to_vec(), [2, 3, 4]);
            assert_eq!(hard.to_vec::<f32>().unwrap(), [0.0, 1.0, 0.0, 0.0].repeat(6), "on {device}");
            let soft = table.soft(&logits);
            assert_eq!(soft.shape().to_vec(), [2, 3, 4]);
            let passing = soft.to_vec::<f32>().unwrap().chunks(4).all(|c| (c[1] - 1.0).abs() < 1e-3);
            assert!(passing, "soft gates pass on {device}");
        }
    }

    #[test]
    fn the_first_among_equals_is_the_gate() {
        let mut rows = vec![0f32; 4 * 16];
        rows[16 + 6] = 2.0;
        rows[16 + 9] = 2.0;
        rows[2 * 16 + 15] = 1.0;
        rows[3 * 16..].fill(-1.0);
        let wanted = [Gate::FALSE, Gate::XOR, Gate::TRUE, Gate::FALSE];
        assert_eq!(hard_gates(&rows), wanted);
        let coefficients: Vec<f32> =
            wanted.iter().flat_map(|gate| gate.coefficients()).map(f32::from).collect();
        for device in devices() {
            let logits = Tensor::from_vec(rows.clone(), [4, 16], &device);
            let hard = GateTable::on(&device).hard(&logits).to_vec::<f32>().unwrap();
            assert_eq!(hard, coefficients, "on {device}");
        }
    }

    #[test]
    #[should_panic(expected = "gates: the last axis of logits must be sixteen: [3, 15]")]
    fn logits_come_by_sixteen() {
        GateTable::on(&Device::cpu()).soft(&Tensor::zeros([3, 15], &Device::cpu()));
    }
}
