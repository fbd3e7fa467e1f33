//! Elements of other dtypes than `f32`, and ops whose results have no elements or windows with edges.

use farad_onnx::Model;
use farad_onnx::proto::*;
use farad_tensor::{ConvOptions, DType, Device, PoolOptions, Tensor};

fn model(nodes: Vec<NodeProto>, initializer: Vec<TensorProto>, inputs: &[(&str, i64)], y: &[&str]) -> Model {
    let graph = GraphProto {
        node: nodes,
        initializer,
        input: inputs
            .iter()
            .map(|(name, kind)| ValueInfoProto {
                name: name.to_string(),
                r#type: Some(TypeProto {
                    tensor_type: Some(TensorTypeProto { elem_type: *kind, ..Default::default() }),
                    ..Default::default()
                }),
                ..Default::default()
            })
            .collect(),
        output: y
            .iter()
            .map(|name| ValueInfoProto { name: name.to_string(), ..Default::default() })
            .collect(),
        ..Default::default()
    };
    Model::from_proto(&ModelProto::new(graph, 21)).unwrap()
}

fn wave(count: usize, step: f64) -> Vec<f64> {
    (0..count).map(|n| ((n as f64 + 1.0) * step).sin()).collect()
}

#[test]
fn convolutions_of_f64_keep_their_digits() {
    let nodes = vec![
        NodeProto::new("Conv", &["x", "w", "b"], &["c"], vec![AttributeProto::ints("pads", &[1, 1, 1, 1])]),
        NodeProto::new("ConvTranspose", &["c", "w"], &["y"], vec![AttributeProto::ints("strides", &[2, 2])]),
    ];
    let model = model(
        nodes,
        vec![],
        &[("x", data_type::DOUBLE), ("w", data_type::DOUBLE), ("b", data_type::DOUBLE)],
        &["c", "y"],
    );
    let of = |shape: &[usize], step: f64| {
        Tensor::from_f64(&wave(shape.iter().product(), step), shape, &Device::cpu())
    };
    let (x, w, b) = (of(&[2, 3, 7, 5], 0.37), of(&[4, 3, 3, 3], 0.7), of(&[4], 0.9));
    let results = model.run(&[("x", &x), ("w", &w), ("b", &b)]).unwrap();
    let c = x.conv2d(&w, ConvOptions::new().padding(1)) + b.reshape([4, 1, 1]);
    let y = c.conv_transpose2d(&w, ConvOptions::new().stride(2));
    for ((name, found), wanted) in results.iter().zip([&c, &y]) {
        assert_eq!((found.dtype(), found.shape()), (DType::F64, wanted.shape()), "{name}");
        let (found, wanted) = (found.to_f64().unwrap(), wanted.to_f64().unwrap());
        assert!(
            found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12),
            "{name}: {found:?} {wanted:?}"
        );
        assert!(wanted.iter().any(|&x| x != x as f32 as f64));
    }
}

#[test]
fn integers_of_every_size_go_in_and_come_out() {
    fn check<T: farad_tensor::Element + PartialEq + std::fmt::Debug + Copy>(
        kind: i64,
        numbers: [T; 3],
        wanted: [T; 3],
    ) {
        let nodes = vec![NodeProto::new("Add", &["x", "x"], &["y"], vec![])];
        let model = model(nodes, vec![], &[("x", kind)], &["y"]);
        let x = Tensor::from_vec(numbers.to_vec(), [3], &Device::cpu());
        let y = model.apply(&x).unwrap();
        assert_eq!((y.dtype(), y.to_vec::<T>().unwrap()), (T::DTYPE, wanted.to_vec()));
    }
    check::<i8>(data_type::INT8, [1, -100, 127], [2, 56, -2]);
    check::<u8>(data_type::UINT8, [1, 200, 255], [2, 144, 254]);
    check::<i16>(data_type::INT16, [1, -30_000, 32_767], [2, 5_536, -2]);
    check::<u16>(data_type::UINT16, [1, 40_000, 65_535], [2, 14_464, 65_534]);
    check::<i32>(data_type::INT32, [1, -7, i32::MAX], [2, -14, -2]);
    check::<u32>(data_type::UINT32, [1, 7, u32::MAX], [2, 14, u32::MAX - 1]);
    check::<i64>(data_type::INT64, [1, -7, i64::MAX], [2, -14, -2]);
    check::<u64>(data_type::UINT64, [1, 1 << 63, u64::MAX], [2, 0, u64::MAX - 1]);
}

