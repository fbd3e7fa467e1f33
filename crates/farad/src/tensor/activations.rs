//! Activations, composed from primitives.

use super::Tensor;

macro_rules! activations {
    ($($(#[doc = $doc:literal])+ $method:ident ($input:expr => $output:expr) |$x:ident| $body:expr;)*) => {
        impl Tensor {$(
            $(#[doc = $doc])+
            ///
            /// ```
            /// use farad::prelude::*;
            #[doc = concat!("let x = Tensor::from_vec(vec![", stringify!($input), "f32], [1], &Device::cpu());")]
            #[doc = concat!("let y = x.", stringify!($method), "().to_vec::<f32>()?[0];")]
            #[doc = concat!("assert!((y - (", stringify!($output), ")).abs() < 1e-5, \"{y}\");")]
            /// # Ok::<(), farad::Error>(())
            /// ```
            #[track_caller]
            pub fn $method(&self) -> Tensor {
                let $x = self;
                $body
            }
        )*}
    };
}

activations! {
    /// Gaussian error linear unit: `x · Φ(x)`, with the error function.
    gelu (1.0 => 0.8413447) |x| x * ((x * std::f64::consts::FRAC_1_SQRT_2).erf() * 0.5 + 0.5);
    /// Gaussian error linear unit by its `tanh` approximation.
    gelu_tanh (1.0 => 0.841192) |x| x * (((x + x * x * x * 0.044715) * 0.797_884_560_802_865_4).tanh() * 0.5 + 0.5);
    /// `x · sigmoid(x)`, also called swish.
    silu (1.0 => 0.7310586) |x| x * x.sigmoid();
    /// `log(1 + e^x)`, without overflow.
    softplus (1.0 => 1.3132616) |x| x.relu() + ((-x.abs()).exp() + 1.0).log();
}
