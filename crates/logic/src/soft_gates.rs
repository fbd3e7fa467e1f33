//! The parameters of an automaton's gates, sixteen or four logits per gate, and how they become hard.
//!
//! A hard value with a soft gradient is always `hard + (soft − stop(soft))`, whose value is exactly the hard
//! one.
//!
//! Invariant: a gate's number is decided on the device, once ([`SoftGates::numbers`]). Hard coefficients and
//! kept circuits both come from that number, so the circuit that is evaluated is the one that is kept. Start
//! at [`SoftGates::new`].

use farad::kept;
use farad::{DType, Device, Tensor};
use farad_circuit::Gate;

use crate::gates::GateTable;

/// The parameters of a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GateKind {
    /// A logit for each of the sixteen functions; the gate is their softmax mixture.
    #[default]
    Sixteen,
    /// A logit for each of the four inputs (0, 0), (0, 1), (1, 0), (1, 1): its sigmoid is the probability of a
    /// one there.
    Four,
}

/// Which gate a mixture becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// The function with the largest logit.
    #[default]
    Likeliest,
    /// The function with the closest truth table: the mixture's probability of a one, rounded input by input.
    Nearest,
}

/// The four inputs of a gate, in the order of [`GateKind::Four`]'s logits. The functions that are one only
/// there have the numbers 8, 4, 2 and 1, and a gate's number is the sum of those of its ones.
const INPUTS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// How parameters become gates on one device.
///
/// ```
/// use farad::prelude::*;
/// use farad_logic::{GateKind, Rounding, SoftGates};
/// let device = Device::cpu();
/// let gates = SoftGates::new(GateKind::Four, Rounding::Nearest, &device);
/// let or = Tensor::from_vec(vec![-3.0, 2.0, 1.0, 4.0], [1, 4], &device);
/// assert_eq!(gates.numbers(&or).to_vec::<i32>()?, [7]);
/// assert_eq!(gates.hard(&or).to_vec::<f32>()?, [0.0, 1.0, 1.0, -1.0]);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SoftGates {
    kind: GateKind,
    rounding: Rounding,
    table: GateTable,
    /// The truth tables of the sixteen, `[16, 4]`.
    truth: Tensor,
    /// From a truth table to coefficients, `[4, 4]`.
    coefficients: Tensor,
    /// What a one adds to the gate's number, `[4, 1]`.
    places: Tensor,
}

impl SoftGates {
    /// Gates of this kind on a device. Four logits are always rounded one by one.
    pub fn new(kind: GateKind, rounding: Rounding, device: &Device) -> SoftGates {
        let output = |gate: &Gate| INPUTS.map(|(a, b)| f32::from(gate.output(a, b)));
        let truth = Gate::ALL.iter().flat_map(output).collect();
        let alone = [8, 4, 2, 1].map(|number| Gate::ALL[number]);
        let coefficients = alone.iter().flat_map(|gate| gate.coefficients()).map(f32::from).collect();
        let places = alone.iter().map(|gate| f32::from(gate.number())).collect();
        SoftGates {
            kind,
            rounding: if kind == GateKind::Four { Rounding::Nearest } else { rounding },
            table: GateTable::on(device),
            truth: Tensor::from_vec::<f32>(truth, [16, 4], device),
            coefficients: Tensor::from_vec::<f32>(coefficients, [4, 4], device),
            places: Tensor::from_vec::<f32>(places, [4, 1], device),
        }
    }

    /// Logits of a gate.
    pub fn width(&self) -> usize {
        match self.kind {
            GateKind::Sixteen => 16,
            GateKind::Four => 4,
        }
    }

    /// Logits of gates that pass their first operand through. Both kinds start as the same soft gates: the
    /// mixture with `strength` at one function and 0 at the others. `[..gates, width]`
    pub fn initial(&self, gates: &[usize], strength: f32, device: &Device) -> Tensor {
        self.sure(&vec![Gate::A; gates.iter().product()], gates, strength, device)
    }

    /// Logits of gates that prefer these functions, the more strongly the larger the strength, in an array of
    /// these sizes. Both kinds are the same soft gates, as in [`SoftGates::initial`]. `[..sizes, width]`
    pub fn sure(&self, gates: &[Gate], sizes: &[usize], strength: f32, device: &Device) -> Tensor {
        // At each input, seven of the fifteen other functions agree with a function, so the odds there are (e^s
        // + 7) : 8.
        let sure = ((f64::from(strength).exp() + 7.0) / 8.0).ln() as f32;
        let row = |gate: &Gate| match self.kind {
            GateKind::Sixteen => {
                let own = gate.number() as usize;
                (0..16).map(|number| if number == own { strength } else { 0.0 }).collect::<Vec<f32>>()
            }
            GateKind::Four => {
                INPUTS.iter().map(|&(a, b)| if gate.output(a, b) { sure } else { -sure }).collect()
            }
        };
        let rows: Vec<f32> = gates.iter().flat_map(row).collect();
        let sizes: Vec<usize> = sizes.iter().copied().chain([self.width()]).collect();
        Tensor::from_vec::<f32>(rows, sizes, device)
    }

