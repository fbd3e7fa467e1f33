//! The sizes of a layer and a batch, and the operands' shapes that follow from them.

use farad::{DType, OpError, Shape};

/// The sizes of a layer and a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerExtent {
    pub inputs: usize,
    pub outputs: usize,
    pub batch: usize,
}

impl LayerExtent {
    /// From the shapes of features `[inputs, batch]` and wires `[2, outputs]`.
    pub fn of(x: Shape, wires: Shape) -> LayerExtent {
        LayerExtent { inputs: x.to_vec()[0], batch: x.to_vec()[1], outputs: wires.to_vec()[1] }
    }

    pub fn coefficients(&self) -> Shape {
        Shape::new(&[self.outputs, 4])
    }

    pub fn wires(&self) -> Shape {
        Shape::new(&[2, self.outputs])
    }

    pub fn readers(&self) -> Shape {
        Shape::new(&[readers_len(self.inputs, self.outputs)])
    }

    pub fn x(&self) -> Shape {
        Shape::new(&[self.inputs, self.batch])
    }

    pub fn y(&self) -> Shape {
        Shape::new(&[self.outputs, self.batch])
    }

    /// Gates times samples.
    pub fn evaluations(&self) -> u64 {
        (self.outputs * self.batch) as u64
    }

    /// Checks the shapes of a layer's coefficients, wires, readers and features.
    pub fn check(operands: &[(Shape, DType)]) -> Result<LayerExtent, OpError> {
        let [coefficients, wires, readers, x] = operands else {
            return Err(OpError::Arity { op: "gates", got: operands.len(), least: 4 });
        };
        for (shape, least) in [(coefficients.0, 2), (wires.0, 2), (x.0, 2)] {
            if shape.rank() != least {
                return Err(OpError::RankTooLow { op: "gates", shape, rank: shape.rank(), least });
            }
        }
        for (&(_, dtype), wanted) in operands.iter().zip([DType::F32, DType::U32, DType::U32, DType::F32]) {
            if dtype != wanted {
                return Err(OpError::DTypes { op: "gates", lhs: dtype, rhs: wanted });
            }
        }
        let outputs = wires.0.to_vec()[1];
        let inputs = readers.0.numel().saturating_sub(1 + 4 * outputs);
        let extent = LayerExtent { inputs, outputs, batch: x.0.to_vec()[1] };
        let wanted = [extent.coefficients(), extent.wires(), extent.readers(), extent.x()];
        for ((&(shape, _), wanted), name) in
            operands.iter().zip(wanted).zip(["coefficients", "wires", "readers", "features"])
        {
            if shape != wanted {
                let what = format!("{name} have the wrong shape: {shape}, expected {wanted}");
                let (a, b) = first_difference(shape, wanted);
                return Err(OpError::Sizes { op: "gates", what, a, b });
            }
        }
        Ok(extent)
    }
}

/// Words in the readers array: see [`super::LayerWiring`].
pub fn readers_len(inputs: usize, outputs: usize) -> usize {
    inputs + 1 + 4 * outputs
}

fn first_difference(lhs: Shape, rhs: Shape) -> (usize, usize) {
    let mut sizes = lhs.iter().copied().zip(rhs.iter().copied());
    sizes.find(|(a, b)| a != b).unwrap_or((lhs.rank(), rhs.rank()))
}
