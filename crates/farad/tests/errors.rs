//! Wrong input gives a clear message: panics at the caller's line for wrong programs, errors for
//! the outside world.

mod devices;

use devices::{devices, skip, turn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use farad::Attention;
use farad::prelude::*;

/// The panic message of `work`, and whether the panic was laid at this file's door.
fn panic_of(work: impl FnOnce()) -> String {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = std::sync::Arc::new(Mutex::new(String::new()));
    let seen = place.clone();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        *seen.lock().unwrap() = info.location().map_or(String::new(), |l| l.file().to_string());
    }));
    let caught = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    let message = match caught.expect_err("nothing panicked").downcast::<String>() {
        Ok(text) => *text,
        Err(other) => other.downcast::<&str>().map(|s| s.to_string()).unwrap_or_default(),
    };
    let place = place.lock().unwrap().clone();
    assert!(place.ends_with("errors.rs"), "the panic `{message}` is laid at {place}, not at the caller");
    message
}

#[test]
fn wrong_shapes_panic_at_the_caller() {
    let device = Device::cpu();
    let t = |shape: &[usize]| Tensor::zeros(shape, &device);
    let cases: Vec<(Box<dyn FnOnce()>, &str)> = vec![
        (
            Box::new({
                let (q, k) = (t(&[2, 4, 5, 8]), t(&[2, 4, 5, 6]));
                move || drop(q.attention(&k, &k, &Attention::new()))
            }),
            "attention: shapes differ: [2, 4, 5, 8] and [2, 4, 5, 6] (8 vs 6)",
        ),
        (
            Box::new({
                let (q, k) = (t(&[4, 5, 8]), t(&[3, 5, 8]));
                move || drop(q.attention(&k, &k, &Attention::new()))
            }),
            "attention: heads do not share keys evenly: [4, 5, 8] and [3, 5, 8] (4 vs 3)",
        ),
        (
            Box::new({
                let (q, mask) = (t(&[2, 4, 5, 8]), t(&[2, 6]));
                move || drop(q.attention(&q, &q, &Attention::new().key_mask(&mask)))
            }),
            "expand: only axes of size 1 grow: [2, 6] to [2, 5] (axis 1: 6 vs 5)",
        ),
        (
            Box::new({
                let (a, b) = (t(&[32, 784]), t(&[128, 10]));
                move || drop(a.matmul(&b))
            }),
            "matmul: inner sizes differ: lhs [32, 784], rhs [128, 10] (784 vs 128)",
        ),
        (
            Box::new({
                let (a, b) = (t(&[2, 3]), t(&[2, 4]));
                move || drop(&a + &b)
            }),
            "add: shapes do not broadcast: lhs [2, 3], rhs [2, 4] (axis 1: 3 vs 4)",
        ),
        (
            Box::new({
                let a = t(&[2, 3]);
                move || drop(a.reshape([7]))
            }),
            "reshape: element counts differ: [2, 3] to [7] (6 vs 7)",
        ),
        (
            Box::new({
                let a = t(&[2, 3]);
                move || drop(a.sum_axes([2]))
            }),
            "sum: axis out of range: [2, 3] (axis 2 vs rank 2)",
        ),
        (
            Box::new({
                let a = t(&[2, 3]);
                move || drop(a.permute(&[0, 0]))
            }),
            "permute: axis given twice: [0, 0] (axis 0)",
        ),
        (
            Box::new({
                let a = t(&[2, 3]);
                move || drop(a.slice((0..3, ..)))
            }),
            "slice: out of range: [2, 3] axis 0 (end 3 vs size 2)",
        ),
        (
            Box::new({
                let a = t(&[2, 0]);
                move || drop(a.max_axes([1]))
            }),
            "max: nothing to reduce: [2, 0] has no elements along [1] (0 vs at least 1)",
        ),
        (
            Box::new(|| drop(Tensor::zeros([1; 9], &Device::cpu()))),
            "shape: rank too high: [1, 1, 1, 1, 1, 1, 1, 1, 1] (9 vs at most 8)",
        ),
        (
            Box::new(|| drop(Tensor::from_vec(vec![1.0, 2.0], [3], &Device::cpu()))),
            "from_vec: data does not fill [3] (2 vs 3)",
        ),
        (
            Box::new({
                let a = t(&[2, 3]);
                move || drop(a.gather(1, &Tensor::zeros([2, 1], &Device::cpu())))
            }),
            "gather: dtype not supported: f32\nhelp: positions are integers, e.g. `.cast(DType::I32)`",
        ),
        (
            Box::new({
                let a = t(&[2, 0]);
                move || drop(a.gather(1, &Tensor::arange(2, &Device::cpu()).unsqueeze(1)))
            }),
            "gather: axis 1 of [2, 0] has no elements to index: by [2, 1] (0 vs 1)",
        ),
        (
            Box::new({
                let a = t(&[0, 2]);
                move || drop(a.scatter_add(0, &Tensor::arange(3, &Device::cpu()).unsqueeze(1), &t(&[3, 2])))
            }),
            "scatter_add: axis 0 of [0, 2] has no elements to index: by [3, 1] (0 vs 1)",
        ),
        (
            Box::new({
                let a = t(&[2, 3]);
                move || {
                    scan(&[], &[&a], |_, row| {
                        let inner = scan(&[], &[&row[0]], |_, x| (vec![], vec![x[0].exp()]));
                        (vec![], inner.1)
                    });
                }
            }),
            "scan: loops do not nest: the body has a scan of its own (1 vs 0)\nhelp: unroll the inner loop, or make one scan of both",
        ),
        (Box::new(|| drop(Tensor::arange(3, &Device::cpu()).exp())), "exp: dtype not supported: i32"),
        (
            Box::new(|| drop(Tensor::ones([1], &Device::cpu()).cast(DType::BF16).exp())),
            "exp: dtype not supported: bf16\nhelp: cast it first, e.g. `.cast(DType::F32)`",
        ),
        (
            Box::new({
                let a = t(&[2, 3]);
                move || drop(a.cross_entropy(&Tensor::arange(3, &Device::cpu())))
            }),
            "cross_entropy: logits are [batch, classes] and labels [batch]: [2, 3] and [3] (2 vs 3)",
        ),
        (
            Box::new({
                let (a, b) = (t(&[2, 3, 5]), Tensor::zeros([2, 4], &device).cast(DType::I32));
                move || drop(a.negative_log_likelihood(&b))
            }),
            "negative_log_likelihood: logits are [batch, classes, ..] and labels [batch, ..]: [2, 3, 5] and [2, 4] (5 vs 4)",
        ),
        (
            Box::new({
                let (a, b) = (t(&[2, 3]), t(&[4]));
                move || drop(farad::loss::CrossEntropy::new().weights(&b).loss(&a, &a))
            }),
            "cross_entropy: one weight per class: [2, 3] and [4] (3 vs 4)",
        ),
        (
            Box::new({
                let (a, b) = (t(&[5]), t(&[5, 1]));
                move || drop(a.mean_squared_error(&b))
            }),
            "mean_squared_error: ranks differ: [5] and [5, 1] (1 vs 2)",
        ),
        (
            Box::new({
                let (a, b) = (t(&[2, 3]), t(&[2, 4]));
                move || drop(a.binary_cross_entropy_with_logits(&b))
            }),
            "binary_cross_entropy_with_logits: shapes differ: [2, 3] and [2, 4] (3 vs 4)",
        ),
        (
            Box::new({
                let (a, b) = (t(&[2, 3]), t(&[2, 4]));
                move || drop(Tensor::concat(&[&a, &b], 0))
            }),
            "concat: shapes differ: [2, 3] and [2, 4] (3 vs 4)",
        ),
    ];
    for (work, expected) in cases {
        assert_eq!(panic_of(work), expected);
    }
}

