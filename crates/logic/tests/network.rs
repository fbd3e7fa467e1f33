//! Logic networks: learned wires and trees against double precision on every device, circuits against networks, and what
//! does not fit.

mod devices;
mod numbers;

use farad::check;
use farad::nn::Layer;
use farad::prelude::*;
use farad_circuit::{Netlist, Simulator};
use farad_logic::network::choice::{Candidates, choose};
use farad_logic::network::{Block, RecurrentLogic, TreeShape, Trees, WiredLayer, WiringKind};
use farad_logic::{GroupSum, LogicLayer, LogicNetwork, Pass, Thermometer};
use numbers::{Draw, distance};

fn uniform(shape: [usize; 2], seed: u64, device: &Device) -> Tensor {
    let numbers = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1).uniforms(shape[0] * shape[1]);
    Tensor::from_vec(numbers, shape, device)
}

/// What rows choose, and gradients of a weighted sum of it at weights and inputs.
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

/// Layers of every kind in a row, on pictures of 6 × 5 pixels.
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
        reads: 2,
        pool: 2,
    };
    let trees = Trees::new(shape, 1, 0).unwrap();
    let wired = WiredLayer::new(trees.outputs(), 40, 4, 1.0, 1, 1).unwrap();
    let plain = LogicLayer::new(40, 30, WiringKind::Unique, 1, 2).unwrap();
    let layers = vec![Block::Trees(trees), Block::Wired(wired), Block::Gates(plain)];
    let network = LogicNetwork::new(encoding, layers, GroupSum::new(30, 3, 2.0).unwrap()).unwrap();
    // Gates of all kinds, and choices that are not the first.
    for (n, (_, parameter)) in network.named_parameters().iter().enumerate() {
        if !parameter.is_frozen() {
            let sizes = parameter.value().shape().to_vec();
            parameter.set(uniform([sizes[0], sizes[1]], 90 + n as u64, &Device::cpu()) * 4.0);
        }
    }
    network.to_device(device)
}

/// What the circuit says of samples, one column each.
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
    // Of two values every threshold but the last lies between them.
    assert!(levels[3..].iter().any(|&level| level > 0.0 && level < 1.0), "{levels:?}");
}

#[test]
fn a_network_learns_exclusive_or_of_its_inputs() {
    for device in devices::all() {
        let encoding = Thermometer::threshold(2, 0.5).unwrap();
        let layers =
            vec![Block::Gates(LogicLayer::new(2, 8, WiringKind::Random, 3, 0).unwrap().passing(0.5))];
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

/// Whether an odd number of bits was set so far, as a cell of one layer: the state and the input, exclusively.
#[test]
fn a_cell_learns_the_parity_of_a_sequence() {
    for device in devices::all() {
        let layer = LogicLayer::new(2, 1, WiringKind::Unique, 1, 0).unwrap().passing(0.5);
        let cell = RecurrentLogic::new(1, vec![Block::Gates(layer)]).unwrap().to_device(&device);
        let bits = uniform([4, 64], 8, &device).greater_equal(0.5).cast(DType::F32);
        let wanted = bits.sum_axes(kept([0])).remainder(2.0);
        let x = bits.reshape([4, 1, 64]);
        let mut adam = Adam::new(cell.parameters()).learning_rate(0.1);
        // After every position: of the last one alone, far from any gate, the slope is next to nothing.
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
    assert!(groups.starts_with("group sum: a class has no outputs of its own"), "{groups}");
    assert!(groups.contains("(25 vs a multiple of 10 classes)\nhelp: "), "{groups}");
    assert!(GroupSum::new(0, 10, 1.0).is_err() && GroupSum::new(5, 10, 1.0).is_err());
    assert_eq!(
        text(GroupSum::new(10, 1, 1.0).unwrap_err()),
        "classify: there is nothing to tell apart (1 class vs at least 2)"
    );
    assert_eq!(
        text(Thermometer::fixed(3, &[]).unwrap_err()),
        "encoding: needs features and at least one threshold (0 vs 1)"
    );
    assert_eq!(
        text(Thermometer::fixed(3, &[0.5]).unwrap().learned(&[1.0]).unwrap_err()),
        "encoding: learned thresholds need one scale a feature (1 vs 3)"
    );
    assert_eq!(
        text(Thermometer::quantiles(3, 2, &[1.0; 7]).unwrap_err()),
        "encoding: samples are rows of one number a feature (7 vs 3)"
    );
    let encoding = Thermometer::threshold(4, 0.5).unwrap();
    let layer = LogicLayer::new(5, 6, WiringKind::Random, 1, 0).unwrap();
    let head = GroupSum::new(6, 2, 1.0).unwrap();
    assert_eq!(
        text(LogicNetwork::new(encoding, vec![Block::Gates(layer)], head).unwrap_err()),
        "logic network: layer 0 does not take what comes before it (4 bits vs 5)"
    );
    let small = TreeShape {
        channels: 1,
        beside: 1,
        height: 4,
        width: 4,
        kernels: 2,
        depth: 1,
        window: 5,
        reads: 1,
        pool: 1,
    };
    assert_eq!(
        text(Trees::new(small, 1, 0).unwrap_err()),
        "wiring: the window of a tree is larger than the picture: 16 inputs, 2 gates (5 vs 4)"
    );
}
