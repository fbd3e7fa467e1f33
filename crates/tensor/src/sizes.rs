//! The shape that a tensor is given, where one size may be left open.

use farad_ir::{OpError, Shape};

use crate::inside::refuse;
use crate::tensor::raise;

/// A size that follows from the others: `x.reshape([batch, FREE])`. Where sizes are signed, `-1` means the same.
pub const FREE: usize = usize::MAX;

/// Sizes of which one may be [`FREE`]: what [`Tensor::reshape`](crate::Tensor::reshape) takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// With 1 in place of the free one.
    shape: Shape,
    free: Option<usize>,
}

impl Sizes {
    /// The shape, for so many elements.
    #[track_caller]
    pub(crate) fn shape(&self, of: Shape) -> Shape {
        let Some(axis) = self.free else { return self.shape };
        let (count, others) = (of.numel(), self.shape.numel());
        if others == 0 || !count.is_multiple_of(others) {
            let what = format!("the other sizes do not divide the elements: {of}, axis {axis} is free");
            raise(OpError::Sizes { op: "reshape", what, a: count, b: others });
        }
        let mut sizes = self.shape.to_vec();
        sizes[axis] = count / others;
        Shape::new(&sizes)
    }

    #[track_caller]
    fn new(sizes: &[usize]) -> Sizes {
        let mut open = (0..sizes.len()).filter(|&axis| sizes[axis] == FREE);
        let Some(axis) = open.next() else { return Sizes { shape: Shape::new(sizes), free: None } };
        if let Some(second) = open.next() {
            refuse(format_args!("reshape: only one axis can be free: axes {axis} and {second} are (2 vs 1)"));
        }
        let mut sizes = sizes.to_vec();
        sizes[axis] = 1;
        Sizes { shape: Shape::new(&sizes), free: Some(axis) }
    }
}

/// A signed size: −1 is free, other negative ones are none.
#[track_caller]
fn signed(size: i64) -> usize {
    match size {
        -1 => FREE,
        0.. => size as usize,
        _ => refuse(format_args!(
            "reshape: a size is negative: ({size} vs at least 0)\nhelp: -1 stands for the size that follows from the others"
        )),
    }
}

impl From<Shape> for Sizes {
    fn from(shape: Shape) -> Sizes {
        Sizes { shape, free: None }
    }
}

/// No axes: one element.
impl From<()> for Sizes {
    fn from((): ()) -> Sizes {
        Sizes { shape: Shape::scalar(), free: None }
    }
}

impl From<&Shape> for Sizes {
    fn from(shape: &Shape) -> Sizes {
        Sizes { shape: *shape, free: None }
    }
}

impl<const N: usize> From<[usize; N]> for Sizes {
    #[track_caller]
    fn from(sizes: [usize; N]) -> Sizes {
        Sizes::new(&sizes)
    }
}

impl<const N: usize> From<&[usize; N]> for Sizes {
    #[track_caller]
    fn from(sizes: &[usize; N]) -> Sizes {
        Sizes::new(sizes)
    }
}

impl From<&[usize]> for Sizes {
    #[track_caller]
    fn from(sizes: &[usize]) -> Sizes {
        Sizes::new(sizes)
    }
}

impl From<Vec<usize>> for Sizes {
    #[track_caller]
    fn from(sizes: Vec<usize>) -> Sizes {
        Sizes::new(&sizes)
    }
}

impl From<&Vec<usize>> for Sizes {
    #[track_caller]
    fn from(sizes: &Vec<usize>) -> Sizes {
        Sizes::new(sizes)
    }
}

impl From<usize> for Sizes {
    #[track_caller]
    fn from(size: usize) -> Sizes {
        Sizes::new(&[size])
    }
}

/// Sizes with a sign, for `-1`; numbers that are written out are `i32`.
macro_rules! signed {
    ($($int:ty),+) => {$(
        impl<const N: usize> From<[$int; N]> for Sizes {
            #[track_caller]
            fn from(sizes: [$int; N]) -> Sizes {
                let mut found = [0; N];
                for (size, signed_size) in found.iter_mut().zip(sizes) {
                    *size = signed(signed_size as i64);
                }
                Sizes::new(&found)
            }
        }
    )+};
}
signed!(i32, i64, isize);
