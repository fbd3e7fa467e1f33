//! Logic networks: learned wires and trees compared with double precision on every device, circuits compared
//! with networks, and inputs that do not match.

mod devices;
mod numbers;

use farad::check;
use farad::nn::Layer;
use farad::prelude::*;
use farad_circuit::{Netlist, Simulator};
use farad_logic::network::choice::{Candidates, choose};
use farad_logic::network::{
    CompactLayer, NetworkBlock, Reach, RecurrentLogic, Review, Reviewed, TreeShape, Trees, WiredLayer,
    WiringKind,
};
use farad_logic::{GroupSum, LogicLayer, LogicNetwork, Pass, Thermometer};
use numbers::{Draw, distance};

fn uniform(shape: [usize; 2], seed: u64, device: &Device) -> Tensor {
    let numbers = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1).uniforms(shape[0] * shape[1]);
    Tensor::from_vec(numbers, shape, device)
}

/// The chosen values, and gradients of a weighted sum of them with respect to weights and inputs.
fn chosen(candidates: &Candidates, batch: usize, device: &Device) -> [Tensor; 3] {
    let weights = uniform([candidates.rows(), candidates.count], 7, device) - 0.3;
    let x = uniform([candidates.inputs, batch], 3, device);
    let y = choose(&weights, &candidates.on(device), &x);
    let loss = (&y * (uniform([candidates.rows(), batch], 5, device) - 0.5)).sum();
    let [at_weights, at_x] =
        loss.gradients_at(&[&weights, &x]).expect("it has gradients").try_into().expect("two");
    [y, at_weights, at_x]
}

#[test]
fn choices_agree_with_double_precision() {
    for (inputs, rows, count, batch) in [
        (9, 4, 3, 1),
        (30, 50, 8, 5),
        (784, 1000, 8, 64),
        (16, 40, 16, 100),
        (3, 7, 1, 33),
        (40, 20, 4, 1028),
    ] {
        let candidates = Candidates::random(inputs, rows, count, 1, 0).unwrap();
        for device in devices::all() {
            let results = chosen(&candidates, batch, &device);
            let wanted = check::reference(&results).expect("it evaluates");
            for (result, wanted) in results.iter().zip(wanted) {
                let off = distance(&result.to_vec::<f32>().expect("it reads"), &wanted.to_f64());
                let sizes = (inputs, rows, count, batch);
                assert!(off < 1e-5, "{sizes:?}: {} on {device}: off by {off:.1e}", result.shape());
            }
        }
    }
}

#[test]
fn gradients_of_choices_are_slopes() {
    let device = Device::cpu();
    let arrays = Candidates::random(9, 12, 4, 2, 0).unwrap().on(&device);
    let inputs = [uniform([12, 4], 1, &device), uniform([9, 5], 2, &device)];
    let agreement =
        check::gradients(&inputs, |inputs| choose(&inputs[0], &arrays, &inputs[1]).square().sum()).unwrap();
    assert!(agreement.error() < 1e-7 && agreement.slope.abs() > 1e-3, "{agreement:?}");
}

/// A stage of trees with all kinds of gates.
fn stage(shape: TreeShape, device: &Device) -> Trees {
    let trees = Trees::new(shape, 3, 1).unwrap();
    for (n, parameter) in trees.parameters().iter().enumerate() {
        let sizes = parameter.value().shape().to_vec();
        parameter.set(uniform([sizes[0], sizes[1]], 40 + n as u64, &Device::cpu()) * 4.0);
    }
    trees.to_device(device)
}

/// The outputs of trees, and the gradients of a weighted sum of them with respect to the inputs and every level
/// of gates.
fn grown(shape: TreeShape, batch: usize, pass: Pass, device: &Device) -> Vec<Tensor> {
    let trees = stage(shape, device);
    let x = uniform([trees.inputs(), batch], 3, device);
    // Hard gates on bits are exact, so the index of the largest square does not depend on rounding.
    let x = if pass == Pass::Soft { x } else { x.greater(0.5).cast(DType::F32) };
    let y = trees.features(&x, pass);
    let loss = (&y * (uniform([trees.outputs(), batch], 5, device) - 0.5)).sum();
    let logits: Vec<Tensor> = trees.parameters().iter().map(|parameter| parameter.value()).collect();
    let at: Vec<&Tensor> = std::iter::once(&x).chain(&logits).collect();
    [vec![y], loss.gradients_at(&at).expect("it has gradients")].concat()
}

