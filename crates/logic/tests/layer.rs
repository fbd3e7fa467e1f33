//! Layers of gates: compared with double precision on every device, hard with soft, and as circuits.

mod devices;
mod numbers;

use farad::check;
use farad::nn::Layer;
use farad::prelude::*;
use farad_circuit::Netlist;
use farad_logic::{GateLayer, GateNetwork, GateTable, LayerWiring, Wires, gates};
use numbers::{Draw, distance};

/// Numbers between 0 and 1, the same everywhere.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1).uniforms(count)
}

fn uniform(shape: [usize; 2], seed: u64, device: &Device) -> Tensor {
    Tensor::from_vec(numbers(shape[0] * shape[1], seed), shape, device)
}

fn bits(shape: [usize; 2], seed: u64, device: &Device) -> Tensor {
    let bits: Vec<f32> = numbers(shape[0] * shape[1], seed).iter().map(|x| x.round()).collect();
    Tensor::from_vec(bits, shape, device)
}

/// Coefficients of soft gates whose logits lie between -2 and 2.
fn coefficients(outputs: usize, seed: u64, device: &Device) -> Tensor {
    let logits = uniform([outputs, 16], seed, device) * 4.0 - 2.0;
    GateTable::on(device).soft(&logits).detach().expect("it is computed")
}

/// The outputs, and gradients of a weighted sum of them with respect to coefficients and inputs.
fn everything(coefficients: &Tensor, wires: &Wires, x: &Tensor) -> [Tensor; 3] {
    let device = coefficients.device();
    let y = gates(coefficients, &LayerWiring::new(wires, device), x);
    let weights = uniform([y.shape()[0], y.shape()[1]], 5, device) - 0.5;
    let loss = (&y * weights).sum();
    let [c, x] = loss.gradients_at(&[coefficients, x]).expect("it has gradients").try_into().expect("two");
    [y, c, x]
}

fn agrees(wires: &Wires, batch: usize) {
    for device in devices::all() {
        let x = uniform([wires.inputs, batch], 3, &device);
        let results = everything(&coefficients(wires.outputs(), 7, &device), wires, &x);
        let wanted = check::reference(&results).expect("it evaluates");
        for ((result, wanted), tolerance) in results.iter().zip(wanted).zip([1e-5, 1e-4, 1e-4]) {
            let off = distance(&result.to_vec::<f32>().expect("it reads"), &wanted.to_f64());
            let sizes = (wires.inputs, wires.outputs(), batch);
            assert!(off < tolerance, "{sizes:?}: {} on {device}: off by {off:.1e}", result.shape());
        }
    }
}

#[test]
fn layers_agree_with_double_precision() {
    for (inputs, outputs) in [(8, 4), (16, 8), (64, 32), (264, 256)] {
        for batch in [1, 5, 8, 64, 100] {
            agrees(&Wires::unique(inputs, outputs, 1, 0), batch);
        }
    }
}

#[test]
fn wide_layers_agree_with_double_precision() {
    agrees(&Wires::random(65_536, 65_536, 1, 0), 4);
    agrees(&Wires::random(1000, 65_536, 1, 0), 3);
}

#[test]
fn long_batches_agree_with_double_precision() {
    agrees(&Wires::unique(8, 4, 1, 0), 10_000);
    agrees(&Wires::unique(8, 5, 1, 0), 2047);
}

#[test]
fn inputs_may_have_many_readers_or_none() {
    agrees(&Wires::unique(17, 128, 23, 5), 20);
    agrees(&Wires { inputs: 3, a: vec![1; 40], b: vec![1; 40] }, 9);
}

