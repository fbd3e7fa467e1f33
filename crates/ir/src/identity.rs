//! The identity of the parts of a program: their type and their fields.
//!
//! Invariant: identities are never written by hand. They follow from `Hash`, which the compiler derives from
//! all fields, so a new field cannot be forgotten.

use std::any::TypeId;
use std::hash::{Hash, Hasher};

/// Decides whether two values are the same: type and fields. Everything that is `Hash` implements it.
pub trait OpIdentity {
    /// Hashes the type and the fields.
    fn identify(&self, state: &mut dyn Hasher);
}

impl<T: Hash + 'static> OpIdentity for T {
    fn identify(&self, mut state: &mut dyn Hasher) {
        TypeId::of::<T>().hash(&mut state);
        self.hash(&mut state);
    }
}

/// A float as a field of a type that is `Hash`; compares by its bits.
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