#[test]
fn two_bad_indices_are_not_mixed_up() {
    let _turn = turn();
    for device in devices() {
        let (small, large) = (Tensor::rand([10], &device), Tensor::rand([100], &device));
        let pick = |table: &Tensor, at: u32| table.gather(0, &Tensor::from_vec(vec![at], [1], &device));
        // One program: an independent maximum would blame one op with the other's index.
        for (a, b) in [(12, 3_000_000_000), (4_000_000_000, 105)] {
            let sum = pick(&small, a) + pick(&large, b);
            let error = sum.to_vec::<f32>().unwrap_err().to_string();
            let (one, other) = (format!("{a} vs "), format!("{b} vs "));
            let right = (error.contains(&one) && error.trim_end().ends_with("10)"))
                || (error.contains(&other) && error.trim_end().ends_with("100)"));
            assert!(right, "{device}: {a} of 10, {b} of 100: {error}");
        }
        let signed = Tensor::from_vec(vec![-3], [1], &device);
        let error = small.gather(0, &signed).to_vec::<f32>().unwrap_err().to_string();
        assert!(error.contains("-3 vs "), "{error}");
    }
}

#[test]
fn an_index_out_of_range_is_an_error_with_its_line() {
    let _turn = turn();
    for device in devices() {
        let table = Tensor::rand([10, 4], &device);
        let ids = Tensor::from_vec(vec![0, 12], [2], &device);
        let error = table.embedding(&ids).to_vec::<f32>().unwrap_err().to_string();
        assert!(error.contains("gather: index out of range"), "{error}");
        assert!(error.contains("12") && error.contains("10") && error.contains("errors.rs"), "{error}");
        // The device goes on.
        assert_eq!(Tensor::ones([2], &device).sum().item().unwrap(), 2.0);
        let source = Tensor::ones([2], &device);
        let target = Tensor::zeros([10], &device);
        let error = target.scatter_add(0, &ids, &source).to_vec::<f32>().unwrap_err().to_string();
        assert!(error.contains("scatter_add: index out of range"), "{error}");
        assert_eq!(Tensor::ones([2], &device).sum().item().unwrap(), 2.0);
    }
}

