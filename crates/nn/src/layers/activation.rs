//! Activations as layers, for use in [`Sequential`](super::Sequential). Start at [`Relu`].

use super::{Layer, Module, Parameter};
use farad_tensor::Device;
use farad_tensor::Tensor;

macro_rules! activation {
    ($($(#[doc = $doc:literal])+ $name:ident $method:ident;)*) => {$(
        $(#[doc = $doc])+
        ///
        /// ```
        /// use farad::prelude::*;
        #[doc = concat!("use farad::nn::", stringify!($name), ";")]
        /// let x = Tensor::from_vec(vec![-1.0, 0.5], [2], &Device::cpu());
        #[doc = concat!("let y = ", stringify!($name), ".forward(&x).to_vec::<f32>()?;")]
        #[doc = concat!("assert_eq!(y, x.", stringify!($method), "().to_vec::<f32>()?);")]
        /// # Ok::<(), farad::Error>(())
        /// ```
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
    /// [`Tensor::relu`] as a layer: the shape stays.
    Relu relu;
    /// [`Tensor::gelu`] as a layer: the shape stays.
    Gelu gelu;
    /// [`Tensor::gelu_tanh`] as a layer: the shape stays.
    GeluTanh gelu_tanh;
    /// [`Tensor::tanh`] as a layer: the shape stays.
    Tanh tanh;
    /// [`Tensor::sigmoid`] as a layer: the shape stays.
    Sigmoid sigmoid;
    /// [`Tensor::silu`] as a layer: the shape stays.
    Silu silu;
    /// [`Tensor::mish`] as a layer: the shape stays.
    Mish mish;
    /// [`Tensor::softplus`] as a layer: the shape stays.
    Softplus softplus;
    /// [`Tensor::selu`] as a layer: the shape stays.
    Selu selu;
    /// [`Tensor::relu6`] as a layer: the shape stays.
    Relu6 relu6;
    /// [`Tensor::hard_sigmoid`] as a layer: the shape stays.
    HardSigmoid hard_sigmoid;
    /// [`Tensor::hard_swish`] as a layer: the shape stays.
    HardSwish hard_swish;
    /// [`Tensor::softsign`] as a layer: the shape stays.
    Softsign softsign;
    /// [`Tensor::log_sigmoid`] as a layer: the shape stays.
    LogSigmoid log_sigmoid;
    /// [`Tensor::tanh_shrink`] as a layer: the shape stays.
    TanhShrink tanh_shrink;
}

macro_rules! with_numbers {
    ($($(#[doc = $doc:literal])+ $name:ident ($($field:ident: $type:ty = $example:expr),+) $method:ident;)*) => {$(
        $(#[doc = $doc])+
        ///
        /// ```
        /// use farad::prelude::*;
        #[doc = concat!("use farad::nn::", stringify!($name), ";")]
        /// let x = Tensor::from_vec(vec![-1.0, 0.5], [1, 2], &Device::cpu());
        #[doc = concat!("let layer = ", stringify!($name), " { ", $(stringify!($field), ": ", stringify!($example), ", ",)+ "};")]
        #[doc = concat!("let y = x.", stringify!($method), "(", $(stringify!($example), ", ",)+ ");")]
        /// assert_eq!(layer.forward(&x).to_vec::<f32>()?, y.to_vec::<f32>()?);
        /// # Ok::<(), farad::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $name {$(
            #[doc = concat!("As in [`Tensor::", stringify!($method), "`].")]
            pub $field: $type,
        )+}

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                x.$method($(self.$field),+)
            }
        }
    )*};
}

with_numbers! {
    /// [`Tensor::leaky_relu`] as a layer, by default with slope 0.01: the shape stays.
    LeakyRelu (slope: f64 = 0.1) leaky_relu;
    /// [`Tensor::elu`] as a layer, by default with alpha 1: the shape stays.
    Elu (alpha: f64 = 1.0) elu;
    /// [`Tensor::celu`] as a layer, by default with alpha 1: the shape stays.
    Celu (alpha: f64 = 2.0) celu;
    /// [`Tensor::hard_tanh`] as a layer, by default between -1 and 1: the shape stays.
    HardTanh (low: f64 = -0.5, high: f64 = 0.25) hard_tanh;
    /// [`Tensor::softmax`] as a layer: the shape stays.
    Softmax (axis: isize = -1) softmax;
    /// [`Tensor::log_softmax`] as a layer: the shape stays.
    LogSoftmax (axis: isize = -1) log_softmax;
    /// [`Tensor::glu`] as a layer, by default of the last axis: `[.., 2n] -> [.., n]`.
    Glu (axis: isize = -1) glu;
    /// [`Tensor::swiglu`] as a layer, by default of the last axis: `[.., 2n] -> [.., n]`.
    SwiGlu (axis: isize = -1) swiglu;
    /// [`Tensor::geglu`] as a layer, by default of the last axis: `[.., 2n] -> [.., n]`.
    GeGlu (axis: isize = -1) geglu;
}

macro_rules! defaults {
    ($($name:ident { $($field:ident: $number:expr),+ })*) => {$(
        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $number),+ }
            }
        }
    )*};
}

defaults! {
    LeakyRelu { slope: 0.01 }
    Elu { alpha: 1.0 }
    Celu { alpha: 1.0 }
    HardTanh { low: -1.0, high: 1.0 }
    Softmax { axis: -1 }
    LogSoftmax { axis: -1 }
    Glu { axis: -1 }
    SwiGlu { axis: -1 }
    GeGlu { axis: -1 }
}

/// [`Tensor::prelu`] as a layer, with slopes that start at 0.25: `[batch, channels, ..]`, the shape stays.
///
/// ```
/// use farad::prelude::*;
/// use farad::nn::PRelu;
/// let y = PRelu::new(1).forward(&Tensor::from_vec(vec![-4.0, 2.0], [1, 2], &Device::cpu()));
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 2.0]);
/// # Ok::<(), farad::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct PRelu {
    /// `[1]` or `[channels]`
    pub weight: Parameter,
}

impl PRelu {
    /// With one slope for all, or one per channel.
    pub fn new(slopes: usize) -> PRelu {
        PRelu { weight: Parameter::new(Tensor::full(0.25, [slopes], &Device::cpu())) }
    }
}

impl Layer for PRelu {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.prelu(&self.weight.value())
    }
}
