//! Random graphs: recipes grown from a seed, built on any device, and compared with the reference within what
//! rounding can explain.
//!
//! Every step has a rule that says how its error follows from those of its operands. So a result may be as far
//! from the reference as its ops allow and no further. Integers, booleans and floats that were only moved or
//! compared must be exact.
//!
//! Start at [`FuzzRecipe::grow`], then [`check()`].

mod check;
mod float;
mod grow;
mod layout;
mod loops;
mod pointwise;
mod step;
mod structure;
mod whole;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use farad::{Device, Result, Tensor};
use farad_ir::{DType, Shape};

use crate::case::Input;
use crate::sample::NumberStream;

pub use check::{check, check_gradients};
pub use loops::check_loops;
pub use step::check_steps;

/// A graph as data: its leaves, its ops, and its outputs.
pub struct FuzzRecipe {
    /// What it was grown from.
    pub seed: u64,
    /// Every value, operands first.
    pub steps: Vec<FuzzStep>,
    /// Which values are read.
    pub outputs: Vec<usize>,
}

/// Limits on growth.
#[derive(Clone, Copy, Debug)]
pub struct FuzzLimits {
    /// Most ops.
    pub ops: usize,
    /// Most elements of a value.
    pub elements: usize,
    /// Only ops with a second derivative almost everywhere, in `f32`.
    pub smooth: bool,
    /// The dtypes that the devices have.
    pub dtypes: &'static [DType],
}

/// What GPUs compute.
pub const GPU_DTYPES: &[DType] =
    &[DType::F32, DType::F16, DType::I32, DType::U32, DType::I8, DType::U8, DType::Bool];

/// What the CPU computes: all but `bf16`.
pub const CPU_DTYPES: &[DType] = &[
    DType::F32,
    DType::F16,
    DType::F64,
    DType::I32,
    DType::U32,
    DType::I64,
    DType::U64,
    DType::I8,
    DType::I16,
    DType::U8,
    DType::U16,
    DType::Bool,
];

/// No element of a dtype is larger than this.
fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::Bool => 1.0,
        dtype if dtype.is_int() => 2f64.powi(8 * dtype.size() as i32),
        _ => f64::INFINITY,
    }
}

/// One value.
pub struct FuzzStep {
    /// How it is computed.
    pub source: ValueSource,
    /// Its operands.
    pub operands: Vec<usize>,
    /// Its sizes.
    pub shape: Shape,
    /// Its element type.
    pub dtype: DType,
    /// No element is larger than this.
    pub bound: f64,
    /// Whether every device gives the same bits, because no float arithmetic is involved.
    pub exact: bool,
}

/// Where a value comes from.
pub enum ValueSource {
    /// Elements drawn from the recipe's seed.
    Leaf(Input),
    /// Uniform random numbers of the device.
    Random,
    /// An op on earlier values.
    Op(FuzzOp),
}

/// An op of a recipe.
pub struct FuzzOp {
    /// Its name in failures.
    pub name: String,
    /// Builds it.
    pub build: Box<dyn Fn(&[&Tensor]) -> Tensor + Send + Sync>,
    /// How its error follows from its operands'.
    pub error: ErrorRule,
}

/// How far a result may be from the reference, from how far its operands are.
#[derive(Clone, Copy, Debug)]
pub enum ErrorRule {
    /// Exactly as far as its operands: elements are moved, selected or compared.
    Moves,
    /// The sum of the operands' errors times a factor, plus its own rounding, relative to its size.
    Slope(f64, f64),
    /// A product of two, summed over this many terms.
    Product(usize),
    /// A quotient by something of at least 0.5.
    Quotient,
    /// A sum of this many terms.
    Sum(usize),
}

/// The distance from the reference that rounding can explain, and the magnitude.
#[derive(Clone, Copy, Debug, Default)]
pub struct Distance {
    /// The distance.
    pub distance: f64,
    /// The largest element.
    pub size: f64,
}

/// Rounding of one `f32` operation, with some margin for merged constants and factors.
const ROUNDING: f64 = 2.5e-7;

impl ErrorRule {
    /// The distance of a result of this size.
    pub fn distance(self, operands: &[Distance], size: f64) -> f64 {
        let sum: f64 = operands.iter().map(|e| e.distance).sum();
        match self {
            ErrorRule::Moves => operands.iter().map(|e| e.distance).fold(0.0, f64::max),
            // What an op computes before its function is rounded like its operands.
            ErrorRule::Slope(slope, own) => {
                let inside: f64 = operands.iter().map(|e| 1.0 + e.size).fold(0.0, f64::max);
                slope * (sum + ROUNDING * inside) + own * size
            }
            ErrorRule::Sum(terms) => {
                let terms = terms as f64;
                terms * sum + 2e-6 * terms.sqrt() * operands[0].size + ROUNDING * size
            }
            ErrorRule::Product(terms) => {
                let (a, b) = (operands[0], operands[1]);
                let each = a.distance * (b.size + b.distance) + b.distance * a.size;
                terms as f64 * each + 2e-6 * (terms as f64).sqrt() * a.size * b.size + ROUNDING * size
            }
            ErrorRule::Quotient => {
                let (a, b) = (operands[0], operands[1]);
                2.0 * a.distance + 4.0 * (a.size + a.distance) * b.distance + 2e-6 * size
            }
        }
    }
}

impl FuzzRecipe {
    /// Builds every value on a device.
    pub fn build(&self, device: &Device) -> Result<Vec<Tensor>> {
        self.build_from(device, &mut |_, leaf| leaf)
    }

    /// Builds every value on a device; `take` makes the leaves, given their index.
    pub(crate) fn build_from(
        &self,
        device: &Device,
        take: &mut dyn FnMut(usize, Tensor) -> Tensor,
    ) -> Result<Vec<Tensor>> {
        // Tests may share a device, and its random numbers are drawn while building.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        device.seed(self.seed);
        let mut sample = NumberStream::new(self.seed ^ 0x5eed);
        let mut values: Vec<Tensor> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = match &step.source {
                ValueSource::Leaf(input) => {
                    take(values.len(), input.tensor(&input.elements(&mut sample), device)?)
                }
                ValueSource::Random => Tensor::rand(step.shape, device),
                ValueSource::Op(op) => {
                    let operands: Vec<&Tensor> = step.operands.iter().map(|&n| &values[n]).collect();
                    (op.build)(&operands)
                }
            };
            assert_eq!(
                (value.shape(), value.dtype()),
                (step.shape, step.dtype),
                "recipe: step {} is not what it says:\n{self}",
                values.len()
            );
            values.push(value);
        }
        Ok(values)
    }
}

impl fmt::Display for FuzzRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        for (n, step) in self.steps.iter().enumerate() {
            let name = match &step.source {
                ValueSource::Leaf(_) => "leaf",
                ValueSource::Random => "rand",
                ValueSource::Op(op) => &op.name,
            };
            let read = if self.outputs.contains(&n) { " (read)" } else { "" };
            writeln!(f, "    %{n} = {name} {:?}: {} {}{read}", step.operands, step.dtype, step.shape)?;
        }
        Ok(())
    }
}
