//! A layer of gates with fixed random wires.

use farad::Tensor;
use farad::nn::{Layer, Module};

use crate::error::{Error, Result};
use crate::layer::GateLayer;
use crate::wires::Wires;

/// How the wires of a layer are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WiringKind {
    /// Every input is read about equally often.
    #[default]
    Random,
    /// No two gates read the same pair, and every input is read; see [`Wires::unique`].
    Unique,
}

impl WiringKind {
    /// Draws wires; an error if such wires do not exist.
    pub fn draw(self, inputs: usize, outputs: usize, seed: u64, stream: u64) -> Result<Wires> {
        let refuse = |what, found, wanted| Err(Error::Wiring { what, inputs, outputs, found, wanted });
        if inputs == 0 || outputs == 0 {
            return refuse("a layer needs inputs and gates", inputs.min(outputs), 1);
        }
        if self == WiringKind::Random {
            return Ok(Wires::random(inputs, outputs, seed, stream));
        }
        let pairs = inputs.saturating_mul(inputs - 1) / 2;
        match (2 * outputs < inputs, outputs > pairs) {
            (true, _) => refuse("too few gates to read every input once", outputs, inputs.div_ceil(2)),
            (_, true) => refuse("more gates than pairs of inputs", outputs, pairs),
            _ => Ok(Wires::unique(inputs, outputs, seed, stream)),
        }
    }
}

/// A layer of a logic network: gates that learn which of the sixteen functions to be, on fixed random wires.
/// They initially pass their first operand through. `[batch, inputs] -> [batch, outputs]`
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::LogicLayer;
/// use farad_logic::network::WiringKind;
/// let layer = LogicLayer::new(4, 6, WiringKind::Random, 1, 0)?.passing(5.0);
/// let y = layer.forward(&Tensor::ones([3, 4], &Device::cpu()));
/// assert_eq!(y.shape()[..], [3, 6]);
/// # Ok::<(), farad_logic::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct LogicLayer {
    #[module(flatten)]
    gates: GateLayer,
}

/// The initial preference of gates for passing their first operand through: a probability of about nine tenths.
const STRENGTH: f32 = 5.0;

impl LogicLayer {
    /// A layer on wires drawn from a position in a seed's stream.
    pub fn new(
        inputs: usize,
        outputs: usize,
        kind: WiringKind,
        seed: u64,
        stream: u64,
    ) -> Result<LogicLayer> {
        Ok(LogicLayer { gates: GateLayer::new(kind.draw(inputs, outputs, seed, stream)?).passing(STRENGTH) })
    }

    /// The layer with gates that initially pass their first operand through, with this logit and all others 0.
    pub fn passing(self, strength: f32) -> LogicLayer {
        LogicLayer { gates: self.gates.passing(strength) }
    }

    /// The gates.
    pub fn gates(&self) -> &GateLayer {
        &self.gates
    }
}

impl Layer for LogicLayer {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.gates.forward(x)
    }
}
