//! Handles to memory of any backend.
//!
//! Invariant: a handle is one reference-counted pointer. So the backend can tell when memory has a single
//! handle and may be updated in place.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

/// A piece of memory as its backend keeps it; dropped with its last handle.
pub trait Allocation: Any + Send + Sync {
    /// How many bytes it has.
    fn bytes(&self) -> usize;

    /// Whether it is somebody else's, who may read it at any time: nothing may be written to it.
    fn is_borrowed(&self) -> bool {
        false
    }
}

/// A handle to memory; clones share it.
#[derive(Clone)]
pub struct Memory(Arc<dyn Allocation>);

/// A weak reference to memory. It does not keep the memory alive, and tells whether all handles are gone.
#[derive(Clone)]
pub struct WeakMemory(Weak<dyn Allocation>, usize);

impl Memory {
    /// The first handle to an allocation.
    pub fn new(allocation: impl Allocation) -> Memory {
        Memory(Arc::new(allocation))
    }

    /// The allocation, if a backend with this type of allocation made it.
    pub fn get<A: Allocation>(&self) -> Option<&A> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// The allocation. Panics if another backend made it.
    #[track_caller]
    pub fn of<A: Allocation>(&self) -> &A {
        self.get().expect("memory belongs to another device")
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// How many handles exist; `usize::MAX` if the memory is borrowed.
    pub fn handles(&self) -> usize {
        if self.0.is_borrowed() { usize::MAX } else { Arc::strong_count(&self.0) }
    }

    /// A number that no other live allocation has.
    pub fn identity(&self) -> u64 {
        Arc::as_ptr(&self.0) as *const () as u64
    }

    /// A weak reference to the memory.
    pub fn downgrade(&self) -> WeakMemory {
        WeakMemory(Arc::downgrade(&self.0), self.bytes())
    }
}

impl WeakMemory {
    /// Bytes of the memory; `None` once the last handle is gone.
    pub fn bytes(&self) -> Option<usize> {
        // Upgrading would add a handle for a moment, and memory is updated in place only while it has a single
        // handle.
        (self.0.strong_count() > 0).then_some(self.1)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} bytes)", self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(usize);

    impl Allocation for Bytes {
        fn bytes(&self) -> usize {
            self.0
        }
    }

    struct Other;

    impl Allocation for Other {
        fn bytes(&self) -> usize {
            0
        }
    }

    #[test]
    fn handles_are_counted_and_word_of_them_keeps_nothing() {
        let memory = Memory::new(Bytes(12));
        let (second, word) = (memory.clone(), memory.downgrade());
        assert_eq!((memory.handles(), word.bytes()), (2, Some(12)));
        assert_eq!(memory.identity(), second.identity());
        assert_ne!(memory.identity(), Memory::new(Bytes(12)).identity());
        assert!(memory.get::<Bytes>().is_some() && memory.get::<Other>().is_none());
        drop((memory, second));
        assert_eq!(word.bytes(), None);
    }

    #[test]
    #[should_panic(expected = "memory belongs to another device")]
    fn memory_of_another_backend_is_refused() {
        Memory::new(Other).of::<Bytes>();
    }
}