#[test]
fn empty_tensors_work() {
    let _turn = turn();
    for device in devices() {
        let empty = Tensor::zeros([0, 3], &device);
        assert_eq!((&empty + 1.0).exp().to_vec::<f32>().unwrap(), Vec::<f32>::new());
        assert_eq!(empty.sum().item().unwrap(), 0.0, "on {device}");
        assert_eq!(empty.sum_axes([0]).to_vec::<f32>().unwrap(), [0.0; 3], "on {device}");
        let product = Tensor::ones([2, 0], &device).matmul(&Tensor::ones([0, 3], &device));
        assert_eq!(product.to_vec::<f32>().unwrap(), [0.0; 6], "on {device}");
        let loaded = Tensor::from_vec(Vec::<f32>::new(), [0], &device);
        assert_eq!(
            Tensor::concat(&[&loaded, &Tensor::ones([2], &device)], 0).to_vec::<f32>().unwrap(),
            [1.0, 1.0]
        );
    }
}

#[test]
fn a_device_that_is_not_there() {
    let error = Device::gpu(99).unwrap_err().to_string();
    assert!(error.contains("no such adapter: index 99"), "{error}");
    let error = Device::named("tpu").unwrap_err().to_string();
    assert!(error.starts_with("device: unknown name: tpu\nhelp: use `best`"), "{error}");
}

#[test]
fn a_tensor_larger_than_the_adapter_allows() {
    let _turn = turn();
    let Ok(gpu) = Device::gpu_with(0, farad::DeviceOptions { core: true, ..Default::default() }) else {
        return skip("none");
    };
    // WebGPU's default limit is 256 MiB a buffer and 128 MiB a binding.
    let error = (Tensor::rand([100 << 20], &gpu) * 2.0).compute().unwrap_err().to_string();
    assert!(error.contains("too large for the device"), "{error}");
    assert_eq!(Tensor::ones([2], &gpu).sum().item().unwrap(), 2.0);
}

