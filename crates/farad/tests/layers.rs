//! Layers: what PyTorch's numbers do not show. Ties, kernels, running statistics, modes, beginnings.

mod devices;

use devices::{devices, turn};
use farad::nn::init::{self, Fan};
use farad::nn::{AvgPool2d, BatchNorm1d, GroupNorm, InstanceNorm2d, Upsample};
use farad::prelude::*;

fn read(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec::<f32>().unwrap()
}

/// The gradient of the sum of `make(x)`, element k of the result weighted by k + 1.
fn slopes(x: &Tensor, make: impl Fn(&Tensor) -> Tensor) -> Vec<f32> {
    let y = make(x);
    let weights = (Tensor::arange(y.numel(), x.device()).cast(DType::F32) + 1.0).reshape(y.shape());
    read(&(y * weights).sum().gradient(x).unwrap())
}

#[test]
fn of_equal_elements_the_first_gets_the_gradient() {
    let _turn = turn();
    for device in devices() {
        let ones = Tensor::ones([1, 1, 4, 4], &device);
        let beside = slopes(&ones, |x| x.max_pool2d(PoolOptions::new(2)));
        let wanted = [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(beside, wanted, "on {device}");
        let over = slopes(&ones, |x| x.max_pool2d(PoolOptions::new(3).stride(1)));
        assert_eq!(over[..8], [1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], "on {device}");
        let padded = slopes(&ones, |x| x.max_pool2d(PoolOptions::new(3).stride(2).padding(1)));
        assert_eq!(padded[..8], [1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], "on {device}");
        let whole = slopes(&Tensor::ones([1, 1, 6, 6], &device), |x| x.adaptive_max_pool2d(1));
        assert_eq!((whole[0], whole.iter().sum::<f32>()), (1.0, 1.0), "on {device}");
        let uneven = slopes(&ones, |x| x.adaptive_max_pool2d(3));
        assert_eq!(uneven.iter().sum::<f32>(), 45.0, "on {device}");
        assert_eq!((uneven[0], uneven[5]), (1.0, 5.0), "on {device}");
    }
}

#[test]
fn padding_is_no_element_of_a_maximum() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::full(-3.0, [1, 1, 4, 5], &device);
        let y = x.max_pool2d(PoolOptions::new(3).stride(2).padding(1).ceil());
        assert!(read(&y).iter().all(|&y| y == -3.0), "on {device}");
    }
}

/// Kernels launched by computing these.
fn kernels(device: &Device, tensors: &[&Tensor]) -> usize {
    device.wait().unwrap();
    let before = device.counters().dispatches;
    Tensor::compute_all(tensors).unwrap();
    device.wait().unwrap();
    device.counters().dispatches - before
}

#[test]
fn pooling_and_its_gradient_are_one_kernel_each() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::rand([2, 3, 8, 12], &device) - 0.5;
        x.compute().unwrap();
        let options = [
            ("side by side", PoolOptions::<2>::new(2)),
            ("overlapping", PoolOptions::new(3).stride(2).padding(1)),
            ("at every place", PoolOptions::new(3).stride(1).padding(1)),
        ];
        for (what, options) in options {
            let count = kernels(&device, &[&x.relu().max_pool2d(options)]);
            assert_eq!(count, 1, "{what}: relu and max pool on {device}");
            let y = x.relu().max_pool2d(options);
            let upstream = Tensor::rand(y.shape(), &device);
            upstream.compute().unwrap();
            let g = (&y * &upstream).sum().gradient(&x).unwrap();
            let count = kernels(&device, &[&y, &g]);
            assert!(count <= 2, "{what}: max pool and its gradient are {count} kernels on {device}");
            let y = x.avg_pool2d(options);
            let g = (&y * &upstream).sum().gradient(&x).unwrap();
            let count = kernels(&device, &[&y, &g]);
            assert!(count <= 2, "{what}: average pool and its gradient are {count} kernels on {device}");
        }
    }
}

