//! Automata on every device, compared with the reference in double precision, and with themselves.

mod automata;
mod devices;
mod numbers;

use automata::{Case, Outcome, cases, small};
use devices::gpus;
use farad::prelude::*;
use farad_circuit::{Edge, Gate};
use farad_logic::{Policy, Topology, Wires};
use numbers::{Draw, distance};

#[track_caller]
fn compare(name: &str, device: &Device, found: &Outcome<f32>, wanted: &Outcome<f64>) {
    let rows = [
        ("states", &found.states, &wanted.states, 1e-5),
        ("coefficients' gradient", &found.coefficients, &wanted.coefficients, 1e-4),
        ("first states' gradient", &found.first, &wanted.first, 1e-4),
    ];
    for (what, found, wanted, most) in rows {
        let error = distance(found, wanted);
        assert!(error <= most, "{name}: {what} on {device} ({error:e} vs at most {most:e})");
    }
}

fn agrees_with_the_reference(device: &Device) {
    for (name, case) in cases() {
        compare(&name, device, &case.run(Policy::default(), device), &case.reference());
    }
}

fn policies_agree(device: &Device) {
    let all = [Policy::KeepAll, Policy::Every(1), Policy::Every(3), Policy::Every(99)];
    let rows = [
        ("small", Case::new(small(Edge::Wrap), [2, 3, 5, 7], 7, 3.0).asynchronous(0.6), &all[..]),
        ("many tiles", Case::new(small(Edge::Zero), [1, 2, 31, 35], 4, 3.0), &[all[0], all[2]]),
    ];
    for (name, case, policies) in rows {
        let recomputed = case.run(Policy::Recompute, device);
        let nothing = recomputed.coefficients.iter().all(|&g| g == 0.0);
        assert!(!nothing, "{name}: the gradient is zero on {device}");
        for &policy in policies {
            assert!(case.run(policy, device) == recomputed, "{name}: {policy:?} differs on {device}");
        }
    }
}

fn unfired_cells_pass_gradients_on(device: &Device) {
    let case = Case::new(small(Edge::Zero), [2, 2, 4, 5], 3, 3.0).asynchronous(0.0);
    for policy in [Policy::Recompute, Policy::KeepAll, Policy::Every(2)] {
        let found = case.run(policy, device);
        assert_eq!(found.states, case.states, "states on {device}");
        assert_eq!(found.first, case.weights, "gradient on {device}");
        assert!(found.coefficients.iter().all(|&g| g == 0.0), "coefficients' gradient on {device}");
    }
}

fn batch_is_the_sum_of_its_grids(device: &Device) {
    let case = Case::new(small(Edge::Wrap), [1, 4, 5, 6], 4, 3.0).asynchronous(0.7);
    let whole = case.run(Policy::default(), device);
    let mut sum = vec![0f64; whole.coefficients.len()];
    let (mut states, mut first) = (vec![], vec![]);
    for grid in 0..4 {
        let part = case.only_grid(grid).run(Policy::default(), device);
        sum.iter_mut().zip(&part.coefficients).for_each(|(sum, &g)| *sum += g as f64);
        states.extend(part.states.iter().map(|&x| x as f64));
        first.extend(part.first.iter().map(|&x| x as f64));
    }
    let error = distance(&whole.coefficients, &sum);
    assert!(error < 1e-5, "coefficients' gradient on {device} ({error:e} vs at most 1e-5)");
    assert!(distance(&whole.states, &states) < 1e-6, "states on {device}");
    assert!(distance(&whole.first, &first) < 1e-6, "first states' gradient on {device}");
}

fn seeds_are_alone(device: &Device) {
    let case = Case::new(small(Edge::Zero), [3, 2, 5, 7], 4, 3.0).asynchronous(0.6);
    let together = case.run(Policy::default(), device);
    let mut alone = Outcome { states: vec![], coefficients: vec![], first: vec![] };
    for seed in 0..3 {
        let part = case.only_seed(seed).run(Policy::default(), device);
        alone.states.extend(part.states);
        alone.coefficients.extend(part.coefficients);
        alone.first.extend(part.first);
    }
    assert!(together == alone, "seeds together differ from each alone on {device}");
    assert_ne!(alone.states[..case.seed_len()], alone.states[case.seed_len()..2 * case.seed_len()]);
}

/// A circuit of gates on bits, as simple as possible.
fn bits_of_circuit(layers: &[Wires], gates: &[Gate], inputs: Vec<bool>) -> Vec<bool> {
    let mut gates = gates.iter();
    layers.iter().fold(inputs, |bits, layer| {
        let pairs = layer.a.iter().zip(&layer.b);
        let outputs =
            pairs.map(|(&a, &b)| gates.next().expect("a gate").output(bits[a as usize], bits[b as usize]));
        outputs.collect()
    })
}

