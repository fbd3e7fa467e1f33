//! Tables that say which tile a product uses, made by timing ([`GpuDevice::tune`](crate::GpuDevice::tune)).
//!
//! A table is for one adapter and driver, and checkpoints name it.
//!
//! Invariant: without a table the fixed rule decides, so that runs are bit-identical. A table never makes a
//! product use a tile that the adapter cannot run.

use farad_compile::program::{Kernel, Product, Program};
use farad_runtime::{ProductShape, Tuning};

use crate::dispatch::Capabilities;
use crate::render::product::{ProductForm, ProductTile, TILES};
use crate::render::{layout, vector};

/// The shape of a product of a program.
pub(crate) fn shape_of(product: &Product, program: &Program) -> ProductShape {
    let along = |left| layout::OperandLayout::of(product, left).along_terms();
    ProductShape {
        batch: product.batches(),
        m: product.rows(),
        k: product.terms(),
        n: product.columns(),
        is_f16: layout::are_f16(product, program),
        turned: [!along(true), along(false)],
    }
}

/// The shapes of all products of a program that are computed in tiles, each once.
pub(crate) fn shapes(program: &Program) -> Vec<ProductShape> {
    let mut shapes = Vec::new();
    let mut add = |kernel: &Kernel| {
        if let Kernel::Product(product) = kernel
            && vector::fused(product).is_none()
        {
            shapes.push(shape_of(product, program));
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

/// The tile for a product, if the table has one that the adapter can run.
pub(crate) fn tile(
    tuning: &Tuning,
    shape: &ProductShape,
    capabilities: &Capabilities,
) -> Option<ProductTile> {
    let name = tuning.products.get(shape)?;
    tiles(shape.is_f16, capabilities).find(|tile| tile.name() == *name)
}

/// The tiles that can make a product on an adapter.
pub(crate) fn tiles(is_f16: bool, capabilities: &Capabilities) -> impl Iterator<Item = ProductTile> {
    let cooperative = is_f16 && capabilities.cooperative > 0;
    let all = TILES.iter().map(|choice| choice.tile);
    all.filter(move |tile| cooperative || tile.form == ProductForm::Scalar)
}
