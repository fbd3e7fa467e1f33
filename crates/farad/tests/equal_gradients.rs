//! Steps of parameters whose gradients are equal or follow from each other: their places in the array of gradients are
//! one allocation, which no kernel may read and write.

mod devices;

use devices::devices;
use farad::Attention;
use farad::nn::{TransformerEncoderLayer, TransformerOptions};
use farad::prelude::*;

/// The parameters after a step on every device, which must be those of the CPU.
#[track_caller]
fn agree(name: &str, step: impl Fn(&Device) -> farad::Result<Vec<Parameter>>) {
    let mut expected: Option<Vec<Vec<f32>>> = None;
    for device in devices() {
        let found = step(&device).and_then(|parameters| {
            parameters.iter().map(|p| p.value().to_vec::<f32>()).collect::<farad::Result<Vec<_>>>()
        });
        let found = found.unwrap_or_else(|error| panic!("{name} on {device}: {error}"));
        let expected = expected.get_or_insert_with(|| found.clone());
        for (n, (found, expected)) in found.iter().zip(&*expected).enumerate() {
            let off = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-5, "{name} on {device}: parameter {n} is off by {off}");
        }
    }
}

#[test]
fn two_weights_that_are_added() {
    agree("matrices", |device| {
        let x = Tensor::rand_at(1, 0, [5, 4], device);
        let [a, b] = [2, 3].map(|n| Parameter::new(Tensor::rand_at(n, 0, [4, 3], device)));
        let loss = x.matmul(&(a.value() + b.value())).square().sum();
        Sgd::new(vec![a.clone(), b.clone()]).learning_rate(0.01).step(&loss)?;
        Ok(vec![a, b])
    });
    agree("numbers", |device| {
        let x = Tensor::rand_at(1, 0, [5], device);
        let [a, b] = [0.5, 0.25].map(|n| Parameter::new(Tensor::full(n, [], device)));
        let loss = ((a.value() + b.value()) * x).sum();
        Sgd::new(vec![a.clone(), b.clone()]).learning_rate(0.01).step(&loss)?;
        Ok(vec![a, b])
    });
}

#[test]
fn one_gradient_that_follows_from_another() {
    agree("multiples", |device| {
        let x = Tensor::rand_at(1, 0, [300], device);
        let [a, b, c] = [2, 3, 4].map(|n| Parameter::new(Tensor::rand_at(n, 0, [300], device)));
        let loss = ((a.value() + b.value() * 2.0 + c.value() * b.value()) * x).tanh().sum();
        AdamW::new(vec![a.clone(), b.clone(), c.clone()]).step(&loss)?;
        Ok(vec![a, b, c])
    });
}

/// A step of a module on an input of `[time, batch, 3]`.
fn stepped(
    module: &impl Module,
    x: [usize; 3],
    device: &Device,
    y: impl Fn(&Tensor) -> Tensor,
) -> farad::Result<Vec<Parameter>> {
    let parameters = module.parameters();
    for (n, parameter) in parameters.iter().enumerate() {
        parameter.set(Tensor::rand_at(n as u64, 0, parameter.value().shape(), device) - 0.5);
    }
    let loss = y(&Tensor::rand_at(99, 0, x, device)).square().sum();
    Sgd::new(parameters.clone()).learning_rate(0.01).step(&loss)?;
    Ok(parameters)
}

#[test]
fn recurrent_layers_and_transformers_of_the_smallest_sizes() {
    for (time, batch) in [(1, 1), (1, 3), (3, 1), (2, 2)] {
        let x = [time, batch, 4];
        agree(&format!("LSTM {x:?}"), |device| {
            let module = Lstm::new(4, 5).to_device(device);
            stepped(&module, x, device, |x| module.forward(x).0)
        });
        agree(&format!("GRU {x:?}"), |device| {
            let module = Gru::new(4, 5).to_device(device);
            stepped(&module, x, device, |x| module.forward(x).0)
        });
        agree(&format!("RNN {x:?}"), |device| {
            let module = Rnn::new(4, 5).to_device(device);
            stepped(&module, x, device, |x| module.forward(x).0)
        });
        agree(&format!("transformer block {x:?}"), |device| {
            let module =
                TransformerEncoderLayer::new(&TransformerOptions::new(4, 2).dropout(0.0)).to_device(device);
            stepped(&module, x, device, |x| module.forward(x, &Attention::default()))
        });
    }
}

#[test]
fn what_was_detached_is_another_tensor_in_gradients() -> farad::Result<()> {
    for device in devices() {
        for shape in [vec![], vec![1], vec![3], vec![2, 2], vec![1, 2, 2]] {
            let x = Tensor::full(3.0, &shape[..], &device).detach()?;
            let slope = (&x * x.detach()?).sum().gradient(&x)?;
            assert!(slope.to_vec::<f32>()?.iter().all(|&s| s == 3.0), "{shape:?} on {device}: {slope}");
            let both = (&x * x.detach()?.detach()? * &x).sum().gradient(&x)?;
            assert!(both.to_vec::<f32>()?.iter().all(|&s| s == 18.0), "{shape:?} on {device}: {both}");
            let p = Parameter::new(Tensor::full(3.0, &shape[..], &device).detach()?);
            let loss = (p.value() * p.value().detach()?).sum();
            Sgd::new(vec![p.clone()]).learning_rate(1.0).step(&loss)?;
            assert!(p.value().to_vec::<f32>()?.iter().all(|&x| x == 0.0), "{shape:?} on {device}");
        }
    }
    Ok(())
}
