//! In which precision products are computed, decided while they are recorded.
//!
//! The default is `f32`. Inside `Precision::Mixed.scope` a contraction of `f32` operands is recorded as a
//! cast of both to `f16`, the product, and a cast back. So the dtypes that users see stay as they are.
//! Softmax, norms, losses and sums are `f32` because nothing touches them. Gradients are made from the graph,
//! so the products of the backward pass are f16 products too.
//!
//! The compiler makes the casts cheap. Casts to fewer bytes move before movement ops (`simplify`), so a
//! weight is cast once per step, whatever its views. Queries, keys and values are slices, so they are views
//! of one f16 array. A weight with a single product may be cast in the prologue of that product. Casts back
//! are part of the epilogue. A product that is only cast back and shifted by a bias stays in memory as `f16`
//! (`fusion`). f16 products run on tensor cores where the adapter has them, else on scalar tiles that read
//! `f16` packed in words.
//!
//! Invariant: a scope changes no dtype that a user sees. What was `f32` outside is `f32` inside. Only
//! products round their operands to `f16`, multiply them, and sum in `f32`. Start at [`Precision::scope`];
//! the loss scale that belongs to it is in `optim`.

use std::cell::Cell;

use farad_ir::{DType, Graph, Op};

thread_local! {
    static PRECISION: Cell<Precision> = const { Cell::new(Precision::Single) };
}

/// In which precision products are computed: matmul, and whatever else is a contraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// In the precision of their operands.
    #[default]
    Single,
    /// Operands of `f32` are rounded to `f16`, on tensor cores where the device has them; sums are `f32`,
    /// and what is kept of a product is `f16`. Softmax, norms, losses, sums, weights, moments and the update
    /// stay in `f32`.
    Mixed,
    /// Large `f32` products of matrices are made of three products of `f16` parts, on tensor cores: about twice as
    /// quick, with errors around 1e-6 to 1e-5 of the largest results instead of 1e-6. A row or column with an
    /// infinity becomes NaN. Devices without tensor cores compute as in [`Precision::Single`], and so do convolutions.
    High,
}

impl Precision {
    /// Records `body` in this precision. Gradients of what it recorded have it too, wherever they are taken,
    /// and an optimizer that meets such a loss scales it (`optim::LossScale`). Scopes
    /// nest: the innermost holds.
    ///
    /// ```
    /// use farad::prelude::*;
    /// let device = Device::best();
    /// device.seed(1);
    /// let model = Sequential::new((Linear::new(2, 16), Relu, Linear::new(16, 1))).to_device(&device);
    /// let mut adam = AdamW::new(model.parameters()).learning_rate(0.01);
    /// let x = Tensor::rand([32, 2], &device);
    /// let y = x.sum_axes(kept([1]));
    /// for _ in 0..10 {
    ///     let loss = Precision::Mixed.scope(|| model.forward(&x).mean_squared_error(&y));
    ///     adam.step(&loss)?;
    /// }
    /// assert_eq!(adam.overflows()?, 0);
    /// # Ok::<(), farad::Error>(())
    /// ```
    pub fn scope<T>(self, body: impl FnOnce() -> T) -> T {
        struct RestorePrecision(Precision);
        impl Drop for RestorePrecision {
            fn drop(&mut self) {
                PRECISION.set(self.0);
            }
        }
        let _restore = RestorePrecision(PRECISION.replace(self));
        body()
    }

    /// The precision that ops recorded now have.
    pub fn current() -> Precision {
        PRECISION.get()
    }
}

/// Whether any of the marked nodes is f16, or a loop with f16 values in it.
pub fn has_f16(graph: &Graph, marked: &[bool]) -> bool {
    let half = |graph: &Graph| graph.nodes.iter().any(|node| node.dtype == DType::F16);
    graph.nodes.iter().zip(marked).any(|(node, marked)| {
        let inside = |op: &Op| if let Op::Scan(scan) = op { half(&scan.body) } else { false };
        *marked && (node.dtype == DType::F16 || inside(&node.op))
    })
}
