//! An op of the user's own among the engine's: who is blamed for a bad value, how often a checkpoint computes it, and
//! what tells two of them apart.

mod devices;

use std::sync::atomic::{AtomicUsize, Ordering};

use devices::{devices, turn};
use farad::custom::Exact;
use farad::engine::{ArrayPlace, DeviceArray, EngineStep, RecordDepth, StepOutput};
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

/// The first number of an array becomes another, in place.
#[derive(Debug, Hash)]
struct SetFirst;

const SET_FIRST: &str = "
@group(0) @binding(0) var<storage, read> number: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1) fn main() { y[0] = number[0]; }";

impl CustomOp for SetFirst {
    fn name(&self) -> &str {
        "set_first"
    }

    fn infer(&self, operands: &[(Shape, DType)]) -> Result<Vec<(Shape, DType)>, OpError> {
        Ok(vec![operands[0]])
    }

    fn in_place(&self) -> &[(usize, usize)] {
        &[(0, 0)]
    }

    fn reference(&self, operands: &[Vec<f64>], _: &[Shape]) -> Vec<Vec<f64>> {
        let mut y = operands[0].clone();
        y[0] = operands[1][0];
        vec![y]
    }

    fn cpu(&self, _: &[&[u32]], _: &[Shape], _: &mut [Words]) {
        unreachable!("it has a host form")
    }

    fn host(&self, operands: &[&[u8]], _: &[Shape], results: &mut [&mut [u8]]) -> bool {
        assert!(operands[0].is_empty(), "the result is the operand");
        results[0][..4].copy_from_slice(operands[1]);
        true
    }

    fn wgsl(&self, _: &[Shape], _: &CustomLimits) -> Vec<CustomKernel> {
        vec![CustomKernel::new(SET_FIRST, "main", [1, 1, 1]).arguments(&[1, 2])]
    }
}

#[test]
fn an_op_in_place_keeps_the_memory_and_copies_what_others_need() {
    let _turn = turn();
    for device in devices() {
        let number = Tensor::from_vec(vec![5f32], [1], &device);
        let set = |x: &Tensor, number: &Tensor| Tensor::custom(SetFirst, &[x, number]).swap_remove(0);
        // Two changes of one tensor, which stays as it is.
        let x = Tensor::from_vec(vec![1f32, 2.0, 3.0], [3], &device);
        let (once, twice) = (set(&x, &number), set(&set(&x, &number), &(&number + 1.0)) * &x);
        assert_eq!(once.to_vec::<f32>().unwrap(), [5.0, 2.0, 3.0], "on {device}");
        assert_eq!(twice.to_vec::<f32>().unwrap(), [6.0, 4.0, 9.0], "on {device}");
        assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0], "on {device}");
        // An array that a step overwrites is changed where it lies, unless somebody has a part of it.
        let here = std::panic::Location::caller();
        let mut array = DeviceArray::zeros(&device, DType::F32, 3, "test", here).unwrap();
        let mut change = |kept: bool| {
            let part = array.part(0, Shape::new(&[3]), here);
            let place = ArrayPlace::of(&part).unwrap().memory;
            let y = set(&part, &number);
            let mut step = EngineStep::of(&device, &[&y], RecordDepth::ToValues, here).unwrap();
            let node = step.id(&y).unwrap();
            drop(y);
            let kept = kept.then_some(part);
            let replaces = Some(step.overwrite(&mut array, vec![]));
            step.run(&node, |_| Ok(vec![StepOutput { node, replaces }])).unwrap();
            let now = array.part(0, Shape::new(&[3]), here);
            assert_eq!(now.to_vec::<f32>().unwrap(), [5.0, 0.0, 0.0], "on {device}");
            let kept = kept.map(|part| part.to_vec::<f32>().unwrap());
            (ArrayPlace::of(&now).unwrap().memory == place, kept)
        };
        assert_eq!(change(true), (false, Some(vec![0.0; 3])), "on {device}");
        assert_eq!(change(false), (true, None), "on {device}");
    }
}
