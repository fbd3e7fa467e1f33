//! Layers that carry a state from position to position: LSTM, GRU and the plain recurrent layer.
//!
//! Invariant: what the inputs contribute is one product for the whole sequence; the loop over time is one scan,
//! whose body is one product with the hidden state and the pointwise work of a [`Cell`]. Start at [`Recurrent`].

mod cell;
mod gru;
mod layer;
mod lstm;
mod rnn;
mod weights;

pub use cell::{Cell, State};
pub use gru::GruCell;
pub use layer::Recurrent;
pub use lstm::{LstmCell, LstmState};
pub use rnn::RnnCell;
pub use weights::RecurrentWeights;

/// Long short-term memory over sequences; see [`Recurrent`] and [`LstmCell`].
///
/// ```
/// use farad::prelude::*;
/// let lstm = Lstm::new(8, 16);
/// let (y, last) = lstm.forward(&Tensor::rand([10, 4, 8], &Device::cpu()));
/// assert_eq!(y.shape()[..], [10, 4, 16]);
/// assert_eq!(last[0].hidden.shape()[..], [4, 16]);
/// assert_eq!(last[0].cell.shape()[..], [4, 16]);
/// ```
pub type Lstm = Recurrent<LstmCell>;

/// Gated recurrent units over sequences; see [`Recurrent`] and [`GruCell`].
///
/// ```
/// use farad::prelude::*;
/// let gru = Gru::new(8, 16).bidirectional();
/// let (y, last) = gru.forward(&Tensor::rand([10, 4, 8], &Device::cpu()));
/// assert_eq!(y.shape()[..], [10, 4, 32]);
/// assert_eq!(last.len(), 2);
/// ```
pub type Gru = Recurrent<GruCell>;

/// The plain recurrent layer with `tanh`; see [`Recurrent`] and [`RnnCell`].
///
/// ```
/// use farad::prelude::*;
/// let rnn = Rnn::new(8, 16).layers(2);
/// let names: Vec<String> = rnn.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names[4], "weight_ih_l1");
/// ```
pub type Rnn = Recurrent<RnnCell>;
