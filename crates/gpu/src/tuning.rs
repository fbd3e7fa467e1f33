//! Tables that say which tile a product uses, made by timing ([`Device::tune`](crate::Device::tune)).
//!
//! Invariant: without a table the fixed rule decides, so that runs repeat bit for bit; a table never makes
//! a product use a tile that the adapter cannot run.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use farad_compile::program::{Kernel, Product, Program};
use serde::{Deserialize, Serialize};

use crate::dispatch::Capabilities;
use crate::render::product::{Form, TILES, Tile};
use crate::render::{layout, vector};

/// What a product's speed depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProductShape {
    /// Products of this shape side by side.
    pub batch: usize,
    /// Rows.
    pub m: usize,
    /// Terms of a sum.
    pub k: usize,
    /// Columns.
    pub n: usize,
    /// Both operands are halves.
    pub halves: bool,
    /// Operands that lie with their last two axes swapped.
    pub turned: [bool; 2],
}

impl ProductShape {
    /// The shape of a product of a program.
    pub fn of(product: &Product, program: &Program) -> ProductShape {
        let along = |left| layout::Layout::of(product, left).along_terms();
        ProductShape {
            batch: product.batches(),
            m: product.rows(),
            k: product.terms(),
            n: product.columns(),
            halves: layout::are_halves(product, program),
            turned: [!along(true), along(false)],
        }
    }

    /// The shapes of all products of a program that are made in tiles, each once.
    pub fn all(program: &Program) -> Vec<ProductShape> {
        let mut shapes = Vec::new();
        let mut add = |kernel: &Kernel| {
            if let Kernel::Product(product) = kernel
                && vector::fused(product).is_none()
            {
                shapes.push(ProductShape::of(product, program));
            }
        };
        for step in &program.steps {
            match &step.kernel {
                Kernel::Loop(body) => body.steps.iter().for_each(|step| add(&step.kernel)),
                kernel => add(kernel),
            }
        }
        shapes.sort();
        shapes.dedup();
        shapes
    }
}

/// Which tiles products use on one adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuning {
    /// The adapter and driver that were timed.
    pub adapter: String,
    /// A tile's name for every shape that is quicker with another tile than the rule's.
    #[serde(with = "pairs")]
    pub products: BTreeMap<ProductShape, String>,
}

impl Tuning {
    /// A short name for the contents; the same contents have the same name.
    pub fn name(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.adapter, &self.products).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// The tile for a product, if the table has one that the adapter can run.
    pub(crate) fn tile(&self, shape: &ProductShape, capabilities: &Capabilities) -> Option<Tile> {
        let name = self.products.get(shape)?;
        tiles(shape.halves, capabilities).find(|tile| tile.name() == *name)
    }
}

/// The tiles that can make a product on an adapter.
pub(crate) fn tiles(halves: bool, capabilities: &Capabilities) -> impl Iterator<Item = Tile> {
    let cooperative = halves && capabilities.cooperative > 0;
    let all = TILES.iter().map(|choice| choice.tile);
    all.filter(move |tile| cooperative || tile.form == Form::Scalar)
}

/// A map with keys that are no strings, as a list of pairs.
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
