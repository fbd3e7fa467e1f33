//! Which layer is running, so that an error about a shape names the layer and the line of its caller.
//!
//! A layer says [`inside`] first in its `forward`. Lines come through `#[track_caller]`, but not through a pointer to a
//! layer (`dyn Layer`): there [`through`] keeps the caller's line, and what is refused below is raised again at it.
//!
//! Invariant: a frame is taken off when its guard is dropped, a panic included.

use std::cell::RefCell;
use std::fmt::Write;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

thread_local! {
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// A layer at work, or a call through a pointer.
struct Frame {
    name: &'static str,
    /// Which of several layers.
    position: Option<usize>,
    /// The caller's line, where it would be lost.
    location: Option<&'static Location<'static>>,
}

/// While it lives, a layer is at work on this thread.
pub struct Inside(PhantomData<*const ()>);

impl Drop for Inside {
    fn drop(&mut self) {
        FRAMES.with_borrow_mut(Vec::pop);
    }
}

/// Says that a layer is at work until the result is dropped. Its name stands before what is refused meanwhile.
#[must_use = "the layer is at work as long as this lives"]
pub fn inside(name: &'static str) -> Inside {
    push(Frame { name, position: None, location: None })
}

fn push(frame: Frame) -> Inside {
    FRAMES.with_borrow_mut(|frames| frames.push(frame));
    Inside(PhantomData)
}

/// Says which of several layers is at work, e.g. in a list of them.
pub fn at_position(position: usize) {
    FRAMES.with_borrow_mut(|frames| {
        if let Some(frame) = frames.last_mut() {
            frame.position = Some(position);
        }
    });
}

/// What a call through a pointer refused, on its way to the caller.
struct Refused(String);

/// Calls a layer through a pointer. What it records, and what it refuses, is at the caller's line.
#[track_caller]
pub fn through<T>(name: &'static str, call: impl FnOnce() -> T) -> T {
    let frame = push(Frame { name, position: None, location: Some(Location::caller()) });
    let result = catch_unwind(AssertUnwindSafe(call));
    drop(frame);
    match result {
        Ok(value) => value,
        Err(payload) => match payload.downcast::<Refused>() {
            Ok(refused) if is_lost() => resume_unwind(refused),
            Ok(refused) => panic!("{}", refused.0),
            Err(payload) => resume_unwind(payload),
        },
    }
}

/// Whether the caller's line is lost here, and kept by a frame.
fn is_lost() -> bool {
    cfg!(panic = "unwind") && FRAMES.with_borrow(|frames| frames.iter().any(|frame| frame.location.is_some()))
}

/// The line that called the running layers, or else the caller's line.
#[track_caller]
pub fn here() -> &'static Location<'static> {
    let caller = Location::caller();
    FRAMES.with_borrow(|frames| frames.iter().find_map(|frame| frame.location)).unwrap_or(caller)
}

/// Panics at the caller's line, with the layers that are at work before the message.
#[track_caller]
pub fn refuse(message: impl std::fmt::Display) -> ! {
    let mut text = String::new();
    FRAMES.with_borrow(|frames| {
        for frame in frames.iter().filter(|frame| !frame.name.is_empty()) {
            let between = if text.is_empty() { "" } else { " > " };
            let _ = match frame.position {
                Some(position) => write!(text, "{between}{}[{position}]", frame.name),
                None => write!(text, "{between}{}", frame.name),
            };
        }
    });
    let colon = if text.is_empty() { "" } else { ": " };
    let _ = write!(text, "{colon}{message}");
    if is_lost() { resume_unwind(Box::new(Refused(text))) } else { panic!("{text}") }
}

/// As `assert!`, with the layers that are at work before the message.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            $crate::engine::refuse(format_args!($($message)+));
        }
    };
}
