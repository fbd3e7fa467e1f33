//! Connections on which nothing moves are closed, so that clients who say nothing do not take the places of others.
//!
//! Invariant: a connection that sends or takes bytes stays, however slowly. Start at [`PatientListener`].

use std::future::Future;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep, sleep};

/// Takes connections, and closes those that are silent for too long.
pub struct PatientListener {
    listener: TcpListener,
    patience: Duration,
}

impl PatientListener {
    /// Connections may be silent for so long. While an answer is made they are, so it is longer than that may take.
    pub fn new(listener: TcpListener, patience: Duration) -> PatientListener {
        PatientListener { listener, patience }
    }
}

impl Listener for PatientListener {
    type Io = PatientStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (PatientStream, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (PatientStream { stream, patience: self.patience, silence: Box::pin(sleep(self.patience)) }, address)
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends in an error after a long silence.
pub struct PatientStream {
    stream: TcpStream,
    patience: Duration,
    silence: Pin<Box<Sleep>>,
}

impl PatientStream {
    /// Counts the silence from now on if something moved; else ends it when it has lasted too long.
    fn heard<T>(&mut self, moved: Poll<Result<T>>, context: &mut Context<'_>) -> Poll<Result<T>> {
        match moved {
            Poll::Ready(moved) => {
                let until = Instant::now() + self.patience;
                self.silence.as_mut().reset(until);
                Poll::Ready(moved)
            }
            Poll::Pending => {
                let over = || Err(Error::new(ErrorKind::TimedOut, "nothing moved"));
                self.silence.as_mut().poll(context).map(|()| over())
            }
        }
    }
}

impl AsyncRead for PatientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let moved = Pin::new(&mut self.stream).poll_read(context, bytes);
        self.heard(moved, context)
    }
}

impl AsyncWrite for PatientStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let moved = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.heard(moved, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let moved = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.heard(moved, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Reads until the end or an error; how many bytes came, and how it ended.
    async fn read(mut stream: PatientStream) -> (usize, Result<()>) {
        let mut all = 0;
        loop {
            let mut space = [0; 64];
            let mut bytes = ReadBuf::new(&mut space);
            let read =
                std::future::poll_fn(|context| Pin::new(&mut stream).poll_read(context, &mut bytes)).await;
            match (read, bytes.filled().len()) {
                (Err(error), _) => return (all, Err(error)),
                (Ok(()), 0) => return (all, Ok(())),
                (Ok(()), count) => all += count,
            }
        }
    }

    #[test]
    fn who_is_silent_too_long_is_let_go_and_who_speaks_slowly_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let mut listener = PatientListener::new(listener, Duration::from_millis(400));
            let silent = std::net::TcpStream::connect(address).unwrap();
            let (count, ended) = read(listener.accept().await.0).await;
            assert_eq!((count, ended.unwrap_err().kind()), (0, ErrorKind::TimedOut));
            drop(silent);
            let mut slow = std::net::TcpStream::connect(address).unwrap();
            let speaks = std::thread::spawn(move || {
                for _ in 0..6 {
                    std::thread::sleep(Duration::from_millis(100));
                    slow.write_all(b"x").unwrap();
                }
            });
            let (count, ended) = read(listener.accept().await.0).await;
            assert!(count == 6 && ended.is_ok(), "{count}");
            speaks.join().unwrap();
        });
    }
}
