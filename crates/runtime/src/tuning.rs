//! Tuning tables, which say which form a matrix product uses, and the trait that makes them by timing.
//!
//! Invariant: nothing is timed unless the caller asks for it. Start at [`Tuner`].

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use farad_compile::program::Program;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// A backend that has several forms of a kernel and can time them.
pub trait Tuner {
    /// The shapes of all products of a program that have several forms, each once.
    fn shapes(&self, program: &Program) -> Vec<ProductShape>;

    /// Times every form of products of these shapes. Calls `progress` with the index of each shape before it
    /// starts.
    fn tune(&self, shapes: &[ProductShape], progress: &mut dyn FnMut(usize)) -> Result<Vec<Tuned>>;

    /// The table of what [`Tuner::tune`] found.
    fn tuning_of(&self, tuned: &[Tuned]) -> Tuning;

    /// The table in use; empty unless set.
    fn tuning(&self) -> Arc<Tuning>;

    /// Makes programs that are loaded from now on use a table.
    fn set_tuning(&self, tuning: Tuning);

    /// Adapter and driver, as written in tuning tables.
    fn adapter_name(&self) -> String;
}

/// What the speed of a matrix product depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProductShape {
    /// How many products of this shape are computed together.
    pub batch: usize,
    /// Rows.
    pub m: usize,
    /// Length of the reduction axis.
    pub k: usize,
    /// Columns.
    pub n: usize,
    /// Both operands are f16.
    #[serde(rename = "halves")]
    pub is_f16: bool,
    /// Operands that lie with their last two axes swapped.
    pub turned: [bool; 2],
}

/// One form of a product, with its measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The tile's name.
    pub name: String,
    /// Time on the device.
    pub nanoseconds: u64,
    /// Norm-wise relative error of a sample against f64.
    pub error: f64,
}

/// What timing the tiles of a product found.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The product.
    pub shape: ProductShape,
    /// What the fixed rule chooses.
    pub rule: Variant,
    /// What goes into the table: the rule's own tile, unless another is clearly faster and as accurate.
    pub best: Variant,
    /// Tiles that were faster but less accurate.
    pub refused: Vec<Variant>,
    /// All tiles that were timed; the rule's is the first.
    pub variants: Vec<Variant>,
}

/// Which tiles products use on one adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuning {
    /// The adapter and driver that were timed.
    pub adapter: String,
    /// The name of a tile for each shape where it is faster than the rule's.
    #[serde(with = "pairs")]
    pub products: BTreeMap<ProductShape, String>,
}

impl Tuning {
    /// A short name for the contents: equal contents have equal names.
    pub fn name(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.adapter, &self.products).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

/// Serializes a map whose keys are not strings as a list of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::ProductShape;

    pub fn serialize<S: Serializer>(map: &BTreeMap<ProductShape, String>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<ProductShape, String>, D::Error> {
        Ok(Vec::<(ProductShape, String)>::deserialize(from)?.into_iter().collect())
    }
}