/// Stages of different depths, windows, paddings and squares.
fn shapes() -> [TreeShape; 5] {
    let usual = TreeShape {
        channels: 4,
        beside: 1,
        height: 6,
        width: 5,
        kernels: 7,
        depth: 3,
        window: 3,
        padded: true,
        reads: 2,
        pool: 2,
    };
    [
        usual,
        TreeShape { channels: 6, beside: 3, padded: false, ..usual },
        TreeShape { depth: 1, window: 2, pool: 1, ..usual },
        TreeShape { depth: 4, window: 5, reads: 1, pool: 3, ..usual },
        TreeShape { height: 20, width: 20, kernels: 3, ..usual },
    ]
}

#[test]
fn trees_agree_with_double_precision() {
    for (n, shape) in shapes().into_iter().enumerate() {
        for (batch, pass) in [(1, Pass::Soft), (64, Pass::Soft), (37, Pass::Straight), (20, Pass::Straight)] {
            for device in devices::all() {
                let results = grown(shape, batch, pass, &device);
                let wanted = check::reference(&results).expect("it evaluates");
                for (result, wanted) in results.iter().zip(wanted) {
                    let off = distance(&result.to_vec::<f32>().expect("it reads"), &wanted.to_f64());
                    assert!(
                        off < 1e-5,
                        "stage {n}, {batch} samples: {} on {device}: {off:.1e}",
                        result.shape()
                    );
                }
            }
        }
    }
}

#[test]
fn gradients_of_trees_are_slopes() {
    for shape in shapes() {
        let trees = stage(shape, &Device::cpu());
        let x = uniform([trees.inputs(), 3], 2, &Device::cpu());
        let agreement =
            check::gradients(&[x], |inputs| trees.features(&inputs[0], Pass::Soft).square().sum()).unwrap();
        assert!(agreement.error() < 1e-6 && agreement.slope.abs() > 1e-4, "{shape:?}: {agreement:?}");
    }
}

/// Layers of neurons: on all inputs, and on windows of a picture.
fn reaches() -> [Reach; 4] {
    let window =
        Reach::Window { channels: 3, beside: 1, height: 6, width: 5, kernels: 7, window: 3, stride: 1 };
    [
        Reach::All { inputs: 12, neurons: 20 },
        Reach::All { inputs: 700, neurons: 900 },
        window,
        Reach::Window { channels: 4, beside: 2, height: 9, width: 7, kernels: 5, window: 3, stride: 2 },
    ]
}

fn compact(reach: Reach, device: &Device) -> CompactLayer {
    let layer = CompactLayer::new(reach, 5, 2).unwrap();
    layer.logits.set(uniform([reach.neurons(), 16], 11, &Device::cpu()) * 4.0);
    layer.to_device(device)
}

#[test]
fn neurons_agree_with_double_precision() {
    for (n, reach) in reaches().into_iter().enumerate() {
        for (batch, pass) in [(1, Pass::Soft), (64, Pass::Soft), (37, Pass::Straight), (100, Pass::Soft)] {
            for device in devices::all() {
                let layer = compact(reach, &device);
                let x = uniform([layer.inputs(), batch], 3, &device);
                let y = layer.features(&x, pass);
                let loss = (&y * (uniform([layer.outputs(), batch], 5, &device) - 0.5)).sum();
                let gradients = loss.gradients_at(&[&layer.logits.value(), &x]).expect("it has gradients");
                let results = [vec![y], gradients].concat();
                let wanted = check::reference(&results).expect("it evaluates");
                for (result, wanted) in results.iter().zip(wanted) {
                    let off = distance(&result.to_vec::<f32>().expect("it reads"), &wanted.to_f64());
                    assert!(
                        off < 1e-5,
                        "layer {n}, {batch} samples: {} on {device}: {off:.1e}",
                        result.shape()
                    );
                }
            }
        }
    }
}

