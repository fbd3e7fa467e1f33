//! A row of the table: inputs, a function of them, and how closely devices must agree.

use std::fmt;
use std::ops::Index;

use farad::{Device, Result, Tensor};
use farad_ir::{DType, Shape};
use half::{bf16, f16};

use crate::compare::Tolerance;
use crate::sample::NumberStream;

/// One test case.
pub struct Case {
    /// The public method, as written in Rust.
    pub op: &'static str,
    /// What distinguishes it from other cases of the method.
    pub detail: String,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// How far a device may be from the reference.
    pub tolerance: Tolerance,
    /// Whether gradients with respect to the float inputs are checked.
    pub differentiable: bool,
    /// Whether it uses a dtype that only the CPU supports.
    pub cpu_only: bool,
    function: Box<dyn Fn(&Given) -> Vec<Tensor> + Send + Sync>,
}

/// The tensors that a case's function is given, on their device.
pub struct Given {
    /// One tensor per input.
    pub tensors: Vec<Tensor>,
    /// Where they are.
    pub device: Device,
}

impl Index<usize> for Given {
    type Output = Tensor;
    fn index(&self, n: usize) -> &Tensor {
        &self.tensors[n]
    }
}

/// A tensor that a case starts from.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its sizes.
    pub shape: Shape,
    /// Its element type.
    pub dtype: DType,
    low: f64,
    high: f64,
    whole: bool,
    apart: bool,
}

/// `f32` in a range.
pub fn float(shape: impl Into<Shape>, (low, high): (f64, f64)) -> Input {
    Input { shape: shape.into(), dtype: DType::F32, low, high, whole: false, apart: false }
}

/// `f16` in a range.
pub fn half(shape: impl Into<Shape>, range: (f64, f64)) -> Input {
    Input { dtype: DType::F16, ..float(shape, range) }
}

/// Whole numbers from `low` to `high`, both included, as `f32`.
pub fn whole(shape: impl Into<Shape>, range: (f64, f64)) -> Input {
    Input { whole: true, ..float(shape, range) }
}

/// `i32` from `low` to `high`, both included.
pub fn int(shape: impl Into<Shape>, low: i32, high: i32) -> Input {
    Input { dtype: DType::I32, ..whole(shape, (low as f64, high as f64)) }
}

/// `u32` from `low` to `high`, both included.
pub fn unsigned(shape: impl Into<Shape>, low: u32, high: u32) -> Input {
    Input { dtype: DType::U32, ..whole(shape, (low as f64, high as f64)) }
}

/// Integers of a dtype, over its whole range.
pub fn all_of(shape: impl Into<Shape>, dtype: DType) -> Input {
    let bits = 8 * dtype.size() as i32 - dtype.is_signed_int() as i32;
    let (low, high) = (if dtype.is_signed_int() { -(2f64.powi(bits)) } else { 0.0 }, 2f64.powi(bits) - 1.0);
    whole(shape, (low, high)).stored(dtype)
}

/// Booleans.
pub fn truth(shape: impl Into<Shape>) -> Input {
    Input { dtype: DType::Bool, ..whole(shape, (0.0, 1.0)) }
}

/// `f32` evenly spaced over a range, in random order: no two are equal or nearly equal.
pub fn apart(shape: impl Into<Shape>, range: (f64, f64)) -> Input {
    Input { apart: true, ..float(shape, range) }
}

impl Input {
    /// The same numbers as another dtype.
    pub fn stored(self, dtype: DType) -> Input {
        Input { whole: self.whole || !dtype.is_float(), dtype, ..self }
    }

    /// The largest number that can be drawn.
    pub fn largest(&self) -> f64 {
        self.high
    }

    /// Random elements from the range, rounded to the dtype.
    pub fn elements(&self, sample: &mut NumberStream) -> Vec<f64> {
        if self.apart {
            return self.spread(sample).into_iter().map(|x| held(self.dtype, x)).collect();
        }
        let draw = |_| {
            if self.whole {
                sample.between(self.low, self.high + 1.0).floor()
            } else {
                sample.between(self.low, self.high)
            }
        };
        (0..self.shape.numel()).map(draw).map(|x| held(self.dtype, x)).collect()
    }

    /// Evenly spaced numbers, shuffled.
    fn spread(&self, sample: &mut NumberStream) -> Vec<f64> {
        let count = self.shape.numel();
        let step = (self.high - self.low) / count as f64;
        let mut elements: Vec<f64> = (0..count).map(|i| self.low + step * (i as f64 + 0.5)).collect();
        for i in (1..count).rev() {
            elements.swap(i, sample.between(0.0, i as f64 + 1.0) as usize);
        }
        elements
    }

