//! Times whole updates of automata (soft gates, roll-out, backward pass, clip, AdamW):
//! `cargo run --release -p farad-logic --example automaton_speed [cpu|gpu] [case] [policy]`; a part of the name
//! of a case or policy is enough.

use std::time::Instant;

use farad::optim::{AdamW, Clip, Optimizer};
use farad::prelude::*;
use farad_circuit::Edge;
use farad_logic::{GateTable, Policy, RollOut, Topology, Wires, Wiring, initial_logits};

/// Updates before the clock starts.
const WARM: usize = 5;
/// Approximate seconds per case.
const SECONDS: f64 = 0.3;

struct Case {
    name: &'static str,
    topology: Topology,
    steps: usize,
    seeds: usize,
    batch: usize,
    side: usize,
}

fn checkerboard() -> Topology {
    let update = [&[264], &[256; 10][..], &[128, 64, 32, 16, 8, 8]].concat();
    Topology { channels: 8, kernels: 16, perception: vec![9, 8, 4, 2], update, edge: Edge::Zero }
}

fn lizard() -> Topology {
    let update = [&[640], &[512; 8][..], &[256, 128]].concat();
    Topology { channels: 128, kernels: 4, perception: vec![9, 8, 4, 2, 1], update, edge: Edge::Wrap }
}

fn cases() -> Vec<Case> {
    let board =
        |name, seeds, batch| Case { name, topology: checkerboard(), steps: 20, seeds, batch, side: 16 };
    vec![
        board("checkerboard_b1", 1, 1),
        board("checkerboard_b2", 1, 2),
        board("checkerboard_b20", 1, 20),
        board("checkerboard_b2_seeds16", 16, 2),
        Case { name: "lizard", topology: lizard(), steps: 12, seeds: 1, batch: 1, side: 20 },
    ]
}

/// One automaton in training.
struct Training {
    table: GateTable,
    logits: Parameter,
    wiring: Wiring,
    states: Tensor,
    run: RollOut,
    optimizer: AdamW,
}

impl Training {
    fn new(case: &Case, policy: Policy, device: &Device) -> Training {
        let topology = &case.topology;
        let wires: Vec<Vec<Wires>> = (0..case.seeds).map(|seed| topology.wire(23 + seed as u64)).collect();
        let shape = [case.seeds, case.batch, case.side, case.side, topology.channels];
        let logits = Parameter::new(initial_logits(&[case.seeds, topology.gates()], 10.0, device));
        let optimizer = AdamW::new(vec![logits.clone()]).betas(0.9, 0.99).clip(Clip::Value(100.0));
        Training {
            table: GateTable::on(device),
            wiring: Wiring::new(topology, &wires, device),
            states: Tensor::from_vec(bits(shape.iter().product()), shape, device),
            run: RollOut::new(topology.clone(), case.steps).policy(policy),
            logits,
            optimizer,
        }
    }

    /// One update toward a first channel of zeros.
    fn update(&mut self) -> Result<(), farad::Error> {
        let coefficients = self.table.soft(&self.logits.value());
        let last = self.run.run(&coefficients, &self.wiring, &self.states, None);
        let loss = last.narrow(4, 0, 1).square().sum();
        self.optimizer.step(&loss)
    }
}

/// Zeros and ones.
fn bits(count: usize) -> Vec<f32> {
    let mix = |i: usize| (i as u32).wrapping_mul(2654435761) >> 13;
    (0..count).map(|i| (mix(i) & 1) as f32).collect()
}

fn time(case: &Case, policy: Policy, device: &Device) -> Result<(), farad::Error> {
    let start = Instant::now();
    let mut training = Training::new(case, policy, device);
    training.update()?;
    device.wait()?;
    let first = start.elapsed().as_secs_f64();
    let start = Instant::now();
    for _ in 0..WARM {
        training.update()?;
    }
    device.wait()?;
    let count = (SECONDS / (start.elapsed().as_secs_f64() / WARM as f64)).clamp(5.0, 500.0) as usize;
    let before = device.counters();
    let start = Instant::now();
    for _ in 0..count {
        training.update()?;
    }
    device.wait()?;
    let ms = start.elapsed().as_secs_f64() * 1e3 / count as f64;
    let after = device.counters();
    let each = |counter: usize| counter as f64 / count as f64;
    println!(
        "{:<26} {:<12} {ms:>9.3} ms  {:>6.1} dispatches {:>5.2} submissions  first update {first:.2} s",
        case.name,
        format!("{policy:?}"),
        each(after.dispatches - before.dispatches),
        each(after.submissions - before.submissions),
    );
    if policy == Policy::Recompute {
        let (result, profile) = device.profile(|| training.update());
        result?;
        println!("{profile}");
        let times: Vec<String> = profile
            .launches
            .iter()
            .map(|launch| format!("{:.1}", launch.duration.as_secs_f64() * 1e6))
            .collect();
        println!("launches in µs: {}", times.join(" "));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or("gpu".into());
    let part = |n| std::env::args().nth(n).unwrap_or_default();
    let device = if name == "cpu" { Device::cpu() } else { Device::gpu(0)? };
    println!("{}", device.name());
    let policies = [Policy::Recompute, Policy::KeepAll, Policy::Every(5)];
    let (cases, wanted) = (cases(), part(2));
    let exact = cases.iter().any(|case| case.name == wanted);
    let is_wanted = |case: &&Case| if exact { case.name == wanted } else { case.name.contains(&wanted) };
    for case in cases.iter().filter(is_wanted) {
        for policy in policies.into_iter().filter(|policy| format!("{policy:?}").contains(&part(3))) {
            time(case, policy, &device)?;
        }
    }
    Ok(())
}
