//! Attention by its kernels: equal to the composed form in value and gradients, without the scores of all queries
//! and keys.

mod devices;

use devices::{devices, turn};
use farad::prelude::*;
use farad::{Attention, DeviceOptions};

/// The largest difference, relative to the largest element or to 1.
fn distance(a: &Tensor, b: &Tensor) -> f32 {
    assert_eq!(a.shape(), b.shape());
    let (a, b) = (a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap());
    let scale = b.iter().fold(1f32, |most, x| most.max(x.abs()));
    a.iter().zip(&b).map(|(a, b)| (a - b).abs() / scale).fold(0.0, |m, d| if d >= m { d } else { m.max(d) })
}

fn signed(shape: &[usize], seed: u64, device: &Device) -> Tensor {
    (Tensor::rand_at(seed, 0, shape, device) * 4.0 - 2.0).detach().unwrap()
}

/// The result and the gradients at queries, keys and values of a sum of squares.
fn both_ways(x: &[Tensor; 3], options: &Attention) -> Vec<Tensor> {
    let y = x[0].attention(&x[1], &x[2], options);
    let weight = signed(&y.shape(), 9, y.device());
    let mut all =
        (y.cast(DType::F32) * weight).square().sum().gradients_at(&x.iter().collect::<Vec<_>>()).unwrap();
    all.insert(0, y);
    Tensor::compute_all(&all.iter().collect::<Vec<_>>()).unwrap();
    all
}

/// The kernels on a device against the composed form on the CPU.
fn compare(sizes: [usize; 6], options: impl Fn(&Device) -> Attention, device: &Device) {
    compare_in(DType::F32, sizes, options, device);
}

/// The same for tensors of a dtype; what is compared with is always `f32`.
fn compare_in(dtype: DType, sizes: [usize; 6], options: impl Fn(&Device) -> Attention, device: &Device) {
    let [batch, heads, key_heads, queries, keys, width] = sizes;
    let other = [batch, key_heads, keys, width];
    let operand = |shape: &[usize], seed: u64, device: &Device| {
        signed(shape, seed, device).cast(dtype).detach().unwrap()
    };
    let results = |device: &Device, composed: bool| {
        let q = operand(&[batch, heads, queries, width], 1, device);
        let x = [q, operand(&other, 2, device), operand(&other, 3, device)];
        let x = if composed { x.map(|t| t.cast(DType::F32).detach().unwrap()) } else { x };
        both_ways(&x, &options(device).composed(composed))
    };
    let (got, wanted) = (results(device, false), results(&Device::cpu(), true));
    let most = if dtype == DType::F16 { [4e-3; 4] } else { [1e-5, 1e-4, 1e-4, 1e-4] };
    for (n, ((got, wanted), most)) in got.iter().zip(&wanted).zip(most).enumerate() {
        assert_eq!(got.dtype(), dtype);
        let far = distance(&got.cast(DType::F32), wanted);
        assert!(far <= most, "{sizes:?} of {dtype} on {device}: result {n} is off by {far:.1e}");
    }
}

#[test]
fn kernels_and_composed_form_agree_in_every_size() {
    let _turn = turn();
    for device in devices() {
        for width in [5, 16, 64, 80, 128] {
            compare([1, 2, 2, 65, 65, width], |_| Attention::new().causal(), &device);
        }
        for length in [1, 63, 64, 65, 300] {
            compare([1, 1, 1, length, length, 16], |_| Attention::new(), &device);
            compare([1, 1, 1, length, length, 16], |_| Attention::new().causal(), &device);
        }
        compare([2, 6, 3, 40, 70, 24], |_| Attention::new().offset(30).scale(0.3), &device);
        compare([2, 4, 2, 33, 70, 8], |d| Attention::new().key_lengths(&lengths(&[7, 70], d)), &device);
    }
}

#[test]
fn f16_tensors_agree_in_every_size() {
    let _turn = turn();
    for device in devices() {
        for width in [5, 16, 64, 80, 128] {
            compare_in(DType::F16, [1, 2, 2, 65, 65, width], |_| Attention::new().causal(), &device);
        }
        for length in [1, 15, 64, 300] {
            compare_in(DType::F16, [1, 1, 1, length, length, 16], |_| Attention::new(), &device);
        }
        compare_in(DType::F16, [2, 6, 3, 40, 70, 24], |_| Attention::new().offset(30).scale(0.3), &device);
        let some = |d: &Device| Attention::new().key_lengths(&lengths(&[7, 70], d));
        compare_in(DType::F16, [2, 4, 2, 33, 70, 8], some, &device);
    }
}

#[test]
fn masks_agree_however_they_broadcast() {
    let _turn = turn();
    for device in devices() {
        let (queries, keys) = (33, 40);
        let size = [2, 4, 2, queries, keys, 16];
        for lead in [&[][..], &[1, 1], &[2, 1], &[1, 4], &[2, 4], &[4]] {
            let shape = [lead, &[queries, keys]].concat();
            let added = |d: &Device| Attention::new().causal().mask(&signed(&shape, 7, d));
            let seen = |d: &Device| Attention::new().mask(&signed(&shape, 8, d).greater(0.3));
            for dtype in [DType::F32, DType::F16] {
                compare_in(dtype, size, added, &device);
                compare_in(dtype, size, seen, &device);
            }
        }
        let one_row = |d: &Device| Attention::new().mask(&signed(&[1, keys], 7, d));
        compare(size, one_row, &device);
    }
}

