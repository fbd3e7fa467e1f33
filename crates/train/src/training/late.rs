//! Numbers that are requested from the device now and looked at later, so that nothing waits for them.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use farad_ir::DType;
use farad_tensor::Tensor;

use crate::error::Result;

type LateNumbers = Pin<Box<dyn Future<Output = Result<Vec<f32>>> + Send>>;

/// Numbers on their way from the device.
pub(super) struct Late {
    future: LateNumbers,
    done: Option<Result<Vec<f32>>>,
}

impl Late {
    /// Asks for the elements of a tensor that was computed.
    pub fn new(tensor: &Tensor) -> Late {
        let tensor = tensor.clone();
        let read = async move { tensor.cast(DType::F32).to_vec_async::<f32>().await };
        let mut future: LateNumbers = Box::pin(read);
        // The first look starts the copy; nobody is waiting, so nobody is woken.
        let done = match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(numbers) => Some(numbers),
            Poll::Pending => None,
        };
        Late { future, done }
    }

    /// The numbers, once they are there.
    pub fn get(mut self) -> Result<Vec<f32>> {
        match self.done.take() {
            Some(numbers) => numbers,
            None => pollster::block_on(self.future),
        }
    }
}
