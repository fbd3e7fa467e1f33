//! Roll-outs and their backward pass on GPUs, compared with the reference in double precision: circuits and
//! grids of every shape that the kernels treat specially.

use farad::philox;
use farad::{Device, DeviceOptions, Tensor};
use farad_circuit::Edge;
use farad_logic::{GateTable, Policy, RollOut, Topology, Wires, Wiring};

/// Which devices a case runs on.
#[derive(Clone, Copy, PartialEq)]
enum On {
    /// The first GPU, with WebGPU's default limits.
    Core,
    /// There, and with all its features.
    Both,
}

/// The devices; prints a message if there are none.
fn devices(on: On) -> Vec<(bool, Device)> {
    use std::io::Write;
    let wanted: &[bool] = if on == On::Both { &[true, false] } else { &[true] };
    let open = |&core: &bool| {
        let device = Device::gpu_with(0, DeviceOptions { core, ..DeviceOptions::default() })?;
        Ok::<(bool, Device), farad::Error>((core, device))
    };
    wanted.iter().map(open).collect::<Result<_, _>>().unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "skipped: no GPU adapter: {error}");
        vec![]
    })
}

/// Numbers in [0, 1) from a stream.
fn uniforms(stream: u32, count: usize) -> Vec<f32> {
    (0..count as u32).map(|i| (philox::bits([7, 0], [stream, 1], i) >> 8) as f32 / (1 << 24) as f32).collect()
}

/// One roll-out and its sizes.
struct Case {
    name: &'static str,
    topology: Topology,
    asynchronous: bool,
    steps: usize,
    seeds: usize,
    /// Batch, height and width.
    grids: [usize; 3],
    on: On,
}

impl Case {
    fn wiring(&self, device: &Device) -> Wiring {
        let random = |seed: usize| {
            let circuits = [&self.topology.perception, &self.topology.update];
            let pairs = circuits.into_iter().flat_map(|widths| widths.windows(2));
            let wires =
                pairs.enumerate().map(|(n, pair)| Wires::random(pair[0], pair[1], seed as u64, n as u64));
            wires.collect::<Vec<Wires>>()
        };
        Wiring::new(&self.topology, &(0..self.seeds).map(random).collect::<Vec<_>>(), device)
    }

    /// Last states, and gradients of coefficients and first states, not yet computed.
    fn record(&self, policy: Policy, device: &Device) -> Vec<Tensor> {
        let gates = self.topology.gates();
        let logits = uniforms(0, self.seeds * gates * 16).into_iter().map(|x| 8.0 * x).collect();
        let logits = Tensor::from_vec::<f32>(logits, [self.seeds, gates, 16], &Device::cpu());
        let coefficients = GateTable::on(&Device::cpu()).soft(&logits).to_vec::<f32>().unwrap();
        let coefficients = Tensor::from_vec(coefficients, [self.seeds, gates, 4], device);
        let [batch, height, width] = self.grids;
        let shape = [self.seeds, batch, height, width, self.topology.channels];
        let count = shape.iter().product();
        let states = Tensor::from_vec(uniforms(1, count), shape, device);
        let fires = [self.seeds, self.steps, height, width];
        let fired =
            uniforms(2, fires.iter().product()).into_iter().map(|x| (x < 0.6) as u32 as f32).collect();
        let fired = Tensor::from_vec::<f32>(fired, fires, device);
        let run = RollOut::new(self.topology.clone(), self.steps).policy(policy);
        let last = run.run(&coefficients, &self.wiring(device), &states, self.asynchronous.then_some(&fired));
        let weights = uniforms(3, count).into_iter().map(|x| x - 0.5).collect();
        let loss = (&last * &Tensor::from_vec::<f32>(weights, shape, device)).sum();
        let gradients = loss.gradients_at(&[&coefficients, &states]).unwrap();
        std::iter::once(last).chain(gradients).collect()
    }

    fn run(&self, policy: Policy, device: &Device) -> Vec<Vec<f32>> {
        self.record(policy, device).iter().map(|tensor| tensor.to_vec::<f32>().unwrap()).collect()
    }

