//! Activations as layers, for use in [`Sequential`](super::Sequential).

use super::{Layer, Module};
use crate::tensor::Tensor;

macro_rules! activation {
    ($($(#[doc = $doc:literal])+ $name:ident $method:ident;)*) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, Module)]
        pub struct $name;

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                x.$method()
            }
        }
    )*};
}

activation! {
    /// [`Tensor::relu`] as a layer.
    Relu relu;
    /// [`Tensor::gelu`] as a layer.
    Gelu gelu;
    /// [`Tensor::tanh`] as a layer.
    Tanh tanh;
}
