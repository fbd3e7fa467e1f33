//! Tensors from data and from nothing.

use std::panic::Location;

use farad_ir::{DType, Op, OpError, Scalar, Shape};

use super::{Element, Tensor, raise};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::live::Maker;
use crate::node::{History, KnownValue, NodeState};

impl Tensor {
    /// A tensor with these elements, row by row. Panics if their number is not that of the shape,
    /// or if the device has no room (see [`Tensor::try_from_vec`]).
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], [2, 2], &Device::cpu());
    /// assert_eq!(x.shape()[..], [2, 2]);
    /// ```
    #[track_caller]
    pub fn from_vec<T: Element>(data: Vec<T>, shape: impl Into<Shape>, device: &Device) -> Tensor {
        match Tensor::try_from_vec(&data, shape, device) {
            Ok(tensor) => tensor,
            Err(error) => crate::inside::refuse(error),
        }
    }

    /// As [`Tensor::from_vec`], with an error if the device has no room.
    ///
    /// ```
    /// use farad::prelude::*;
    /// use farad::DeviceOptions;
    /// let small = Device::cpu_with(DeviceOptions { memory_limit: Some(1 << 16), ..Default::default() });
    /// assert_eq!(Tensor::try_from_vec(&[1.0f32, 2.0], [2], &small)?.to_vec::<f32>()?, [1.0, 2.0]);
    /// assert!(Tensor::try_from_vec(&vec![0.0f32; 1 << 16], [1 << 16], &small).unwrap_err().is_out_of_memory());
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn try_from_vec<T: Element>(data: &[T], shape: impl Into<Shape>, device: &Device) -> Result<Tensor> {
        let shape = shape.into();
        if data.len() != shape.numel() {
            raise(OpError::Sizes {
                op: "from_vec",
                what: format!("data does not fill {shape}"),
                a: data.len(),
                b: shape.numel(),
            });
        }
        Tensor::from_bytes(&T::to_bytes(data), shape, T::DTYPE, device)
    }

    /// A tensor of `f64` elements, which stay that: everything that is computed from it is `f64` too.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_f64(&[1.5, 2.5], [2], &Device::cpu());
    /// assert_eq!((&x * 0.1).to_f64()?, [1.5 * 0.1, 2.5 * 0.1]);
    /// assert_eq!(x.cast(DType::F32).to_vec::<f32>()?, [1.5, 2.5]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn from_f64(data: &[f64], shape: impl Into<Shape>, device: &Device) -> Tensor {
        let shape = shape.into();
        if data.len() != shape.numel() {
            raise(OpError::Sizes {
                op: "from_f64",
                what: format!("data does not fill {shape}"),
                a: data.len(),
                b: shape.numel(),
            });
        }
        match Tensor::from_bytes(bytemuck::cast_slice(data), shape, DType::F64, device) {
            Ok(tensor) => tensor,
            Err(error) => crate::inside::refuse(error),
        }
    }

    /// A tensor from its bytes in device form.
    #[track_caller]
    #[doc(hidden)]
    pub fn from_bytes(bytes: &[u8], shape: Shape, dtype: DType, device: &Device) -> Result<Tensor> {
        if device.is_gpu() && !dtype.is_on_gpus() {
            raise(OpError::DType {
                op: "from_vec",
                dtype,
                help: "\nhelp: GPUs do not have this dtype; cast it on the CPU first, or stay there",
            });
        }
        let location = Location::caller();
        let memory = device.allocate(bytes.len().max(4)).map_err(|error| match error {
            error if error.is_out_of_memory() => Error::NoMemory {
                op: "from_vec".into(),
                what: "elements",
                shape,
                dtype,
                location: Some(location),
                source: Box::new(error),
            },
            error => error,
        })?;
        device.hold(&memory, Maker::named("from_vec", shape, dtype, Some(location)));
        if !bytes.is_empty() {
            device.0.backend.write(&memory, bytes)?;
        }
        let value = KnownValue::Memory { memory, offset: 0, whole: shape.numel() };
        Ok(Tensor::leaf(value, shape, dtype, device, location))
    }

    /// One number that is given with every run instead of being part of the program: something that
    /// changes from step to step, like a learning rate.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let rate = Tensor::number(0.1, &Device::cpu());
    /// assert_eq!(rate.item()?, 0.1);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn number(value: impl Into<f64>, device: &Device) -> Tensor {
        Tensor::number_of(Scalar::f32(value.into() as f32), device)
    }

    #[track_caller]
    pub(crate) fn number_of(scalar: Scalar, device: &Device) -> Tensor {
        Tensor::leaf(KnownValue::Number(scalar), Shape::scalar(), scalar.dtype, device, Location::caller())
    }

    /// All elements equal to `value`, as `f32`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::full(2.5, [2], &Device::cpu()).to_vec::<f32>()?, [2.5, 2.5]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn full(value: impl Into<f64>, shape: impl Into<Shape>, device: &Device) -> Tensor {
        Tensor::filled(Scalar::f32(value.into() as f32), shape.into(), device)
    }

    #[track_caller]
    pub(crate) fn filled(scalar: Scalar, shape: Shape, device: &Device) -> Tensor {
        Tensor::source(Op::Constant(scalar), device).spread(shape)
    }

    /// Zeros.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::zeros([2], &Device::cpu()).to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>, device: &Device) -> Tensor {
        Tensor::full(0.0, shape, device)
    }

    /// Ones.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::ones([2], &Device::cpu()).to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn ones(shape: impl Into<Shape>, device: &Device) -> Tensor {
        Tensor::full(1.0, shape, device)
    }

    /// `0, 1, …, n - 1` as `i32`: at most 2³¹ of them.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::arange(3, &Device::cpu()).to_vec::<i32>()?, [0, 1, 2]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn arange(n: usize, device: &Device) -> Tensor {
        Tensor::source(Op::Iota(n), device)
    }

    /// All elements equal to `value`, with this tensor's shape, dtype and device. Panics if it is not a number that the
    /// dtype has.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::arange(2, &Device::cpu());
    /// assert_eq!(x.full_like(7.0).to_vec::<i32>()?, [7, 7]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn full_like(&self, value: impl Into<f64>) -> Tensor {
        let value = value.into();
        super::operators::check_number("full_like", value, self.dtype());
        Tensor::filled(Scalar::of(self.dtype(), value), self.shape(), self.device())
    }

    /// A one-element tensor repeated to a shape.
    #[track_caller]
    pub(crate) fn spread(&self, shape: Shape) -> Tensor {
        if shape.rank() == 0 {
            self.reshape(shape)
        } else {
            self.reshape(vec![1; shape.rank()]).expand(shape)
        }
    }

    /// Whether the tensor is made of constants only, so that it can be made anew anywhere.
    pub(crate) fn is_constant(&self) -> bool {
        let mut at = self.node.clone();
        loop {
            let below = match &*at.state() {
                NodeState { value: Some(KnownValue::Number(_)), .. } => return true,
                NodeState { value: None, history: Some(History { op, operands }), .. } => match op {
                    Op::Constant(_) | Op::Iota(_) => return true,
                    op if op.is_movement() => operands[0].clone(),
                    _ => return false,
                },
                _ => return false,
            };
            at = below;
        }
    }
}
