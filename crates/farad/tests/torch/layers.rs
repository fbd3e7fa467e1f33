//! Layers and activations against PyTorch: outputs to 1e-5, gradients of inputs and parameters to 1e-4, running
//! statistics after a forward pass, on every device.

use farad::Corners;
use std::collections::BTreeSet;

use crate::devices::devices;
use crate::fixtures::Fixture;
use farad::nn::*;
use farad::prelude::*;

const OUTPUT: f64 = 1e-5;
const GRADIENT: f64 = 1e-4;

/// Every layer with PyTorch's arguments, by the name of its case.
fn layers() -> Vec<(&'static str, Box<dyn Layer>)> {
    let mut all: Vec<(&'static str, Box<dyn Layer>)> = vec![("linear", Box::new(Linear::new(5, 3)))];
    all.extend(convolutions());
    all.extend(poolings());
    all.extend(norms());
    all.extend(others());
    all
}

fn convolutions() -> Vec<(&'static str, Box<dyn Layer>)> {
    let dilated = Conv1d::new(4, 6, 3).stride(2).padding(2).dilation(2).groups(2);
    let strided = Conv2d::new(2, 3, [3, 2]).stride([2, 1]).padding([1, 0]).dilation([1, 2]);
    let line = ConvTranspose1d::new(4, 6, 3).stride(3).padding(1).output_padding(2).groups(2);
    vec![
        ("conv1d", Box::new(dilated)),
        ("conv2d", Box::new(Conv2d::new(3, 4, 3).padding(1))),
        ("conv2d_strided", Box::new(strided)),
        ("conv2d_groups", Box::new(Conv2d::new(4, 6, 3).groups(2).without_bias())),
        ("conv2d_depthwise", Box::new(Conv2d::new(4, 4, 3).padding(1).groups(4))),
        ("conv2d_one", Box::new(Conv2d::new(3, 5, 1))),
        ("conv2d_one_strided", Box::new(Conv2d::new(3, 5, 1).stride(2))),
        ("conv3d", Box::new(Conv3d::new(2, 3, [2, 3, 2]).stride([1, 2, 1]).padding([0, 1, 1]))),
        ("conv_transpose1d", Box::new(line)),
        ("conv_transpose2d", Box::new(ConvTranspose2d::new(3, 2, 3).stride(2).padding(1).output_padding(1))),
        ("conv_transpose2d_dilated", Box::new(ConvTranspose2d::new(2, 3, 2).dilation([2, 1]))),
    ]
}

fn poolings() -> Vec<(&'static str, Box<dyn Layer>)> {
    let padded = AvgPool2d::new(3).stride(2).padding(1);
    vec![
        ("max_pool1d", Box::new(MaxPool1d::new(3).stride(2).padding(1))),
        ("max_pool2d", Box::new(MaxPool2d::new(2))),
        ("max_pool2d_overlapping", Box::new(MaxPool2d::new(3).stride(2).padding(1))),
        ("max_pool2d_ceil", Box::new(MaxPool2d::new(3).stride(2).ceil())),
        ("max_pool2d_dilated", Box::new(MaxPool2d::new([2, 3]).stride(1).dilation(2))),
        ("avg_pool1d", Box::new(AvgPool1d::new(3).stride(2).padding(1))),
        ("avg_pool2d", Box::new(AvgPool2d::new(2))),
        ("avg_pool2d_padded", Box::new(padded)),
        ("avg_pool2d_uncounted", Box::new(padded.without_padding_counted())),
        ("avg_pool2d_ceil", Box::new(padded.ceil())),
        ("adaptive_avg_pool1d", Box::new(AdaptiveAvgPool1d::new(3))),
        ("adaptive_avg_pool2d", Box::new(AdaptiveAvgPool2d::new([3, 4]))),
        ("adaptive_avg_pool2d_one", Box::new(AdaptiveAvgPool2d::new(1))),
        ("adaptive_max_pool1d", Box::new(AdaptiveMaxPool1d::new(3))),
        ("adaptive_max_pool2d", Box::new(AdaptiveMaxPool2d::new([3, 4]))),
        ("adaptive_max_pool2d_one", Box::new(AdaptiveMaxPool2d::new(1))),
    ]
}

fn norms() -> Vec<(&'static str, Box<dyn Layer>)> {
    let in_use = BatchNorm2d::new(4);
    in_use.eval();
    vec![
        ("batch_norm1d", Box::new(BatchNorm1d::new(3))),
        ("batch_norm1d_long", Box::new(BatchNorm1d::new(3).momentum(0.3).epsilon(1e-3))),
        ("batch_norm2d", Box::new(BatchNorm2d::new(4))),
        ("batch_norm2d_eval", Box::new(in_use)),
        ("batch_norm2d_plain", Box::new(BatchNorm2d::new(4).without_affine().without_statistics())),
        ("batch_norm3d", Box::new(BatchNorm3d::new(2))),
        ("layer_norm", Box::new(LayerNorm::new(7))),
        ("layer_norm_two", Box::new(LayerNorm::new([3, 4]))),
        ("rms_norm", Box::new(RmsNorm::new(7))),
        ("group_norm", Box::new(GroupNorm::new(2, 6))),
        ("instance_norm1d", Box::new(InstanceNorm1d::new(3))),
        ("instance_norm2d", Box::new(InstanceNorm2d::new(3).affine())),
        ("instance_norm3d", Box::new(InstanceNorm3d::new(2))),
    ]
}

fn others() -> Vec<(&'static str, Box<dyn Layer>)> {
    vec![
        ("prelu", Box::new(PRelu::new(3))),
        ("pixel_shuffle", Box::new(PixelShuffle::new(2))),
        ("upsample_nearest", Box::new(Upsample::nearest([2, 3]))),
        ("upsample_bilinear", Box::new(Upsample::bilinear(2))),
        ("upsample_aligned", Box::new(Upsample::bilinear(3).align_corners())),
        ("resize_nearest", Box::new(Resize(|x| x.resize_nearest([5, 7])))),
        ("resize_bilinear", Box::new(Resize(|x| x.resize_bilinear([5, 3], Corners::Edges)))),
        ("relu", Box::new(Relu)),
        ("leaky_relu", Box::new(LeakyRelu::default())),
        ("elu", Box::new(Elu { alpha: 1.5 })),
        ("celu", Box::new(Celu { alpha: 0.5 })),
        ("selu", Box::new(Selu)),
        ("relu6", Box::new(Relu6)),
        ("hard_tanh", Box::new(HardTanh::default())),
        ("hard_sigmoid", Box::new(HardSigmoid)),
        ("hard_swish", Box::new(HardSwish)),
        ("gelu", Box::new(Gelu)),
        ("gelu_tanh", Box::new(GeluTanh)),
        ("silu", Box::new(Silu)),
        ("mish", Box::new(Mish)),
        ("softplus", Box::new(Softplus)),
        ("softsign", Box::new(Softsign)),
        ("sigmoid", Box::new(Sigmoid)),
        ("tanh", Box::new(Tanh)),
        ("log_sigmoid", Box::new(LogSigmoid)),
        ("tanh_shrink", Box::new(TanhShrink)),
        ("softmax", Box::new(Softmax::default())),
        ("log_softmax", Box::new(LogSoftmax::default())),
        ("glu", Box::new(Glu::default())),
        ("swiglu", Box::new(SwiGlu::default())),
        ("geglu", Box::new(GeGlu::default())),
    ]
}

/// A method as a layer.
#[derive(Module)]
struct Resize(#[module(skip)] fn(&Tensor) -> Tensor);

impl Layer for Resize {
    fn forward(&self, x: &Tensor) -> Tensor {
        (self.0)(x)
    }
}

/// What the scripts multiply outputs by before they add them up.
fn weighted(y: &Tensor) -> Tensor {
    let upstream = Tensor::arange(y.numel(), y.device()).cast(DType::F32).cos().reshape(y.shape());
    (y * upstream).sum()
}

/// Puts PyTorch's tensors into parameters and buffers.
fn fill(fixture: &Fixture, case: &str, layer: &dyn Module, device: &Device) {
    for (name, parameter) in layer.named_parameters() {
        parameter.set(fixture.tensor(&format!("{case}/{name}"), device));
    }
    for (name, buffer) in layer.named_buffers() {
        buffer.set(fixture.tensor(&format!("{case}/{name}"), device));
    }
}

/// Compares gradients at the input and at the parameters.
fn check_gradients(fixture: &Fixture, case: &str, loss: &Tensor, wrt: &[(String, Tensor)]) {
    let at: Vec<&Tensor> = wrt.iter().map(|(_, tensor)| tensor).collect();
    for ((name, _), g) in wrt.iter().zip(loss.gradients_at(&at).unwrap()) {
        fixture.check(&format!("{case}/grad.{name}"), &g, GRADIENT);
    }
}

#[test]
fn layers_and_activations_agree_with_pytorch() {
    let fixture = Fixture::open("layers");
    for device in devices() {
        for (case, layer) in layers() {
            fill(&fixture, case, &layer, &device);
            let x = fixture.tensor(&format!("{case}/x"), &device);
            let mut wrt = vec![("x".to_string(), x.clone())];
            wrt.extend(layer.named_parameters().into_iter().map(|(name, p)| (name, p.value())));
            let y = layer.forward(&x);
            fixture.check(&format!("{case}/y"), &y, OUTPUT);
            check_gradients(&fixture, case, &weighted(&y), &wrt);
            for (name, buffer) in layer.named_buffers() {
                fixture.check(&format!("{case}/after.{name}"), &buffer.value(), OUTPUT);
            }
        }
    }
}

#[test]
fn embedding_and_bilinear_agree_with_pytorch() {
    let fixture = Fixture::open("layers");
    for device in devices() {
        let embedding = Embedding::new(6, 4).padding(2);
        fill(&fixture, "embedding", &embedding, &device);
        let y = embedding.forward(&fixture.tensor("embedding/x", &device));
        fixture.check("embedding/y", &y, OUTPUT);
        let wrt = [("weight".to_string(), embedding.weight.value())];
        check_gradients(&fixture, "embedding", &weighted(&y), &wrt);

        let bilinear = Bilinear::new(3, 4, 5);
        fill(&fixture, "bilinear", &bilinear, &device);
        let names = ["x", "second"]
            .map(|name| (name.to_string(), fixture.tensor(&format!("bilinear/{name}"), &device)));
        let y = bilinear.forward(&names[0].1, &names[1].1);
        fixture.check("bilinear/y", &y, OUTPUT);
        let mut wrt = names.to_vec();
        wrt.extend(bilinear.named_parameters().into_iter().map(|(name, p)| (name, p.value())));
        check_gradients(&fixture, "bilinear", &weighted(&y), &wrt);
    }
}

#[test]
fn a_gradient_penalty_through_a_convolution_agrees_with_pytorch() {
    let fixture = Fixture::open("layers");
    for device in devices() {
        let get = |name: &str| fixture.tensor(&format!("conv2d_twice/{name}"), &device);
        let (x, weight) = (get("x"), get("weight"));
        let options = ConvOptions::new().stride([2, 1]).padding(1).dilation([1, 2]).groups(2);
        let slope = x.conv2d(&weight, options).tanh().sum().gradient(&x).unwrap();
        let penalty = slope.square().sum();
        fixture.check("conv2d_twice/y", &penalty, OUTPUT);
        let wrt = [("x".to_string(), x), ("weight".to_string(), weight)];
        check_gradients(&fixture, "conv2d_twice", &penalty, &wrt);
    }
}

#[test]
fn every_case_of_the_fixture_is_looked_at() {
    let mut known: BTreeSet<String> = layers().into_iter().map(|(case, _)| case.to_string()).collect();
    known.extend(["embedding", "bilinear", "conv2d_twice"].map(String::from));
    let there: BTreeSet<String> = Fixture::open("layers").cases().into_iter().collect();
    assert_eq!(there, known);
}
