//! Arrays on the host: what samples are made of before a device sees them.
//!
//! Invariant: there are as many elements as the shape says. Start at [`Array::new`].

use farad_ir::Shape;

use crate::error::{DataError, Result};
use farad_tensor::Device;
use farad_tensor::Tensor;

/// The elements of an [`Array`].
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Bytes: pixels as they lie in files.
    U8(Vec<u8>),
    /// Integers: classes, tokens.
    I32(Vec<i32>),
    /// Numbers.
    F32(Vec<f32>),
}

impl Elements {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Elements::U8(all) => all.len(),
            Elements::I32(all) => all.len(),
            Elements::F32(all) => all.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn part(&self, from: usize, to: usize) -> Elements {
        match self {
            Elements::U8(all) => Elements::U8(all[from..to].to_vec()),
            Elements::I32(all) => Elements::I32(all[from..to].to_vec()),
            Elements::F32(all) => Elements::F32(all[from..to].to_vec()),
        }
    }

    /// Adds others of the same kind; `false` if they are of another.
    fn append(&mut self, others: &Elements) -> bool {
        match (self, others) {
            (Elements::U8(all), Elements::U8(more)) => all.extend_from_slice(more),
            (Elements::I32(all), Elements::I32(more)) => all.extend_from_slice(more),
            (Elements::F32(all), Elements::F32(more)) => all.extend_from_slice(more),
            _ => return false,
        }
        true
    }

    fn empty_like(&self, room: usize) -> Elements {
        match self {
            Elements::U8(_) => Elements::U8(Vec::with_capacity(room)),
            Elements::I32(_) => Elements::I32(Vec::with_capacity(room)),
            Elements::F32(_) => Elements::F32(Vec::with_capacity(room)),
        }
    }
}

impl From<Vec<u8>> for Elements {
    fn from(all: Vec<u8>) -> Elements {
        Elements::U8(all)
    }
}

impl From<Vec<i32>> for Elements {
    fn from(all: Vec<i32>) -> Elements {
        Elements::I32(all)
    }
}

impl From<Vec<f32>> for Elements {
    fn from(all: Vec<f32>) -> Elements {
        Elements::F32(all)
    }
}

/// Elements with a shape, on the host.
///
/// ```
/// use farad::data::Array;
/// let pixels = Array::new(vec![0u8, 51, 255], [3]);
/// assert_eq!(pixels.to_f32(), [0.0, 0.2, 1.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    shape: Shape,
    elements: Elements,
}

impl Array {
    /// From elements, row by row. Panics if their number is not that of the shape.
    #[track_caller]
    pub fn new(elements: impl Into<Elements>, shape: impl Into<Shape>) -> Array {
        let (elements, shape) = (elements.into(), shape.into());
        let (got, wanted) = (elements.len(), shape.numel());
        assert!(got == wanted, "array: elements do not fill {shape}: ({got} vs {wanted})");
        Array { shape, elements }
    }

    /// One integer, e.g. a class.
    pub fn class(class: usize) -> Array {
        Array::new(vec![class as i32], Shape::scalar())
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The elements, row by row.
    pub fn elements(&self) -> &Elements {
        &self.elements
    }

    /// The elements as numbers: bytes become numbers from 0 to 1, the rest keeps its value.
    pub fn to_f32(&self) -> Vec<f32> {
        match &self.elements {
            Elements::U8(all) => all.iter().map(|&byte| f32::from(byte) / 255.0).collect(),
            Elements::I32(all) => all.iter().map(|&number| number as f32).collect(),
            Elements::F32(all) => all.clone(),
        }
    }

    /// The same elements in another shape. Panics if it has another number of them.
    #[track_caller]
    pub fn reshaped(self, shape: impl Into<Shape>) -> Array {
        Array::new(self.elements, shape)
    }

    /// Row `index` of the first axis: `[n, ..] -> [..]`.
    #[track_caller]
    pub fn row(&self, index: usize) -> Array {
        let rows = self.shape.first().copied().unwrap_or(0);
        assert!(index < rows, "array: row outside: {index} of {} ({index} vs {rows})", self.shape);
        let shape = Shape::new(&self.shape[1..]);
        let size = shape.numel();
        Array { shape, elements: self.elements.part(index * size, (index + 1) * size) }
    }

    /// Samples on top of one another: `[..] × n -> [n, ..]`. The first that differs in shape or kind of element
    /// from the one before it is an error.
    pub fn stack(samples: &[Array]) -> Result<Array> {
        let Some(first) = samples.first() else { return Err(DataError::NoSamples { op: "stack" }.into()) };
        let mut elements = first.elements.empty_like(first.elements.len() * samples.len());
        for (index, sample) in samples.iter().enumerate() {
            if sample.shape != first.shape {
                let (found, wanted) = (sample.shape, first.shape);
                return Err(DataError::SampleShape { index, found, wanted }.into());
            }
            if !elements.append(&sample.elements) {
                return Err(DataError::SampleKind { index }.into());
            }
        }
        let mut sizes = vec![samples.len()];
        sizes.extend_from_slice(&first.shape);
        Ok(Array { shape: Shape::new(&sizes), elements })
    }

    /// On a device: numbers as they are, bytes as numbers from 0 to 1.
    pub fn to_tensor(&self, device: &Device) -> Result<Tensor> {
        match &self.elements {
            Elements::U8(_) => Tensor::try_from_vec(&self.to_f32(), self.shape, device),
            Elements::I32(all) => Tensor::try_from_vec(all, self.shape, device),
            Elements::F32(all) => Tensor::try_from_vec(all, self.shape, device),
        }
    }

    /// From a tensor's values: integers stay integers, the rest becomes `f32`.
    pub fn of_tensor(tensor: &Tensor) -> Result<Array> {
        use farad_ir::DType;
        let elements = match tensor.dtype() {
            DType::I32 => Elements::I32(tensor.to_vec()?),
            DType::U8 => Elements::U8(tensor.to_vec()?),
            // Not `cast`: a number that does not fit came from outside.
            dtype if dtype.is_int() => Elements::I32(tensor.converted(DType::I32)?.to_vec()?),
            _ => Elements::F32(tensor.cast(DType::F32).to_vec()?),
        };
        Ok(Array { shape: tensor.shape(), elements })
    }

    /// Bytes as numbers from 0 to 1; the rest stays as it is.
    pub(super) fn without_bytes(self) -> Array {
        match self.elements {
            Elements::U8(_) => Array { shape: self.shape, elements: Elements::F32(self.to_f32()) },
            _ => self,
        }
    }
}
