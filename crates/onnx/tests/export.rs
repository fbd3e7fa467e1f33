//! Every family of ops, exported and compared with onnxruntime; and what is rejected.

use farad::nn::{BatchNorm2d, Gru, LayerNorm, Lstm, Module};
use farad::prelude::*;
use farad::{Attention, Order};
use farad_onnx::proto::{Message, ValueInfoProto};
use farad_onnx::{Model, Ports, export};

/// A model to export: its name, the shape of a sample, what it computes.
type Case = (&'static str, &'static [usize], fn(&Tensor) -> Tensor);

const CASES: &[Case] = &[
    ("exponents", &[6], |x| {
        x.exp() + x.exp2() + (x.abs() + 0.5).log() + (x.abs() + 1.0).log2() + x.expm1() + x.abs().log1p()
    }),
    ("roots", &[6], |x| (x.abs() + 0.5).sqrt() + (x.abs() + 0.5).rsqrt() + (x.abs() + 0.5).recip()),
    ("waves", &[6], |x| x.sin() + x.cos() + x.tanh() + x.erf() + x.sigmoid() + x.relu()),
    ("rounded", &[6], |x| {
        (x * 3.0).floor() + (x * 3.0).ceil() + (x * 3.0).round() + x.sign() - x.abs() * -1.0
    }),
    ("pairs", &[2, 3], |x| {
        let y = x.flip(&[1]) + 0.25;
        x / (y.square() + 1.0) + x.maximum(&y) - x.minimum(&y) + (x.abs() + 0.1).pow(&y)
    }),
    ("choices", &[2, 3], |x| {
        let y = x.flip(&[-1]);
        let seen = x.less(&y).or(x.greater_equal(0.5)).and(x.not_equal(&y).not().not());
        seen.select(x, &(y * 3.0)) + x.equal(x).cast(DType::F32)
    }),
    ("sums", &[3, 4], |x| {
        x.sum_axes([2]) + x.max_axes([2]) - x.min_axes([2]) * x.mean_axes([2]) + x.prod_axes([2])
    }),
    ("places", &[3, 4], |x| x.argmax(2).cast(DType::F32) + x.argmin(2).cast(DType::F32)),
    ("moved", &[2, 3, 4], |x| {
        let y = x.permute(&[0, 3, 1, 2]).pad(&[(0, 0), (1, 2), (0, 0), (2, 0)]);
        y.flip(&[1]).narrow(1, 1, 4).reshape([x.size(0) * 4, 2 * 5]).reshape([x.size(0), 40])
    }),
    ("joined", &[2, 3], |x| Tensor::concat(&[x, &(x * 2.0), &x.narrow(1, 0, 1)], 1)),
    ("gathered", &[5], |x| x.index_select(1, &Tensor::from_vec(vec![4, 0, 0, 2], [4], &Device::cpu()))),
    ("sorted", &[7], |x| x.sort(1, Order::Descending).0 + x.argsort(1, Order::Ascending).cast(DType::F32)),
    ("first", &[7], |x| x.topk(3, 1, Order::Descending).0),
    ("running", &[20], |x| x.cumsum(1)),
    ("products", &[3, 4], |x| x.matmul(&x.transpose(1, 2)).matmul(&x.exp()).softmax(2)),
    ("windows", &[2, 9], |x| {
        let weight =
            (Tensor::arange(3 * 2 * 3, &Device::cpu()).cast(DType::F32) * 0.1 - 0.7).reshape([3, 2, 3]);
        x.conv1d(&weight, ConvOptions::new().stride(2).padding(1).dilation(2))
    }),
    ("grouped", &[4, 7, 6], |x| {
        let weight =
            (Tensor::arange(6 * 2 * 9, &Device::cpu()).cast(DType::F32) * 0.01 - 0.4).reshape([6, 2, 3, 3]);
        x.conv2d(&weight, ConvOptions::new().padding(1).groups(2))
    }),
    ("spread", &[2, 4, 3], |x| {
        let weight =
            (Tensor::arange(2 * 3 * 9, &Device::cpu()).cast(DType::F32) * 0.02 - 0.4).reshape([2, 3, 3, 3]);
        x.conv_transpose2d(&weight, ConvOptions::new().stride(2).padding(1).output_padding(1))
    }),
    ("pooled", &[2, 6, 8], |x| {
        let most = x.max_pool2d(PoolOptions::new(2));
        most + x.avg_pool2d(PoolOptions::new(3).stride(2).padding(1))
    }),
    ("attended", &[2, 5, 4], |x| x.attention(&x.sin(), &x.cos(), &Attention::new().causal())),
];

/// Numbers of either sign, all different.
fn sample(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let value = |n: usize| ((n * 37 % 101) as f32 / 50.0 - 1.0) + n as f32 * 1e-3;
    Tensor::from_vec((0..count).map(value).collect::<Vec<f32>>(), shape, &Device::cpu())
}

