//! How long a network of 6 × 8,000 random gates and its class head needs per image, on one core.

use std::time::Instant;

use farad_circuit::WideSimulator;
use farad_circuit::{Line, WIDE_SAMPLES};
use farad_logic::classify::Packer;
use farad_logic::{GateNetwork, GroupSum};

/// Pixels of an image.
const PIXELS: usize = 784;
/// Gates of each layer.
const WIDTH: usize = 8000;
/// Tiles of 512 images that are timed.
const TILES: usize = 400;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    farad::seed(1);
    let network = GateNetwork::new(&[PIXELS, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH], 1);
    let mut netlist = network.to_netlist("random")?;
    let values: Vec<_> = netlist.outputs.drain(..).map(|output| output.wire).collect();
    let class = GroupSum::new(WIDTH, 10, 0.0)?.add_to(&mut netlist, &values);
    class.into_iter().enumerate().for_each(|(n, wire)| netlist.output(format!("class{n}"), wire));

    let mut simulator = WideSimulator::new(&netlist)?;
    println!("{} gates, {} left, {} lines", netlist.gates.len(), simulator.gates(), simulator.lines());
    let bytes: Vec<u8> = (0..PIXELS * WIDE_SAMPLES).map(|n| (n * 7919 % 251) as u8).collect();
    let packer = Packer::new(PIXELS, &[127.5; PIXELS]);
    let mut seen = [Line::default(); 4];
    let mut best = [f64::MAX; 2];
    for (packs, best) in best.iter_mut().enumerate() {
        // The fastest tile: other programs may use the core meanwhile.
        for _ in 0..TILES {
            let start = Instant::now();
            if packs == 1 {
                packer.pack(&bytes, simulator.inputs_mut());
            }
            simulator.run();
            seen = std::array::from_fn(|n| simulator.output(n));
            *best = best.min(start.elapsed().as_secs_f64() * 1e9 / WIDE_SAMPLES as f64);
        }
    }
    println!("{:.0} ns per image, {:.0} ns with packing", best[0], best[1]);
    let per_gate = best[0] / simulator.gates() as f64 * WIDE_SAMPLES as f64;
    println!("{per_gate:.2} ns per gate for {WIDE_SAMPLES} samples; first classes {:x?}", seen[0].0[0]);
    assert!(best[0] < 5000.0, "an image takes far too long: {best:?}");
    Ok(())
}