#[test]
fn convolutions_agree_between_devices() {
    let _turn = turn();
    let all = devices();
    let (x, w) = (
        Tensor::rand_at(1, 0, [1, 3, 32, 32], &Device::cpu()),
        Tensor::rand_at(1, 1, [64, 3, 3, 3], &Device::cpu()),
    );
    let convolved: Vec<Vec<f32>> = all
        .iter()
        .map(|device| {
            let (x, w) = (x.to_device(device).unwrap() - 0.5, w.to_device(device).unwrap() - 0.5);
            read(&x.conv2d(&w, ConvOptions::new().padding(1)))
        })
        .collect();
    let largest = convolved[0].iter().fold(0f32, |most, y| most.max(y.abs()));
    for (other, device) in convolved.iter().zip(&all).skip(1) {
        let error = convolved[0].iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
        assert!(error <= 1e-5 * largest, "on {device}: {error}");
    }
}

#[test]
fn a_convolution_has_second_gradients() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::rand_at(2, 0, [2, 4, 6, 5], &device);
        let w = Tensor::rand_at(2, 1, [6, 2, 3, 3], &device);
        let options = ConvOptions::new().stride([2, 1]).padding(1).dilation([1, 2]).groups(2);
        let agreement = farad::check::gradients(&[x, w], |inputs| {
            let loss = inputs[0].conv2d(&inputs[1], options).square().sum();
            let slope = loss.gradient(&inputs[0]).unwrap();
            slope.square().sum()
        });
        // The checker differentiates in double precision on the CPU, whatever the device.
        assert!(agreement.unwrap().error() < 1e-5, "on {device}");
    }
}

#[test]
fn batch_norm_differs_in_training_and_in_use() {
    let _turn = turn();
    for device in devices() {
        let layer = BatchNorm2d::new(16).to_device(&device);
        let x = Tensor::rand_at(3, 0, [8, 16, 32, 32], &device) * 3.0 + 1.0;
        let training = read(&layer.forward(&x));
        layer.eval();
        let using = read(&layer.forward(&x));
        assert!(training.iter().zip(&using).any(|(a, b)| (a - b).abs() > 0.1), "on {device}");
        let mean = training.iter().sum::<f32>() / training.len() as f32;
        assert!(mean.abs() < 1e-4, "on {device}: {mean}");
        // In use nothing moves.
        let before = read(&layer.running_mean.as_ref().unwrap().value());
        layer.forward(&x).compute().unwrap();
        assert_eq!(read(&layer.running_mean.as_ref().unwrap().value()), before, "on {device}");
    }
}

#[test]
fn running_statistics_are_computed_by_the_step() {
    let _turn = turn();
    for device in devices() {
        farad::seed(5);
        let norms = [BatchNorm2d::new(3), BatchNorm2d::new(4)];
        let [first, second] = norms.clone();
        let model = Sequential::new((first, Conv2d::new(3, 4, 3).padding(1), second, Relu, Flatten::new()));
        let model = model.to_device(&device);
        let mut adam = AdamW::new(model.parameters());
        let x = Tensor::rand([4, 3, 6, 6], &device);
        x.compute().unwrap();
        for step in 1..=6 {
            let loss = model.forward(&x).square().mean();
            device.wait().unwrap();
            let before = device.counters();
            adam.step(&loss).unwrap();
            device.wait().unwrap();
            let after = device.counters();
            assert_eq!(after.submissions - before.submissions, 1, "step {step} on {device}");
            if step >= 4 {
                assert_eq!(after.plans_compiled, before.plans_compiled, "step {step} on {device}");
                assert_eq!(after.allocations, before.allocations, "step {step} on {device}");
            }
            for norm in &norms {
                norm.running_var.as_ref().unwrap().value().compute().unwrap();
                norm.running_mean.as_ref().unwrap().value().compute().unwrap();
            }
            let read = device.counters();
            assert_eq!(read.dispatches, after.dispatches, "step {step} left statistics pending on {device}");
        }
        // The first layer sees the same data every time: 1 - 0.9^6 of the way.
        let mean = read(&norms[0].running_mean.as_ref().unwrap().value());
        let whole = read(&x.mean_axes([0, 2, 3]));
        for (mean, whole) in mean.iter().zip(whole) {
            assert!((mean - whole * (1.0 - 0.9f32.powi(6))).abs() < 1e-5, "on {device}: {mean} of {whole}");
        }
    }
}