/// Writes a model, and its results for five samples.
fn write(
    folder: &std::path::Path,
    name: &str,
    shape: &[usize],
    state: &[(String, Tensor)],
    forward: impl Fn(&Tensor) -> Tensor,
) {
    let ports = Ports { input: "x", shape, dtype: DType::F32, output: "y" };
    let model = export(state, &ports, &forward).unwrap_or_else(|error| panic!("{name}: {error}"));
    std::fs::write(folder.join(format!("{name}.onnx")), model.encode()).unwrap();
    let x = sample(&[&[5], shape].concat());
    farad::write_npy(folder.join(format!("{name}.input.npy")), &x).unwrap();
    let y = forward(&x);
    farad::write_npy(folder.join(format!("{name}.output.npy")), &y).unwrap();
    // Read back, it is the same model.
    let again = Model::from_proto(&model).and_then(|model| model.apply(&x));
    let again = again.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(again.shape(), y.shape(), "{name}");
    let (again, y) = (again.to_vec::<f32>().unwrap(), y.to_vec::<f32>().unwrap());
    assert!(
        again.iter().zip(&y).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + b.abs())),
        "{name}: {again:?} {y:?}"
    );
}

#[test]
fn ops_say_the_same_in_onnxruntime() {
    let folder = std::env::temp_dir().join(format!("farad-exports-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for &(name, shape, forward) in CASES {
        write(&folder, name, shape, &[], forward);
    }
    farad::seed(1);
    let norm = Sequential::new((BatchNorm2d::new(2), Relu, Conv2d::new(2, 3, 3)));
    norm.eval();
    write(&folder, "normed", &[2, 5, 4], &norm.state(), |x| norm.forward(x));
    let rows = LayerNorm::new(6);
    write(&folder, "rows", &[3, 6], &rows.state(), |x| rows.forward(x));
    let lstm = Lstm::new(3, 4).layers(2).batch_first().bidirectional();
    write(&folder, "lstm", &[6, 3], &lstm.state(), |x| lstm.forward(x).0);
    let gru = Gru::new(3, 4).batch_first();
    write(&folder, "gru", &[6, 3], &gru.state(), |x| gru.forward(x).0);
    let python = std::env::var("FARAD_PYTHON").ok();
    assert!(python.is_some() || std::env::var_os("FARAD_REQUIRE_TOOLS").is_none(), "FARAD_PYTHON is not set");
    if let Some(python) = python {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_exports.py");
        let output = std::process::Command::new(python).arg(script).arg(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(said.lines().count(), CASES.len() + 4, "{said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_no_file_can_say_is_refused() {
    let refused = |forward: fn(&Tensor) -> Tensor| {
        let ports = Ports { input: "x", shape: &[4], dtype: DType::F32, output: "y" };
        export(&[], &ports, forward).map(|_| ()).unwrap_err().to_string()
    };
    let mean = refused(|x| x - x.mean_axes(kept([0])));
    assert!(mean.contains("cannot be exported: ") && mean.contains("for 2 and 3 samples"), "{mean}");
    let more = refused(|x| Tensor::concat(&[x, &Tensor::zeros([1, 4], &Device::cpu())], 0));
    assert!(more.contains("a size is not a multiple of the batch (3 vs 4"), "{more}");
    let drawn = refused(|x| x.dropout(0.5));
    assert!(drawn.contains("ONNX has no such op (random (") && drawn.contains("export.rs:"), "{drawn}");
}

#[test]
fn parameters_keep_their_names_and_the_batch_is_free() {
    let model = Sequential::new((Linear::new(4, 8), Relu, Linear::new(8, 3)));
    let ports = Ports { input: "x", shape: &[4], dtype: DType::F32, output: "y" };
    let file = export(&model.state(), &ports, |x| model.forward(x)).unwrap();
    let graph = file.graph.unwrap();
    let names: Vec<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(names[..4], ["0.weight", "0.bias", "2.weight", "2.bias"]);
    let ops: Vec<&str> = graph.node.iter().map(|node| node.op_type.as_str()).collect();
    assert_eq!(
        ops,
        ["Transpose", "MatMul", "Add", "Relu", "Transpose", "MatMul", "Add", "Identity"],
        "nothing is said twice"
    );
    let shape = |port: &ValueInfoProto| {
        let shape = port.r#type.as_ref().unwrap().tensor_type.as_ref().unwrap().shape.as_ref().unwrap();
        shape.dim.iter().map(|axis| (axis.dim_value, axis.dim_param.clone())).collect::<Vec<_>>()
    };
    assert_eq!(shape(&graph.input[0]), [(None, "batch".to_string()), (Some(4), String::new())]);
    assert_eq!(shape(&graph.output[0]), [(None, "batch".to_string()), (Some(3), String::new())]);
}
