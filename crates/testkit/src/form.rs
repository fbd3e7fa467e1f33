//! The ways in which every case is run: alone, between pointwise neighbors, and differentiated.

use farad::{Device, Result, Tensor};
use farad_ir::DType;

use crate::case::{Case, Given, Input, float, half, whole};
use crate::compare::Tolerance;
use crate::sample::NumberStream;

/// What is computed for a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Its results from its inputs.
    Alone,
    /// The same with a pointwise op before every input and after every result.
    Fused,
    /// The gradients of a sum of squared results with respect to its float inputs.
    Gradient,
}

impl Form {
    /// Every form.
    pub const ALL: [Form; 3] = [Form::Alone, Form::Fused, Form::Gradient];

    /// Whether the case has this form.
    pub fn applies(self, case: &Case) -> bool {
        match self {
            Form::Alone => true,
            Form::Fused => case.inputs.iter().all(|input| input.dtype.is_compute()),
            Form::Gradient => case.differentiable,
        }
    }

    /// How closely devices must agree: the form's additional ops have their own error.
    pub fn tolerance(self, case: &Case, output: &Tensor) -> Tolerance {
        let half = case.inputs.iter().any(|i| i.dtype == DType::F16) || output.dtype() == DType::F16;
        let double = case.inputs.iter().any(|i| i.dtype == DType::F64) && output.dtype() == DType::F64;
        match self {
            Form::Alone => case.tolerance,
            Form::Fused if double => case.tolerance.widened(1.5, 1e-14),
            Form::Gradient if double => case.tolerance.widened(10.0, 1e-13),
            Form::Fused => case.tolerance.widened(1.5, if half { 2e-3 } else { 3e-7 }),
            Form::Gradient => case.tolerance.widened(10.0, if half { 1e-2 } else { 2e-6 }),
        }
    }

    /// The tensors to compute on a device; nothing is computed yet.
    pub fn outputs(self, case: &Case, device: &Device) -> Result<Vec<Tensor>> {
        device.seed(1);
        match self {
            Form::Alone => Ok(case.outputs(&given(case, device, false)?)),
            Form::Fused => {
                let mut sample = NumberStream::new(5);
                let results = case.outputs(&given(case, device, true)?);
                results.iter().map(|y| after(y, &mut sample)).collect()
            }
            Form::Gradient => {
                let given = given(case, device, false)?;
                loss(case, &given)?.gradients_at(&floats(&given))
            }
        }
    }
}

/// The float tensors among the given.
pub(crate) fn floats(given: &Given) -> Vec<&Tensor> {
    given.tensors.iter().filter(|t| t.dtype().is_float()).collect()
}

/// The case's inputs; with `neighbor`, after a pointwise op that keeps the elements exactly.
fn given(case: &Case, device: &Device, neighbor: bool) -> Result<Given> {
    let elements = case.elements();
    let inputs = case.inputs.iter().zip(&elements);
    let tensors =
        inputs.map(|(input, x)| if neighbor { before(input, x, device) } else { input.tensor(x, device) });
    Ok(Given { tensors: tensors.collect::<Result<_>>()?, device: device.clone() })
}

/// The elements after a pointwise op that does not change them: half of twice, minus and plus one, not of not.
fn before(input: &Input, elements: &[f64], device: &Device) -> Result<Tensor> {
    let shifted =
        |f: fn(f64) -> f64| input.tensor(&elements.iter().map(|&x| f(x)).collect::<Vec<_>>(), device);
    Ok(match input.dtype {
        DType::Bool => shifted(|x| 1.0 - x)?.not(),
        dtype if dtype.is_int() => shifted(|x| x - 1.0)? + 1.0,
        _ => shifted(|x| x * 2.0)? * 0.5,
    })
}

/// A result followed by a pointwise op with another operand.
fn after(y: &Tensor, sample: &mut NumberStream) -> Result<Tensor> {
    let side = match y.dtype() {
        DType::Bool => return Ok(y.not()),
        DType::F16 => half(y.shape(), (-1.0, 1.0)),
        DType::F32 => float(y.shape(), (-1.0, 1.0)),
        DType::F64 => float(y.shape(), (-1.0, 1.0)).stored(DType::F64),
        dtype => whole(y.shape(), (0.0, 9.0)).stored(dtype),
    };
    let side = side.tensor(&side.elements(sample), y.device())?;
    Ok(if y.dtype().is_float() { y * 1.5 + side } else { (y + 3.0).xor(&side) })
}

/// One number that depends on every float result; squares make it depend on linear ones in second order.
pub(crate) fn loss(case: &Case, given: &Given) -> Result<Tensor> {
    let mut sample = NumberStream::new(9);
    let mut sum = Tensor::zeros([], &given.device);
    for y in case.outputs(given).into_iter().filter(|y| y.dtype().is_float()) {
        let fine = if y.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let weight = float(y.shape(), (0.5, 1.5)).stored(fine);
        let weight = weight.tensor(&weight.elements(&mut sample), &given.device)?;
        sum = sum + (y.cast(fine).square() * weight).sum();
    }
    Ok(sum)
}

/// The loss of a case as a function of its float inputs, and those inputs.
pub fn differentiate(
    case: &Case,
    device: &Device,
) -> Result<(Vec<Tensor>, impl Fn(&[Tensor]) -> Result<Tensor>)> {
    let all = given(case, device, false)?;
    let own: Vec<Tensor> = floats(&all).into_iter().cloned().collect();
    let function = move |inputs: &[Tensor]| {
        all.device.seed(1);
        let mut inputs = inputs.iter().cloned();
        let replaced = |t: &Tensor| {
            if t.dtype().is_float() { inputs.next().expect("one per float input") } else { t.clone() }
        };
        let tensors = all.tensors.iter().map(replaced).collect();
        loss(case, &Given { tensors, device: all.device.clone() })
    };
    Ok((own, function))
}
