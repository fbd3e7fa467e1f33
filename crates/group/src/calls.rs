//! The communication thread: it makes the calls of a rank, one after the other.
//!
//! MPI makes no progress by itself, so a reduction beside the computation needs a thread that waits inside MPI. And MPI
//! wants all ranks to make the same calls in the same order. One thread with a queue gives both.
//!
//! Invariant: calls are made in the order in which they were handed over, and none is made by another thread.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::engine::{GroupEngine, Membership};
use crate::error::{GroupError, Result};

/// A call, as the thread gets it.
type GroupCall = Box<dyn FnOnce(&mut dyn GroupEngine) + Send>;

/// Makes an engine on the thread that will use it.
pub(crate) type MakeEngine = Box<dyn FnOnce() -> Result<Box<dyn GroupEngine>> + Send>;

/// The communication thread of a rank.
pub(crate) struct Calls {
    sender: Option<Sender<GroupCall>>,
    thread: Option<JoinHandle<()>>,
}

impl Calls {
    /// Starts the thread; it has its engine when this returns.
    pub fn start(make: MakeEngine) -> Result<(Calls, Membership)> {
        let (sender, calls) = channel::<GroupCall>();
        let (ready, made) = channel();
        let work = move || {
            let mut engine = match make() {
                Ok(engine) => engine,
                Err(error) => return drop(ready.send(Err(error))),
            };
            if ready.send(Ok(engine.membership().clone())).is_err() {
                return;
            }
            for call in calls {
                call(&mut *engine);
            }
        };
        let spawned = std::thread::Builder::new().name("farad-group".into()).spawn(work);
        let thread = spawned.map_err(|source| GroupError::Thread { source })?;
        let membership = made.recv().unwrap_or_else(|_| Err(gone()))?;
        Ok((Calls { sender: Some(sender), thread: Some(thread) }, membership))
    }

    /// Hands a call over; the result can be waited for.
    pub fn hand_over<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut dyn GroupEngine) -> Result<R> + Send + 'static,
    ) -> Underway<R> {
        let (give, receiver) = channel();
        let call: GroupCall = Box::new(move |engine| drop(give.send(call(engine))));
        if let Some(sender) = &self.sender {
            // If the thread is gone, so is the call, and whoever waits for it learns it.
            let _ = sender.send(call);
        }
        Underway { state: CallState::Called(receiver) }
    }

    /// Lets the thread finish what it has, and waits for it.
    pub fn finish(&mut self) {
        self.sender.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been seen by those who waited for its calls.
            let _ = thread.join();
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.finish();
    }
}

fn gone() -> farad_tensor::Error {
    GroupError::Lost { rank: 0, reason: "the communication thread of this process ended".into() }.into()
}

/// A call that the communication thread makes while the rank goes on.
pub struct Underway<R> {
    state: CallState<R>,
}

enum CallState<R> {
    Called(Receiver<Result<R>>),
    Done(Result<R>),
}

impl<R> Underway<R> {
    /// Of something that is done already.
    pub(crate) fn done(result: Result<R>) -> Underway<R> {
        Underway { state: CallState::Done(result) }
    }

    /// Waits for the result.
    pub fn wait(self) -> Result<R> {
        match self.state {
            CallState::Called(receiver) => receiver.recv().unwrap_or_else(|_| Err(gone())),
            CallState::Done(result) => result,
        }
    }
}
