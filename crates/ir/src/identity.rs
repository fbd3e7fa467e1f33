//! What tells things apart that a program is made of: their type and their fields.
//!
//! Invariant: nobody writes an identity by hand. It follows from `Hash`, which the compiler derives from all fields, so
//! a field that is added later cannot be forgotten.

use std::any::TypeId;
use std::hash::{Hash, Hasher};

/// What decides whether two things are the same: type and fields. Everything that is `Hash` has it.
pub trait OpIdentity {
    /// Puts type and fields into a hash.
    fn identify(&self, state: &mut dyn Hasher);
}

impl<T: Hash + 'static> OpIdentity for T {
    fn identify(&self, mut state: &mut dyn Hasher) {
        TypeId::of::<T>().hash(&mut state);
        self.hash(&mut state);
    }
}

/// A float as the field of something that is `Hash`: equal if all bits are.
///
/// ```
/// use farad_ir::Exact;
/// #[derive(Hash)]
/// struct Scaled {
///     factor: Exact,
/// }
/// assert_eq!(Scaled { factor: Exact(0.5) }.factor.0, 0.5);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Exact(pub f64);

impl PartialEq for Exact {
    fn eq(&self, other: &Exact) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Exact {}

impl Hash for Exact {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}
