//! Writes what tensors are computed by as JavaScript, for pages that compute by themselves.
//!
//! A recorded computation is compiled as for the CPU, and every kernel of the program becomes a function over typed
//! arrays. Kernels with the same text are one function, so a loop that was unrolled costs no text. Sums are added up
//! in f64, everything else is rounded to f32 after every op (`Math.fround`), as the CPU does.
//!
//! Invariant: what cannot be written is an error that names it; nothing is left out. Start at [`Script::of`].
//! `kernel` has a function per form of kernel, `expression` one expression per op.

mod error;
mod expression;
mod kernel;
mod tape;
mod view;
mod writer;

pub use error::ScriptError;

use farad_compile::compile;
use farad_compile::program::Target;
use farad_tensor::engine::Traced;
use farad_tensor::{DType, Result, Tensor};

use writer::{Constant, Ports};

/// A computation as JavaScript.
///
/// ```
/// use farad_javascript::Script;
/// use farad_tensor::{Device, Tensor};
/// let x = Tensor::zeros([2], &Device::cpu());
/// let script = Script::of(&[("x", &x)], &[("y", &(&x * 2.0))])?;
/// assert!(script.text().contains("y:"));
/// # Ok::<(), farad_tensor::Error>(())
/// ```
pub struct Script {
    text: String,
}

impl Script {
    /// What computes `outputs` from `inputs`. Everything else that it needs, such as weights, is part of the text.
    /// Names are words. The values that inputs have now are those that the script starts with.
    pub fn of(inputs: &[(&str, &Tensor)], outputs: &[(&str, &Tensor)]) -> Result<Script> {
        let tensors = |named: &[(&str, &Tensor)]| named.iter().map(|(_, t)| (*t).clone()).collect::<Vec<_>>();
        let (given, wanted) = (tensors(inputs), tensors(outputs));
        let traced = Traced::of(&wanted.iter().collect::<Vec<_>>(), &given.iter().collect::<Vec<_>>())?;
        let program = compile(&traced.graph, &traced.outputs, &[], &Target::cpu());
        let constants = traced.leaves.iter().map(constant).collect::<Result<Vec<_>>>()?;
        let names = |named: &[(&str, &Tensor)]| named.iter().map(|(name, _)| name.to_string()).collect();
        let ports = Ports { inputs: names(inputs), outputs: names(outputs) };
        Ok(Script { text: writer::write(&program, &ports, &constants)? })
    }

    /// An expression whose value is an object: typed arrays by name in `inputs` and `outputs`, and `run()`, which
    /// computes the outputs from what the inputs hold. Random bits are those of the CPU. Every run draws new ones, as the
    /// device would if everything was recorded again; `runs` is the number of runs so far, and can be set.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// What an input holds before the first run.
fn constant(tensor: &Tensor) -> Result<Constant> {
    Ok(match tensor.dtype() {
        DType::F32 => Constant::of(tensor.to_vec::<f32>()?.into_iter().map(expression::float)),
        DType::I32 => Constant::of(tensor.to_vec::<i32>()?.into_iter().map(|x| x.to_string())),
        DType::U32 => Constant::of(tensor.to_vec::<u32>()?.into_iter().map(|x| x.to_string())),
        DType::Bool => Constant::of(tensor.to_vec::<bool>()?.into_iter().map(|x| u8::from(x).to_string())),
        dtype => return Err(ScriptError::DType { dtype }.into()),
    })
}
