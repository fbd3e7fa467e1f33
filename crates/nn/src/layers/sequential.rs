//! Layers one after the other.

use super::{Layer, Module};
use farad_tensor::Tensor;
use farad_tensor::engine::{at_position, through};

/// Layers applied in order. Parameters are named by position: `0.weight`, `2.bias`.
///
/// ```
/// use farad::prelude::*;
/// let model = Sequential::new((Linear::new(3, 4), Relu, Linear::new(4, 1)));
/// assert_eq!(model.named_parameters()[2].0, "2.weight");
/// ```
#[derive(Module)]
pub struct Sequential {
    #[module(flatten)]
    layers: Vec<Box<dyn Layer + Send + Sync>>,
}

impl Sequential {
    /// From a tuple of layers, or a vector of boxed ones.
    pub fn new(layers: impl Layers) -> Sequential {
        Sequential { layers: layers.boxed() }
    }
}

impl Layer for Sequential {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        through("Sequential", || {
            let mut x = x.clone();
            for (position, layer) in self.layers.iter().enumerate() {
                at_position(position);
                x = layer.forward(&x);
            }
            x
        })
    }
}

/// What a [`Sequential`] can be made from.
pub trait Layers {
    /// The layers, boxed.
    fn boxed(self) -> Vec<Box<dyn Layer + Send + Sync>>;
}

impl Layers for Vec<Box<dyn Layer + Send + Sync>> {
    fn boxed(self) -> Vec<Box<dyn Layer + Send + Sync>> {
        self
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: Layer + Send + Sync + 'static),+> Layers for ($($name,)+) {
            #[allow(non_snake_case)]
            fn boxed(self) -> Vec<Box<dyn Layer + Send + Sync>> {
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
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);
tuples!(A B C D E F G H I J K L M);
tuples!(A B C D E F G H I J K L M N);
tuples!(A B C D E F G H I J K L M N O);
tuples!(A B C D E F G H I J K L M N O P);