#[test]
fn what_is_added_has_a_gradient() {
    let _turn = turn();
    for device in devices() {
        let at_mask = |device: &Device, composed: bool| {
            let x = [1, 2, 3].map(|seed| signed(&[2, 3, 20, 16], seed, device));
            let mask = signed(&[3, 20, 20], 4, device);
            let options = Attention::new().causal().mask(&mask).composed(composed);
            let y = x[0].attention(&x[1], &x[2], &options);
            y.square().sum().gradient(&mask).unwrap()
        };
        let far = distance(&at_mask(&device, false), &at_mask(&Device::cpu(), true));
        assert!(far < 1e-4, "{device}: {far:.1e}");
    }
}

#[test]
fn dropout_drops_the_same_weights_forward_and_backward() {
    let _turn = turn();
    for device in devices() {
        let [q, k, v, g] = [1, 2, 3, 4].map(|seed| signed(&[2, 4, 64, 16], seed, &device));
        for dtype in [DType::F32, DType::F16] {
            let run = |q: &Tensor, v: &Tensor| {
                device.seed(5);
                let [q, k, v] = [q, &k, v].map(|t| t.cast(dtype));
                let options = Attention::new().causal().dropout(0.3).composed(false);
                q.attention(&k, &v, &options).cast(DType::F32)
            };
            // Weights of a row are one on average.
            let sums = run(&q, &v.full_like(1.0)).mean().item().unwrap();
            assert!((sums - 1.0).abs() < 0.02, "{device}: {sums}");
            // The result is linear in the values, if the same weights are dropped.
            let loss = (run(&q, &v) * &g).sum();
            let gradients = loss.gradients_at(&[&q, &v]).unwrap();
            let linear = (&gradients[1] * &v).sum();
            let (loss, linear) = (loss.item().unwrap(), linear.item().unwrap());
            let most = if dtype == DType::F16 { 0.1 } else { 1e-3 };
            assert!((loss - linear).abs() < most, "{device}, {dtype}: {loss} and {linear}");
            // A step along the gradient changes the result as it says.
            let step = 1e-2 / gradients[0].square().sum().item().unwrap().sqrt();
            let at = |sign: f32| {
                (run(&(&q + &gradients[0] * (sign * step) as f64), &v) * &g).sum().item().unwrap()
            };
            let (slope, wanted) =
                ((at(1.0) - at(-1.0)) / 2e-2, gradients[0].square().sum().item().unwrap().sqrt());
            let most = if dtype == DType::F16 { 0.2 } else { 0.02 };
            assert!((slope / wanted - 1.0).abs() < most, "{device}, {dtype}: {slope} and {wanted}");
        }
    }
}

#[test]
fn mixed_precision_keeps_dtypes_and_nearly_all_digits() {
    let _turn = turn();
    for device in devices() {
        let x = [1, 2, 3].map(|seed| signed(&[2, 3, 130, 32], seed, &device));
        let mixed = Precision::Mixed.scope(|| x[0].attention(&x[1], &x[2], &Attention::new().causal()));
        let single = x[0].attention(&x[1], &x[2], &Attention::new().causal());
        let results = |y: &Tensor| {
            let mut all = y.square().sum().gradients_at(&x.iter().collect::<Vec<_>>()).unwrap();
            all.insert(0, y.clone());
            all
        };
        for (n, (mixed, single)) in results(&mixed).iter().zip(results(&single)).enumerate() {
            assert_eq!(mixed.dtype(), DType::F32);
            let far = distance(mixed, &single);
            assert!(far < 1e-2, "{device}: result {n} is off by {far:.1e}");
        }
    }
}

fn lengths(numbers: &[i32], device: &Device) -> Tensor {
    Tensor::from_vec(numbers.to_vec(), [numbers.len()], device)
}

#[test]
fn core_limits_are_enough() {
    let _turn = turn();
    let options = DeviceOptions { core: true, handle: 31, ..DeviceOptions::default() };
    let Ok(device) = Device::gpu_with(0, options) else { return devices::skip("core limits") };
    for width in [64, 128] {
        compare([1, 2, 1, 37, 41, width], |_| Attention::new().causal(), &device);
    }
}

#[test]
fn heads_may_be_more_than_a_dispatch_has_workgroups() {
    let _turn = turn();
    for device in devices() {
        let x = [1, 2, 3].map(|seed| signed(&[35_000, 2, 2, 4], seed, &device));
        let all = both_ways(&x, &Attention::new().causal().composed(false));
        let last = x.each_ref().map(|t| t.narrow(0, 34_999, 1).detach().unwrap());
        let weight = signed(&x[0].shape(), 9, &device).narrow(0, 34_999, 1);
        let y = last[0].attention(&last[1], &last[2], &Attention::new().causal().composed(true));
        let wanted = (&y * weight).square().sum().gradients_at(&last.iter().collect::<Vec<_>>()).unwrap();
        for (got, wanted) in all.iter().zip(std::iter::once(&y).chain(&wanted)) {
            assert!(distance(&got.narrow(0, 34_999, 1), wanted) < 1e-4, "{device}");
        }
    }
}