#[test]
fn not_a_number_is_kept_and_found() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::from_vec(vec![1.0, f32::NAN, f32::INFINITY], [3], &device);
        let y = (&x * 2.0).to_vec::<f32>().unwrap();
        assert!(y[0] == 2.0 && y[1].is_nan() && y[2] == f32::INFINITY, "{y:?} on {device}");
        device.find_first_not_finite(true);
        let zero = Tensor::zeros([2], &device);
        let bad = (zero.log() * 0.0 + 1.0).sum();
        let error = bad.item().unwrap_err().to_string();
        device.find_first_not_finite(false);
        assert!(error.starts_with("step: non-finite value: first made by log at"), "{error}");
        assert!(error.contains("errors.rs"), "{error}");
    }
}

/// The message of a read while the search is on.
fn found(device: &Device, tensor: &Tensor) -> String {
    device.find_first_not_finite(true);
    let error = tensor.compute().unwrap_err().to_string();
    device.find_first_not_finite(false);
    error
}

#[test]
fn what_made_the_first_bad_value_is_named() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::from_vec(vec![1.0, f32::NAN], [2], &device);
        let error = found(&device, &(&x * 2.0));
        assert!(error.starts_with("step: non-finite value: already in an input at "), "{error}");
        assert!(error.contains("errors.rs") && error.ends_with("(element 1 of 2)"), "{error}");
        let error = found(&device, &(Tensor::number(f32::INFINITY, &device) + 1.0));
        assert!(error.ends_with("(element 0 of 1)"), "{error}");
        let half = Tensor::from_vec(vec![300.0f32], [1], &device).cast(DType::F16);
        let error = found(&device, &half.square().cast(DType::F32));
        assert!(error.starts_with("step: non-finite value: first made by mul at "), "{error}");
        let zeros = Tensor::from_vec(vec![0.0f32, 0.0], [2], &device);
        let (_, logs) = scan(&[], &[&zeros], |_, x| (vec![], vec![x[0].log()]));
        let error = found(&device, &logs[0].exp());
        assert!(error.starts_with("step: non-finite value: first made by scan at "), "{error}");
    }
}

#[test]
fn what_stands_for_a_slice_cannot_be_read() {
    let x = Tensor::ones([2, 3], &Device::cpu());
    let mut kept = None;
    scan(&[], &[&x], |_, row| {
        let error = row[0].to_vec::<f32>().unwrap_err().to_string();
        assert!(
            error.starts_with("read: no value yet: the tensor [3] stands for a carry or a slice"),
            "{error}"
        );
        kept = Some(row[0].clone());
        (vec![], vec![row[0].exp()])
    });
    let error = (kept.unwrap() + &x).compute().unwrap_err().to_string();
    assert!(error.contains("help: use it inside the scan's body only"), "{error}");
}

#[test]
fn reading_the_wrong_way() {
    let x = Tensor::arange(2, &Device::cpu());
    let error = x.to_vec::<f32>().unwrap_err().to_string();
    assert_eq!(
        error,
        "read: dtypes differ: tensor i32, asked f32\nhelp: cast it first, e.g. `.cast(DType::F32)`"
    );
    assert_eq!(x.item().unwrap_err().to_string(), "item: the tensor has more than one element: [2] (2 vs 1)");
}

#[test]
fn gradients_that_do_not_exist() {
    let device = Device::cpu();
    let (x, y) = (Tensor::ones([2], &device), Tensor::ones([2], &device));
    let error = x.sum().gradient(&y).unwrap_err().to_string();
    assert!(error.starts_with("gradient: the result does not depend on input 0, [2]"), "{error}");
    let error = x.gradient(&x).unwrap_err().to_string();
    assert!(error.starts_with("gradient: the loss must be one number: [2] (2 elements vs 1)"), "{error}");
    let error = x.stop_gradient().sum().gradient(&x).unwrap_err().to_string();
    assert!(error.starts_with("gradient: the result does not depend"), "{error}");
}

