//! What fields of modules may be made of besides modules: lists, boxes, pairs, and plain values.
//!
//! Invariant: lists and tuples name their elements by position; plain values have no parts.

use super::{Layer, Module, Visitor};
use farad_tensor::engine::through;
use farad_tensor::{Parameter, Tensor};

impl<M: Module> Module for Option<M> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        if let Some(part) = self {
            part.visit(visitor);
        }
    }

    fn kind(&self) -> String {
        self.as_ref().map_or_else(String::new, Module::kind)
    }
}

impl<M: Module + ?Sized> Module for Box<M> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        (**self).visit(visitor);
    }

    fn kind(&self) -> String {
        (**self).kind()
    }
}

impl<L: Layer + ?Sized> Layer for Box<L> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        through("", || (**self).forward(x))
    }
}

impl<M: Module> Module for [M] {
    fn visit(&self, visitor: &mut dyn Visitor) {
        for (number, part) in self.iter().enumerate() {
            visitor.child(&number.to_string(), part);
        }
    }

    fn kind(&self) -> String {
        match self.first().map(Module::kind) {
            Some(kind) if !kind.is_empty() => format!("{kind} × {}", self.len()),
            _ => String::new(),
        }
    }
}

impl<M: Module> Module for Vec<M> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.as_slice().visit(visitor);
    }

    fn kind(&self) -> String {
        self.as_slice().kind()
    }
}

impl<M: Module, const N: usize> Module for [M; N] {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.as_slice().visit(visitor);
    }

    fn kind(&self) -> String {
        self.as_slice().kind()
    }
}

macro_rules! tuples {
    ($($name:ident $number:tt),+) => {
        impl<$($name: Module),+> Module for ($($name,)+) {
            fn visit(&self, visitor: &mut dyn Visitor) {
                $(visitor.child(stringify!($number), &self.$number);)+
            }

            fn kind(&self) -> String {
                let kinds = [$(self.$number.kind()),+];
                match kinds.iter().all(String::is_empty) {
                    true => String::new(),
                    false => format!("({})", kinds.join(", ")),
                }
            }
        }
    };
}
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);

macro_rules! plain {
    ($($name:ty),+) => {$(
        /// A plain value: no part of a module.
        impl Module for $name {
            fn visit(&self, _: &mut dyn Visitor) {}

            fn kind(&self) -> String {
                String::new()
            }
        }
    )+};
}
plain!(bool, char, String, &'static str, ());
plain!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64);

impl<T: ?Sized> Module for std::marker::PhantomData<T> {
    fn visit(&self, _: &mut dyn Visitor) {}

    fn kind(&self) -> String {
        String::new()
    }
}

impl Module for Parameter {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.parameter(self);
    }
}
