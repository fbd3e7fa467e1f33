//! An op of the user's own among the engine's: who is blamed for a bad value, how often a checkpoint computes it, and
//! what tells two of them apart.

mod devices;

use std::sync::atomic::{AtomicUsize, Ordering};

use devices::{devices, turn};
use farad::custom::Exact;
use farad::prelude::*;
use farad::{CustomKernel, CustomLimits, CustomOp, OpError, Shape, Var, Words, scan};

/// How often the CPU computed [`Power`].
static COMPUTED: AtomicUsize = AtomicUsize::new(0);

/// `e^x`, whose gradient needs the result.
#[derive(Debug, Hash)]
struct Power;

const KERNEL: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) { y[id.x] = exp(x[id.x]); }
}";

impl CustomOp for Power {
    fn name(&self) -> &str {
        "power"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![operands[0]])
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        vec![operands[0].iter().map(|x| x.exp()).collect()]
    }

    fn cpu(&self, operands: &[&[u32]], _: &[Shape], results: &mut [Words]) {
        COMPUTED.fetch_add(1, Ordering::Relaxed);
        for (y, &x) in results[0].iter_mut().zip(operands[0]) {
            *y = f32::from_bits(x).exp().to_bits();
        }
    }

    fn wgsl(&self, shapes: &[Shape], _: &CustomLimits) -> Vec<CustomKernel> {
        vec![CustomKernel::new(KERNEL, "main", [shapes[0].numel().div_ceil(64) as u32, 1, 1])]
    }

    fn gradient<'g>(
        &self,
        _: &[Var<'g>],
        results: &[Var<'g>],
        upstream: &[Var<'g>],
    ) -> Result<Vec<Option<Var<'g>>>, OpError> {
        Ok(vec![Some(upstream[0] * results[0])])
    }
}

fn power(x: &Tensor) -> Tensor {
    Tensor::custom(Power, &[x]).swap_remove(0)
}

#[test]
fn a_custom_op_is_blamed_by_its_name() {
    let _turn = turn();
    for device in devices() {
        let y = power(&Tensor::from_vec(vec![1e3f32], [1], &device)) * 2.0;
        device.find_first_not_finite(true);
        let error = y.compute().unwrap_err().to_string();
        device.find_first_not_finite(false);
        assert!(error.starts_with("step: non-finite value: first made by power at "), "{error}");
        assert!(error.contains("custom.rs"), "{error}");
    }
}

#[test]
fn a_result_that_its_gradient_uses_has_gradients_of_gradients() {
    let _turn = turn();
    let x = Tensor::from_vec(vec![0.5f32, -1.0], [2], &Device::cpu());
    let slope = power(&x).square().sum().gradient(&x).unwrap();
    let curve = slope.sum().gradient(&x).unwrap().to_vec::<f32>().unwrap();
    for (got, x) in curve.iter().zip([0.5f32, -1.0]) {
        assert!((got - 4.0 * (2.0 * x).exp()).abs() < 1e-5, "{curve:?}");
    }
}

/// How often the op runs for the value and gradient of `function`, and the gradient.
fn count(function: impl Fn(&Tensor) -> Tensor) -> (usize, Vec<f32>) {
    let device = Device::cpu();
    let x = Tensor::from_vec(vec![0.5f32, -1.0], [2], &device);
    let loss = function(&x).square().sum();
    let gradient = loss.gradient(&x).unwrap();
    let before = COMPUTED.load(Ordering::Relaxed);
    Tensor::compute_all(&[&loss, &gradient]).unwrap();
    (COMPUTED.load(Ordering::Relaxed) - before, gradient.to_vec().unwrap())
}

#[test]
fn a_checkpoint_computes_a_custom_op_again() {
    let _turn = turn();
    let (once, gradient) = count(power);
    let (twice, same) = count(|x| checkpoint(x, power));
    assert_eq!((once, twice), (1, 2));
    assert_eq!(gradient, same);
}

#[test]
fn a_checkpoint_computes_a_scan_again() {
    let _turn = turn();
    let states = |x: &Tensor| {
        let (_, states) = scan(&[&Tensor::zeros([3], x.device())], &[x], |carry, slice| {
            let state = (&carry[0] + &slice[0]).tanh();
            (vec![state.clone()], vec![state])
        });
        states[0].clone()
    };
    for device in devices() {
        let x = Tensor::rand([5, 3], &device);
        let run = |y: Tensor| {
            let loss = y.square().sum();
            let gradient = loss.gradient(&x).unwrap();
            let before = device.counters().dispatches;
            Tensor::compute_all(&[&loss, &gradient]).unwrap();
            (device.counters().dispatches - before, gradient.to_vec::<f32>().unwrap())
        };
        let (kept, gradient) = run(states(&x));
        let (again, same) = run(checkpoint(&x, states));
        assert_eq!(gradient, same, "on {device}");
        // The forward loop runs a second time; it is one kernel.
        assert!(again > kept, "{again} vs {kept} on {device}");
    }
}

/// `x · factor`, with nothing but its fields to tell one from another.
#[derive(Debug, Hash)]
struct Times {
    factor: Exact,
}

const TIMES: &str = "
@group(0) @binding(0) var<uniform> factor: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) { y[id.x] = bitcast<f32>(factor[0].x) * x[id.x]; }
}";

impl CustomOp for Times {
    fn name(&self) -> &str {
        "times"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![operands[0]])
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        vec![operands[0].iter().map(|x| x * self.factor.0).collect()]
    }

    fn cpu(&self, operands: &[&[u32]], _: &[Shape], results: &mut [Words]) {
        for (y, &x) in results[0].iter_mut().zip(operands[0]) {
            *y = (self.factor.0 as f32 * f32::from_bits(x)).to_bits();
        }
    }

    fn wgsl(&self, shapes: &[Shape], _: &CustomLimits) -> Vec<CustomKernel> {
        let groups = [shapes[0].numel().div_ceil(64) as u32, 1, 1];
        vec![CustomKernel::new(TIMES, "main", groups).parameters(&[(self.factor.0 as f32).to_bits()])]
    }
}

#[test]
fn ops_are_told_apart_by_their_fields() {
    let _turn = turn();
    for device in devices() {
        let x = Tensor::from_vec(vec![1f32, -2.0], [2], &device);
        let times = |factor: f64| Tensor::custom(Times { factor: Exact(factor) }, &[&x]).swap_remove(0);
        let start = device.counters();
        for factor in [2.0, 3.0, 2.0, 3.0] {
            let y = times(factor).to_vec::<f32>().unwrap();
            assert_eq!(y, [factor as f32, -2.0 * factor as f32], "on {device}");
        }
        let spent = device.counters().since(&start);
        assert_eq!((spent.plans_compiled, spent.plans_replayed), (2, 2), "on {device}");
        // In one program, equal ones are computed once and others are not taken for them.
        let all = [times(2.0), times(2.0), times(5.0)];
        let sum = (&all[0] + &all[1] + &all[2]).to_vec::<f32>().unwrap();
        assert_eq!(sum, [9.0, -18.0], "on {device}");
    }
}