    /// Runs it with all policies: they agree bit for bit with each other, and with the reference.
    fn check(&self) {
        let meaning = farad::check::reference(&self.record(Policy::Recompute, &Device::cpu())).unwrap();
        for (core, device) in devices(self.on) {
            let first = self.run(Policy::Recompute, &device);
            for (n, what) in ["states", "coefficients", "first states"].into_iter().enumerate() {
                let error = distance(&first[n], &meaning[n].to_f64());
                assert!(error < 2e-6, "{}, {what}, core {core}: {error:e}", self.name);
            }
            for policy in [Policy::KeepAll, Policy::Every(2), Policy::Every(self.steps)] {
                let other = self.run(policy, &device);
                for n in 0..3 {
                    let same = first[n].iter().zip(&other[n]).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "{}, result {n}, {policy:?}, core {core}", self.name);
                }
            }
        }
    }
}

/// The largest difference, relative to the largest expected number.
fn distance(found: &[f32], meant: &[f64]) -> f64 {
    assert_eq!(found.len(), meant.len());
    let size = meant.iter().fold(0f64, |most, x| most.max(x.abs()));
    let worst = found.iter().zip(meant).fold(0f64, |most, (&x, &y)| most.max((x as f64 - y).abs()));
    assert!(found.iter().all(|x| x.is_finite()) && size > 0.0);
    worst / size
}

fn topology(channels: usize, kernels: usize, perception: &[usize], hidden: &[usize], edge: Edge) -> Topology {
    let inputs = channels * (1 + kernels * perception[perception.len() - 1]);
    let update = [&[inputs], hidden, &[channels]].concat();
    Topology { channels, kernels, perception: perception.to_vec(), update, edge }
}

#[test]
fn grids_batches_and_seeds_agree() {
    let wrap = topology(2, 3, &[9, 8, 4, 2], &[12, 7], Edge::Wrap);
    let zero = Topology { edge: Edge::Zero, ..wrap.clone() };
    let case = |name, topology: &Topology, asynchronous, steps, seeds, grids| {
        let case = Case { name, topology: topology.clone(), asynchronous, steps, seeds, grids, on: On::Core };
        case.check();
    };
    case("a whole number of groups", &wrap, false, 3, 1, [2, 12, 13]);
    case("two rows", &wrap, false, 1, 1, [1, 2, 3]);
    case("seeds and batches", &zero, true, 4, 2, [3, 7, 9]);
    case("few cells", &zero, true, 4, 3, [3, 3, 5]);
    case("one row", &zero, true, 3, 1, [1, 1, 7]);
    case("one cell that is its own neighbor", &wrap, true, 2, 1, [1, 1, 1]);
    case("more groups than workgroups", &wrap, true, 2, 3, [3, 9, 9]);
}

#[test]
fn shapes_of_circuits_agree() {
    let case = |name, topology: Topology, asynchronous, steps, on| {
        Case { name, topology, asynchronous, steps, seeds: 2, grids: [1, 3, 3], on }.check();
    };
    case("one layer each", topology(3, 2, &[9, 2], &[], Edge::Wrap), false, 3, On::Core);
    case("a fan-out of sixteen", topology(1, 3, &[9, 8, 4, 1], &[32, 8], Edge::Wrap), false, 3, On::Core);
    case("channels in blocks", topology(27, 12, &[9, 3, 1], &[170, 90], Edge::Wrap), true, 3, On::Core);
    case(
        "wider than a workgroup",
        topology(2, 2, &[9, 4, 2], &[300, 530, 64], Edge::Zero),
        false,
        3,
        On::Both,
    );
    case("too much for registers", topology(2, 2, &[9, 2], &[520; 10], Edge::Zero), false, 1, On::Core);
    let wide = topology(2, 2, &[9, 4, 2], &[40, 3000, 20], Edge::Zero);
    case("too wide for workgroup memory", wide, true, 3, On::Core);
}

#[test]
fn reference_recipes_agree() {
    let checkerboard = topology(8, 16, &[9, 8, 4, 2], &[256, 256, 256, 128, 64, 32, 16, 8], Edge::Zero);
    let lizard = topology(128, 4, &[9, 8, 4, 2, 1], &[512, 512, 512, 256], Edge::Wrap);
    let case = |name, topology, asynchronous, grids| {
        Case { name, topology, asynchronous, steps: 3, seeds: 1, grids, on: On::Both }.check();
    };
    case("checkerboard", checkerboard, false, [1, 16, 17]);
    case("lizard", lizard, true, [1, 3, 5]);
}
