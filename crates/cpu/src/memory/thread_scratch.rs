//! Scratch memory of threads, kept from task to task.

use std::cell::RefCell;

/// Sixteen words, aligned to a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine(#[allow(dead_code)] [u32; 16]);

/// Memory for one task: words, and the pointers of registers.
#[derive(Default)]
pub struct Scratch {
    lines: Vec<CacheLine>,
    /// Pointers of registers.
    pub registers: Vec<*mut u32>,
}

impl Scratch {
    /// At least `words` words, aligned to a cache line, with unspecified contents.
    pub fn words(&mut self, words: usize) -> *mut u32 {
        let lines = words.div_ceil(16);
        if self.lines.len() < lines {
            self.lines.resize(lines, CacheLine([0; 16]));
        }
        self.lines.as_mut_ptr().cast()
    }
}

thread_local! {
    // A stack, not a single one: a thread that waits inside a task may start another task.
    static FREE: RefCell<Vec<Scratch>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with scratch memory of this thread.
pub fn with<R>(f: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = FREE.with(|free| free.borrow_mut().pop()).unwrap_or_default();
    let result = f(&mut scratch);
    FREE.with(|free| free.borrow_mut().push(scratch));
    result
}
