//! Reading back and moving between devices.

use std::panic::Location;
use std::sync::Arc;

use farad_ir::{DType, Shape};

use super::{Element, Tensor};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::evaluate::evaluate;
use crate::node::{History, KnownValue, RecordedNode};
use farad_runtime::{Memory, Read};

impl Tensor {
    /// The elements, row by row. Runs what the tensor needs and waits for it.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::arange(3, &Device::cpu());
    /// assert_eq!(x.to_vec::<i32>()?, [0, 1, 2]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.check_type(T::DTYPE)?;
        Ok(T::from_bytes(&self.read()?.wait()?))
    }

    /// The elements of an `f64` tensor.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::from_f64(&[0.1], [1], &Device::cpu());
    /// assert_eq!(x.to_f64()?, [0.1]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn to_f64(&self) -> Result<Vec<f64>> {
        self.check_type(DType::F64)?;
        Ok(bytemuck::pod_collect_to_vec(&self.read()?.wait()?))
    }

    /// As [`Tensor::to_vec`], without blocking the thread while the device works.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let doubled = async |x: &Tensor| (x * 2).to_vec_async::<i32>().await;
    /// let x = Tensor::arange(3, &Device::cpu());
    /// # fn wait<T>(work: impl Future<Output = T>) -> T {
    /// #     let mut work = std::pin::pin!(work);
    /// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #     loop {
    /// #         if let std::task::Poll::Ready(done) = work.as_mut().poll(&mut context) {
    /// #             return done;
    /// #         }
    /// #     }
    /// # }
    /// assert_eq!(wait(doubled(&x))?, [0, 2, 4]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub async fn to_vec_async<T: Element>(&self) -> Result<Vec<T>> {
        self.check_type(T::DTYPE)?;
        Ok(T::from_bytes(&self.read()?.get().await?))
    }

    /// The only element, as `f32`.
    ///
    /// ```
    /// use farad::prelude::*;
    /// assert_eq!(Tensor::full(2.0, [], &Device::cpu()).item()?, 2.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn item(&self) -> Result<f32> {
        if self.numel() != 1 {
            return Err(Error::Item { shape: self.shape(), numel: self.numel() });
        }
        Ok(self.cast(DType::F32).to_vec::<f32>()?[0])
    }

    /// As [`Tensor::item`], without blocking the thread.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let largest = async |x: &Tensor| x.max().item_async().await;
    /// let x = Tensor::from_vec(vec![1.0, 3.0, 2.0], [3], &Device::cpu());
    /// # fn wait<T>(work: impl Future<Output = T>) -> T {
    /// #     let mut work = std::pin::pin!(work);
    /// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #     loop {
    /// #         if let std::task::Poll::Ready(done) = work.as_mut().poll(&mut context) {
    /// #             return done;
    /// #         }
    /// #     }
    /// # }
    /// assert_eq!(wait(largest(&x))?, 3.0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub async fn item_async(&self) -> Result<f32> {
        if self.numel() != 1 {
            return Err(Error::Item { shape: self.shape(), numel: self.numel() });
        }
        Ok(self.cast(DType::F32).to_vec_async::<f32>().await?[0])
    }

    /// Runs what the tensor needs without waiting for it.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([4], &Device::cpu()) * 2.0;
    /// x.compute()?; // the device is at work, and the host goes on
    /// assert_eq!(x.to_vec::<f32>()?, [2.0; 4]);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn compute(&self) -> Result<()> {
        evaluate(std::slice::from_ref(&self.node))
    }

    /// Runs what several tensors need, together.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::rand([1000], &Device::cpu());
    /// let (mean, largest) = (x.mean(), x.max());
    /// Tensor::compute_all(&[&mean, &largest])?; // one program, which draws the numbers once
    /// assert!(mean.item()? < largest.item()?);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn compute_all(tensors: &[&Tensor]) -> Result<()> {
        let nodes: Vec<Arc<RecordedNode>> = tensors.iter().map(|t| t.node.clone()).collect();
        evaluate(&nodes)
    }

    fn check_type(&self, asked: DType) -> Result<()> {
        if asked == self.dtype() {
            return Ok(());
        }
        Err(Error::ReadType { tensor: self.dtype(), asked, asked_name: asked.name().to_uppercase() })
    }

    #[doc(hidden)]
    pub fn read(&self) -> Result<Read> {
        evaluate(std::slice::from_ref(&self.node))?;
        let size = self.dtype().size();
        match self.node.value().expect("evaluated") {
            KnownValue::Memory { memory, offset, .. } if self.numel() > 0 => {
                Ok(self.device().0.backend.read(&memory, offset * size, self.numel() * size))
            }
            KnownValue::Memory { .. } => Ok(Read::Done(vec![])),
            KnownValue::Number(scalar) => Ok(Read::Done(scalar.bytes())),
        }
    }

    /// The memory of a tensor that lies on the host, where its elements start there, and how many bytes they take; `None`
    /// where the device's memory is not the host's. Runs what the tensor needs. As long as the memory is held, nothing
    /// is written to it.
    #[doc(hidden)]
    pub fn host_memory(&self) -> Result<Option<(Memory, usize, usize)>> {
        evaluate(std::slice::from_ref(&self.node))?;
        let size = self.dtype().size();
        let KnownValue::Memory { memory, offset, .. } = self.node.value().expect("evaluated") else {
            return Ok(None);
        };
        let start = self.device().0.backend.host_address(&memory);
        Ok(start.map(|start| (memory, start + offset * size, self.numel() * size)))
    }

    /// A tensor whose elements lie in this memory of the CPU. Panics if they do not fit, or if the device has other
    /// memory.
    #[doc(hidden)]
    #[track_caller]
    pub fn from_memory(memory: Memory, shape: Shape, dtype: DType, device: &Device) -> Tensor {
        let needed = shape.numel() * dtype.size();
        crate::ensure!(
            memory.bytes() >= needed,
            "from_memory: too few bytes: {} vs {needed}",
            memory.bytes()
        );
        crate::ensure!(
            device.0.backend.host_address(&memory).is_some(),
            "from_memory: not memory of {device}"
        );
        let value = KnownValue::Memory { memory, offset: 0, whole: shape.numel() };
        Tensor::leaf(value, shape, dtype, device, Location::caller())
    }

    /// The tensor on another device; itself if it is there already. Constants are made anew there,
    /// everything else is computed here and copied.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::ones([2], &Device::cpu()).to_device(&Device::cpu())?;
    /// assert_eq!(x.device(), &Device::cpu());
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn to_device(&self, device: &Device) -> Result<Tensor> {
        if self.device() == device {
            return Ok(self.clone());
        }
        if self.is_constant() {
            return Ok(Tensor::of(rebuild(&self.node, device, Location::caller())));
        }
        let bytes = self.read()?.wait()?;
        Tensor::from_bytes(&bytes, self.shape(), self.dtype(), device)
    }

    /// A new handle to the value alone, without its history: gradients do not flow into it.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let x = Tensor::full(3.0, [], &Device::cpu());
    /// let y = x.square().detach()?;
    /// assert_eq!(y.item()?, 9.0);
    /// assert!(y.gradient(&x).is_err());
    /// # Ok::<(), farad::Error>(())
    /// ```
    #[track_caller]
    pub fn detach(&self) -> Result<Tensor> {
        evaluate(std::slice::from_ref(&self.node))?;
        let value = self.node.value().expect("evaluated");
        Ok(Tensor::leaf(value, self.shape(), self.dtype(), self.device(), Location::caller()))
    }
}

/// A constant recorded again on another device.
fn rebuild(
    node: &Arc<RecordedNode>,
    device: &Device,
    location: &'static Location<'static>,
) -> Arc<RecordedNode> {
    // Moves above a constant, the last one first.
    let (mut moves, mut at) = (Vec::new(), node.clone());
    let mut made = loop {
        let (value, history) = {
            let state = at.state();
            (state.value.clone(), state.history.clone())
        };
        let record =
            |op| RecordedNode::recorded(op, vec![], at.shape, at.dtype, device.clone(), location, at.region);
        match (value, history) {
            (Some(value), _) => {
                break RecordedNode::leaf(value, at.shape, at.dtype, device.clone(), location);
            }
            (None, Some(History { op, operands })) => match operands.first() {
                None => break record(op),
                Some(below) => {
                    let below = below.clone();
                    moves.push((op, std::mem::replace(&mut at, below)));
                }
            },
            (None, None) => unreachable!("a node has a value or a history"),
        }
    };
    for (op, node) in moves.into_iter().rev() {
        let (shape, dtype, region) = (node.shape, node.dtype, node.region);
        made = RecordedNode::recorded(op, vec![made], shape, dtype, device.clone(), location, region);
    }
    made
}