#[test]
fn a_step_computes_no_other_models_statistics() {
    let _turn = turn();
    for device in devices() {
        let make = || {
            let norm = BatchNorm1d::new(2);
            (norm.clone(), Sequential::new((Linear::new(2, 2), norm)).to_device(&device))
        };
        let ((norm, model), (other_norm, other)) = (make(), make());
        let x = Tensor::rand([8, 2], &device);
        x.compute().unwrap();
        let mut sgd = Sgd::new(model.parameters());
        let other_loss = other.forward(&x).square().sum();
        sgd.step(&model.forward(&x).square().sum()).unwrap();
        device.wait().unwrap();
        let before = device.counters().dispatches;
        norm.running_mean.unwrap().value().compute().unwrap();
        assert_eq!(device.counters().dispatches, before, "on {device}");
        other_norm.running_mean.unwrap().value().compute().unwrap();
        assert!(device.counters().dispatches > before, "on {device}");
        assert!(other_loss.item().unwrap().is_finite());
    }
}

#[test]
fn statistics_of_large_numbers_are_stable() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::rand_at(4, 0, [4, 6, 5, 5], &device) + 1000.0;
        let layers: [Box<dyn Layer>; 4] = [
            Box::new(BatchNorm2d::new(6).to_device(&device)),
            Box::new(GroupNorm::new(3, 6).to_device(&device)),
            Box::new(InstanceNorm2d::new(6)),
            Box::new(LayerNorm::new([6, 5, 5]).to_device(&device)),
        ];
        for layer in layers {
            let y = layer.forward(&x);
            let variance = y.square().mean().item().unwrap();
            assert!((variance - 1.0).abs() < 0.02, "{} on {device}: {variance}", layer.kind());
        }
    }
}

#[test]
fn frozen_norms_train_what_is_around_them() {
    let _turn = turn();
    for device in devices() {
        let norm = BatchNorm1d::new(3);
        let model = Sequential::new((Linear::new(2, 3), norm)).to_device(&device);
        let x = Tensor::rand([8, 2], &device);
        let mut sgd = Sgd::new(model.parameters()).learning_rate(1e-3);
        sgd.step(&model.forward(&x).sum()).unwrap();
        model.eval();
        // Running statistics came from a step, and yet are no obstacle to gradients around them.
        let loss = model.forward(&x).square().sum();
        sgd.step(&loss).unwrap();
        let after = model.forward(&x).square().sum().item().unwrap();
        assert!(after < loss.item().unwrap(), "on {device}");
    }
}

#[test]
fn dropout_draws_anew_while_training() {
    let _turn = turn();
    for device in devices() {
        device.seed(3);
        let layer = Dropout::new(0.25);
        let x = Tensor::ones([4000], &device);
        let (a, b) = (read(&layer.forward(&x)), read(&layer.forward(&x)));
        assert_ne!(a, b, "on {device}");
        device.seed(3);
        assert_eq!(read(&layer.forward(&x)), a, "on {device}");
        let kept = a.iter().filter(|&&y| y != 0.0).count();
        assert!((2850..3150).contains(&kept), "on {device}: {kept}");
        assert!(a.iter().all(|&y| y == 0.0 || (y - 4.0 / 3.0).abs() < 1e-6));
        let channels = Dropout::new(0.5).whole_channels();
        let y = read(&channels.forward(&Tensor::ones([2, 8, 3, 3], &device)));
        assert!(y.chunks(9).all(|plane| plane.iter().all(|&y| y == plane[0])), "on {device}");
        layer.eval();
        assert_eq!(read(&layer.forward(&x)), vec![1.0; 4000]);
        assert_eq!(read(&Dropout::new(1.0).forward(&x)), vec![0.0; 4000]);
    }
}

#[test]
fn padding_of_an_embedding_is_not_learned() {
    let _turn = turn();
    for device in devices() {
        let layer = Embedding::new(4, 2).padding(1).to_device(&device);
        let ids = Tensor::from_vec(vec![0, 1, 1, 3], [2, 2], &device);
        let before = read(&layer.weight.value());
        assert_eq!(before[2..4], [0.0, 0.0]);
        let mut sgd = Sgd::new(layer.parameters()).learning_rate(1.0);
        sgd.step(&layer.forward(&ids).sum()).unwrap();
        let after = read(&layer.weight.value());
        let moved: Vec<bool> = before.chunks(2).zip(after.chunks(2)).map(|(a, b)| a != b).collect();
        assert_eq!(moved, [true, false, false, true], "on {device}");
    }
}

