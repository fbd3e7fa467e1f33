//! Sizes that nobody means: numbers that wrap, windows that reach nowhere, axes without elements. Each is refused at
//! the caller's line with the numbers, or does what PyTorch does.

mod devices;
mod panics;

use devices::{devices, turn};
use farad::Corners;
use farad::nn::{BatchNorm2d, Conv2d, Embedding, GroupNorm, LayerNorm, Linear, Upsample};
use farad::prelude::*;
use panics::panic_of;

/// Sizes near the ends of what a machine word holds.
const HOSTILE: [usize; 7] =
    [usize::MAX, usize::MAX - 1, usize::MAX - 7, (usize::MAX >> 1) + 1, usize::MAX >> 1, 1 << 62, 1 << 60];

type Work = (&'static str, fn(usize) -> Tensor);

fn line(n: usize) -> Tensor {
    Tensor::arange(n, &Device::cpu()).cast(DType::F32)
}

fn image() -> Tensor {
    line(2 * 4 * 6 * 6).reshape([2, 4, 6, 6])
}

fn weight(shape: [usize; 4]) -> Tensor {
    Tensor::ones(shape, &Device::cpu())
}

/// Every public op that is told a size, with one that it may not believe.
const OPS: &[Work] = &[
    ("zeros", |n| Tensor::zeros([n, 2], &Device::cpu())),
    ("zeros beside none", |n| Tensor::zeros([n, n, 0], &Device::cpu())),
    ("full", |n| Tensor::full(1.0, [3, n], &Device::cpu())),
    ("ones", |n| Tensor::ones([n, n, n], &Device::cpu())),
    ("arange", |n| Tensor::arange(n, &Device::cpu())),
    ("rand", |n| Tensor::rand([n], &Device::cpu())),
    ("rand of two axes", |n| Tensor::rand([n, 4], &Device::cpu())),
    ("randn", |n| Tensor::randn([2, n], &Device::cpu())),
    ("rand_at", |n| Tensor::rand_at(1, 2, [n], &Device::cpu())),
    ("random_bits", |n| Tensor::random_bits([n], &Device::cpu())),
    ("random_mask", |n| Tensor::random_mask(0.5, [n], &Device::cpu())),
    ("from_vec", |n| Tensor::from_vec(vec![1.0f32], [n, 3], &Device::cpu())),
    ("from_f64", |n| Tensor::from_f64(&[1.0], [n, n], &Device::cpu())),
    ("reshape", |n| line(6).reshape([n, 6])),
    ("reshape of none", |n| line(0).reshape([n, n, 0])),
    ("expand", |n| line(6).reshape([6, 1]).expand([6, n])),
    ("broadcast_to", |n| line(6).broadcast_to([n, 6])),
    ("pad before", |n| line(6).pad(&[(n, 0)])),
    ("pad after", |n| line(6).pad(&[(1, n)])),
    ("pad both", |n| line(6).pad(&[(n, n)])),
    ("pad of two axes", |n| line(6).reshape([2, 3]).pad(&[(n / 2, 0), (n / 2, 0)])),
    ("narrow from", |n| line(6).narrow(0, n, 2)),
    ("narrow by", |n| line(6).narrow(0, 2, n)),
    ("narrow from and by", |n| line(6).narrow(0, n, n)),
    ("slice from", |n| line(6).slice(n..)),
    ("slice to", |n| line(6).slice(2..n)),
    ("slice by steps", |n| line(6).slice(Part::Step(n, None, n))),
    ("slice between steps", |n| line(6).slice(Part::Step(0, Some(n), 3))),
    ("slice at", |n| line(6).slice(n as isize)),
    ("split", |n| line(6).split(&[n, 7], 0).swap_remove(0)),
    ("size", |n| line(6).sum_axes([n as isize])),
    ("flatten", |n| line(6).flatten(n)),
    ("one_hot", |n| Tensor::arange(3, &Device::cpu()).one_hot(n)),
    ("segment_sum", |n| line(3).segment_sum(&Tensor::arange(3, &Device::cpu()), n)),
    ("segment_sum of rows", |n| line(6).reshape([3, 2]).segment_sum(&Tensor::arange(3, &Device::cpu()), n)),
    ("topk", |n| line(6).topk(n, 0, Order::Descending).0),
    ("tril", |n| line(6).reshape([2, 3]).tril(n as isize)),
    ("triu", |n| line(6).reshape([2, 3]).triu(n as isize)),
    ("variance", |n| line(6).variance([0], n)),
    ("conv2d stride", |n| image().conv2d(&weight([4, 4, 3, 3]), ConvOptions::new().stride(n))),
    ("conv2d padding", |n| image().conv2d(&weight([4, 4, 3, 3]), ConvOptions::new().padding(n))),
    ("conv2d dilation", |n| image().conv2d(&weight([4, 4, 3, 3]), ConvOptions::new().dilation(n))),
    ("conv2d groups", |n| image().conv2d(&weight([4, 4, 3, 3]), ConvOptions::new().groups(n))),
    ("transposed stride", |n| image().conv_transpose2d(&weight([4, 4, 3, 3]), ConvOptions::new().stride(n))),
    ("transposed padding", |n| {
        image().conv_transpose2d(&weight([4, 4, 3, 3]), ConvOptions::new().padding(n))
    }),
    ("transposed dilation", |n| {
        image().conv_transpose2d(&weight([4, 4, 3, 3]), ConvOptions::new().dilation(n))
    }),
    ("transposed output", |n| {
        image().conv_transpose2d(&weight([4, 4, 3, 3]), ConvOptions::new().stride(n).output_padding(n - 1))
    }),
    ("max_pool2d kernel", |n| image().max_pool2d(PoolOptions::new(n))),
    ("max_pool2d kernel, ceil", |n| image().max_pool2d(PoolOptions::new(n).ceil())),
    ("max_pool2d stride", |n| image().max_pool2d(PoolOptions::new(2).stride(n))),
    ("max_pool2d padding", |n| image().max_pool2d(PoolOptions::new(2).padding(n))),
    ("max_pool2d dilation", |n| image().max_pool2d(PoolOptions::new(2).dilation(n))),
    ("avg_pool2d kernel", |n| image().avg_pool2d(PoolOptions::new(n).stride(1).ceil())),
    ("avg_pool1d padding", |n| line(12).reshape([3, 4]).avg_pool1d(PoolOptions::new(n).padding(n / 2))),
    ("adaptive_avg_pool2d", |n| image().adaptive_avg_pool2d([n, 5])),
    ("adaptive_max_pool1d", |n| line(12).reshape([3, 4]).adaptive_max_pool1d(n)),
    ("resize_nearest", |n| image().resize_nearest([n, 7])),
    ("resize_bilinear", |n| image().resize_bilinear([5, n], Corners::Edges)),
    ("pixel_shuffle", |n| image().pixel_shuffle(n)),
    ("upsample", |n| Upsample::nearest(n).forward(&image())),
    ("upsample, bilinear", |n| Upsample::bilinear(n).forward(&image())),
    ("attention", |n| {
        let x = image();
        x.attention(&x, &x, &farad::Attention::new().offset(n).composed(true))
    }),
    ("Linear", |n| Linear::new(n, 3).weight.value()),
    ("Embedding", |n| Embedding::new(n, 2).weight.value()),
    ("Conv2d", |n| Conv2d::new(3, n, 3).weight.value()),
    ("Conv2d kernel", |n| Conv2d::new(3, 4, n).weight.value()),
    ("LayerNorm", |n| LayerNorm::new([n, 2]).weight.unwrap().value()),
    ("BatchNorm", |n| BatchNorm2d::new(n).weight.unwrap().value()),
    ("GroupNorm", |n| GroupNorm::new(1, n).weight.unwrap().value()),
];

#[test]
fn hostile_sizes_are_refused_at_the_callers_line_or_do_no_harm() {
    let _turn = turn();
    let mut wrong = Vec::new();
    for &(name, work) in OPS {
        for n in HOSTILE {
            let mut made = None;
            match panic_of(|| made = Some(work(n))) {
                Some((message, file)) => {
                    let ours = message.contains(": ") && message.contains('(') && message.contains(" vs ");
                    if !ours || message.contains("overflow") || !file.ends_with("sizes.rs") {
                        wrong.push(format!("{name} of {n}: `{message}` at {file}"));
                    }
                }
                None => {
                    let shape = made.expect("made").shape();
                    let about: f64 = shape.iter().map(|&size| size as f64).product();
                    if about > 1e18 {
                        wrong.push(format!("{name} of {n} gave {shape}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn products_that_wrap_to_something_small_are_refused() {
    let device = Device::cpu();
    let half = (1usize << 32) + 2;
    let (message, _) = panic_of(|| drop(Tensor::ones([1, 1], &device).expand([half, half]))).unwrap();
    assert!(
        message.starts_with("expand: too many elements: [4294967298, 4294967298] (1.845e19 vs at most"),
        "{message}"
    );
    let (message, _) = panic_of(|| drop(line(4).reshape([half, half]))).unwrap();
    assert!(message.starts_with("reshape: too many elements:"), "{message}");
    let (message, _) = panic_of(|| drop(line(6).narrow(0, usize::MAX, 2))).unwrap();
    assert_eq!(message, "slice: out of range: [6] axis 0 (end 18446744073709551615 vs size 6)");
    let (message, _) = panic_of(|| drop(Tensor::arange((1 << 31) + 1, &device))).unwrap();
    assert_eq!(message, "arange: positions are i32 (2147483649 vs 2147483648)");
    let (message, _) = panic_of(|| drop(Tensor::rand([(1 << 32) + 1], &device))).unwrap();
    assert_eq!(message, "random: too many elements for one draw: [4294967297] (4294967297 vs 4294967296)");
}

#[test]
fn streams_of_ones_own_share_nothing_with_a_device_of_the_same_seed() {
    let device = Device::cpu_with(Default::default());
    device.seed(7);
    let own: Vec<Vec<u32>> = (0..8).map(|_| Tensor::random_bits([64], &device).to_vec().unwrap()).collect();
    for place in 0..8 {
        let there: Vec<u32> = Tensor::random_bits_at(7, place, [64], &device).to_vec().unwrap();
        assert!(!own.contains(&there), "place {place}");
    }
    device.seed(7);
    assert_eq!(Tensor::random_bits([64], &device).to_vec::<u32>().unwrap(), own[0], "a seed repeats");
}

/// Along one axis of six: kernel, stride, padding, dilation, and how many windows PyTorch has with `ceil_mode`; 0 where
/// it refuses.
const CEIL: &[(usize, usize, usize, usize, usize)] = &[
    (2, 2, 0, 1, 3),
    (3, 2, 0, 1, 3),
    (3, 2, 1, 1, 4),
    (4, 4, 0, 1, 2),
    (5, 3, 0, 1, 2),
    (7, 1, 0, 1, 0),
    (7, 2, 0, 1, 1),
    (7, 3, 0, 1, 1),
    (8, 3, 0, 1, 1),
    (8, 2, 0, 1, 0),
    (9, 4, 0, 1, 1),
    (9, 3, 2, 1, 2),
    (10, 6, 0, 1, 1),
    (12, 6, 0, 1, 0),
    (11, 6, 0, 1, 1),
    (2, 7, 0, 1, 1),
    (2, 5, 1, 1, 2),
    (3, 1, 1, 2, 4),
    (3, 4, 0, 3, 1),
    (3, 3, 2, 2, 3),
    (4, 2, 0, 2, 1),
];

/// The largest, and the mean with padding counted and not, of every window of `1..=6`.
fn pooled(
    &(kernel, stride, padding, dilation, places): &(usize, usize, usize, usize, usize),
) -> [Vec<f32>; 3] {
    let mut results = [vec![], vec![], vec![]];
    for place in 0..places {
        let start = (place * stride) as isize - padding as isize;
        let inside: Vec<f32> = (0..kernel)
            .map(|k| start + (k * dilation) as isize)
            .filter(|at| (0..6).contains(at))
            .map(|at| at as f32 + 1.0)
            .collect();
        let end = (start + kernel as isize).min(6 + padding as isize);
        let sum: f32 = inside.iter().sum();
        results[0].push(inside.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        results[1].push(sum / (end - start) as f32);
        results[2].push(sum / inside.len() as f32);
    }
    results
}

#[test]
fn windows_that_reach_beyond_are_those_of_pytorch() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::from_vec((1..=6).map(|i| i as f32).collect(), [1, 1, 6], &device);
        for row in CEIL {
            let &(kernel, stride, padding, dilation, places) = row;
            let options =
                PoolOptions::<1>::new(kernel).stride(stride).padding(padding).dilation(dilation).ceil();
            if places == 0 {
                let (message, _) =
                    panic_of(|| drop(x.max_pool1d(options))).unwrap_or_else(|| panic!("{row:?} fits"));
                assert!(message.contains("kernel does not fit"), "{row:?}: {message}");
                continue;
            }
            let [largest, counted, plain] = pooled(row);
            assert_eq!(x.max_pool1d(options).to_vec::<f32>().unwrap(), largest, "{row:?} on {device}");
            if dilation > 1 {
                continue;
            }
            for (options, wanted) in [(options, counted), (options.without_padding_counted(), plain)] {
                let means = x.avg_pool1d(options).to_vec::<f32>().unwrap();
                let close = means.len() == wanted.len()
                    && means.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-5);
                assert!(close, "{row:?}: {means:?} is not {wanted:?} on {device}");
            }
        }
    }
}

#[test]
fn an_infinite_pixel_stays_where_it_is() {
    let _turn = turn();
    for device in devices() {
        let mut pixels = vec![1.0f32; 25];
        pixels[12] = f32::INFINITY;
        let x = Tensor::from_vec(pixels, [1, 1, 5, 5], &device);
        let sizes: [[usize; 2]; 5] = [[7, 7], [3, 3], [10, 10], [4, 9], [9, 9]];
        for size in sizes {
            let results = [
                x.resize_nearest(size),
                x.resize_bilinear(size, Corners::Edges),
                x.resize_bilinear(size, Corners::Centers),
            ];
            for (kind, y) in results.iter().enumerate() {
                let y = y.to_vec::<f32>().unwrap();
                assert!(y.iter().all(|v| !v.is_nan()), "{size:?} of kind {kind} on {device}: {y:?}");
                let finite = y.iter().filter(|v| v.is_finite()).count();
                assert!(finite * 2 > y.len(), "{size:?} of kind {kind} on {device}: {y:?}");
                assert!(y.iter().filter(|v| v.is_finite()).all(|v| (v - 1.0).abs() < 1e-5), "{y:?}");
            }
        }
    }
}

#[test]
fn empty_axes_give_what_pytorch_gives() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::zeros([2, 0], &device);
        let ones = Tensor::ones([0], &device);
        let empty: [(&str, Tensor); 12] = [
            ("softmax", x.softmax(-1)),
            ("softmax of rows", Tensor::zeros([0, 3], &device).softmax(-1).reshape([2, 0])),
            ("log_softmax", x.log_softmax(1)),
            ("layer_norm", x.layer_norm(&ones, &ones, 1e-5)),
            ("cumsum", x.cumsum(1)),
            ("cumprod", x.cumprod(1)),
            ("sort", x.sort(1, Order::Ascending).0),
            ("sort positions", x.sort(1, Order::Descending).1.cast(DType::F32)),
            ("topk", x.topk(0, 1, Order::Descending).0),
            ("exp", x.exp()),
            ("matmul", x.matmul(&Tensor::zeros([0, 0], &device))),
            ("concat", Tensor::concat(&[&x, &x], 1)),
        ];
        for (name, y) in empty {
            assert_eq!(y.shape()[..], [2, 0], "{name} on {device}");
            assert!(y.to_vec::<f32>().unwrap().is_empty(), "{name} on {device}");
        }
        let read = |t: Tensor| t.to_vec::<f32>().unwrap();
        assert_eq!(read(x.sum_axes([1])), [0.0; 2]);
        assert_eq!(read(x.prod_axes([1])), [1.0; 2]);
        assert_eq!(read(x.logsumexp([1])), [f32::NEG_INFINITY; 2]);
        assert!(read(x.mean_axes([1])).iter().all(|v| v.is_nan()));
        assert!(read(x.variance([1], 1)).iter().all(|v| v.is_nan()));
        let none = Tensor::zeros([0, 3, 8, 8], &device);
        let layers: [(&str, Tensor, usize); 6] = [
            ("conv2d", none.conv2d(&Tensor::ones([4, 3, 3, 3], &device), ConvOptions::new()), 4),
            ("max_pool2d", none.max_pool2d(PoolOptions::new(2)), 3),
            ("avg_pool2d", none.avg_pool2d(PoolOptions::new(3).stride(2).padding(1)), 3),
            ("adaptive_avg_pool2d", none.adaptive_avg_pool2d(3), 3),
            ("resize_nearest", none.resize_nearest(5), 3),
            ("resize_bilinear", none.resize_bilinear(5, Corners::Edges), 3),
        ];
        for (name, y, channels) in layers {
            assert_eq!(y.shape()[..2], [0, channels], "{name} on {device}");
            assert!(read(y).is_empty(), "{name} on {device}");
        }
    }
}
