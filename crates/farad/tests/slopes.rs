//! Values and slopes at the places where formulas break: at zero, at the ends, and far out. Each row is against what
//! the function is in double precision, element by element, on every device.

mod devices;

use devices::{devices, turn};
use farad::loss::{BinaryCrossEntropy, BinaryCrossEntropyWithLogits, Focal, Reduction};
use farad::prelude::*;

/// At zero, beside it, and as far out as exponentials reach.
const PLACES: [f64; 17] = [
    -80.0, -40.0, -20.0, -10.0, -1.0, -1e-3, -1e-6, -1e-12, 0.0, 1e-12, 1e-6, 1e-3, 1.0, 10.0, 20.0, 40.0,
    80.0,
];

fn sigmoid(x: f64) -> f64 {
    if x > 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) }
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn mish_slope(x: f64) -> f64 {
    let t = softplus(x).tanh();
    t + x * (1.0 - t * t) * sigmoid(x)
}

/// A function, its value, its slope, and its second slope where that has one answer.
struct Row {
    name: &'static str,
    function: fn(&Tensor) -> Tensor,
    value: fn(f64) -> f64,
    slope: fn(f64) -> f64,
    second: Option<fn(f64) -> f64>,
}

const ROWS: &[Row] = &[
    Row {
        name: "softplus",
        function: Tensor::softplus,
        value: softplus,
        slope: sigmoid,
        second: Some(|x| sigmoid(x) * sigmoid(-x)),
    },
    Row {
        name: "log_sigmoid",
        function: Tensor::log_sigmoid,
        value: |x| -softplus(-x),
        slope: |x| sigmoid(-x),
        second: Some(|x| -sigmoid(x) * sigmoid(-x)),
    },
    Row {
        name: "mish",
        function: Tensor::mish,
        value: |x| x * softplus(x).tanh(),
        slope: mish_slope,
        second: None,
    },
    Row {
        name: "elu",
        function: |x| x.elu(1.0),
        value: |x| if x > 0.0 { x } else { x.exp_m1() },
        slope: |x| if x > 0.0 { 1.0 } else { x.exp() },
        second: None,
    },
    Row {
        name: "celu",
        function: |x| x.celu(2.0),
        value: |x| if x > 0.0 { x } else { 2.0 * (x / 2.0).exp_m1() },
        slope: |x| if x > 0.0 { 1.0 } else { (x / 2.0).exp() },
        second: None,
    },
    Row {
        name: "expm1",
        function: Tensor::expm1,
        value: f64::exp_m1,
        slope: f64::exp,
        second: Some(f64::exp),
    },
    Row {
        name: "log1p of a square",
        function: |x| x.square().log1p(),
        value: |x| (x * x).ln_1p(),
        slope: |x| 2.0 * x / (1.0 + x * x),
        second: Some(|x| 2.0 * (1.0 - x * x) / (1.0 + x * x).powi(2)),
    },
    Row {
        name: "binary cross-entropy of logits, no",
        function: |x| logits(x, 0.0),
        value: softplus,
        slope: sigmoid,
        second: Some(|x| sigmoid(x) * sigmoid(-x)),
    },
    Row {
        name: "binary cross-entropy of logits, yes",
        function: |x| logits(x, 1.0),
        value: |x| softplus(-x),
        slope: |x| -sigmoid(-x),
        second: Some(|x| sigmoid(x) * sigmoid(-x)),
    },
    Row {
        name: "binary cross-entropy of logits, yes counts three times",
        function: |x| {
            let loss = BinaryCrossEntropyWithLogits::new().positive_weights(&x.full_like(3.0));
            loss.reduction(Reduction::None).loss(x, &x.full_like(1.0))
        },
        value: |x| 3.0 * softplus(-x),
        slope: |x| -3.0 * sigmoid(-x),
        second: None,
    },
    Row {
        name: "focal, yes",
        function: |x| Focal::new().without_alpha().reduction(Reduction::None).loss(x, &x.full_like(1.0)),
        value: |x| softplus(-x) * sigmoid(-x).powi(2),
        slope: |x| -sigmoid(-x).powi(3) - 2.0 * softplus(-x) * sigmoid(-x).powi(2) * sigmoid(x),
        second: None,
    },
];