#[test]
fn gradients_of_neurons_are_slopes() {
    for reach in reaches() {
        let layer = compact(reach, &Device::cpu());
        let x = uniform([layer.inputs(), 3], 2, &Device::cpu());
        let agreement =
            check::gradients(&[x], |inputs| layer.features(&inputs[0], Pass::Soft).square().sum()).unwrap();
        assert!(agreement.error() < 1e-6 && agreement.slope.abs() > 1e-4, "{reach:?}: {agreement:?}");
    }
}

/// The output bits of a layer for input bits.
fn hard_bits(layer: &CompactLayer, device: &Device) -> Vec<f32> {
    let x = uniform([layer.inputs(), 40], 8, device).greater(0.5).cast(DType::F32);
    layer.features(&x, Pass::Hard).to_vec().unwrap()
}

#[test]
fn circuits_of_neurons_give_their_bits() {
    for reach in reaches() {
        let layer = compact(reach, &Device::cpu());
        let x = uniform([layer.inputs(), 64], 8, &Device::cpu()).greater(0.5).cast(DType::F32);
        let wanted: Vec<f32> = layer.features(&x, Pass::Hard).to_vec().unwrap();
        let mut netlist = Netlist::new("neurons");
        let inputs: Vec<_> = (0..layer.inputs()).map(|n| netlist.input(format!("x{n}"))).collect();
        let outputs = layer.add_to(&mut netlist, &inputs).unwrap();
        outputs.into_iter().enumerate().for_each(|(n, wire)| netlist.output(format!("y{n}"), wire));
        let plane = |row: &[f32]| vec![(0..64).map(|n| u64::from(row[n] == 1.0) << n).sum::<u64>()];
        let planes: Vec<Vec<u64>> = x.to_vec::<f32>().unwrap().chunks(64).map(plane).collect();
        let slices: Vec<&[u64]> = planes.iter().map(Vec::as_slice).collect();
        let found = Simulator::new(&netlist).unwrap().run(&slices);
        assert_eq!(found, wanted.chunks(64).map(plane).collect::<Vec<_>>(), "{reach:?}");
    }
}

#[test]
fn frozen_neurons_are_their_likeliest_gates() {
    for (reach, device) in
        reaches().into_iter().flat_map(|reach| devices::all().into_iter().map(move |d| (reach, d)))
    {
        let layer = compact(reach, &device);
        let before = hard_bits(&layer, &device);
        assert!(!layer.is_frozen().unwrap());
        layer.freeze().unwrap();
        assert!(layer.is_frozen().unwrap() && layer.logits.is_frozen());
        assert_eq!(hard_bits(&layer, &device), before, "{reach:?} on {device}");
    }
}

#[test]
fn neurons_that_stand_still_draw_again() {
    let reach = Reach::All { inputs: 50, neurons: 3 };
    let layer = CompactLayer::new(reach, 5, 2).unwrap();
    // One neuron that is sure of OR, one that cannot decide, and one in between.
    let row = |strength: f32| (0..16).map(move |n| if n == 7 { strength } else { 0.0 });
    let logits: Vec<f32> = row(9.0).chain(row(0.0)).chain(row(3.0)).collect();
    let cpu = Device::cpu();
    layer.logits.set(Tensor::from_vec(logits.clone(), [3, 16], &cpu));
    let drawn =
        || layer.state().into_iter().find(|(name, _)| name == "drawn").unwrap().1.to_vec::<u32>().unwrap();
    let before = drawn();
    let review = |number| Review { number, steps: 100, patience: Some(150) };
    // The first review has no average yet, the second sees 100 constant steps.
    for (number, still) in [(1, false), (2, true)] {
        assert_eq!(layer.review(&review(number)).unwrap(), Reviewed { redrawn: vec![], still });
    }
    let reviewed = layer.review(&review(3)).unwrap();
    assert_eq!((reviewed.redrawn, reviewed.still), (vec![0, 1], false));
    let after = drawn();
    let same = |neuron: usize, slot: usize| {
        let place = 32 * neuron + 2 * slot;
        before[place..place + 2] == after[place..place + 2]
    };
    assert!(same(0, 7), "the winner stays");
    assert!(
        (0..16).filter(|&slot| same(0, slot)).count() < 3
            && (0..16).filter(|&slot| same(1, slot)).count() < 3
    );
    assert!((0..16).all(|slot| same(2, slot)), "what may still decide stays");
    let logits_after = layer.logits.value().to_vec::<f32>().unwrap();
    let best = |neuron: usize| (0..16).find(|n| logits_after[16 * neuron + n] > 4.0);
    assert_eq!([best(0), best(1)], [Some(7), Some(3)]);
    assert_eq!(logits_after[32..], logits[32..]);
}

