//! What a piece of work says when it panics, and at whose line.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// The message of the panic in `work` and the file that it was laid at; `None` if nothing panicked.
pub fn panic_of(work: impl FnOnce()) -> Option<(String, String)> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = Arc::new(Mutex::new(String::new()));
    let seen = place.clone();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        *seen.lock().unwrap() = info.location().map_or(String::new(), |l| l.file().to_string());
    }));
    let caught = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    let message = match caught.err()?.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => other.downcast::<&str>().map(|s| s.to_string()).unwrap_or_default(),
    };
    let place = place.lock().unwrap().clone();
    Some((message, place))
}