#[test]
fn queries_that_see_nothing_get_zeros() {
    let _turn = turn();
    for device in devices() {
        let x = [1, 2, 3].map(|seed| signed(&[2, 2, 5, 8], seed, &device));
        let none = lengths(&[0, 3], &device);
        for composed in [false, true] {
            let options = Attention::new().key_lengths(&none).composed(composed);
            for (n, result) in both_ways(&x, &options).iter().enumerate() {
                let numbers = result.to_vec::<f32>().unwrap();
                let (first, second) = numbers.split_at(numbers.len() / 2);
                assert!(first.iter().all(|x| *x == 0.0), "{device}, {composed}: {n}");
                assert!(second.iter().all(|x| x.is_finite()), "{device}, {composed}: {n}");
                assert!(second.iter().any(|x| *x != 0.0), "{device}, {composed}: {n}");
            }
        }
    }
}

#[test]
fn a_later_key_changes_later_queries_only() {
    let _turn = turn();
    for device in devices() {
        let [q, k, v] = [1, 2, 3].map(|seed| signed(&[1, 2, 100, 16], seed, &device));
        let place = Tensor::arange(100, &device).equal(70).cast(DType::F32).unsqueeze(1);
        let changed = [&k + &place, &v + &place];
        let run = |k: &Tensor, v: &Tensor| {
            let y = q.attention(k, v, &Attention::new().causal().composed(false)).narrow(1, 0, 1);
            y.to_vec::<f32>().unwrap()
        };
        let (before, after) = (run(&k, &v), run(&changed[0], &changed[1]));
        assert_eq!(before[..70 * 16], after[..70 * 16], "{device}");
        for query in 70..100 {
            let row = query * 16..(query + 1) * 16;
            assert_ne!(before[row.clone()], after[row], "{device}: query {query}");
        }
    }
}

#[test]
fn the_same_bits_every_time() {
    let _turn = turn();
    for device in devices() {
        let x = [1, 2, 3].map(|seed| signed(&[2, 2, 70, 16], seed, &device));
        let run = || -> Vec<Vec<f32>> {
            both_ways(&x, &Attention::new().causal().composed(false))
                .iter()
                .map(|t| t.to_vec().unwrap())
                .collect()
        };
        assert_eq!(run(), run(), "{device}");
    }
}

#[test]
fn scores_are_never_held() {
    let _turn = turn();
    let (heads, length, width) = (2, 2048, 16);
    let options = DeviceOptions { handle: 32, ..DeviceOptions::default() };
    let gpu = Device::gpu_with(0, options).ok();
    for device in [Some(Device::cpu_with(options)), gpu].into_iter().flatten() {
        let x = [1, 2, 3].map(|seed| signed(&[1, heads, length, width], seed, &device));
        let results = both_ways(&x, &Attention::new().causal());
        assert!(results[1].to_vec::<f32>().unwrap().iter().all(|x| x.is_finite()));
        let (peak, scores) = (device.counters().bytes_peak, 4 * heads * length * length);
        // Three operands, the result and three gradients, a few of them twice.
        let rows = 4 * heads * length * width;
        assert!(peak < 24 * rows && peak < scores / 4, "{device}: {peak} bytes held, {scores} of scores");
    }
}

#[test]
fn a_gradient_is_few_kernels() {
    let _turn = turn();
    for device in devices() {
        let x = [1, 2, 3].map(|seed| signed(&[2, 2, 20, 16], seed, &device));
        let y = x[0].attention(&x[1], &x[2], &Attention::new().causal().composed(false));
        let gradients = y.square().sum().gradients_at(&x.iter().collect::<Vec<_>>()).unwrap();
        let before = device.counters().dispatches;
        Tensor::compute_all(&gradients.iter().collect::<Vec<_>>()).unwrap();
        let kernels = device.counters().dispatches - before;
        // Forward, gradient of the sum with the shares, queries, keys and values, and the copies that
        // part keys from values. On tensor cores two more each way, for the largest numbers.
        assert!(kernels <= 11, "{device}: {kernels}");
    }
}

#[test]
fn halves_come_and_go_as_halves() {
    let _turn = turn();
    for device in devices() {
        let x = [1, 2, 3].map(|seed| signed(&[1, 2, 9, 16], seed, &device).cast(DType::F16));
        let y = x[0].attention(&x[1], &x[2], &Attention::new());
        assert_eq!(y.dtype(), DType::F16);
        let wanted = {
            let [q, k, v] = x.map(|t| t.cast(DType::F32));
            q.attention(&k, &v, &Attention::new())
        };
        assert!(distance(&y.cast(DType::F32), &wanted) < 2e-3, "{device}");
    }
}