/// Layers of every kind in sequence, on pictures of 6 × 5 pixels.
fn mixed(device: &Device) -> LogicNetwork {
    let encoding = Thermometer::even(30, 2, 0.0, 1.0).unwrap();
    let shape = TreeShape {
        channels: 2,
        beside: 2,
        height: 6,
        width: 5,
        kernels: 4,
        depth: 2,
        window: 3,
        padded: true,
        reads: 2,
        pool: 2,
    };
    let trees = Trees::new(shape, 1, 0).unwrap();
    let wired = WiredLayer::new(trees.outputs(), 40, 4, 1.0, 1, 1).unwrap();
    let plain = LogicLayer::new(40, 30, WiringKind::Unique, 1, 2).unwrap();
    let layers = vec![NetworkBlock::Trees(trees), NetworkBlock::Wired(wired), NetworkBlock::Gates(plain)];
    let network = LogicNetwork::new(encoding, layers, GroupSum::new(30, 3, 2.0).unwrap()).unwrap();
    // Gates of all kinds, and choices other than the first.
    for (n, (_, parameter)) in network.named_parameters().iter().enumerate() {
        if !parameter.is_frozen() {
            let sizes = parameter.value().shape().to_vec();
            parameter.set(uniform([sizes[0], sizes[1]], 90 + n as u64, &Device::cpu()) * 4.0);
        }
    }
    network.to_device(device)
}

