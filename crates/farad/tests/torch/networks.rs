//! A convolutional network against PyTorch's: the losses of ten steps, and its answers afterwards.

use crate::devices::devices;
use crate::fixtures::Fixture;
use farad::nn::{BatchNorm2d, Flatten};
use farad::prelude::*;

#[test]
fn ten_steps_of_a_convolutional_network_follow_pytorch() {
    let fixture = Fixture::open("networks");
    for device in devices() {
        let model = Sequential::new((
            Conv2d::new(2, 6, 3).padding(1).without_bias(),
            BatchNorm2d::new(6),
            Relu,
            MaxPool2d::new(2),
            Conv2d::new(6, 8, 3).stride(2).padding(1).without_bias(),
            Relu,
            Flatten::new(),
            Linear::new(8 * 2 * 2, 5),
        ))
        .to_device(&device);
        for (name, parameter) in model.named_parameters() {
            parameter.set(fixture.tensor(&format!("cnn/{name}"), &device));
        }
        let (x, labels) = (fixture.tensor("cnn/x", &device), fixture.tensor("cnn/labels", &device));
        let mut optimizer = AdamW::new(model.parameters()).learning_rate(0.01);
        let mut losses = Vec::new();
        for _ in 0..10 {
            let loss = model.forward(&x).cross_entropy(&labels);
            optimizer.step(&loss).expect("a step");
            losses.push(loss.item().expect("a loss"));
        }
        let losses = Tensor::from_vec(losses, [10], &Device::cpu());
        fixture.check("cnn/losses", &losses, 1e-4);
        model.eval();
        fixture.check("cnn/evaluated", &model.forward(&x), 1e-4);
    }
}
