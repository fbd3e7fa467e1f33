//! Models built from messages: their results equal those of the same ops on tensors, and they learn.

use farad_nn::StateDict;
use farad_nn::layers::Module;
use farad_nn::optim::{Optimizer, Sgd};
use farad_onnx::proto::*;
use farad_onnx::{Model, OnnxError};
use farad_tensor::{ConvOptions, Device, Tensor};

/// Numbers from a repeating wave.
fn wave(count: usize, step: f32) -> Vec<f32> {
    (0..count).map(|n| ((n as f32 + 1.0) * step).sin()).collect()
}

fn tensor(shape: &[usize], step: f32) -> Tensor {
    Tensor::from_vec(wave(shape.iter().product(), step), shape, &Device::cpu())
}

fn initial(name: &str, shape: &[usize], step: f32) -> TensorProto {
    TensorProto::floats(name, shape, &wave(shape.iter().product(), step))
}

fn model(nodes: Vec<NodeProto>, initializer: Vec<TensorProto>, input: &[Option<usize>]) -> ModelProto {
    let graph = GraphProto {
        node: nodes,
        initializer,
        input: vec![ValueInfoProto::tensor("x", data_type::FLOAT, input)],
        output: vec![ValueInfoProto { name: "y".to_string(), ..Default::default() }],
        ..Default::default()
    };
    ModelProto::new(graph, 21)
}

/// A network of a convolution, a batch norm and a linear layer; nodes are not in order.
fn network() -> ModelProto {
    let nodes = vec![
        NodeProto::new("Gemm", &["flat", "w", "b"], &["y"], vec![AttributeProto::int("transB", 1)]),
        NodeProto::new("Flatten", &["pooled"], &["flat"], vec![]),
        NodeProto::new("GlobalAveragePool", &["r"], &["pooled"], vec![]),
        NodeProto::new("Relu", &["n"], &["r"], vec![]),
        NodeProto::new("BatchNormalization", &["c", "scale", "shift", "mean", "variance"], &["n"], vec![]),
        NodeProto::new("Conv", &["x", "kernel"], &["c"], vec![AttributeProto::ints("pads", &[1, 1, 1, 1])]),
    ];
    let initializer = vec![
        initial("kernel", &[4, 2, 3, 3], 0.7),
        initial("scale", &[4], 0.3),
        initial("shift", &[4], 0.4),
        initial("mean", &[4], 0.5),
        TensorProto::floats("variance", &[4], &[1.0, 2.0, 0.5, 1.5]),
        initial("w", &[3, 4], 0.9),
        initial("b", &[3], 1.1),
    ];
    model(nodes, initializer, &[None, Some(2), Some(6), Some(6)])
}

fn by_hand(x: &Tensor) -> Tensor {
    let channels = |values: Tensor| values.reshape([4, 1, 1]);
    let c = x.conv2d(&tensor(&[4, 2, 3, 3], 0.7), ConvOptions::new().padding(1));
    let variance = channels(Tensor::from_vec(vec![1.0f32, 2.0, 0.5, 1.5], [4], &Device::cpu()));
    let n = (c - channels(tensor(&[4], 0.5))) * (variance + 1e-5).rsqrt();
    let r = (n * channels(tensor(&[4], 0.3)) + channels(tensor(&[4], 0.4))).relu();
    r.mean_axes([2, 3]).matmul(&tensor(&[3, 4], 0.9).transpose(0, 1)) + tensor(&[3], 1.1)
}

fn close(a: &Tensor, b: &Tensor) {
    assert_eq!(a.shape(), b.shape());
    let (a, b) = (a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?} {b:?}");
}

#[test]
fn a_convolutional_network_is_that_of_tensors_and_learns() {
    let model = Model::from_proto(&network()).unwrap();
    let x = tensor(&[5, 2, 6, 6], 0.37);
    close(&model.apply(&x).unwrap(), &by_hand(&x));
    let names: Vec<String> = model.named_parameters().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["kernel", "scale", "shift", "w", "b"]);
    let buffers: Vec<String> = model.named_buffers().into_iter().map(|(name, _)| name).collect();
    assert_eq!(buffers, ["mean", "variance"]);

    let target = tensor(&[5, 3], 0.21);
    let loss = || (model.apply(&x).unwrap() - &target).square().mean();
    let before = loss().item().unwrap();
    let mut sgd = Sgd::new(model.parameters()).learning_rate(0.1);
    (0..10).for_each(|_| sgd.step(&loss()).unwrap());
    assert!(loss().item().unwrap() < 0.5 * before, "{} {before}", loss().item().unwrap());

    // Learned parameters can be loaded into another model by name.
    let other = Model::from_proto(&network()).unwrap();
    StateDict::of(&model).load_exactly(&other).unwrap();
    close(&model.apply(&x).unwrap(), &other.apply(&x).unwrap());
    model.freeze();
    assert!(model.parameters().is_empty());
}

