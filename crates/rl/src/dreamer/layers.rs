//! The layers of Dreamer's networks, for many agents at once, and the row of numbers that has their weights.
//!
//! Invariant: the first axis of every weight and of everything that a layer takes or gives is the agent; agents share
//! nothing. A layer knows where its weights are in the list, and the list is given with every call. Start at
//! [`WeightLayout`].

use farad::nn::init;
use farad::{Device, Parameter, Result, Tensor, kept};

/// Added to mean squares before the root of a normalization.
const SMALL: f64 = 1e-4;
/// What a normal distribution's deviation is divided by so that it is right after it is cut at two deviations.
const CUT: f64 = 0.879_625_661;

/// What a weight begins as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WeightStart {
    /// All the same.
    Constant(f64),
    /// Normal, cut at two deviations: so much over the root of this number of inputs.
    Normal { scale: f64, inputs: usize },
}

#[derive(Clone, Debug, PartialEq)]
struct WeightRow {
    name: String,
    shape: Vec<usize>,
    start: WeightStart,
}

/// All weights of an agent: names, shapes, and what they begin as.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WeightLayout {
    rows: Vec<WeightRow>,
}

impl WeightLayout {
    /// One weight more; its place in the list.
    pub fn add(&mut self, name: String, shape: &[usize], start: WeightStart) -> usize {
        self.rows.push(WeightRow { name, shape: shape.to_vec(), start });
        self.rows.len() - 1
    }

    /// How many weights there are so far.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Numbers of all weights from a place in the list on.
    pub fn numbers_from(&self, place: usize) -> usize {
        self.rows[place..].iter().map(|row| row.shape.iter().product::<usize>()).sum()
    }

    /// The names of all weights.
    pub fn names(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.name.clone()).collect()
    }

    /// The weights of so many agents, drawn from the CPU's random numbers ([`farad::seed`]).
    pub fn init(&self, agents: usize, device: &Device) -> Result<Vec<Tensor>> {
        let begun = |row: &WeightRow| {
            let shape = [&[agents], &row.shape[..]].concat();
            match row.start {
                WeightStart::Constant(value) => Ok(Tensor::full(value, &shape[..], device)),
                WeightStart::Normal { scale, inputs } => {
                    let weight = Parameter::new(Tensor::zeros(&shape[..], &Device::cpu()));
                    let deviation = scale / (inputs as f64).sqrt() / CUT;
                    init::truncated_normal(&weight, 0.0, deviation, -2.0 * deviation, 2.0 * deviation)?;
                    weight.value().to_device(device)
                }
            }
        };
        self.rows.iter().map(begun).collect()
    }

    /// The weights from a place in the list on, out of rows `[agents, numbers]`.
    pub fn unpack_from(&self, place: usize, rows: &Tensor) -> Vec<Tensor> {
        let agents = rows.shape()[0];
        let mut from = 0;
        let mut next = |row: &WeightRow| {
            let len = row.shape.iter().product();
            let part = rows.narrow(1, from, len).reshape(&[&[agents], &row.shape[..]].concat()[..]);
            from += len;
            part
        };
        self.rows[place..].iter().map(&mut next).collect()
    }

    /// All weights out of rows `[agents, numbers]`.
    pub fn unpack(&self, rows: &Tensor) -> Vec<Tensor> {
        self.unpack_from(0, rows)
    }
}

/// A linear layer with a bias: `[agents, rows, inputs] -> [agents, rows, outputs]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dense {
    weight: usize,
    bias: usize,
}

impl Dense {
    /// A layer whose weights begin at `scale` times the usual deviation; 0 for zeros.
    pub fn new(layout: &mut WeightLayout, name: &str, inputs: usize, outputs: usize, scale: f64) -> Dense {
        let start = match scale {
            0.0 => WeightStart::Constant(0.0),
            scale => WeightStart::Normal { scale, inputs },
        };
        Dense {
            weight: layout.add(format!("{name}.weight"), &[inputs, outputs], start),
            bias: layout.add(format!("{name}.bias"), &[1, outputs], WeightStart::Constant(0.0)),
        }
    }

