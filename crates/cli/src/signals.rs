//! What asks a command to end: Ctrl-C, and on Unix the signal that schedulers send (SIGTERM).
//!
//! Invariant: SIGHUP stays as it was, so that `nohup` works.

/// Status of a process that Ctrl-C ended, and of one that SIGTERM ended, as shells report them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Ctrl-C.
    Interrupt = 130,
    /// SIGTERM.
    Terminate = 143,
}

impl Ending {
    /// Ends the process at once.
    pub fn now(self) -> ! {
        std::process::exit(self as i32)
    }
}

/// Calls `handler` whenever somebody asks the command to end. It runs in a thread of its own.
pub fn on_ending(handler: impl Fn(Ending) + Clone + Send + 'static) {
    #[cfg(unix)]
    terminations(handler.clone());
    // Where there is none to be set, Ctrl-C ends the process, which is what it did before.
    let _ = ctrlc::set_handler(move || handler(Ending::Interrupt));
}

/// Calls `handler` once the standard input ends: whoever held it open is gone, or wants this process to end.
pub fn on_end_of_input(handler: impl FnOnce() + Send + 'static) {
    let watch = move || {
        // What comes is of no interest, and neither is why it ends.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        handler();
    };
    if let Err(error) = std::thread::Builder::new().name("farad-input".into()).spawn(watch) {
        tracing::warn!("the end of the input is not noticed: {error}");
    }
}

#[cfg(unix)]
fn terminations(handler: impl Fn(Ending) + Send + 'static) {
    use signal_hook::consts::SIGTERM;
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGTERM]) else { return };
    let watch = move || signals.forever().for_each(|_| handler(Ending::Terminate));
    // Without the thread SIGTERM would do nothing at all.
    if let Err(error) = std::thread::Builder::new().name("farad-signals".into()).spawn(watch) {
        tracing::warn!("SIGTERM is not heard: {error}");
    }
}
