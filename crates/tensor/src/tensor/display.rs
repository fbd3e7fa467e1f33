//! How tensors look when printed.

use std::fmt;

use farad_ir::DType;

use super::Tensor;

/// At most this many positions of an axis are shown: half from the front, half from the back.
const SHOWN: usize = 6;

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tensor {} {} on {}", self.shape(), self.dtype(), self.device())?;
        match values(self) {
            Ok(values) => {
                let width = values.iter().map(|v| v.chars().count()).max().unwrap_or(0);
                write!(f, "\n{}", nested(&values, &self.shape(), width, 0))
            }
            Err(error) => write!(f, "\n<{error}>"),
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor {{ shape: {}, dtype: {}, device: {} }}", self.shape(), self.dtype(), self.device())
    }
}

fn values(tensor: &Tensor) -> crate::Result<Vec<String>> {
    fn text<T: ToString>(values: Vec<T>) -> Vec<String> {
        values.iter().map(T::to_string).collect()
    }
    Ok(match tensor.dtype() {
        DType::Bool => text(tensor.to_vec::<bool>()?),
        DType::I32 => text(tensor.to_vec::<i32>()?),
        DType::U32 => text(tensor.to_vec::<u32>()?),
        DType::I64 => text(tensor.to_vec::<i64>()?),
        DType::U64 => text(tensor.to_vec::<u64>()?),
        DType::I8 => text(tensor.to_vec::<i8>()?),
        DType::I16 => text(tensor.to_vec::<i16>()?),
        DType::U8 => text(tensor.to_vec::<u8>()?),
        DType::U16 => text(tensor.to_vec::<u16>()?),
        DType::F64 => tensor.to_f64()?.into_iter().map(float).collect(),
        _ => tensor.cast(DType::F32).to_vec::<f32>()?.into_iter().map(|v| float(v as f64)).collect(),
    })
}

/// Four decimals, or an exponent where that would show nothing.
fn float(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() || (1e-3..1e6).contains(&size) {
        format!("{value:.4}")
    } else {
        format!("{value:.3e}")
    }
}

fn nested(values: &[String], shape: &[usize], width: usize, depth: usize) -> String {
    let Some((&size, rest)) = shape.split_first() else {
        return values.first().map_or(String::new(), |v| format!("{v:>width$}"));
    };
    let stride: usize = rest.iter().product();
    let mut parts = Vec::new();
    for i in 0..size {
        if size > SHOWN && i == SHOWN / 2 {
            parts.push("…".to_string());
        }
        if size <= SHOWN || i < SHOWN / 2 || i >= size - SHOWN / 2 {
            parts.push(nested(&values[i * stride..(i + 1) * stride], rest, width, depth + 1));
        }
    }
    let joint = match rest.len() {
        0 => ", ".to_string(),
        lines => format!(",{}{}", "\n".repeat(lines.min(2)), " ".repeat(depth + 1)),
    };
    format!("[{}]", parts.join(&joint))
}
