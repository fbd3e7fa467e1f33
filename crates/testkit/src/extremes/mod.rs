//! The results of ops on NaN, infinities, zeros of either sign and the ends of the range: every row of the op
//! tables by its columns, and composed ops by a table of PyTorch's values and derivatives.
//!
//! Everything needed is compiled in, so that the test program can be copied to another machine. Start at
//! [`check_device`].

mod composed;
mod pairs;
mod rows;

use farad::{Device, Result, Tensor};
use farad_ir::DType;
use half::f16;

use crate::compare::read;
use crate::driver::{SuiteReport, guarded};

/// Checks that are computed at once.
const BATCH: usize = 16;
/// The rounding error of `f16`: relative and, below its normal numbers, absolute.
const HALF: (f64, f64) = (1e-3, 1.2e-7);
/// Marks a derivative or value that PyTorch does not define, or that depends on its version.
pub(crate) const ANY: f64 = 12345.0;

/// An op at some inputs, and the expected results.
pub(crate) struct Extreme {
    pub name: String,
    /// Elements and sizes of every input.
    pub inputs: Vec<(Vec<f64>, Vec<usize>)>,
    pub function: Box<dyn Fn(&[Tensor]) -> Tensor>,
    pub expected: Expected,
    /// Relative and absolute.
    pub tolerance: (f64, f64),
}

/// The expected results of an op.
pub(crate) enum Expected {
    /// These values.
    Values(Vec<f64>),
    /// These gradients of the sum, with respect to the input with this index.
    Slopes(usize, Vec<f64>),
}

/// How an op is run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RunPlace {
    /// By itself.
    Alone,
    /// Fused with neighbors in one kernel.
    Fused,
}

/// Everything in this module on a device, in `f32` and in `f16`.
pub fn check_device(device: &Device) -> SuiteReport {
    let mut report = SuiteReport::default();
    for dtype in [DType::F32, DType::F16] {
        let all = [rows::unary(dtype), pairs::binary(dtype), rows::reductions(), composed::all(dtype)];
        let all: Vec<Extreme> = all.into_iter().flatten().collect();
        for place in [RunPlace::Alone, RunPlace::Fused] {
            for group in all.chunks(BATCH) {
                report.ran += group.len();
                report.failures.extend(check(group, dtype, place, device));
            }
        }
    }
    report
}

/// The failures of some checks.
fn check(group: &[Extreme], dtype: DType, place: RunPlace, device: &Device) -> Vec<String> {
    let work = || -> Result<Vec<String>> {
        let outputs: Vec<Tensor> =
            group.iter().map(|extreme| output(extreme, dtype, place, device)).collect::<Result<_>>()?;
        Tensor::compute_all(&outputs.iter().collect::<Vec<_>>())?;
        let mut failures = Vec::new();
        for (extreme, output) in group.iter().zip(&outputs) {
            if let Some(text) = wrong(extreme, &read(output)?.to_f64(), dtype) {
                failures.push(format!("{} [{dtype}, {place:?}, {device}]\n    {text}", extreme.name));
            }
        }
        Ok(failures)
    };
    match guarded(work) {
        Ok(failures) => failures,
        Err(error) if group.len() == 1 => {
            vec![format!("{} [{dtype}, {place:?}]\n    {error}", group[0].name)]
        }
        Err(_) => group.chunks(1).flat_map(|one| check(one, dtype, place, device)).collect(),
    }
}

fn output(extreme: &Extreme, dtype: DType, place: RunPlace, device: &Device) -> Result<Tensor> {
    let inputs = extreme.inputs.iter().map(|(elements, sizes)| {
        let sign = if place == RunPlace::Fused { -1.0 } else { 1.0 };
        let x = tensor(elements.iter().map(|x| sign * x), sizes, dtype, device)?;
        Ok(if place == RunPlace::Fused { -x } else { x })
    });
    let inputs: Vec<Tensor> = inputs.collect::<Result<_>>()?;
    let y = (extreme.function)(&inputs);
    let y = match extreme.expected {
        Expected::Values(_) => y,
        Expected::Slopes(at, _) => y.cast(DType::F32).sum().gradients_at(&[&inputs[at]])?.remove(0),
    };
    Ok(match (place, y.dtype()) {
        (RunPlace::Alone, _) => y,
        (RunPlace::Fused, DType::Bool) => y.not().not(),
        (RunPlace::Fused, dtype) if dtype.is_float() => {
            let ones = tensor((0..y.numel()).map(|_| -1.0), &y.shape(), dtype, device)?;
            -(y * ones)
        }
        _ => y + 1 - 1,
    })
}

fn tensor(
    elements: impl Iterator<Item = f64>,
    sizes: &[usize],
    dtype: DType,
    device: &Device,
) -> Result<Tensor> {
    match dtype {
        DType::F16 => Tensor::try_from_vec(&elements.map(f16::from_f64).collect::<Vec<_>>(), sizes, device),
        _ => Tensor::try_from_vec(&elements.map(|x| x as f32).collect::<Vec<_>>(), sizes, device),
    }
}

/// The nearest number of a float dtype.
pub(crate) fn held(dtype: DType, x: f64) -> f64 {
    if dtype == DType::F16 { f16::from_f64(x).to_f64() } else { x as f32 as f64 }
}

/// What is wrong with the results, if anything.
fn wrong(extreme: &Extreme, found: &[f64], dtype: DType) -> Option<String> {
    let (expected, what) = match &extreme.expected {
        Expected::Values(values) => (values, "value"),
        Expected::Slopes(_, slopes) => (slopes, "slope"),
    };
    if found.len() != expected.len() {
        return Some(format!("counts differ ({} vs {})", found.len(), expected.len()));
    }
    let (relative, absolute) = match dtype {
        DType::F16 => (extreme.tolerance.0.max(HALF.0), extreme.tolerance.1.max(HALF.1)),
        _ => extreme.tolerance,
    };
    let is_wrong = |(&found, &expected): (&f64, &f64)| {
        let close = (found - expected).abs() <= relative * expected.abs() + absolute;
        let same = found == held(dtype, expected) || (found.is_nan() && expected.is_nan());
        !(expected == ANY || same || (close && expected.is_finite()))
    };
    let at: Vec<usize> = (0..found.len()).filter(|&n| is_wrong((&found[n], &expected[n]))).collect();
    let first = *at.first()?;
    let shown: Vec<String> = at.iter().take(8).map(|&n| element(extreme, n, found, expected)).collect();
    Some(format!("{} of {} {what}s are wrong, first {first}: {}", at.len(), found.len(), shown.join("; ")))
}

/// One wrong element, with its inputs if there is one of each.
fn element(extreme: &Extreme, n: usize, found: &[f64], expected: &[f64]) -> String {
    let inputs: Vec<String> = extreme
        .inputs
        .iter()
        .filter(|(elements, _)| elements.len() == found.len())
        .map(|(elements, _)| format!("{:e}", elements[n]))
        .collect();
    format!("at ({}) {:e}, not {:e}", inputs.join(", "), found[n], expected[n])
}