#[test]
fn more_gates_than_a_row_of_workgroups_takes() {
    let wires = Wires::random(1000, 1_060_000, 1, 0);
    let wide = |numbers: Vec<f32>| numbers.into_iter().map(f64::from).collect::<Vec<f64>>();
    let (x, c) = (wide(numbers(1000 * 17, 3)), wide(numbers(4 * wires.outputs(), 7)));
    let wanted: Vec<f64> = (0..wires.outputs() * 17)
        .map(|n| {
            let (gate, sample) = (n / 17, n % 17);
            let value = |input: u32| x[input as usize * 17 + sample];
            let (a, b, c) = (value(wires.a[gate]), value(wires.b[gate]), &c[4 * gate..]);
            c[0] + c[1] * a + c[2] * b + c[3] * a * b
        })
        .collect();
    for device in devices::all() {
        let (x, c) = (uniform([1000, 17], 3, &device), uniform([wires.outputs(), 4], 7, &device));
        let y = gates(&c, &LayerWiring::new(&wires, &device), &x).to_vec::<f32>().expect("it reads");
        let off = distance(&y, &wanted);
        assert!(off < 1e-6, "on {device}: off by {off:.1e}");
    }
}

#[test]
fn gradients_are_slopes() {
    let device = Device::cpu();
    let wires = Wires::random(6, 15, 2, 0);
    let wiring = LayerWiring::new(&wires, &device);
    let inputs = [coefficients(15, 1, &device), uniform([6, 4], 2, &device)];
    let agreement =
        check::gradients(&inputs, |inputs| gates(&inputs[0], &wiring, &inputs[1]).square().sum()).unwrap();
    assert!(agreement.error() < 1e-7 && agreement.slope.abs() > 1e-3, "{agreement:?}");
}

#[test]
fn a_batch_is_the_sum_of_its_samples() {
    let wires = Wires::unique(16, 24, 4, 0);
    for device in devices::all() {
        let (c, x) = (coefficients(24, 1, &device), uniform([16, 12], 2, &device));
        let wiring = LayerWiring::new(&wires, &device);
        let both = |x: &Tensor| {
            let y = gates(&c, &wiring, x);
            let gradient = y.square().sum().gradient(&c).unwrap();
            (y.transpose(0, 1).to_vec::<f32>().unwrap(), gradient.to_vec::<f32>().unwrap())
        };
        let (together, gradient) = both(&x);
        let (mut singles, mut sum) = (vec![], vec![0f64; gradient.len()]);
        for sample in 0..12 {
            let (y, gradient) = both(&x.transpose(0, 1).slice(sample..sample + 1).transpose(0, 1));
            singles.extend(y);
            sum.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += g as f64);
        }
        assert_eq!(together, singles, "outputs on {device}");
        assert!(distance(&gradient, &sum) < 1e-6, "gradients on {device}");
    }
}

#[test]
fn decided_gates_are_hard_gates() {
    for device in devices::all() {
        let layer = GateLayer::random(20, 30, 3);
        layer.logits.set(uniform([30, 16], 9, &device) * 1e6);
        let x = bits([33, 20], 1, &device);
        let (soft, hard) = (layer.forward(&x), layer.hard(&x));
        let (soft, hard) = (soft.to_vec::<f32>().unwrap(), hard.to_vec::<f32>().unwrap());
        assert_eq!(soft, hard, "on {device}");
        assert!(hard.iter().all(|&y| y == 0.0 || y == 1.0));
        assert!(hard.contains(&0.0) && hard.contains(&1.0));
    }
}

#[test]
fn passing_gates_pass_their_first_operand() {
    let layer = GateLayer::unique(6, 5, 3).passing(40.0);
    let x = uniform([2, 6], 1, &Device::cpu());
    let (x, y) = (x.to_vec::<f32>().unwrap(), layer.forward(&x).to_vec::<f32>().unwrap());
    for (x, y) in x.chunks(6).zip(y.chunks(5)) {
        let passed: Vec<f32> = layer.wires().a.iter().map(|&a| x[a as usize]).collect();
        assert!(y.iter().zip(&passed).all(|(y, x)| (y - x).abs() < 1e-6), "{y:?} is not {passed:?}");
    }
}

/// The outputs of a netlist for one row of bits.
fn simulate(netlist: &Netlist, x: &[f32]) -> Vec<f32> {
    let mut values: Vec<bool> = x.iter().map(|&x| x == 1.0).collect();
    for node in &netlist.gates {
        values.push(node.gate.output(values[node.a.index()], values[node.b.index()]));
    }
    netlist.outputs.iter().map(|output| values[output.wire.index()] as u8 as f32).collect()
}

