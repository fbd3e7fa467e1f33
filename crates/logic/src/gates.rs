//! Soft gates: from sixteen logits to four coefficients, and back to one gate.

use farad::{Device, Tensor};
use farad_circuit::Gate;

/// The coefficients of the sixteen functions on a device: what turns logits into gates.
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

    /// What gates are with these logits: the mixture of functions, softmax-weighted, as
    /// `c0 + ca·a + cb·b + cab·a·b`. `[..., 16] -> [..., 4]`
    #[track_caller]
    pub fn soft(&self, logits: &Tensor) -> Tensor {
        let rows = logits.numel() / 16;
        let mixed = logits.reshape([rows, 16]).softmax(-1).matmul(&self.0);
        mixed.reshape(four_of(logits))
    }

    /// The coefficients of the likeliest gate of each: exact whole numbers. `[..., 16] -> [..., 4]`
    #[track_caller]
    pub fn hard(&self, logits: &Tensor) -> Tensor {
        let index = logits.argmax(-1);
        let picked = self.0.index_select(0, &index.reshape([index.numel()]));
        picked.reshape(four_of(logits))
    }
}

/// The shape of logits with the last axis made four.
#[track_caller]
fn four_of(logits: &Tensor) -> Vec<usize> {
    let mut sizes = logits.shape().to_vec();
    match sizes.last_mut() {
        Some(last) if *last == 16 => *last = 4,
        _ => panic!("gates: logits come by sixteen: {:?}", logits.shape()),
    }
    sizes
}

/// The likeliest gate of each sixteen logits; the first among equals.
pub fn hard_gates(logits: &[f32]) -> Vec<Gate> {
    let likeliest = |row: &[f32]| {
        let better = |best: usize, n: usize| if row[n] > row[best] { n } else { best };
        Gate::ALL[(0..16).fold(0, better)]
    };
    logits.chunks_exact(16).map(likeliest).collect()
}

/// Logits of gates that pass their first operand on: `strength` there and 0 elsewhere.
/// `[..gates, 16]`
pub fn initial_logits(gates: &[usize], strength: f32, device: &Device) -> Tensor {
    let count: usize = gates.iter().product();
    let mut row = [0f32; 16];
    row[Gate::A.number() as usize] = strength;
    let sizes: Vec<usize> = gates.iter().copied().chain([16]).collect();
    Tensor::from_vec::<f32>(row.repeat(count), sizes, device)
}