#[test]
fn attention_of_small_ops_is_attention() {
    let nodes = vec![
        NodeProto::new("MatMul", &["x", "wq"], &["q"], vec![]),
        NodeProto::new("MatMul", &["x", "wk"], &["k"], vec![]),
        NodeProto::new("MatMul", &["x", "wv"], &["v"], vec![]),
        NodeProto::new("Transpose", &["k"], &["kt"], vec![AttributeProto::ints("perm", &[0, 2, 1])]),
        NodeProto::new("MatMul", &["q", "kt"], &["s"], vec![]),
        NodeProto::new("Shape", &["x"], &["shape"], vec![]),
        NodeProto::new("Gather", &["shape", "two"], &["width"], vec![]),
        NodeProto::new("Cast", &["width"], &["number"], vec![AttributeProto::int("to", data_type::FLOAT)]),
        NodeProto::new("Sqrt", &["number"], &["root"], vec![]),
        NodeProto::new("Div", &["s", "root"], &["scaled"], vec![]),
        NodeProto::new("Softmax", &["scaled"], &["p"], vec![]),
        NodeProto::new("MatMul", &["p", "v"], &["o"], vec![]),
        NodeProto::new("Add", &["o", "x"], &["sum"], vec![]),
        NodeProto::new("LayerNormalization", &["sum", "scale", "shift"], &["y"], vec![]),
    ];
    let weights = [("wq", 0.3), ("wk", 0.5), ("wv", 0.7)];
    let mut all: Vec<TensorProto> = weights.map(|(name, step)| initial(name, &[8, 8], step)).to_vec();
    all.extend([
        initial("scale", &[8], 0.2),
        initial("shift", &[8], 0.6),
        TensorProto::ints("two", &[], &[2]),
    ]);
    let model = Model::from_proto(&model(nodes, all, &[None, None, Some(8)])).unwrap();
    let x = tensor(&[2, 5, 8], 0.13);
    let [q, k, v] = weights.map(|(_, step)| x.matmul(&tensor(&[8, 8], step)));
    let p = (q.matmul(&k.transpose(1, 2)) * (1.0 / 8f64.sqrt())).softmax(-1);
    let by_hand = (p.matmul(&v) + &x).layer_norm(&tensor(&[8], 0.2), &tensor(&[8], 0.6), 1e-5);
    close(&model.apply(&x).unwrap(), &by_hand);
}

#[test]
fn an_lstm_is_its_formula() {
    let nodes = vec![NodeProto::new(
        "LSTM",
        &["x", "w", "r", "b"],
        &["", "y"],
        vec![AttributeProto::int("hidden_size", 3)],
    )];
    let weights =
        vec![initial("w", &[1, 12, 2], 0.3), initial("r", &[1, 12, 3], 0.5), initial("b", &[1, 24], 0.7)];
    let model = Model::from_proto(&model(nodes, weights, &[None, None, Some(2)])).unwrap();
    let x = tensor(&[4, 2, 2], 0.31);
    let (w, r) = (tensor(&[12, 2], 0.3).transpose(0, 1), tensor(&[12, 3], 0.5).transpose(0, 1));
    let b = tensor(&[24], 0.7);
    let b = b.narrow(0, 0, 12) + b.narrow(0, 12, 12);
    let (mut h, mut c) = (Tensor::zeros([2, 3], &Device::cpu()), Tensor::zeros([2, 3], &Device::cpu()));
    for step in 0..4 {
        let gates = x.narrow(0, step, 1).squeeze(0).matmul(&w) + h.matmul(&r) + &b;
        let gate = |n: usize| gates.narrow(1, 3 * n, 3);
        c = gate(2).sigmoid() * &c + gate(0).sigmoid() * gate(3).tanh();
        h = gate(1).sigmoid() * c.tanh();
    }
    close(&model.apply(&x).unwrap(), &h.unsqueeze(0));
}

#[test]
fn everything_that_is_missing_is_told_at_once() {
    let nodes = vec![
        NodeProto::new("Foo", &["x"], &["a"], vec![]),
        NodeProto::new("Foo", &["a"], &["b"], vec![]),
        NodeProto::new("Bar", &["b"], &["y"], vec![]),
    ];
    let error = Model::from_proto(&model(nodes, vec![], &[None])).err().expect("refused");
    let Some(OnnxError::Unsupported { ops }) = error.part::<OnnxError>() else { panic!("{error}") };
    assert_eq!(ops.len(), 2);
    assert_eq!(ops[0].nodes, ["Foo `a`", "Foo `b`"]);
    assert!(
        error.to_string().starts_with("onnx: not supported: Foo (version 21) at Foo `a`, Foo `b`; Bar"),
        "{error}"
    );
}

#[test]
fn graphs_that_cannot_run_are_refused() {
    let error = |nodes| Model::from_proto(&model(nodes, vec![], &[None])).err().expect("refused").to_string();
    let ring =
        vec![NodeProto::new("Relu", &["z"], &["y"], vec![]), NodeProto::new("Relu", &["y"], &["z"], vec![])];
    assert_eq!(error(ring), "onnx: the graph has a cycle: through Relu `y`, Relu `z`");
    let lost = vec![NodeProto::new("Relu", &["nowhere"], &["y"], vec![])];
    assert_eq!(error(lost), "onnx: no such value: nowhere: needed by Relu `y`");
    let strange = vec![NodeProto::new("Relu", &["x"], &["y"], vec![AttributeProto::int("axis", 1)])];
    assert_eq!(error(strange), "onnx: Relu `y`: there is no attribute axis");
    let bytes = network().encode();
    assert_eq!(ModelProto::decode(&bytes).unwrap(), network());
    (0..bytes.len()).for_each(|cut| drop(Model::from_bytes(&bytes[..cut])));
    let model = Model::from_proto(&network()).unwrap();
    let wrong = model.apply(&tensor(&[5, 3, 6, 6], 0.3)).expect_err("refused").to_string();
    assert_eq!(wrong, "onnx: input x: its shape does not match ([5, 3, 6, 6] vs [any, 2, 6, 6])");
}
