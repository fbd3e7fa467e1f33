//! Gates with sixteen and with four logits: what they compute, how they become hard, and what drives them
//! there.

mod devices;
mod numbers;

use farad::prelude::*;
use farad_circuit::Gate;
use farad_logic::{GateKind, GateTable, Rounding, SoftGates, straight_through};
use numbers::{Draw, distance};

const KINDS: [(GateKind, Rounding); 3] = [
    (GateKind::Sixteen, Rounding::Likeliest),
    (GateKind::Sixteen, Rounding::Nearest),
    (GateKind::Four, Rounding::Nearest),
];

const GATES: usize = 40;

fn logits(gates: &SoftGates, device: &Device) -> Tensor {
    let numbers = Draw(7).uniforms(GATES * gates.width()).iter().map(|u| 8.0 * u - 4.0).collect();
    Tensor::from_vec::<f32>(numbers, [2, GATES / 2, gates.width()], device)
}

/// A sum that weights every coefficient differently.
fn weighed(coefficients: &Tensor) -> Tensor {
    let weights: Vec<f32> = Draw(3).uniforms(coefficients.numel());
    (coefficients * Tensor::from_vec(weights, coefficients.shape(), coefficients.device())).sum()
}

#[test]
fn both_kinds_start_as_the_same_gates() {
    for device in devices::all() {
        for strength in [0.5, 4.0, 10.0] {
            let [sixteen, four] = [GateKind::Sixteen, GateKind::Four].map(|kind| {
                let gates = SoftGates::new(kind, Rounding::Nearest, &device);
                let logits = gates.initial(&[2, 3], strength, &device);
                assert_eq!(logits.shape().to_vec(), [2, 3, gates.width()]);
                assert_eq!(gates.numbers(&logits).to_vec::<i32>().unwrap(), [Gate::A.number() as i32; 6]);
                gates.soft(&logits).to_vec::<f32>().unwrap()
            });
            let error = sixteen.iter().zip(&four).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(error < 1e-6, "{strength} on {device}: {error:e}");
        }
    }
}

#[test]
fn coefficients_and_their_gradients_are_right_on_every_device() {
    for (kind, rounding) in KINDS {
        let agreement = {
            let gates = SoftGates::new(kind, rounding, &Device::cpu());
            let functions: [fn(&SoftGates, &Tensor) -> Tensor; 5] = [
                |gates, x| weighed(&gates.soft(x)),
                |gates, x| weighed(&gates.chances(x)),
                |gates, x| weighed(&gates.confidence(x)),
                |gates, x| gates.entropy(x).sum(),
                |gates, x| gates.shortfall(x, 5.0).sum(),
            ];
            functions.map(|function| {
                let x = logits(&gates, &Device::cpu());
                let found = farad::check::gradients(&[x], |x| function(&gates, &x[0])).unwrap();
                assert!(found.gradient != 0.0, "{kind:?}: the gradient is zero");
                found.error()
            })
        };
        assert!(agreement.iter().all(|&error| error < 1e-6), "{kind:?} {rounding:?}: {agreement:?}");
        for device in devices::all() {
            let gates = SoftGates::new(kind, rounding, &device);
            let x = logits(&gates, &device);
            let total = weighed(&gates.soft(&x)) + gates.entropy(&x).sum() + gates.shortfall(&x, 5.0).sum();
            let slope = total.gradient(&x).unwrap();
            let wanted = farad::check::reference(std::slice::from_ref(&slope)).unwrap()[0].to_f64();
            let error = distance(&slope.to_vec::<f32>().unwrap(), &wanted);
            assert!(error < 1e-5, "{kind:?} {rounding:?} on {device}: {error:e}");
        }
    }
}

#[test]
fn entropy_and_margin_are_what_they_mean() {
    let device = Device::cpu();
    let sixteen = SoftGates::new(GateKind::Sixteen, Rounding::Likeliest, &device);
    let even = Tensor::zeros([1, 16], &device);
    assert!((sixteen.entropy(&even).item().unwrap() - 16f32.ln()).abs() < 1e-5);
    assert_eq!(sixteen.shortfall(&even, 5.0).item().unwrap(), 5.0, "the first and the second are equal");
    let mut row = [0f32; 16];
    (row[6], row[9]) = (7.0, 4.0);
    let clear = Tensor::from_vec(row.to_vec(), [1, 16], &device);
    assert_eq!(sixteen.shortfall(&clear, 5.0).item().unwrap(), 2.0);
    assert_eq!(sixteen.shortfall(&clear, 3.0).item().unwrap(), 0.0);
    let four = SoftGates::new(GateKind::Four, Rounding::Nearest, &device);
    let mixed = Tensor::from_vec(vec![0.0f32, -1.0, 9.0, -9.0], [1, 4], &device);
    assert_eq!(four.shortfall(&mixed, 5.0).item().unwrap(), 9.0);
    let one = Tensor::from_vec(vec![0.0f32, -40.0, 40.0, -40.0], [1, 4], &device);
    assert!((four.entropy(&one).item().unwrap() - 2f32.ln()).abs() < 1e-6, "one bit is undecided");
}