/// The circuit's classes for samples, one column each.
fn by_circuit(netlist: &Netlist, bits: &[f32], batch: usize) -> Vec<i32> {
    let words = batch.div_ceil(64);
    let plane = |row: &[f32]| {
        let mut plane = vec![0u64; words];
        row.iter().enumerate().for_each(|(n, &bit)| plane[n / 64] |= u64::from(bit == 1.0) << (n % 64));
        plane
    };
    let planes: Vec<Vec<u64>> = bits.chunks(batch).map(plane).collect();
    let outputs = Simulator::new(netlist).unwrap().run(&planes.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let class = |n: usize| {
        outputs.iter().enumerate().map(|(bit, plane)| ((plane[n / 64] >> (n % 64) & 1) as i32) << bit).sum()
    };
    (0..batch).map(class).collect()
}

#[test]
fn circuits_say_what_hard_networks_say() {
    let batch = 300;
    let mut before: Option<Vec<i32>> = None;
    for device in devices::all() {
        let network = mixed(&device);
        let x = uniform([30, batch], 4, &device);
        let classes = network.classes(&x).to_vec::<i32>().unwrap();
        let bits = network.encoding().bits(&x, Pass::Hard).to_vec::<f32>().unwrap();
        let netlist = network.to_netlist("mixed").unwrap();
        netlist.check().unwrap();
        assert_eq!((netlist.inputs.len(), netlist.outputs.len()), (60, 2));
        assert_eq!(by_circuit(&netlist, &bits, batch), classes, "on {device}");
        assert!((0..3).all(|class| classes.contains(&class)), "all classes are seen on {device}");
        assert!(before.as_ref().is_none_or(|before| *before == classes), "as elsewhere on {device}");
        before = Some(classes);
    }
}

#[test]
fn decided_networks_are_soft_and_hard_alike() {
    for device in devices::all() {
        let network = mixed(&device);
        for (_, parameter) in network.named_parameters() {
            if !parameter.is_frozen() {
                parameter.set(parameter.value() * 1e5);
            }
        }
        let x = uniform([30, 40], 4, &device);
        let said = |pass: Pass| network.features(&x, pass).to_vec::<f32>().unwrap();
        assert_eq!(said(Pass::Soft), said(Pass::Hard), "on {device}");
        assert_eq!(said(Pass::Straight), said(Pass::Hard), "on {device}");
    }
}

#[test]
fn every_part_of_a_network_has_a_gradient() {
    for device in devices::all() {
        let network = mixed(&device);
        let x = uniform([30, 16], 4, &device);
        let labels = Tensor::from_vec((0..16).map(|n| n % 3).collect::<Vec<i32>>(), [16], &device);
        for pass in [Pass::Soft, Pass::Straight] {
            let loss = network.features(&x, pass).transpose(0, 1).cross_entropy(&labels);
            let parameters = network.parameters();
            for (n, g) in loss.gradients(&parameters).unwrap().iter().enumerate() {
                let g = g.to_vec::<f32>().unwrap();
                assert!(g.iter().all(|g| g.is_finite()) && g.iter().any(|&g| g != 0.0), "{n} on {device}");
            }
        }
    }
}

#[test]
fn thresholds_can_be_learned() {
    for device in devices::all() {
        let encoding =
            Thermometer::fixed(2, &[0.5]).unwrap().learned(&[0.2, 0.2]).unwrap().to_device(&device);
        let x = uniform([2, 200], 9, &device);
        // Bits should be set from 0.2 on: most of the wrong ones pull the thresholds down.
        let wanted = x.greater_equal(0.2).cast(DType::F32);
        let mut adam = Adam::new(encoding.parameters()).learning_rate(0.05);
        for _ in 0..60 {
            adam.step(&(encoding.bits(&x, Pass::Soft) - &wanted).square().sum()).unwrap();
        }
        let levels = encoding.levels().unwrap();
        assert!(levels.iter().all(|level| (level - 0.2).abs() < 0.06), "{levels:?} on {device}");
    }
}

#[test]
fn quantiles_lie_between_equally_many() {
    let samples: Vec<f32> = (0..100).flat_map(|n| [n as f32, (n % 2) as f32]).collect();
    let levels = Thermometer::quantiles(2, 3, &samples).unwrap().levels().unwrap();
    let below = |level: f32| (0..100).filter(|&n| (n as f32) < level).count();
    assert_eq!(levels[..3].iter().map(|&level| below(level)).collect::<Vec<_>>(), [25, 50, 75]);
    // With two values, every threshold except the last lies between them.
    assert!(levels[3..].iter().any(|&level| level > 0.0 && level < 1.0), "{levels:?}");
}

#[test]
fn a_network_learns_exclusive_or_of_its_inputs() {
    for device in devices::all() {
        let encoding = Thermometer::threshold(2, 0.5).unwrap();
        let layers =
            vec![NetworkBlock::Gates(LogicLayer::new(2, 8, WiringKind::Random, 3, 0).unwrap().passing(0.5))];
        let network = LogicNetwork::new(encoding, layers, GroupSum::new(8, 2, 1.0).unwrap()).unwrap();
        let network = network.to_device(&device);
        let x = Tensor::from_vec(vec![0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0], [2, 4], &device);
        let labels = Tensor::from_vec(vec![0, 1, 1, 0], [4], &device);
        let mut adam = Adam::new(network.parameters()).learning_rate(0.1);
        for _ in 0..100 {
            let said = network.features(&x, Pass::Soft).transpose(0, 1);
            adam.step(&said.cross_entropy(&labels)).unwrap();
        }
        assert_eq!(network.classes(&x).to_vec::<i32>().unwrap(), [0, 1, 1, 0], "on {device}");
        assert_eq!(network.forward(&x.transpose(0, 1)).shape()[..], [4, 2]);
    }
}

/// Whether an odd number of bits was set so far, as a cell of one layer: the exclusive or of state and input.
#[test]
fn a_cell_learns_the_parity_of_a_sequence() {
    for device in devices::all() {
        let layer = LogicLayer::new(2, 1, WiringKind::Unique, 1, 0).unwrap().passing(0.5);
        let cell = RecurrentLogic::new(1, vec![NetworkBlock::Gates(layer)]).unwrap().to_device(&device);
        let bits = uniform([4, 64], 8, &device).greater_equal(0.5).cast(DType::F32);
        let wanted = bits.sum_axes(kept([0])).remainder(2.0);
        let x = bits.reshape([4, 1, 64]);
        let mut adam = Adam::new(cell.parameters()).learning_rate(0.1);
        // After every position: the last one alone, far from most gates, has almost no gradient.
        let distance = |positions: usize| {
            let wanted = bits.narrow(0, 0, positions).sum_axes(kept([0])).remainder(2.0);
            (cell.last(&x.narrow(0, 0, positions), Pass::Soft) - wanted).square().sum()
        };
        for _ in 0..150 {
            adam.step(&(1..=4).map(distance).reduce(|a, b| a + b).expect("four positions")).unwrap();
        }
        let said = cell.last(&x, Pass::Hard).to_vec::<f32>().unwrap();
        assert_eq!(said, wanted.to_vec::<f32>().unwrap(), "on {device}");
        let netlist = cell.to_netlist("parity").unwrap();
        let simulator = Simulator::new(&netlist).unwrap();
        let mut state = simulator.start(1);
        let rows = bits.to_vec::<f32>().unwrap();
        for row in rows.chunks(64) {
            let word = row.iter().enumerate().map(|(n, &bit)| u64::from(bit == 1.0) << n).sum::<u64>();
            simulator.step(&mut state, &[&[word]]);
        }
        let circuit: Vec<f32> = (0..64).map(|n| (state.planes()[0][0] >> n & 1) as f32).collect();
        assert_eq!(circuit, said, "the circuit, on {device}");
    }
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let text = |error: farad_logic::Error| error.to_string();
    assert_eq!(
        text(LogicLayer::new(10, 4, WiringKind::Unique, 1, 0).unwrap_err()),
        "wiring: too few gates to read every input once: 10 inputs, 4 gates (4 vs 5)"
    );
    assert_eq!(
        text(LogicLayer::new(4, 7, WiringKind::Unique, 1, 0).unwrap_err()),
        "wiring: more gates than pairs of inputs: 4 inputs, 7 gates (7 vs 6)"
    );
    assert_eq!(
        text(WiredLayer::new(4, 7, 8, 1.0, 1, 0).unwrap_err()),
        "wiring: a wire cannot choose among more candidates than inputs: 4 inputs, 7 gates (8 vs 4)"
    );
    let groups = text(GroupSum::new(25, 10, 1.0).unwrap_err());
    assert!(groups.starts_with("group sum: outputs cannot be divided equally among the classes"), "{groups}");
    assert!(groups.contains("(25 vs a multiple of 10 classes)\nhelp: "), "{groups}");
    assert!(GroupSum::new(0, 10, 1.0).is_err() && GroupSum::new(5, 10, 1.0).is_err());
    assert_eq!(
        text(GroupSum::new(10, 1, 1.0).unwrap_err()),
        "classify: too few classes (1 class vs at least 2)"
    );
    assert_eq!(
        text(Thermometer::fixed(3, &[]).unwrap_err()),
        "encoding: needs features and at least one threshold (0 vs 1)"
    );
    assert_eq!(
        text(Thermometer::fixed(3, &[0.5]).unwrap().learned(&[1.0]).unwrap_err()),
        "encoding: learned thresholds need one scale per feature (1 vs 3)"
    );
    assert_eq!(
        text(Thermometer::quantiles(3, 2, &[1.0; 7]).unwrap_err()),
        "encoding: samples are rows of one number per feature (7 vs 3)"
    );
    let encoding = Thermometer::threshold(4, 0.5).unwrap();
    let layer = LogicLayer::new(5, 6, WiringKind::Random, 1, 0).unwrap();
    let head = GroupSum::new(6, 2, 1.0).unwrap();
    assert_eq!(
        text(LogicNetwork::new(encoding, vec![NetworkBlock::Gates(layer)], head).unwrap_err()),
        "logic network: layer 0 does not match the layer before it (4 bits vs 5)"
    );
    let small = TreeShape {
        channels: 1,
        beside: 1,
        height: 4,
        width: 4,
        kernels: 2,
        depth: 1,
        window: 5,
        padded: true,
        reads: 1,
        pool: 1,
    };
    assert_eq!(
        text(Trees::new(small, 1, 0).unwrap_err()),
        "wiring: the window of a tree is larger than the picture: 16 inputs, 2 gates (5 vs 4)"
    );
}