#[test]
fn beginnings_have_the_variance_that_is_asked_for() {
    let _turn = turn();
    farad::seed(7);
    let w = Parameter::new(Tensor::zeros([120, 50, 2, 2], &Device::cpu()));
    let variance = |w: &Parameter| w.value().square().mean().item().unwrap() as f64;
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.03;
    init::xavier_uniform(&w, 2.0).unwrap();
    assert!(close(variance(&w), 4.0 * 2.0 / (200.0 + 480.0)));
    init::xavier_normal(&w, 1.0).unwrap();
    assert!(close(variance(&w), 2.0 / (200.0 + 480.0)));
    init::he_uniform(&w, Fan::In, init::gain(0.0)).unwrap();
    assert!(close(variance(&w), 2.0 / 200.0));
    init::he_normal(&w, Fan::Out, init::gain(1.0)).unwrap();
    assert!(close(variance(&w), 1.0 / 480.0));
    init::truncated_normal(&w, 0.0, 1.0, -2.0, 2.0).unwrap();
    assert!(close(variance(&w), 0.7737));
    init::orthogonal(&w, 3.0).unwrap();
    let rows = w.value().reshape([120, 200]);
    let products = read(&rows.matmul(&rows.transpose(0, 1)));
    for (at, product) in products.iter().enumerate() {
        let wanted = if at / 120 == at % 120 { 9.0 } else { 0.0 };
        assert!((product - wanted).abs() < 1e-4, "{at}: {product}");
    }
    let tall = Parameter::new(Tensor::zeros([30, 4], &Device::cpu()));
    init::orthogonal(&tall, 1.0).unwrap();
    let columns = tall.value().transpose(0, 1).matmul(&tall.value());
    assert!((read(&columns)[0] - 1.0).abs() < 1e-5 && read(&columns)[1].abs() < 1e-5);
}

#[test]
fn beginnings_repeat_by_seed_on_every_device() {
    let _turn = turn();
    let draw = |device: &Device| {
        farad::seed(11);
        let layer = Conv2d::new(2, 3, 3).to_device(device);
        init::he_normal(&layer.weight, Fan::In, 1.0).unwrap();
        assert!(layer.weight.value().device() == device);
        read(&layer.weight.value())
    };
    let all = devices();
    let first = draw(&all[0]);
    all.iter().for_each(|device| assert_eq!(draw(device), first, "on {device}"));
}

#[test]
fn layers_start_as_pytorchs_do() {
    let _turn = turn();
    farad::seed(1);
    let bounded = |parameter: &Parameter, bound: f32| {
        let values = read(&parameter.value());
        let most = values.iter().fold(0f32, |most, x| most.max(x.abs()));
        assert!(most <= bound && most > bound * 0.9, "{most} of {bound}");
    };
    let conv = Conv2d::new(8, 64, 3).groups(2);
    bounded(&conv.weight, 1.0 / 36f32.sqrt());
    bounded(conv.bias.as_ref().unwrap(), 1.0 / 36f32.sqrt());
    let transposed = farad::nn::ConvTranspose2d::new(8, 64, 2);
    bounded(&transposed.weight, 1.0 / 256f32.sqrt());
}

#[test]
fn a_convolutional_network_has_its_table() {
    let _turn = turn();
    let model = Sequential::new((
        Conv2d::new(1, 4, 3),
        BatchNorm2d::new(4),
        Relu,
        MaxPool2d::new(2),
        AvgPool2d::new(1),
        Upsample::nearest(2),
        Dropout::new(0.5),
        Flatten::new(),
        Linear::new(36, 2),
    ));
    let kinds: Vec<String> = model.summary().rows.into_iter().map(|row| row.kind).collect();
    let wanted = [
        "Sequential",
        "Conv2d",
        "[4, 1, 3, 3]",
        "[4]",
        "BatchNorm2d",
        "[4]",
        "[4]",
        "[4] buffer",
        "[4] buffer",
        "Relu",
        "MaxPool2d",
        "AvgPool2d",
        "Upsample",
        "Dropout",
        "Flatten",
        "Linear",
        "[2, 36]",
        "[2]",
    ];
    assert_eq!(kinds, wanted);
}
