//! Numbers in expressions that change from run to run: few programs, few pipelines, the same results.

mod devices;

use devices::{devices, turn};
use farad::DeviceOptions;
use farad::prelude::*;

/// Programs and pipelines that `work` makes on a device.
fn made(device: &Device, work: impl FnOnce() -> farad::Result<()>) -> farad::Result<(usize, usize)> {
    let before = device.counters();
    work()?;
    let since = device.counters().since(&before);
    Ok((since.plans_compiled, since.pipelines))
}

#[test]
fn a_new_number_is_not_a_new_program() -> farad::Result<()> {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::full(2.0, [64], &device).detach()?;
        let (programs, pipelines) = made(&device, || {
            for n in 0..300 {
                let (a, b) = (n as f32 * 0.25, 1.0 + n as f32);
                let y = ((&x * a + 1.5) / b).to_vec::<f32>()?;
                assert_eq!(y, [(2.0 * a + 1.5) / b; 64], "{n} on {device}");
            }
            Ok(())
        })?;
        assert!(programs <= 3 && pipelines <= 3, "{programs} programs, {pipelines} pipelines on {device}");
    }
    Ok(())
}

#[test]
fn numbers_of_whole_numbers_and_of_halves_too() -> farad::Result<()> {
    let _turn = turn();
    for device in devices() {
        let (x, h) =
            (Tensor::arange(5, &device).detach()?, Tensor::ones([3], &device).cast(DType::F16).detach()?);
        for n in 1..20 {
            let y = (&x * n + 7).to_vec::<i32>()?;
            assert_eq!(y, [7, 7 + n, 7 + 2 * n, 7 + 3 * n, 7 + 4 * n], "{n} on {device}");
            assert!(x.greater(n).to_vec::<bool>()?.iter().zip(0..).all(|(&greater, x)| greater == (x > n)));
            let scaled = (&h * (n as f32 * 0.5)).cast(DType::F32).to_vec::<f32>()?;
            assert_eq!(scaled, [n as f32 * 0.5; 3], "{n} on {device}");
        }
    }
    Ok(())
}

#[test]
fn steps_take_changing_numbers_too() -> farad::Result<()> {
    let _turn = turn();
    for device in devices() {
        let p = Parameter::new(Tensor::ones([8], &device).detach()?);
        let mut sgd = Sgd::new(vec![p.clone()]).learning_rate(1.0);
        let mut expected = 1.0f32;
        let (programs, _) = made(&device, || {
            for n in 0..100 {
                let weight = 0.001 * (n as f32 + 1.0);
                sgd.step(&(p.value().square() * weight).sum())?;
                expected -= 2.0 * expected * weight;
            }
            Ok(())
        })?;
        let found = p.value().to_vec::<f32>()?[0];
        assert!((found - expected).abs() <= 1e-4 * expected.abs(), "{found} vs {expected} on {device}");
        assert!(programs <= 4, "{programs} programs on {device}");
    }
    Ok(())
}

#[test]
fn a_number_that_is_given_changes_no_bit_of_products_and_quotients() -> farad::Result<()> {
    // On the first device the numbers are known, on the second they are given with the run.
    let mut pairs = vec![[0, 1].map(|_| Device::cpu_with(Default::default()))];
    match [11, 12].map(|handle| Device::gpu_with(0, DeviceOptions { handle, ..Default::default() })) {
        [Ok(first), Ok(second)] => pairs.push([first, second]),
        _ => devices::skip("numbers that are given"),
    }
    for [first, second] in pairs {
        let of = |a: f32, b: f32, device: &Device| {
            let x = Tensor::rand_at(3, 0, [1000], device).detach()?;
            ((&x * a * 0.3 + b) / a * 1.7).to_vec::<f32>()
        };
        let known = of(0.7, 0.1, &first)?;
        of(0.9, 0.2, &second)?;
        assert_eq!(of(0.7, 0.1, &second)?, known, "on {second}");
    }
    Ok(())
}

#[test]
fn gpus_keep_a_bounded_number_of_pipelines() -> farad::Result<()> {
    let _turn = turn();
    let Ok(device) = Device::gpu(0) else {
        devices::skip("pipelines");
        return Ok(());
    };
    // Every program is another sequence of ops, so another text.
    let x = Tensor::full(0.5, [4], &device).detach()?;
    for n in 0..600u32 {
        let y = (0..10).fold(x.clone(), |y, bit| if n >> bit & 1 == 1 { y.sqrt() } else { y.abs() + 0.25 });
        y.compute()?;
    }
    let kept = device.counters().pipelines_kept;
    assert!(kept <= 2 * 256 + 64, "{kept} pipelines are kept");
    Ok(())
}