    /// The coefficients of soft gates. `[..., width] -> [..., 4]`
    #[track_caller]
    pub fn soft(&self, logits: &Tensor) -> Tensor {
        match self.kind {
            GateKind::Sixteen => self.table.soft(logits),
            GateKind::Four => self.times(&logits.sigmoid(), &self.coefficients),
        }
    }

    /// The probabilities of a one at the four inputs. `[..., width] -> [..., 4]`
    #[track_caller]
    pub fn chances(&self, logits: &Tensor) -> Tensor {
        match self.kind {
            GateKind::Sixteen => self.times(&logits.softmax(-1), &self.truth),
            GateKind::Four => logits.sigmoid(),
        }
    }

    /// The numbers of the hard gates, as `i32`. `[..., width] -> [...]`
    #[track_caller]
    pub fn numbers(&self, logits: &Tensor) -> Tensor {
        let ones = match (self.kind, self.rounding) {
            (GateKind::Sixteen, Rounding::Likeliest) => return logits.argmax(-1),
            (GateKind::Sixteen, Rounding::Nearest) => self.chances(logits).greater(0.5),
            (GateKind::Four, _) => logits.greater(0.0),
        };
        self.times(&ones.cast(DType::F32), &self.places).squeeze(-1).cast(DType::I32)
    }

    /// The coefficients of the hard gates: exact integers. `[..., width] -> [..., 4]`
    #[track_caller]
    pub fn hard(&self, logits: &Tensor) -> Tensor {
        self.table.of_numbers(&self.numbers(logits))
    }

    /// How sure gates are, from 0 to 1: the probability of the most likely function, or how far the least sure
    /// of the four outputs is from one half. `[..., width] -> [..., 1]`
    #[track_caller]
    pub fn confidence(&self, logits: &Tensor) -> Tensor {
        match self.rounding {
            Rounding::Likeliest => logits.softmax(-1).max_axes(kept([-1])),
            Rounding::Nearest => (self.chances(logits) * 2.0 - 1.0).abs().min_axes(kept([-1])),
        }
    }

    /// The entropy of gates, in nats: of the sixteen probabilities, or of the four outputs together.
    /// `[..., width] -> [...]`
    #[track_caller]
    pub fn entropy(&self, logits: &Tensor) -> Tensor {
        let each = match self.kind {
            GateKind::Sixteen => {
                let logs = logits.log_softmax(-1);
                -(logs.exp() * logs)
            }
            GateKind::Four => {
                // The entropy is the same for either sign; with the negative one, nothing large cancels.
                let below = logits.greater(0.0).select(&-logits, logits);
                below.softplus() - &below * below.sigmoid()
            }
        };
        each.sum_axes([-1])
    }

    /// By how much the decision is less clear than `margin`: the logit of the most likely function minus the
    /// next one's, or the magnitude of each of four logits. `[..., width] -> [...]`
    #[track_caller]
    pub fn shortfall(&self, logits: &Tensor, margin: f32) -> Tensor {
        let lead = match self.kind {
            GateKind::Sixteen => {
                let first = logits.argmax(-1).one_hot(16);
                let others = logits - first * TOO_MUCH;
                logits.max_axes(kept([-1])) - others.max_axes(kept([-1]))
            }
            GateKind::Four => logits.abs(),
        };
        (f64::from(margin) - lead).relu().sum_axes([-1])
    }

    /// Noise for every logit from uniform numbers. For sixteen logits it is Gumbel noise, with which the argmax
    /// is a sample of their softmax; for four it is logistic noise, with which the sign of a logit is a sample
    /// of its sigmoid. `[..., width] -> [..., width]`
    #[track_caller]
    pub fn noise(&self, uniform: &Tensor) -> Tensor {
        // Uniform numbers may be zero, and their logarithm must be finite.
        let inside = uniform * (1.0 - 2.0 * EDGE) + EDGE;
        match self.kind {
            GateKind::Sixteen => -((-inside.log()).log()),
            GateKind::Four => inside.log() - (1.0 - inside).log(),
        }
    }

    /// Rows times a small matrix. `[..., n] × [n, m] -> [..., m]`
    #[track_caller]
    fn times(&self, x: &Tensor, matrix: &Tensor) -> Tensor {
        let mut sizes = x.shape().to_vec();
        let last = sizes.pop().expect("an axis of logits");
        assert_eq!(
            last,
            matrix.shape()[0],
            "gates: the last axis of logits must be {}: {:?}",
            matrix.shape()[0],
            x.shape()
        );
        let rows = x.reshape([sizes.iter().product(), last]).matmul(matrix);
        sizes.push(matrix.shape()[1]);
        rows.reshape(sizes)
    }
}

/// Subtracted from a logit that must not be the largest.
const TOO_MUCH: f64 = 1e6;

/// How far uniform numbers stay away from 0 and 1.
const EDGE: f64 = 1e-7;

/// `hard` exactly, with the gradient of `soft`.
#[track_caller]
pub fn straight_through(hard: &Tensor, soft: &Tensor) -> Tensor {
    hard.stop_gradient() + (soft - soft.stop_gradient())
}