fn logits(x: &Tensor, target: f64) -> Tensor {
    BinaryCrossEntropyWithLogits::new().reduction(Reduction::None).loss(x, &x.full_like(target))
}

/// Numbers below this may be flushed to zero by a device.
const SMALLEST: f64 = 1.2e-38;

fn check(what: &str, device: &Device, at: &[f64], got: &Tensor, wanted: impl Fn(f64) -> f64, tolerance: f64) {
    for (&x, got) in at.iter().zip(got.to_vec::<f32>().unwrap()) {
        let (got, wanted) = (got as f64, wanted(x as f32 as f64));
        let close = (got - wanted).abs() <= tolerance * wanted.abs() + SMALLEST;
        assert!(close, "{what} at {x} is {got:e}, not {wanted:e}, on {device}");
    }
}

#[test]
fn functions_are_right_at_zero_and_far_out() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::from_vec(PLACES.map(|x| x as f32).to_vec(), [PLACES.len()], &device);
        for row in ROWS {
            let y = (row.function)(&x);
            check(row.name, &device, &PLACES, &y, row.value, 1e-5);
            let slope = y.sum().gradient(&x).unwrap();
            check(&format!("slope of {}", row.name), &device, &PLACES, &slope, row.slope, 2e-5);
            let Some(second) = row.second else { continue };
            let again = slope.sum().gradient(&x).unwrap();
            check(&format!("second slope of {}", row.name), &device, &PLACES, &again, second, 3e-5);
        }
    }
}

#[test]
fn infinities_go_where_limits_go() {
    let _turn = turn();
    let device = Device::cpu();
    let x = Tensor::from_vec(vec![f32::INFINITY, f32::NEG_INFINITY, f32::NAN], [3], &device);
    let y = x.softplus();
    let values = y.to_vec::<f32>().unwrap();
    assert!(values[0] == f32::INFINITY && values[1] == 0.0 && values[2].is_nan(), "{values:?}");
    let slopes = y.sum().gradient(&x).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(slopes[..2], [1.0, 0.0]);
    assert!(slopes[2].is_nan());
}

/// PyTorch's binary cross-entropy of a probability: value and slope.
fn of_chance(p: f64, t: f64) -> (f64, f64) {
    let log = |x: f64| x.ln().max(-100.0);
    (-(t * log(p) + (1.0 - t) * (-p).ln_1p().max(-100.0)), (p - t) / (p * (1.0 - p)).max(1e-12))
}

#[test]
fn binary_cross_entropy_at_the_ends_is_that_of_pytorch() {
    let _turn = turn();
    for device in devices() {
        for target in [0.0, 1.0, 0.25] {
            let places = [0.0, 1e-30, 1e-13, 1e-11, 1e-6, 0.3, 0.99, 1.0];
            let x = Tensor::from_vec(places.map(|x| x as f32).to_vec(), [places.len()], &device);
            let loss = BinaryCrossEntropy::new().reduction(Reduction::None);
            let y = loss.loss(&x, &x.full_like(target));
            check(&format!("value for {target}"), &device, &places, &y, |p| of_chance(p, target).0, 1e-5);
            let slope = y.sum().gradient(&x).unwrap();
            check(&format!("slope for {target}"), &device, &places, &slope, |p| of_chance(p, target).1, 1e-5);
        }
    }
}

#[test]
fn dropping_everything_leaves_zeros_and_their_slopes() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::from_vec(vec![1.0f32, f32::INFINITY, f32::NAN, -3.0], [2, 2], &device);
        let layers = [farad::nn::Dropout::new(1.0), farad::nn::Dropout::new(1.0).whole_channels()];
        let results = [x.dropout(1.0), layers[0].forward(&x), layers[1].forward(&x)];
        for y in results {
            assert_eq!(y.to_vec::<f32>().unwrap(), [0.0; 4], "on {device}");
            assert_eq!(y.sum().gradient(&x).unwrap().to_vec::<f32>().unwrap(), [0.0; 4], "on {device}");
        }
        assert_eq!(x.narrow(0, 0, 1).dropout(0.0).to_vec::<f32>().unwrap()[0], 1.0);
    }
}
