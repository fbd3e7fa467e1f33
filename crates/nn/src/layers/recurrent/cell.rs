//! What a recurrent layer does at one position.

use super::RecurrentWeights;
use crate::layers::Module;
use farad_tensor::Tensor;

/// One position of a recurrent layer: [`LstmCell`](super::LstmCell), [`GruCell`](super::GruCell),
/// [`RnnCell`](super::RnnCell).
pub trait Cell: Module + Clone {
    /// What is carried from position to position.
    type State: State;

    /// The name of the layer over sequences.
    const LAYER: &'static str;

    /// How many gates the weights hold.
    const GATES: usize;

    /// A cell with these weights.
    fn of(weights: RecurrentWeights) -> Self;

    /// The cell's weights.
    fn weights(&self) -> &RecurrentWeights;

    /// What the inputs contribute, for all positions at once: `[.., inputs] -> [.., gates · hidden]`.
    fn inputs(&self, x: &Tensor) -> Tensor;

    /// The next state from what the inputs contribute at this position, `[batch, gates · hidden]`.
    fn step(&self, inputs: &Tensor, state: &Self::State) -> Self::State;
}

/// What a recurrent layer carries from position to position.
pub trait State: Clone {
    /// How many tensors it consists of.
    const PARTS: usize;

    /// Its tensors, the hidden state first, each `[batch, hidden]`.
    fn parts(&self) -> Vec<Tensor>;

    /// From such tensors.
    fn from_parts(parts: &[Tensor]) -> Self;
}

impl State for Tensor {
    const PARTS: usize = 1;

    fn parts(&self) -> Vec<Tensor> {
        vec![self.clone()]
    }

    fn from_parts(parts: &[Tensor]) -> Tensor {
        parts[0].clone()
    }
}

/// Zeros for a batch beside what the inputs contribute to its cell.
#[track_caller]
pub(super) fn zeros<S: State>(inputs: &Tensor, batch: usize, hidden: usize) -> S {
    let zeros = Tensor::zeros([batch, hidden], inputs.device()).cast(inputs.dtype());
    S::from_parts(&vec![zeros; S::PARTS])
}

/// A cell: its layer's name, its gates, whether the inputs bring the hidden state's biases along, its state, and the
/// next state from what the inputs contribute and the state before.
macro_rules! cell {
    (
        $(#[$doc:meta])*
        $name:ident of $layer:literal, $gates:literal gates, both biases $both:literal,
        |$cell:ident, $inputs:ident, $before:ident: $state:ty| $step:block
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, $crate::layers::Module)]
        pub struct $name {
            /// The parameters.
            #[module(flatten)]
            pub weights: $crate::layers::RecurrentWeights,
        }

        impl $name {
            /// A cell with biases. All weights start uniform in ±1/√hidden.
            #[track_caller]
            pub fn new(inputs: usize, hidden: usize) -> $name {
                $name { weights: $crate::layers::RecurrentWeights::new(inputs, hidden, $gates, true) }
            }

            /// The cell without its biases.
            pub fn without_bias(mut self) -> $name {
                (self.weights.bias_ih, self.weights.bias_hh) = (None, None);
                self
            }

            /// The next state: `x` is `[batch, inputs]`, states are `[batch, hidden]`.
            #[track_caller]
            pub fn forward(&self, x: &farad_tensor::Tensor, state: &$state) -> $state {
                let _inside = farad_tensor::engine::inside(stringify!($name));
                use $crate::layers::Cell;
                self.step(&self.inputs(x), state)
            }

            /// As `forward`, from a state of zeros.
            #[track_caller]
            pub fn start(&self, x: &farad_tensor::Tensor) -> $state {
                use $crate::layers::Cell;
                let hidden = self.weights.weight_hh.value().shape()[1];
                let inputs = self.inputs(x);
                self.step(&inputs, &super::cell::zeros(&inputs, x.shape()[0], hidden))
            }
        }

        impl $crate::layers::Cell for $name {
            type State = $state;
            const LAYER: &'static str = $layer;
            const GATES: usize = $gates;

            fn of(weights: $crate::layers::RecurrentWeights) -> $name {
                $name { weights }
            }

            fn weights(&self) -> &$crate::layers::RecurrentWeights {
                &self.weights
            }

            #[track_caller]
            fn inputs(&self, x: &farad_tensor::Tensor) -> farad_tensor::Tensor {
                self.weights.inputs(x, $both)
            }

            #[track_caller]
            fn step(&self, $inputs: &farad_tensor::Tensor, $before: &$state) -> $state {
                let $cell = self;
                $step
            }
        }
    };
}
pub(super) use cell;
