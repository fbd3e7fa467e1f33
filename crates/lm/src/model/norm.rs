//! The norm of a token's features, of the kind that a model has.

use farad::Tensor;
use farad::nn::{Layer, LayerNorm, Module, RmsNorm, Visitor};

use super::{ModelOptions, NormKind};

/// A norm by mean and variance or by mean square: `[.., width] -> [.., width]`.
#[derive(Clone, Debug)]
pub enum FeatureNorm {
    /// By mean and variance.
    Layer(LayerNorm),
    /// By the root of the mean square.
    Rms(RmsNorm),
}

impl FeatureNorm {
    /// As the options say.
    pub fn new(options: &ModelOptions) -> FeatureNorm {
        let epsilon = options.family.epsilon;
        match options.family.norm {
            NormKind::Rms => FeatureNorm::Rms(RmsNorm::new(options.width).epsilon(epsilon)),
            NormKind::Layer => {
                let norm = LayerNorm::new(options.width).epsilon(epsilon);
                FeatureNorm::Layer(if options.bias { norm } else { norm.without_bias() })
            }
        }
    }
}

impl Module for FeatureNorm {
    fn visit(&self, visitor: &mut dyn Visitor) {
        match self {
            FeatureNorm::Layer(norm) => norm.visit(visitor),
            FeatureNorm::Rms(norm) => norm.visit(visitor),
        }
    }

    fn kind(&self) -> String {
        match self {
            FeatureNorm::Layer(norm) => norm.kind(),
            FeatureNorm::Rms(norm) => norm.kind(),
        }
    }
}

impl Layer for FeatureNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        match self {
            FeatureNorm::Layer(norm) => norm.forward(x),
            FeatureNorm::Rms(norm) => norm.forward(x),
        }
    }
}
