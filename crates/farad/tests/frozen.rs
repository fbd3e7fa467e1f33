//! Frozen parameters: optimizers leave them as they are, and go on with them where they left off being trained.

mod devices;

use devices::{devices, turn};
use farad::prelude::*;

fn pair(device: &Device) -> [Parameter; 2] {
    let weights = |from: f32| (0..6).map(|i| from + i as f32 * 0.3).collect::<Vec<f32>>();
    [1.0, -2.0].map(|from| Parameter::new(Tensor::from_vec(weights(from), [2, 3], device)))
}

fn read(parameter: &Parameter) -> Vec<f32> {
    parameter.value().to_vec().unwrap()
}

/// Apart: a parameter's gradient is that of its own squares.
fn loss(parameters: &[Parameter]) -> Tensor {
    let all = parameters.iter().map(|p| p.value().square().sum());
    all.reduce(|sum, square| sum + square).unwrap()
}

#[test]
fn a_frozen_parameter_stays_and_has_no_moments() {
    let _turn = turn();
    for device in devices() {
        let [free, frozen] = pair(&device);
        frozen.freeze();
        let before = read(&frozen);
        let mut adam = AdamW::new(vec![frozen.clone(), free.clone()]).weight_decay(0.1);
        let [alone, _] = pair(&device);
        let mut single = AdamW::new(vec![alone.clone()]).weight_decay(0.1);
        for _ in 0..3 {
            adam.step(&loss(&[free.clone(), frozen.clone()])).unwrap();
            single.step(&loss(std::slice::from_ref(&alone))).unwrap();
        }
        assert_eq!(read(&frozen), before, "on {device}");
        assert_eq!(read(&free), read(&alone), "on {device}");
        let names: Vec<String> = adam.state().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["progress", "moment.0.1", "moment.1.1"]);
        let gradients = adam.gradients(&loss(&[free.clone(), frozen.clone()])).unwrap();
        assert_eq!(gradients[0].to_vec::<f32>().unwrap(), [0.0; 6]);
        adam.apply(&gradients).unwrap();
        assert_eq!(read(&frozen), before, "on {device}");
    }
}

#[test]
fn training_begins_afresh_with_a_parameter_that_thaws() {
    let _turn = turn();
    for device in devices() {
        let [first, second] = pair(&device);
        let both = [first.clone(), second.clone()];
        let mut adam = AdamW::new(both.to_vec()).learning_rate(0.05);
        second.freeze();
        // As two optimizers would, one of which comes later.
        let [one, other] = pair(&device);
        let mut early = AdamW::new(vec![one.clone()]).learning_rate(0.05);
        let mut late = AdamW::new(vec![other.clone()]).learning_rate(0.05);
        for step in 0..7 {
            if step == 3 {
                second.unfreeze();
            }
            adam.step(&loss(&both)).unwrap();
            early.step(&loss(std::slice::from_ref(&one))).unwrap();
            if step >= 3 {
                late.step(&loss(std::slice::from_ref(&other))).unwrap();
            }
            if step == 4 {
                // What is saved has the later parameter's own count of steps.
                let state = adam.state().unwrap();
                adam = AdamW::new(both.to_vec()).learning_rate(0.05);
                adam.restore(&state).unwrap();
            }
            assert_eq!((read(&first), read(&second)), (read(&one), read(&other)), "step {step} on {device}");
        }
        first.freeze();
        let before = read(&first);
        adam.step(&loss(&both)).unwrap();
        late.step(&loss(std::slice::from_ref(&other))).unwrap();
        assert_eq!((read(&first), read(&second)), (before, read(&other)), "on {device}");
    }
}

#[test]
fn plans_are_known_by_what_is_frozen_and_not_by_when() {
    let _turn = turn();
    for device in devices() {
        let both = pair(&device);
        let mut adam = AdamW::new(both.to_vec());
        let mut compiled = |frozen: bool| {
            if frozen {
                both[1].freeze()
            } else {
                both[1].unfreeze()
            }
            let before = device.counters().plans_compiled;
            // The second finds the parameters in their array.
            (0..2).for_each(|_| adam.step(&loss(&both)).unwrap());
            device.counters().plans_compiled - before
        };
        compiled(false);
        assert!(compiled(true) > 0, "another program without the frozen one on {device}");
        compiled(false);
        compiled(true);
        assert_eq!([compiled(false), compiled(true)], [0, 0], "known by now on {device}");
        both.iter().for_each(Parameter::freeze);
        let error = adam.step(&loss(&both)).unwrap_err().to_string();
        assert_eq!(error, "optimizer: no parameters: nothing to update (0 vs at least 1)");
    }
}