#[test]
fn a_netlist_is_the_hard_network() {
    for device in devices::all() {
        let network = GateNetwork::new(&[40, 200, 100, 30], 5).to_device(&device);
        let netlist = network.to_netlist("network").unwrap();
        netlist.check().unwrap();
        assert_eq!((netlist.inputs[39].as_str(), netlist.outputs[29].name.as_str()), ("x39", "y29"));
        let x = bits([100, 40], 8, &device);
        let hard = network.hard(&x).to_vec::<f32>().unwrap();
        for (x, hard) in x.to_vec::<f32>().unwrap().chunks(40).zip(hard.chunks(30)) {
            assert_eq!(simulate(&netlist, x), hard, "on {device}");
        }
    }
}

#[test]
fn transpositions_between_layers_cancel() {
    for device in devices::own(51) {
        let layers: Vec<GateLayer> = (0..3).map(|seed| GateLayer::random(64, 64, seed)).collect();
        let network = GateNetwork::of(layers.clone()).to_device(&device);
        let [first, second, third] = layers.try_into().expect("three");
        let sequence = Sequential::new((first, second, third));
        let x = uniform([32, 64], 1, &device);
        let count = |model: &dyn Layer| {
            model.forward(&x).compute().unwrap();
            device.wait().unwrap();
            let before = device.counters().dispatches;
            model.forward(&x).compute().unwrap();
            device.wait().unwrap();
            device.counters().dispatches - before
        };
        assert_eq!(count(&sequence), count(&network), "on {device}");
        let (a, b) =
            (sequence.forward(&x).to_vec::<f32>().unwrap(), network.forward(&x).to_vec::<f32>().unwrap());
        assert_eq!(a, b, "on {device}");
    }
}

#[test]
fn an_empty_batch_has_no_outputs() {
    for device in devices::all() {
        let layer = GateLayer::random(8, 4, 1).to_device(&device);
        let y = layer.forward(&Tensor::zeros([0, 8], &device));
        assert_eq!((y.shape()[..].to_vec(), y.to_vec::<f32>().unwrap().len()), (vec![0, 4], 0));
    }
}

#[test]
#[should_panic(expected = "gates: features have the wrong shape: [5, 3], expected [8, 3] (5 vs 8)")]
fn samples_of_the_wrong_size_are_refused() {
    GateLayer::random(8, 4, 1).forward(&Tensor::zeros([3, 5], &Device::cpu()));
}

#[test]
#[should_panic(expected = "gate network: layers do not match: 0 and 1 (6 vs 7)")]
fn layers_that_do_not_fit_are_refused() {
    GateNetwork::of(vec![GateLayer::random(4, 6, 1), GateLayer::random(7, 2, 1)]);
}

/// Three bits to their sum. Three networks may try, because their initial values come from random numbers that
/// all tests share.
#[test]
fn a_network_learns_to_add() {
    for device in devices::all() {
        let rows: Vec<[f32; 3]> = (0..8).map(|n| [0, 1, 2].map(|bit| (n >> bit & 1) as f32)).collect();
        let sums = rows.iter().map(|row| row.iter().sum::<f32>());
        let wanted: Vec<f32> = sums.flat_map(|sum| [sum % 2.0, (sum / 2.0).floor()]).collect();
        let x = Tensor::from_vec(rows.concat(), [8, 3], &device);
        let y = Tensor::from_vec(wanted.clone(), [8, 2], &device);
        let learn = |seed: u64| {
            farad::seed(seed);
            let network = GateNetwork::new(&[3, 64, 32, 16, 2], 2).to_device(&device);
            let mut adam = AdamW::new(network.parameters()).learning_rate(0.1).weight_decay(0.0);
            let exact = (0..20).any(|_| {
                for _ in 0..25 {
                    adam.step(&network.forward(&x).mean_squared_error(&y)).unwrap();
                }
                network.hard(&x).to_vec::<f32>().unwrap() == wanted
            });
            exact.then_some(network)
        };
        let network = (1..=3).find_map(learn).unwrap_or_else(|| panic!("nothing is learned on {device}"));
        let netlist = network.to_netlist("adder").unwrap();
        let outputs: Vec<f32> = rows.iter().flat_map(|row| simulate(&netlist, row)).collect();
        assert_eq!(outputs, wanted, "on {device}");
    }
}
