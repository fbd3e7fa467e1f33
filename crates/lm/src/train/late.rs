//! Numbers that the device is asked for now and that are looked at later, so that nothing waits for them.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use farad::Tensor;

use crate::error::Result;

/// A number on its way from the device.
pub(super) struct Late {
    future: Pin<Box<dyn Future<Output = farad::Result<f32>> + Send>>,
    done: Option<farad::Result<f32>>,
}

impl Late {
    /// Asks for the only element of a tensor that was computed.
    pub fn new(tensor: &Tensor) -> Late {
        let tensor = tensor.clone();
        let mut future: Pin<Box<dyn Future<Output = farad::Result<f32>> + Send>> =
            Box::pin(async move { tensor.item_async().await });
        // The first look starts the copy; nobody is waiting, so nobody is woken.
        let done = match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(number) => Some(number),
            Poll::Pending => None,
        };
        Late { future, done }
    }

    /// The number, once it is there.
    pub fn get(mut self) -> Result<f32> {
        Ok(match self.done.take() {
            Some(number) => number,
            None => pollster::block_on(self.future),
        }?)
    }
}
