//! The table of all public ops: one row each, with its name, its arguments, its text, and what of the library it
//! covers. Methods of arrays are made from the rows, and functions from the methods.
//!
//! Invariant: every public op of the library is covered by a row, or is in [`LEFT_OUT`] with a reason.
//! `python/tests/test_ops.py` reads the library's sources and fails on one that is missing.

mod movement;
mod networks;
mod pointwise;
mod reduce;

use farad::Tensor;
use pyo3::prelude::*;

use crate::array::PyArray;

pub use pointwise::{absolute, negative, power, power_of_number};

/// A row of the table.
pub struct OpRow {
    /// The name of the method.
    pub name: &'static str,
    /// Its arguments.
    pub arguments: &'static str,
    /// The functions of the library that it covers.
    pub covers: &'static [&'static str],
    /// The first line of its text.
    pub about: &'static str,
}

/// What an op gives, as Python sees it.
pub trait OpResult {
    /// Arrays.
    type Arrays;
    /// The tensors as arrays.
    fn arrays(self) -> Self::Arrays;
}

impl OpResult for Tensor {
    type Arrays = PyArray;
    fn arrays(self) -> PyArray {
        self.into()
    }
}

impl OpResult for (Tensor, Tensor) {
    type Arrays = (PyArray, PyArray);
    fn arrays(self) -> (PyArray, PyArray) {
        (self.0.into(), self.1.into())
    }
}

impl OpResult for Vec<Tensor> {
    type Arrays = Vec<PyArray>;
    fn arrays(self) -> Vec<PyArray> {
        self.into_iter().map(PyArray::from).collect()
    }
}

/// Rows as methods of arrays, and as `ROWS`. A row is: text, what it covers, name, the array's name in the body,
/// arguments with defaults, what it gives, body.
macro_rules! ops {
    ($(
        $(#[doc = $doc:literal])+
        [$($covers:ident)*] $name:ident |$x:ident| ($($argument:ident: $type:ty $(= $default:expr)?),*) -> $given:ty $body:block
    )*) => {
        #[pyo3::pymethods]
        impl $crate::array::PyArray {$(
            $(#[doc = $doc])+
            #[pyo3(signature = ($($argument $(= $default)?),*))]
            fn $name(&self, $($argument: $type),*) -> pyo3::PyResult<<$given as $crate::ops::OpResult>::Arrays> {
                let $x = &self.tensor;
                $crate::lines::note(stringify!($name));
                $crate::errors::guarded(|| {
                    let given: $given = $body;
                    $crate::ops::OpResult::arrays(given)
                })
            }
        )*}

        pub const ROWS: &[$crate::ops::OpRow] = &[$($crate::ops::OpRow {
            name: stringify!($name),
            arguments: stringify!($($argument $(= $default)?),*),
            covers: &[$(stringify!($covers)),*],
            about: [$($doc),+][0],
        }),*];
    };
}
pub(crate) use ops;

/// What is no method of arrays, with the reason.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("from_vec", "`fd.array` makes arrays"),
    ("try_from_vec", "`fd.array` makes arrays"),
    ("from_f64", "`fd.array` makes arrays of `float64`"),
    ("full", "a function: `fd.full`"),
    ("zeros", "a function: `fd.zeros`"),
    ("ones", "a function: `fd.ones`"),
    ("arange", "a function: `fd.arange`"),
    ("computed_once", "a hint to the compiler, which changes no value"),
    ("number", "numbers in expressions are given with each run anyway"),
    ("concat", "a function of several arrays: `fd.concat`"),
    ("stack", "a function of several arrays: `fd.stack`"),
    ("scan", "a function: `fd.scan`"),
    ("scan_along", "a function: `fd.scan(reverse=True)`"),
    ("repeat", "a function: `fd.loop`; numpy's `repeat` is another"),
    ("checkpoint", "a function: `fd.checkpoint`"),
    ("rand", "a function: `fd.random.uniform`"),
    ("rand_at", "a function: `fd.random.uniform(key=…)`"),
    ("randn", "a function: `fd.random.normal`"),
    ("randn_at", "a function: `fd.random.normal(key=…)`"),
    ("random_mask_at", "a function: `fd.random.bernoulli(key=…)`"),
    ("random_bits", "a function: `fd.random.bits`"),
    ("random_bits_at", "a function: `fd.random.bits(key=…)`"),
    ("random_mask", "a function: `fd.random.bernoulli`"),
    ("shape", "a property of arrays"),
    ("rank", "a property of arrays: `ndim`"),
    ("numel", "a property of arrays: `size`"),
    ("size", "numpy's `size` is the number of elements; sizes of axes are in `shape`"),
    ("dtype", "a property of arrays"),
    ("device", "a property of arrays"),
    ("to_device", "a method of arrays, not an op"),
    ("detach", "a method of arrays, not an op"),
    ("compute", "a method of arrays, not an op"),
    ("compute_all", "a function: `fd.compute`"),
    ("to_vec", "`numpy.asarray` and `tolist` read"),
    ("to_f64", "`numpy.asarray` and `tolist` read"),
    ("to_vec_async", "Python threads wait instead"),
    ("item", "a method of arrays, not an op"),
    ("item_async", "Python threads wait instead"),
    ("slice", "indices: `x[1:, ::2]`"),
    ("narrow", "indices: `x[1:3]`"),
    ("custom", "custom ops are written in Rust"),
    ("contract", "index maps are made in Rust; `matmul` and `conv2d` are made of it"),
    ("raise", "refuses a wrong op"),
    ("expect", "refuses a wrong op"),
    ("check_probability", "refuses a wrong op"),
];

/// Methods that take sizes or axes one by one too, and are written out.
const SPREAD: &[OpRow] = &[
    OpRow {
        name: "reshape",
        arguments: "*shape",
        covers: &["reshape"],
        about: "The elements in another shape, row by row; one size may be -1.",
    },
    OpRow {
        name: "transpose",
        arguments: "*axes",
        covers: &[],
        about: "The axes in another order; reversed if none is given.",
    },
];

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static OpRow> {
    [pointwise::ROWS, reduce::ROWS, movement::ROWS, networks::ROWS, SPREAD].into_iter().flatten()
}

/// The table of ops: name, arguments, what it covers, and its first line.
#[pyfunction]
pub fn op_table() -> Vec<(&'static str, &'static str, Vec<&'static str>, &'static str)> {
    rows().map(|row| (row.name, row.arguments, row.covers.to_vec(), row.about.trim())).collect()
}

/// What is no method of arrays, with the reason.
#[pyfunction]
pub fn left_out() -> Vec<(&'static str, &'static str)> {
    LEFT_OUT.to_vec()
}
