//! Compares results with the reference: floats within a tolerance, everything else bit for bit.

use farad::{Result, Tensor};
use farad_ir::DType;
use farad_ir::reference::Values;
use half::{bf16, f16};

/// How far floats may be from the reference: `|y - r| <= relative · max |r| + absolute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative to the largest element.
    pub relative: f64,
    /// Added, so that sums that cancel to zero need not be exact.
    pub absolute: f64,
}

impl Tolerance {
    /// A tolerance for results of about 1 or more.
    pub fn relative(relative: f64) -> Tolerance {
        Tolerance { relative, absolute: relative }
    }

    /// A tolerance widened by a factor and by an additional error.
    pub fn widened(self, factor: f64, more: f64) -> Tolerance {
        Tolerance { relative: self.relative * factor + more, absolute: self.absolute * factor + more }
    }
}

/// The elements of a tensor, read back.
pub fn read(tensor: &Tensor) -> Result<Values> {
    fn floats<T: farad::Element>(tensor: &Tensor, widen: fn(T) -> f64) -> Result<Values> {
        Ok(Values::Float(tensor.to_vec::<T>()?.into_iter().map(widen).collect()))
    }
    fn ints<T: farad::Element>(tensor: &Tensor, widen: fn(T) -> i64) -> Result<Values> {
        Ok(Values::Int(tensor.to_vec::<T>()?.into_iter().map(widen).collect()))
    }
    match tensor.dtype() {
        DType::F32 => floats(tensor, |x: f32| x as f64),
        DType::F16 => floats(tensor, f16::to_f64),
        DType::BF16 => floats(tensor, bf16::to_f64),
        DType::F64 => Ok(Values::Float(tensor.to_f64()?)),
        DType::I32 => ints(tensor, |x: i32| x as i64),
        DType::U32 => ints(tensor, |x: u32| x as i64),
        DType::I64 => ints(tensor, |x: i64| x),
        DType::U64 => ints(tensor, |x: u64| x as i64),
        DType::I8 => ints(tensor, |x: i8| x as i64),
        DType::I16 => ints(tensor, |x: i16| x as i64),
        DType::U8 => ints(tensor, |x: u8| x as i64),
        DType::U16 => ints(tensor, |x: u16| x as i64),
        DType::Bool => ints(tensor, |x: bool| x as i64),
    }
}

/// Checks a result; returns where it is wrong.
pub fn compare(found: &Values, expected: &Values, tolerance: Tolerance) -> std::result::Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("element counts differ ({} vs {})", found.len(), expected.len()));
    }
    match (found, expected) {
        (Values::Int(found), Values::Int(expected)) => {
            let wrong = found.iter().zip(expected).filter(|(a, b)| a != b).count();
            match found.iter().zip(expected).position(|(a, b)| a != b) {
                Some(at) => {
                    let (a, b) = (found[at], expected[at]);
                    Err(format!(
                        "{wrong} of {} elements are wrong, first element {at} ({a} vs {b})",
                        found.len()
                    ))
                }
                None => Ok(()),
            }
        }
        (Values::Float(found), Values::Float(expected)) => compare_floats(found, expected, tolerance),
        _ => Err("a float result for integers, or vice versa".into()),
    }
}

fn compare_floats(found: &[f64], expected: &[f64], tolerance: Tolerance) -> std::result::Result<(), String> {
    let largest = expected.iter().filter(|x| x.is_finite()).fold(0.0, |m: f64, x| m.max(x.abs()));
    let allowed = tolerance.relative * largest + tolerance.absolute;
    // Equal infinities and two NaNs have distance zero; a single one has infinite distance.
    let distance = |a: f64, b: f64| {
        if a == b || (a.is_nan() && b.is_nan()) {
            0.0
        } else {
            Some((a - b).abs()).filter(|d| !d.is_nan()).unwrap_or(f64::INFINITY)
        }
    };
    let errors: Vec<f64> = found.iter().zip(expected).map(|(&a, &b)| distance(a, b)).collect();
    let (at, worst) = errors.iter().copied().enumerate().fold((0, 0.0), |m, e| if e.1 > m.1 { e } else { m });
    if worst <= allowed {
        return Ok(());
    }
    let wrong = errors.iter().filter(|&&e| e > allowed).count();
    let (a, b) = (found[at], expected[at]);
    Err(format!(
        "{wrong} of {} elements are wrong, worst element {at} ({a} vs {b}): off by {worst:.2e}, allowed {allowed:.2e}",
        found.len()
    ))
}