    /// A tensor of these elements.
    pub fn tensor(&self, elements: &[f64], device: &Device) -> Result<Tensor> {
        fn of<T: farad::Element>(
            elements: &[f64],
            shape: Shape,
            device: &Device,
            to: fn(f64) -> T,
        ) -> Result<Tensor> {
            Tensor::try_from_vec(&elements.iter().map(|&x| to(x)).collect::<Vec<T>>(), shape, device)
        }
        match self.dtype {
            DType::F32 => of(elements, self.shape, device, |x| x as f32),
            DType::F16 => of(elements, self.shape, device, f16::from_f64),
            DType::BF16 => of(elements, self.shape, device, bf16::from_f64),
            DType::F64 => Ok(Tensor::from_f64(elements, self.shape, device)),
            DType::I32 => of(elements, self.shape, device, |x| x as i64 as i32),
            DType::U32 => of(elements, self.shape, device, |x| x as i64 as u32),
            DType::I64 => of(elements, self.shape, device, |x| x as i64),
            DType::U64 => {
                of(elements, self.shape, device, |x| if x < 0.0 { x as i64 as u64 } else { x as u64 })
            }
            DType::I8 => of(elements, self.shape, device, |x| x as i64 as i8),
            DType::I16 => of(elements, self.shape, device, |x| x as i64 as i16),
            DType::U8 => of(elements, self.shape, device, |x| x as i64 as u8),
            DType::U16 => of(elements, self.shape, device, |x| x as i64 as u16),
            DType::Bool => of(elements, self.shape, device, |x| x != 0.0),
        }
    }
}

/// The nearest number of a float dtype.
fn held(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F32 => x as f32 as f64,
        DType::F16 => f16::from_f64(x).to_f64(),
        DType::BF16 => bf16::from_f64(x).to_f64(),
        _ => x,
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.dtype.is_float() {
            true if self.whole => "whole ",
            true if self.apart => "spread ",
            _ => "",
        };
        write!(f, "{kind}{} {} from {} to {}", self.dtype, self.shape, self.low, self.high)
    }
}

impl Case {
    /// A case with several results.
    pub fn many(
        op: &'static str,
        detail: impl Into<String>,
        inputs: Vec<Input>,
        tolerance: f64,
        function: impl Fn(&Given) -> Vec<Tensor> + Send + Sync + 'static,
    ) -> Case {
        let differentiable = inputs.iter().any(|i| i.dtype.is_float());
        let cpu_only = inputs.iter().any(|i| !i.dtype.is_on_gpus());
        let tolerance = Tolerance::relative(tolerance);
        Case {
            op,
            detail: detail.into(),
            inputs,
            tolerance,
            differentiable,
            cpu_only,
            function: Box::new(function),
        }
    }

    /// A case with one result.
    pub fn new(
        op: &'static str,
        detail: impl Into<String>,
        inputs: Vec<Input>,
        tolerance: f64,
        function: impl Fn(&Given) -> Tensor + Send + Sync + 'static,
    ) -> Case {
        Case::many(op, detail, inputs, tolerance, move |given| vec![function(given)])
    }

    /// Marks that there is no gradient to check: it is zero almost everywhere, or stopped.
    pub fn without_gradient(self) -> Case {
        Case { differentiable: false, ..self }
    }

    /// Sets the magnitude of the results: although each of them may be smaller, or because they are so small
    /// that the absolute tolerance would hide mistakes.
    pub fn of_size(self, size: f64) -> Case {
        Case { tolerance: Tolerance { absolute: self.tolerance.relative * size, ..self.tolerance }, ..self }
    }

    /// The case with a tolerance so many times larger.
    pub fn looser(self, factor: f64) -> Case {
        let Tolerance { relative, absolute } = self.tolerance;
        Case { tolerance: Tolerance { relative: relative * factor, absolute: absolute * factor }, ..self }
    }

    /// Marks that a dtype is used that only the CPU supports.
    pub fn on_cpu_only(self) -> Case {
        Case { cpu_only: true, ..self }
    }

    /// The case with `f64` in place of `f32`, on the CPU.
    pub fn in_double(mut self) -> Case {
        for input in self.inputs.iter_mut().filter(|input| input.dtype == DType::F32) {
            input.dtype = DType::F64;
        }
        Case { cpu_only: true, ..self }
    }

    /// Its name in failures and reruns.
    pub fn name(&self) -> String {
        let inputs: Vec<String> = self.inputs.iter().map(Input::to_string).collect();
        format!("{} {} ({})", self.op, self.detail, inputs.join(", ")).replace("  ", " ")
    }

    /// The elements of every input.
    pub fn elements(&self) -> Vec<Vec<f64>> {
        let mut sample = NumberStream::named(&self.name());
        self.inputs.iter().map(|input| input.elements(&mut sample)).collect()
    }

    /// The results of the function.
    pub fn outputs(&self, given: &Given) -> Vec<Tensor> {
        (self.function)(given)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
