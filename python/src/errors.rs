//! Errors as Python exceptions, with the texts that they have in Rust.
//!
//! Invariant: no panic crosses into Python. An op that refuses its operands panics in Rust; [`guarded`] makes an
//! exception of it. The classes are in `farad/_errors.py`. Start at [`guarded`] and [`raised`].

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

use farad::Error;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::lines::told;
use crate::precision::chosen_precision;

/// An exception's class, by its name in `farad/_errors.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception {
    /// Anything without a class of its own.
    Farad,
    /// Operands that an op refuses.
    Op,
    /// A device failed or is gone.
    Device,
    /// A device has no room.
    OutOfMemory,
    /// A file cannot be read or written.
    File,
}

impl Exception {
    fn class(self) -> &'static str {
        match self {
            Exception::Farad => "FaradError",
            Exception::Op => "OpError",
            Exception::Device => "DeviceError",
            Exception::OutOfMemory => "OutOfMemoryError",
            Exception::File => "FileError",
        }
    }

    /// The exception with this text.
    pub fn with(self, text: impl Into<String>) -> PyErr {
        let text = text.into();
        Python::attach(|py| {
            let class = py.import("farad._errors").and_then(|module| module.getattr(self.class()));
            match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
                Ok(class) => PyErr::from_type(class, (text,)),
                Err(error) => error,
            }
        })
    }
}

thread_local! {
    /// How many calls of [`guarded`] this thread is in.
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Panics that become exceptions are not printed.
pub fn quiet_panics() {
    let before = take_hook();
    set_hook(Box::new(move |info| {
        if GUARDED.get() == 0 {
            before(info);
        }
    }));
}

/// Runs work that may panic, in the precision that the thread has chosen; a panic becomes an exception with its text.
pub fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    GUARDED.set(GUARDED.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(|| chosen_precision().scope(work)));
    GUARDED.set(GUARDED.get() - 1);
    result.map_err(|payload| Exception::Op.with(text_of(&*payload)))
}

/// Runs work on a device: other Python threads go on meanwhile, panics and errors become exceptions.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> farad::Result<T> + Send) -> PyResult<T> {
    py.detach(|| guarded(work))?.map_err(raised)
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    match (payload.downcast_ref::<String>(), payload.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (_, Some(text)) => text.to_string(),
        _ => "an op failed without a message".to_string(),
    }
}

/// An error of the library as an exception.
pub fn raised(error: Error) -> PyErr {
    let kind = match &error {
        error if error.is_out_of_memory() => Exception::OutOfMemory,
        Error::Op(_) | Error::Item { .. } | Error::ReadType { .. } | Error::DoesNotFit { .. } => {
            Exception::Op
        }
        Error::Backend(_) | Error::NoGpus | Error::DeviceName { .. } => Exception::Device,
        Error::File { .. }
        | Error::InFile { .. }
        | Error::Format { .. }
        | Error::Truncated { .. }
        | Error::Foreign { .. }
        | Error::Damaged { .. } => Exception::File,
        _ => Exception::Farad,
    };
    kind.with(told(error.to_string()))
}
