//! Learns to add two 2-bit numbers with soft gates, then proves that the hard circuit is an adder.
//!
//!     cargo run --release --example adder -p farad-logic [device]

use farad::prelude::*;
use farad_circuit::Simulator;
use farad_circuit::simplify::{SimplifyOptions, simplify};
use farad_logic::GateNetwork;

/// Values between layers: four bits in, three out.
const WIDTHS: [usize; 6] = [4, 96, 64, 48, 24, 3];
/// The seed of the wires and the initial gates.
const SEED: u64 = 4;
/// Passes over the sixteen sums.
const EPOCHS: usize = 600;
/// The learning rate of AdamW.
const RATE: f32 = 0.05;
/// How many bits of all sums the hard circuit must get right: all of them.
const THRESHOLD: usize = 16 * 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or("best".into());
    let device = Device::named(&name)?;
    farad::seed(SEED);

    // Row `n` adds the two halves of `n`.
    let bits = |n: usize, count: usize| (0..count).map(move |bit| (n >> bit & 1) as f32);
    let x: Vec<f32> = (0..16).flat_map(|n| bits(n, 4)).collect();
    let y: Vec<f32> = (0..16).flat_map(|n| bits(n / 4 + n % 4, 3)).collect();
    let (x, y) = (Tensor::from_vec(x, [16, 4], &device), Tensor::from_vec(y, [16, 3], &device));

    let network = GateNetwork::new(&WIDTHS, SEED).to_device(&device);
    let mut adam = AdamW::new(network.parameters()).learning_rate(RATE).weight_decay(0.0);
    for epoch in 0..=EPOCHS {
        let loss = network.forward(&x).mean_squared_error(&y);
        adam.step(&loss)?;
        if epoch % 100 == 0 {
            println!("epoch {epoch}: loss {:.5}", loss.item()?);
        }
    }

    let learned = network.to_netlist("adder")?;
    let simplified = simplify(&learned, &SimplifyOptions::default())?;
    let (gates, proved) = (simplified.netlist.gates.len(), simplified.report.equivalence.is_proved());
    println!("{} gates learned, {gates} left, proved equal: {proved}", learned.gates.len());
    let table = Simulator::new(&simplified.netlist)?.truth_table();
    let bit_of = |number: usize, bit: usize| number >> bit & 1 == 1;
    let right = |n: usize, bit: usize| bit_of(table[bit][0] as usize, n) == bit_of(n / 4 + n % 4, bit);
    let right =
        (0..16).flat_map(|n| (0..3).map(move |bit| (n, bit))).filter(|&(n, bit)| right(n, bit)).count();
    assert!(right >= THRESHOLD, "the gates did not learn to add: {right} bits are right, not {THRESHOLD}");
    Ok(())
}
