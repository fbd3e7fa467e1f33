//! What a data set is.

use std::sync::Arc;

use super::Array;
use crate::error::Result;

/// Something to learn from: an input, and what should come of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What the model sees.
    pub input: Array,
    /// What it should say: a class (an integer without axes), or numbers.
    pub target: Array,
}

/// Samples by number. Reading one may fail: files are read when they are asked for.
pub trait Dataset: Send + Sync {
    /// How many samples there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A sample by its number, below [`Dataset::len`]. Called from several threads at once.
    fn get(&self, index: usize) -> Result<Sample>;

    /// The names of the classes, if targets are classes; otherwise none.
    fn classes(&self) -> &[String] {
        &[]
    }

    /// The class of a sample, where it is known without reading its input; otherwise none.
    fn class_of(&self, _index: usize) -> Option<usize> {
        None
    }
}

macro_rules! pointers {
    ($($pointer:ident)+) => {$(
        impl<D: Dataset + ?Sized> Dataset for $pointer<D> {
            fn len(&self) -> usize {
                (**self).len()
            }
            fn get(&self, index: usize) -> Result<Sample> {
                (**self).get(index)
            }
            fn classes(&self) -> &[String] {
                (**self).classes()
            }
            fn class_of(&self, index: usize) -> Option<usize> {
                (**self).class_of(index)
            }
        }
    )+};
}
pointers!(Arc Box);

/// Which part of a published set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// To learn from.
    Train,
    /// To be judged by.
    Test,
}
