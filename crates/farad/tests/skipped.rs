//! A gradient that is not finite changes nothing where gradients are clipped, whatever the optimizer, the limit, the
//! precision and the device; and it is seen where they are not.

mod devices;

use devices::{devices, turn};
use farad::optim::{Clip, UpdateRule, Updater, clip_by_norm, clip_by_value};
use farad::prelude::*;

/// What the table needs of an optimizer of any kind.
trait Steps: Optimizer {
    fn overflows(&self) -> u32;
}

impl<R: UpdateRule + Clone> Steps for Updater<R> {
    fn overflows(&self) -> u32 {
        Updater::overflows(self).unwrap()
    }
}

/// Makes an optimizer that clips.
type Make = fn(Vec<Parameter>, Clip) -> Box<dyn Steps>;

/// Every optimizer, with all the moments that it can have.
const OPTIMIZERS: &[(&str, Make)] = &[
    ("sgd", |p, clip| Box::new(Sgd::new(p).clip(clip))),
    ("momentum", |p, clip| Box::new(Sgd::new(p).momentum(0.9).nesterov().weight_decay(0.1).clip(clip))),
    ("adam", |p, clip| Box::new(Adam::new(p).amsgrad().weight_decay(0.1).clip(clip))),
    ("adamw", |p, clip| Box::new(AdamW::new(p).clip(clip))),
    ("rmsprop", |p, clip| Box::new(RmsProp::new(p).momentum(0.5).centered().clip(clip))),
    ("adagrad", |p, clip| Box::new(Adagrad::new(p).clip(clip))),
    ("lion", |p, clip| Box::new(Lion::new(p).weight_decay(0.1).clip(clip))),
    ("muon", |p, clip| Box::new(Muon::new(p).clip(clip))),
];

/// The bits of the parameters and of everything that the optimizer remembers, but for steps and the loss scale.
fn bits(parameters: &[Parameter], optimizer: &dyn Steps) -> Vec<u32> {
    let own = parameters.iter().map(Parameter::value);
    let state = optimizer.state().unwrap();
    let moments = state
        .into_iter()
        .filter(|(name, t)| t.dtype() == DType::F32 && !name.contains("step") && !name.contains("scale"));
    own.chain(moments.map(|(_, tensor)| tensor))
        .flat_map(|t| t.to_vec::<f32>().unwrap())
        .map(f32::to_bits)
        .collect()
}

/// A loss whose gradient at one element is this number times something.
fn loss(parameters: &[Parameter], number: f32, precision: Precision) -> Tensor {
    precision.scope(|| {
        let (matrix, line) = (parameters[0].value(), parameters[1].value());
        let x = Tensor::ones([2, 3], matrix.device());
        let y = x.matmul(&matrix).square().mean() + line.square().sum();
        y + line.narrow(0, 1, 1).sum() * Tensor::number(number, matrix.device())
    })
}

#[test]
fn a_clipped_step_with_a_gradient_that_is_not_finite_changes_nothing() {
    let _turn = turn();
    for device in devices() {
        for &(name, make) in OPTIMIZERS {
            for clip in [Clip::Value(1.0), Clip::Norm(1.0)] {
                for precision in [Precision::Single, Precision::Mixed] {
                    let what = format!("{name}, {clip:?}, {precision:?} on {device}");
                    let parameters = [
                        Parameter::new(Tensor::full(0.5, [3, 4], &device)),
                        Parameter::new(Tensor::full(0.25, [5], &device)),
                    ];
                    let mut optimizer = make(parameters.to_vec(), clip);
                    let mut skipped = 0;
                    for number in [0.5, f32::NAN, 0.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.5] {
                        let before = bits(&parameters, &*optimizer);
                        optimizer.step(&loss(&parameters, number, precision)).unwrap();
                        let after = bits(&parameters, &*optimizer);
                        skipped += !number.is_finite() as u32;
                        match number.is_finite() {
                            true => assert_ne!(after, before, "nothing moved: {what}"),
                            false => assert_eq!(after, before, "{number} moved something: {what}"),
                        }
                        assert!(after.iter().all(|&b| f32::from_bits(b).is_finite()), "{what}");
                        assert_eq!(optimizer.overflows(), skipped, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_norm_that_overflows_is_not_finite() {
    let _turn = turn();
    for device in devices() {
        let weight = Parameter::new(Tensor::ones([2], &device));
        let mut sgd = Sgd::new(vec![weight.clone()]).momentum(0.9).clip(Clip::Norm(1.0));
        sgd.step(&(weight.value().sum() * 3e38)).unwrap();
        assert_eq!(weight.value().to_vec::<f32>().unwrap(), [1.0; 2], "on {device}");
        assert_eq!(sgd.overflows().unwrap(), 1);
    }
}

#[test]
fn without_clipping_what_is_no_number_reaches_the_weights() {
    let _turn = turn();
    for device in devices() {
        for &(name, make) in OPTIMIZERS {
            let parameters = [
                Parameter::new(Tensor::full(0.5, [3, 4], &device)),
                Parameter::new(Tensor::full(0.25, [5], &device)),
            ];
            let mut optimizer = make(parameters.to_vec(), Clip::None);
            optimizer.step(&loss(&parameters, f32::NAN, Precision::Single)).unwrap();
            assert_eq!(optimizer.overflows(), 0, "{name} on {device}");
            if name == "lion" {
                continue; // It takes the sign of the gradient, and what is no number has none on every device.
            }
            let line = parameters[1].value().to_vec::<f32>().unwrap();
            assert!(line[1].is_nan() && line[0].is_finite(), "{name} on {device}: {line:?}");
        }
    }
}

#[test]
fn clipping_by_hand_lets_what_is_not_finite_through() {
    let _turn = turn();
    for device in devices() {
        let read = |t: &Tensor| t.to_vec::<f32>().unwrap();
        let g = Tensor::from_vec(vec![5.0f32, f32::NAN, f32::INFINITY, -5.0], [4], &device);
        let clipped = read(&clip_by_value(std::slice::from_ref(&g), 1.0)[0]);
        assert!(
            clipped[0] == 1.0 && clipped[1].is_nan() && clipped[2] == f32::INFINITY && clipped[3] == -1.0,
            "{clipped:?}"
        );
        for bad in [f32::NAN, f32::INFINITY] {
            let g = [Tensor::from_vec(vec![5.0f32, bad], [2], &device), Tensor::ones([2], &device)];
            let clipped = clip_by_norm(&g, 1.0);
            assert!(clipped.iter().flat_map(read).all(|v| !v.is_finite()), "{bad} on {device}");
        }
    }
}
