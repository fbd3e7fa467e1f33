//! Layers one after the other.

use super::{Module, Parameter};
use crate::tensor::Tensor;

/// Layers applied in order. Parameters are named by position: `0.weight`, `2.bias`.
///
/// ```
/// use farad::prelude::*;
/// let model = Sequential::new((Linear::new(3, 4), Relu, Linear::new(4, 1)));
/// assert_eq!(model.named_parameters()[2].0, "2.weight");
/// ```
pub struct Sequential {
    layers: Vec<Box<dyn Module + Send + Sync>>,
}

impl Sequential {
    /// From a tuple of layers, or a vector of boxed ones.
    pub fn new(layers: impl Layers) -> Sequential {
        Sequential { layers: layers.boxed() }
    }
}

impl Module for Sequential {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = x.clone();
        for layer in &self.layers {
            x = layer.forward(&x);
        }
        x
    }

    fn visit(&self, found: &mut dyn FnMut(&str, &Parameter)) {
        for (n, layer) in self.layers.iter().enumerate() {
            layer.visit(&mut |path, parameter| found(&format!("{n}.{path}"), parameter));
        }
    }
}

/// What a [`Sequential`] can be made from.
pub trait Layers {
    /// The layers, boxed.
    fn boxed(self) -> Vec<Box<dyn Module + Send + Sync>>;
}

impl Layers for Vec<Box<dyn Module + Send + Sync>> {
    fn boxed(self) -> Vec<Box<dyn Module + Send + Sync>> {
        self
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: Module + Send + Sync + 'static),+> Layers for ($($name,)+) {
            #[allow(non_snake_case)]
            fn boxed(self) -> Vec<Box<dyn Module + Send + Sync>> {
                let ($($name,)+) = self;
                vec![$(Box::new($name)),+]
            }
        }
    };
}
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