/// A mixture of AND, OR and slightly more A than either has A's truth table by a wide margin, although XOR is
/// the most likely function.
#[test]
fn the_nearest_gate_may_not_be_the_likeliest() {
    let mut row = [-20f32; 16];
    for (gate, chance) in [(Gate::XOR, 0.31f32), (Gate::A, 0.25), (Gate::AND, 0.2), (Gate::OR, 0.24)] {
        row[gate.number() as usize] = chance.ln();
    }
    for device in devices::all() {
        let x = Tensor::from_vec(row.to_vec(), [1, 16], &device);
        let of = |rounding| SoftGates::new(GateKind::Sixteen, rounding, &device);
        assert_eq!(of(Rounding::Likeliest).numbers(&x).to_vec::<i32>().unwrap(), [Gate::XOR.number() as i32]);
        // (0, 1): 0.55, (1, 0): 0.8, (1, 1): 0.69
        assert_eq!(of(Rounding::Nearest).numbers(&x).to_vec::<i32>().unwrap(), [Gate::OR.number() as i32]);
        let hard = of(Rounding::Nearest).hard(&x).to_vec::<f32>().unwrap();
        assert_eq!(hard, Gate::OR.coefficients().map(f32::from));
    }
}

#[test]
fn straight_through_is_hard_forward_and_soft_backward() {
    for (kind, rounding) in KINDS {
        let mut all = vec![];
        for device in devices::all() {
            let gates = SoftGates::new(kind, rounding, &device);
            let x = logits(&gates, &device);
            let (soft, hard) = (gates.soft(&x), gates.hard(&x));
            let through = straight_through(&hard, &soft);
            let numbers = gates.numbers(&x);
            let by_number = GateTable::on(&device).of_numbers(&numbers).to_vec::<f32>().unwrap();
            assert_eq!(through.to_vec::<f32>().unwrap(), by_number, "{kind:?} on {device}");
            let [found, wanted] =
                [&through, &soft].map(|c| weighed(c).gradient(&x).unwrap().to_vec::<f32>().unwrap());
            assert!(found.iter().any(|&g| g != 0.0) && found == wanted, "{kind:?} on {device}");
            all.push(numbers.to_vec::<i32>().unwrap());
        }
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "devices disagree on gates");
    }
}

#[test]
fn noise_draws_gates_by_their_chances() {
    let device = Device::cpu();
    let draws = 20_000;
    for (kind, rounding) in [KINDS[0], KINDS[2]] {
        let gates = SoftGates::new(kind, rounding, &device);
        let width = gates.width();
        let row: Vec<f32> = (0..width).map(|n| (n as f32 * 0.9).sin() * 1.5).collect();
        let x = Tensor::from_vec(row.clone(), [1, width], &device);
        let noise = gates.noise(&Tensor::rand_at(5, 9, [draws, width], &device));
        assert!(noise.to_vec::<f32>().unwrap().iter().all(|v| v.is_finite()));
        let drawn = gates.numbers(&(&x + noise)).to_vec::<i32>().unwrap();
        let share =
            |number: usize| drawn.iter().filter(|&&n| n as usize == number).count() as f64 / draws as f64;
        let chances: Vec<f64> = match kind {
            GateKind::Sixteen => {
                let sum: f64 = row.iter().map(|&z| (z as f64).exp()).sum();
                row.iter().map(|&z| (z as f64).exp() / sum).collect()
            }
            GateKind::Four => {
                let one = |n: usize| 1.0 / (1.0 + (-row[n] as f64).exp());
                let bit =
                    |number: usize, n: usize| if number >> (3 - n) & 1 == 1 { one(n) } else { 1.0 - one(n) };
                (0..16).map(|number| (0..4).map(|n| bit(number, n)).product()).collect()
            }
        };
        for (number, &chance) in chances.iter().enumerate() {
            // Five standard deviations.
            let most = 5.0 * (chance * (1.0 - chance) / draws as f64).sqrt();
            assert!(
                (share(number) - chance).abs() < most,
                "{kind:?} {number}: {} vs {chance}",
                share(number)
            );
        }
    }
}
