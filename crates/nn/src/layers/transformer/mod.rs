//! Transformer blocks and stacks of them, with the parameters, names and defaults of PyTorch's (and `batch_first`).
//! Start at [`TransformerOptions`].

mod decoder;
mod decoder_layer;
mod encoder;
mod encoder_layer;
mod feed_forward;
mod options;

pub use decoder::TransformerDecoder;
pub use decoder_layer::TransformerDecoderLayer;
pub use encoder::TransformerEncoder;
pub use encoder_layer::TransformerEncoderLayer;
pub use options::{TransformerActivation, TransformerOptions};
