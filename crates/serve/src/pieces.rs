//! What comes bit by bit: the pieces of a text, as a stream for the answer's body.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::response::sse::Event;
use futures_core::Stream;
use tokio::sync::mpsc;

/// The receiving end of a text, with what makes an event of each piece.
pub struct Pieces<T> {
    receiver: mpsc::Receiver<T>,
    make: Box<dyn FnMut(T) -> Vec<Event> + Send>,
    ready: std::collections::VecDeque<Event>,
}

impl<T> Pieces<T> {
    /// Events of what is received.
    pub fn new(receiver: mpsc::Receiver<T>, make: impl FnMut(T) -> Vec<Event> + Send + 'static) -> Pieces<T> {
        Pieces { receiver, make: Box::new(make), ready: Default::default() }
    }
}

impl<T> Unpin for Pieces<T> {}

impl<T> Stream for Pieces<T> {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            match self.receiver.poll_recv(context) {
                Poll::Ready(Some(piece)) => {
                    let events = (self.make)(piece);
                    self.ready.extend(events);
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