    /// The layer on inputs.
    pub fn apply(&self, weights: &[Tensor], x: &Tensor) -> Tensor {
        x.matmul(&weights[self.weight]) + &weights[self.bias]
    }

    /// What some of the inputs add, from the number `from` on, without the bias.
    pub fn part(&self, weights: &[Tensor], x: &Tensor, from: usize) -> Tensor {
        x.matmul(&weights[self.weight].narrow(1, from, x.shape()[2]))
    }

    /// The bias.
    pub fn bias<'w>(&self, weights: &'w [Tensor]) -> &'w Tensor {
        &weights[self.bias]
    }
}

/// Numbers divided by the root of their mean square over the last axis, times learned factors, through SiLU.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NormedSilu {
    scale: usize,
}

impl NormedSilu {
    pub fn new(layout: &mut WeightLayout, name: &str, numbers: usize) -> NormedSilu {
        NormedSilu { scale: layout.add(format!("{name}.scale"), &[1, numbers], WeightStart::Constant(1.0)) }
    }

    pub fn apply(&self, weights: &[Tensor], x: &Tensor) -> Tensor {
        normed_silu(x, &x.square().mean_axes(kept([-1])), &weights[self.scale])
    }
}

/// Numbers divided by the root of a mean square, times factors, through SiLU.
pub(super) fn normed_silu(x: &Tensor, square: &Tensor, scale: &Tensor) -> Tensor {
    (x * (square + SMALL).rsqrt() * scale).silu()
}

/// Hidden layers: each is linear, normalized, and goes through SiLU.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hidden {
    layers: Vec<(Dense, NormedSilu)>,
}

impl Hidden {
    /// So many layers of so many units.
    pub fn new(layout: &mut WeightLayout, name: &str, inputs: usize, units: usize, count: usize) -> Hidden {
        let layer = |n: usize| {
            let (name, inputs) = (format!("{name}.{n}"), if n == 0 { inputs } else { units });
            (Dense::new(layout, &name, inputs, units, 1.0), NormedSilu::new(layout, &name, units))
        };
        Hidden { layers: (0..count).map(layer).collect() }
    }

    pub fn apply(&self, weights: &[Tensor], x: &Tensor) -> Tensor {
        self.layers.iter().fold(x.clone(), |x, (dense, norm)| norm.apply(weights, &dense.apply(weights, &x)))
    }

    /// The same for features of the inputs that the first layer has made already, without its bias.
    pub fn after_first(&self, weights: &[Tensor], first: &Tensor) -> Tensor {
        let (dense, norm) = &self.layers[0];
        let x = norm.apply(weights, &(first + dense.bias(weights)));
        self.layers[1..].iter().fold(x, |x, (dense, norm)| norm.apply(weights, &dense.apply(weights, &x)))
    }

    /// The first layer without bias, of some of its inputs.
    pub fn first_part(&self, weights: &[Tensor], x: &Tensor, from: usize) -> Tensor {
        self.layers[0].0.part(weights, x, from)
    }
}

/// Hidden layers with a linear layer on top.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Head {
    hidden: Hidden,
    last: Dense,
}

impl Head {
    /// `sizes` are inputs, units and outputs.
    pub fn new(layout: &mut WeightLayout, name: &str, sizes: [usize; 3], count: usize, scale: f64) -> Head {
        let [inputs, units, outputs] = sizes;
        let hidden = Hidden::new(layout, name, inputs, units, count);
        Head { hidden, last: Dense::new(layout, &format!("{name}.last"), units, outputs, scale) }
    }

    pub fn apply(&self, weights: &[Tensor], x: &Tensor) -> Tensor {
        self.last.apply(weights, &self.hidden.apply(weights, x))
    }
}