/// One step of one grid of bits, `[height, width, channels]`.
fn bits_of_step(
    topology: &Topology,
    sizes: [usize; 2],
    wires: &[Wires],
    gates: &[Gate],
    before: &[bool],
) -> Vec<bool> {
    let (channels, kernels, bits) = (topology.channels, topology.kernels, topology.bits());
    let [height, width] = sizes.map(|size| size as isize);
    let (perception, update) = wires.split_at(topology.perception.len() - 1);
    let (own, shared) = gates.split_at(kernels * topology.perception_gates());
    let seen = |y: isize, x: isize, channel: usize| match topology.edge {
        Edge::Zero if y < 0 || x < 0 || y >= height || x >= width => false,
        _ => before[(y.rem_euclid(height) * width + x.rem_euclid(width)) as usize * channels + channel],
    };
    let mut after = vec![];
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let mut inputs: Vec<bool> = (0..channels).map(|channel| seen(y, x, channel)).collect();
        inputs.resize(topology.update[0], false);
        for (kernel, gates) in own.chunks_exact(topology.perception_gates()).enumerate() {
            for channel in 0..channels {
                let patch = (0..9).map(|n| seen(y + n / 3 - 1, x + n % 3 - 1, channel)).collect();
                for (bit, value) in bits_of_circuit(perception, gates, patch).into_iter().enumerate() {
                    inputs[channels + (channel * bits + bit) * kernels + kernel] = value;
                }
            }
        }
        after.extend(bits_of_circuit(update, shared, inputs));
    }
    after
}

fn hard_gates_compute_bits(device: &Device) {
    for (edge, steps, sizes) in [(Edge::Zero, 6, [5, 7]), (Edge::Wrap, 6, [5, 7]), (Edge::Wrap, 2, [3, 3])] {
        let topology = Topology { edge, ..small(edge) };
        let mut case = Case::new(topology, [1, 2, sizes[0], sizes[1]], steps, 0.0);
        let mut draw = Draw(3);
        let gates: Vec<Gate> =
            (0..case.topology.gates()).map(|_| Gate::ALL[(16.0 * draw.uniform()) as usize]).collect();
        case.coefficients = gates.iter().flat_map(|gate| gate.coefficients()).map(f32::from).collect();
        let mut bits: Vec<bool> = case.states.iter().map(|&state| state < 0.5).collect();
        case.states = bits.iter().map(|&bit| bit as u8 as f32).collect();
        for _ in 0..steps {
            let grids = bits.chunks_exact(case.seed_len() / 2);
            let step = |grid: &[bool]| bits_of_step(&case.topology, sizes, &case.wires[0], &gates, grid);
            bits = grids.flat_map(step).collect();
        }
        assert!(bits.contains(&true) && bits.contains(&false), "the bits say something");
        let [last, ..] = case.roll_out(Policy::default(), device);
        let wanted: Vec<f32> = bits.iter().map(|&bit| bit as u8 as f32).collect();
        assert_eq!(last.to_vec::<f32>().unwrap(), wanted, "{edge:?} on {device}");
    }
}

#[test]
fn reference_gradients_are_slopes() {
    let rows = [
        ("wrap", Case::new(small(Edge::Wrap), [2, 2, 3, 4], 3, 2.0)),
        ("zero", Case::new(small(Edge::Zero), [1, 2, 3, 2], 3, 2.0)),
        ("cells fire", Case::new(small(Edge::Wrap), [1, 2, 3, 4], 4, 2.0).asynchronous(0.6)),
        ("one cell", Case::new(small(Edge::Wrap), [1, 1, 1, 1], 3, 2.0)),
    ];
    for (name, case) in rows {
        let [_, coefficients, first] = case.roll_out(Policy::default(), &Device::cpu());
        let agreement = farad::check::gradients(&[coefficients, first], |x| {
            case.loss(&case.roll_out_from(&x[0], &x[1], Policy::default()))
        });
        let agreement = agreement.unwrap();
        assert!(agreement.gradient.abs() > 1e-3, "{name}: the slope is next to nothing: {agreement:?}");
        let error = (agreement.slope - agreement.gradient).abs() / agreement.gradient.abs();
        assert!(error < 1e-6, "{name}: {agreement:?} ({error:e} vs at most 1e-6)");
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let case = Case::new(small(Edge::Wrap), [2, 2, 31, 35], 3, 3.0);
    let [one, three] = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| case.run(Policy::default(), &Device::cpu()))
    });
    assert!(one == three, "one thread and three differ");
}

/// One test for the CPU and one for every available GPU.
macro_rules! on_devices {
    ($($check:ident: $cpu:ident, $gpu:ident;)*) => {
        $(
            #[test]
            fn $cpu() {
                $check(&Device::cpu());
            }

            #[test]
            fn $gpu() {
                gpus().iter().for_each($check);
            }
        )*
    };
}

on_devices! {
    agrees_with_the_reference: cpu_agrees_with_the_reference, gpu_agrees_with_the_reference;
    policies_agree: cpu_policies_agree_bit_for_bit, gpu_policies_agree_bit_for_bit;
    unfired_cells_pass_gradients_on: cpu_unfired_cells_pass_gradients_on, gpu_unfired_cells_pass_gradients_on;
    batch_is_the_sum_of_its_grids: cpu_batch_is_the_sum_of_its_grids, gpu_batch_is_the_sum_of_its_grids;
    seeds_are_alone: cpu_seeds_are_as_each_alone, gpu_seeds_are_as_each_alone;
    hard_gates_compute_bits: cpu_hard_gates_compute_bits, gpu_hard_gates_compute_bits;
}