#[test]
fn files_that_are_not_there_or_not_right() {
    let error = farad::load("/nonexistent/x.safetensors", &Device::cpu()).unwrap_err().to_string();
    assert!(error.starts_with("load: file /nonexistent/x.safetensors: "), "{error}");
    let path = std::env::temp_dir().join(format!("farad-test-{}.safetensors", std::process::id()));
    std::fs::write(&path, b"not a tensor file").unwrap();
    let error = farad::load(&path, &Device::cpu()).unwrap_err().to_string();
    assert!(error.starts_with("load: not a safetensors file: "), "{error}");
    std::fs::remove_file(&path).unwrap();
    let x = Tensor::ones([2], &Device::cpu());
    let error = farad::save("/nonexistent/x.safetensors", &[("x", &x)]).unwrap_err().to_string();
    assert!(error.starts_with("save: file /nonexistent/x.safetensors: "), "{error}");
}

#[test]
fn saved_tensors_come_back() {
    let _turn = turn();
    let path = std::env::temp_dir().join(format!("farad-round-{}.safetensors", std::process::id()));
    for device in devices() {
        let tensors = [
            ("f32", Tensor::rand([3, 2], &device)),
            ("f16", Tensor::rand([3], &device).cast(DType::F16)),
            ("i32", Tensor::arange(4, &device)),
            ("bool", Tensor::random_mask(0.5, [5], &device)),
        ];
        farad::save(&path, &tensors.each_ref().map(|(n, t)| (*n, t))).unwrap();
        let back = farad::load(&path, &device).unwrap();
        for (name, tensor) in &tensors {
            assert_eq!(back[*name].to_string(), tensor.to_string());
        }
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn convolutions_that_do_not_fit_panic_at_the_caller() {
    let device = Device::cpu();
    let t = |shape: &[usize]| Tensor::zeros(shape, &device);
    let (image, weight) = (t(&[1, 3, 8, 8]), t(&[4, 3, 3, 3]));
    let one = ConvOptions::<2>::new;
    let conv = |weight: &[usize], options| panic_of(|| drop(image.conv2d(&t(weight), options)));
    assert_eq!(
        conv(&[4, 5, 3, 3], one()),
        "conv2d: channels differ: input [1, 3, 8, 8], weight [4, 5, 3, 3] (3 vs 5)"
    );
    assert_eq!(
        conv(&[4, 3, 3, 9], one()),
        "conv2d: kernel does not fit into the padded input: input [1, 3, 8, 8], weight [4, 3, 3, 9] axis 1 (9 vs 8)"
    );
    assert_eq!(
        conv(&[4, 3, 5, 3], one().dilation(3).padding(2)),
        "conv2d: kernel does not fit into the padded input: input [1, 3, 8, 8], weight [4, 3, 5, 3] axis 0 (13 vs 12)"
    );
    assert_eq!(conv(&[4, 1, 3, 3], one().groups(3)), "conv2d: groups do not divide outputs (4 vs 3)");
    assert_eq!(conv(&[4, 3, 3], one()), "conv2d: weight has 4 axes: [4, 3, 3] (3 vs 4)");
    assert_eq!(
        conv(&[4, 3, 3, 3], one().stride([1, 0])),
        "conv2d: stride is at least 1: [1, 0] axis 1 (0 vs 1)"
    );
    assert_eq!(conv(&[4, 3, 3, 3], one().groups(0)), "conv2d: there is at least one group (0 vs 1)");
    assert_eq!(
        panic_of(|| drop(t(&[1, 2, 3]).conv_transpose1d(&t(&[3, 2, 3]), ConvOptions::new()))),
        "conv_transpose1d: channels differ: input [1, 2, 3], weight [3, 2, 3] (2 vs 3)"
    );
    assert_eq!(
        panic_of(|| drop(image.conv_transpose2d(&weight, one()))),
        "conv_transpose2d: channels differ: input [1, 3, 8, 8], weight [4, 3, 3, 3] (3 vs 4)"
    );
    assert_eq!(
        panic_of(|| drop(Conv2d::new(3, 4, 3).groups(2))),
        "conv2d: groups do not divide inputs (3 vs 2)"
    );
    assert_eq!(
        panic_of(|| drop(Conv2d::new(5, 4, 3).forward(&image))),
        "Conv2d: conv2d: channels differ: input [1, 3, 8, 8], weight [4, 5, 3, 3] (3 vs 5)"
    );
}

#[test]
fn layers_that_do_not_fit_panic_at_the_caller() {
    use farad::nn::{GroupNorm, InstanceNorm2d, RmsNorm, Upsample, init};
    let device = Device::cpu();
    let t = |shape: &[usize]| Tensor::zeros(shape, &device);
    let image = t(&[1, 3, 8, 8]);
    let pool = |options: PoolOptions<2>| panic_of(|| drop(image.max_pool2d(options)));
    assert_eq!(
        pool(PoolOptions::new(9)),
        "max_pool2d: kernel does not fit into the padded input: [8, 8] axis 0 (9 vs 8)"
    );
    assert_eq!(
        pool(PoolOptions::new(3).padding(2)),
        "max_pool2d: padding is at most half of the kernel: axis 0 (2 vs 1)"
    );
    assert_eq!(pool(PoolOptions::new([2, 0])), "max_pool2d: kernel is at least 1: [2, 0] axis 1 (0 vs 1)");
    assert_eq!(
        panic_of(|| drop(t(&[8, 8]).avg_pool2d(PoolOptions::new(2)))),
        "avg_pool2d: input is [batch, channels, ..] with 2 more axes: [8, 8] (2 vs 4)"
    );
    assert_eq!(
        panic_of(|| drop(image.adaptive_avg_pool2d([0, 2]))),
        "adaptive_avg_pool2d: there is at least one window and one element: [1, 3, 8, 8] axis 0 (0 vs 1)"
    );
    assert_eq!(
        panic_of(|| drop(BatchNorm2d::new(4).forward(&image))),
        "BatchNorm2d: batch_norm2d: channels differ: [1, 3, 8, 8] (3 vs 4)"
    );
    assert_eq!(
        panic_of(|| drop(BatchNorm2d::new(3).forward(&t(&[1, 3, 1, 1])))),
        "BatchNorm2d: batch_norm2d: more than one value a channel is needed: [1, 3, 1, 1] (1 vs 2)"
    );
    assert_eq!(
        panic_of(|| drop(InstanceNorm2d::new(3).forward(&t(&[1, 3, 1, 1])))),
        "InstanceNorm2d: instance_norm2d: more than one place is needed: [1, 3, 1, 1] (1 vs 2)"
    );
    assert_eq!(
        panic_of(|| drop(LayerNorm::new([8, 7]).forward(&image))),
        "LayerNorm: layer_norm: last axes differ: [1, 3, 8, 8] and [8, 7] (8 vs 7)"
    );
    assert_eq!(
        panic_of(|| drop(RmsNorm::new(7).forward(&image))),
        "RmsNorm: rms_norm: last axes differ: [1, 3, 8, 8] and [7] (8 vs 7)"
    );
    assert_eq!(panic_of(|| drop(GroupNorm::new(2, 3))), "group_norm: groups do not divide channels (3 vs 2)");
    assert_eq!(panic_of(|| drop(Dropout::new(1.5))), "dropout: not a probability (1.5 vs 0 to 1)");
    assert_eq!(
        panic_of(|| drop(Embedding::new(4, 2).padding(4))),
        "embedding: padding out of range: [4, 2] (4 vs 4)"
    );
    assert_eq!(
        panic_of(|| drop(image.pixel_shuffle(2))),
        "pixel_shuffle: the factor's square divides the channels: [1, 3, 8, 8] (3 vs 4)"
    );
    assert_eq!(
        panic_of(|| drop(Upsample::nearest(2).forward(&t(&[8, 8])))),
        "Upsample: upsample: images have four axes: [8, 8] (2 vs 4)"
    );
    assert_eq!(panic_of(|| drop(t(&[2, 3]).glu(1))), "glu: the axis has two halves: [2, 3] axis 1 (3 vs 2)");
    assert_eq!(
        panic_of(|| drop(image.prelu(&t(&[2])))),
        "prelu: one slope, or one per channel: [1, 3, 8, 8] and [2] (2 vs 3)"
    );
    let bias = Parameter::new(t(&[3]));
    assert_eq!(
        panic_of(|| drop(init::he_normal(&bias, init::Fan::In, 1.0))),
        "he: weights have inputs and outputs: [3] (1 vs at least 2)"
    );
}
