//! Arguments that numpy takes in several forms: axes, shapes, one number per spatial axis.
//!
//! Invariant: a wrong type is a `TypeError` before any op is recorded.

use farad::loss::Reduction;
use farad::{Axes, FREE, PerAxis, Sizes};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// One axis or several.
pub struct AxesArg(pub Vec<isize>);

impl<'a, 'py> FromPyObject<'a, 'py> for AxesArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<AxesArg> {
        match object.extract::<isize>() {
            Ok(axis) => Ok(AxesArg(vec![axis])),
            Err(_) => Ok(AxesArg(object.extract()?)),
        }
    }
}

/// The axes of a reduction, and whether they stay.
pub struct Along {
    axes: Vec<isize>,
    keep: bool,
}

impl Along {
    /// These axes, or all of an array with this rank.
    pub fn new(axes: Option<AxesArg>, keep: bool, rank: usize) -> Along {
        Along { axes: axes.map_or_else(|| (0..rank as isize).collect(), |axes| axes.0), keep }
    }
}

impl Axes for Along {
    fn axes(&self) -> &[isize] {
        &self.axes
    }

    fn keep(&self) -> bool {
        self.keep
    }
}

/// A shape: one size or several.
pub struct ShapeArg(pub Vec<usize>);

impl<'a, 'py> FromPyObject<'a, 'py> for ShapeArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<ShapeArg> {
        let sizes: Vec<isize> = match object.extract::<isize>() {
            Ok(size) => vec![size],
            Err(_) => object.extract()?,
        };
        let whole = sizes.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<Vec<usize>>>();
        let whole =
            whole.ok_or_else(|| PyValueError::new_err(format!("shape: a size is negative: {sizes:?}")))?;
        crate::host::shape_of(&whole)?;
        Ok(ShapeArg(whole))
    }
}

/// A shape of which one size may be `-1`: what is left.
pub fn free_shape(sizes: &[isize]) -> PyResult<Sizes> {
    let size = |&size: &isize| match size {
        -1 => Ok(FREE),
        size => usize::try_from(size)
            .map_err(|_| PyValueError::new_err(format!("reshape: a size is negative: {sizes:?}"))),
    };
    let whole = sizes.iter().map(size).collect::<PyResult<Vec<usize>>>()?;
    if whole.len() > farad_ir::MAX_RANK {
        crate::host::shape_of(&whole)?;
    }
    Ok(Sizes::from(whole))
}

/// Axes or sizes, as one sequence or as several arguments.
pub fn spread(arguments: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<Vec<isize>> {
    if arguments.len() == 1
        && let Ok(list) = arguments.get_item(0)?.extract::<Vec<isize>>()
    {
        return Ok(list);
    }
    arguments.extract::<Vec<isize>>().map_err(|_| PyTypeError::new_err("axes and sizes are whole numbers"))
}

/// One number for all spatial axes, or one for each.
#[derive(Clone)]
pub struct EachAxis(pub Vec<usize>);

impl<'a, 'py> FromPyObject<'a, 'py> for EachAxis {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<EachAxis> {
        match object.extract::<usize>() {
            Ok(number) => Ok(EachAxis(vec![number])),
            Err(_) => Ok(EachAxis(object.extract()?)),
        }
    }
}

impl<const N: usize> PerAxis<N> for EachAxis {
    fn per_axis(self) -> [usize; N] {
        match self.0[..] {
            [one] => [one; N],
            _ => self.0.clone().try_into().unwrap_or_else(|_| {
                panic!("options: one number, or one for each axis: {:?} ({} vs {N})", self.0, self.0.len())
            }),
        }
    }
}

/// What becomes of the losses of single samples: `mean`, `sum` or `none`.
pub struct ReductionArg(pub Reduction);

impl<'a, 'py> FromPyObject<'a, 'py> for ReductionArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<ReductionArg> {
        match object.extract::<String>()?.as_str() {
            "mean" => Ok(ReductionArg(Reduction::Mean)),
            "sum" => Ok(ReductionArg(Reduction::Sum)),
            "none" => Ok(ReductionArg(Reduction::None)),
            other => {
                Err(PyValueError::new_err(format!("reduction: mean, sum or none is wanted, not {other:?}")))
            }
        }
    }
}