#[test]
fn tokens_of_any_integer_are_positions() {
    let nodes = vec![NodeProto::new("Gather", &["table", "x"], &["y"], vec![])];
    let table = TensorProto::floats("table", &[3, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let model = model(nodes, vec![table], &[("x", data_type::INT64)], &["y"]);
    let device = Device::cpu();
    let wanted = [4.0, 5.0, 0.0, 1.0];
    for x in [
        Tensor::from_vec(vec![2i8, 0], [2], &device),
        Tensor::from_vec(vec![2u8, 0], [2], &device),
        Tensor::from_vec(vec![2i16, 0], [2], &device),
        Tensor::from_vec(vec![2u16, 0], [2], &device),
        Tensor::from_vec(vec![2i32, 0], [2], &device),
        Tensor::from_vec(vec![2i64, 0], [2], &device),
    ] {
        assert_eq!(model.apply(&x).unwrap().to_vec::<f32>().unwrap(), wanted, "{}", x.dtype());
    }
}

#[test]
fn a_loop_without_trips_stacks_nothing() {
    let port = |name: &str, kind: i64, shape: &[Option<usize>]| ValueInfoProto::tensor(name, kind, shape);
    let body = GraphProto {
        node: vec![
            NodeProto::new("Identity", &["going"], &["on"], vec![]),
            NodeProto::new("Add", &["v", "v"], &["twice"], vec![]),
            NodeProto::new("Identity", &["twice"], &["row"], vec![]),
        ],
        input: vec![
            port("n", data_type::INT64, &[]),
            port("going", data_type::BOOL, &[]),
            port("v", data_type::FLOAT, &[Some(2)]),
        ],
        output: vec![
            port("on", data_type::BOOL, &[]),
            port("twice", data_type::FLOAT, &[Some(2)]),
            port("row", data_type::FLOAT, &[Some(2)]),
        ],
        ..Default::default()
    };
    let attribute = AttributeProto::graph("body", body);
    let nodes = vec![NodeProto::new("Loop", &["count", "", "x"], &["y", "rows"], vec![attribute])];
    let model = model(nodes, vec![], &[("x", data_type::FLOAT), ("count", data_type::INT64)], &["y", "rows"]);
    let x = Tensor::from_vec(vec![1.0f32, 3.0], [2], &Device::cpu());
    for (count, last, rows) in [(0i64, [1.0f32, 3.0], vec![]), (2, [4.0, 12.0], vec![2.0, 6.0, 4.0, 12.0])] {
        let trips = Tensor::from_vec(vec![count], [], &Device::cpu());
        let results = model.run(&[("x", &x), ("count", &trips)]).unwrap();
        assert_eq!(results[0].1.to_vec::<f32>().unwrap(), last);
        assert_eq!(results[1].1.shape()[..], [count as usize, 2]);
        assert_eq!(results[1].1.to_vec::<f32>().unwrap(), rows);
    }
}

#[test]
fn the_largest_of_a_window_is_found_axis_by_axis() {
    let ints = AttributeProto::ints;
    // Kernel, stride, padding and dilation, and sizes of an image.
    for (kernel, stride, padding, dilation, size) in [
        ([3, 3], [2, 2], [1, 1], [1, 1], [9, 8]),
        ([2, 3], [1, 2], [0, 1], [2, 1], [7, 10]),
        ([1, 4], [1, 1], [0, 2], [1, 1], [3, 5]),
        ([3, 1], [2, 1], [1, 0], [1, 1], [6, 4]),
    ] {
        let list = |numbers: [usize; 2]| numbers.map(|n| n as i64).to_vec();
        let nodes = vec![NodeProto::new(
            "MaxPool",
            &["x"],
            &["y"],
            vec![
                ints("kernel_shape", &list(kernel)),
                ints("strides", &list(stride)),
                ints("dilations", &list(dilation)),
                ints("pads", &[list(padding), list(padding)].concat()),
            ],
        )];
        let model = model(nodes, vec![], &[("x", data_type::FLOAT)], &["y"]);
        let count = 2 * 3 * size[0] * size[1];
        let values = wave(count, 0.61).into_iter().map(|x| x as f32 - 2.0).collect();
        let x = Tensor::from_vec(values, [2, 3, size[0], size[1]], &Device::cpu());
        let options = PoolOptions::new(kernel).stride(stride).padding(padding).dilation(dilation);
        let (y, wanted) = (model.apply(&x).unwrap(), x.max_pool2d(options));
        assert_eq!(y.shape(), wanted.shape());
        assert_eq!(y.to_vec::<f32>().unwrap(), wanted.to_vec::<f32>().unwrap(), "{kernel:?}");
    }
}
