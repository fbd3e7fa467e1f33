//! Attention on tensor cores: one frame for the forward pass and both kernels of the backward pass.
//!
//! A workgroup has some rows of a head, 16 or 32 per subgroup, and lets others pass by in blocks. Own rows times passing
//! rows make scores. Lanes turn scores into weights, in workgroup memory. Weights times passing rows add to totals,
//! which stay in registers. Subgroups share nothing but the passing rows.
//!
//! Operands are f16. Or they are `f32`: then each is split into two f16 numbers, scaled by a power of two per tensor
//! (`largest.wgsl`), and a product is made of three. Sums are `f32` in both cases. `docs/lab/attention.md` has the
//! errors, and what else was tried.
//!
//! Invariant: texts depend on the form alone ([`form::MatrixForm`]), never on the number of heads, queries and keys.
//! `text` has the frame, `load` fills workgroup memory, `products` multiplies, `scores` makes weights, `finish` stores.

mod finish;
mod form;
mod load;
#[cfg(test)]
mod machine;
mod products;
mod scores;
#[cfg(test)]
mod tests;
mod text;

use std::f64::consts::LOG2_E;

use farad_ir::{CustomKernel, CustomLimits, WgslText};

use super::extent::AttentionExtent;
use super::op::{AttentionOp, WIDEST};
pub use form::Extras;
use form::{MatrixForm, MatrixKernel};

/// Lanes of a subgroup that the kernels are written for: two to each of 16 rows.
const LANES: u32 = 32;

/// Partial results of `largest.wgsl` per tensor. Not measured.
const PARTIAL: usize = 256;

const LARGEST: &str = include_str!("largest.wgsl");

/// Whether the kernels compute this op on an adapter. They compute all that others do not.
pub fn takes(op: &AttentionOp, extent: &AttentionExtent, limits: &CustomLimits) -> bool {
    debug_assert!(!op.is_f16 || suit(limits), "recorded for tensor cores");
    suit(limits) && extent.width <= WIDEST
}

/// Whether an adapter can run the kernels.
pub fn suit(limits: &CustomLimits) -> bool {
    limits.matrices == LANES && limits.workgroup_memory >= 48 << 10 && limits.invocations >= 256
}

/// Rows up to which there are too few workgroups of the larger tiles. Case: `attention_fwdbwd_32x6x256x64_f16`.
const FEW: usize = 512;

/// The sizes of a kernel: subgroups, 16 rows so many times in each, passing rows that arrive at once, and those that are
/// multiplied at once. Cases: `attention_fwdbwd_32x6x1024x64_f16`, `attention_fwdbwd_32x6x256x64_f16`,
/// `attention_fwdbwd_8x8x1024x128_f16`, `attention_fwdbwd_32x6x1024x64_f32`; what was tried is in docs/lab/attention.md.
fn tile(kernel: MatrixKernel, is_f16: bool, width: usize, rows: usize) -> [usize; 4] {
    match (is_f16, width, kernel) {
        (true, ..=64, MatrixKernel::Forward) if rows <= FEW => [4, 1, 32, 32],
        (true, ..=64, MatrixKernel::Queries) if rows <= FEW => [2, 2, 32, 16],
        (true, ..=64, MatrixKernel::Keys) if rows <= FEW => [4, 1, 16, 16],
        (true, ..=64, _) => [4, 2, 32, 16],
        (true, ..=96, _) => [4, 1, 32, 16],
        (true, _, _) => [8, 1, 32, 16],
        (false, _, _) => [4, 1, 16, 16],
    }
}

fn form(kernel: MatrixKernel, op: &AttentionOp, extent: &AttentionExtent) -> MatrixForm {
    let (is_f16, extras, lanes, vectors) = (op.is_f16, op.extras(), LANES as usize, extent.width / 4);
    let rows = if kernel == MatrixKernel::Keys { extent.keys } else { extent.queries };
    let [subgroups, groups, chunk, stream] = tile(kernel, is_f16, extent.width, rows);
    MatrixForm { kernel, extras, is_f16, lanes, subgroups, groups, chunk, stream, vectors }
}

/// Operands, results and scratch of an op by their numbers.
struct Numbers {
    /// Of q, k, v, and backward g, sums and shares.
    given: Vec<usize>,
    results: Vec<usize>,
    /// Of mask, bias and seed, those that there are.
    extras: Vec<usize>,
    scratch: usize,
}

impl Numbers {
    fn of(op: &AttentionOp, given: usize) -> Numbers {
        let extras = given + op.extras().count();
        Numbers {
            given: (0..given).collect(),
            results: vec![extras, extras + 1],
            extras: (given..extras).collect(),
            scratch: extras + 2,
        }
    }
}

/// A workgroup for some rows of every head.
fn kernel(
    form: MatrixForm,
    op: &AttentionOp,
    extent: &AttentionExtent,
    limits: &CustomLimits,
    arguments: Vec<usize>,
) -> CustomKernel {
    debug_assert!(form.memory() <= limits.workgroup_memory as usize, "{form:?}");
    let AttentionExtent { heads: all, sharing, queries, keys, .. } = *extent;
    let (heads, rows) = form.size(extent);
    let ahead = op.ahead(extent).min(i32::MAX as usize / 2);
    let (factor, scale) = ((op.scale.0 * LOG2_E) as f32, op.scale.0 as f32);
    let (every, count) = (op.bias.unwrap_or(1), extent.biases);
    let [threshold, kept] =
        op.dropout.map_or([0, 0], |dropout| [dropout.threshold(), dropout.factor().to_bits()]);
    let sizes = [all, queries, keys, sharing].map(|size| size as u32);
    let sight = [ahead as u32, factor.to_bits(), scale.to_bits(), extent.mask_heads() as u32];
    let parameters = [sizes, sight, [every as u32, count as u32, threshold, kept]].concat();
    let x = heads.clamp(1, limits.workgroups as usize);
    let workgroups = [x, rows.div_ceil(form.own()), heads.div_ceil(x)].map(|size| size as u32);
    CustomKernel::new(text::text(form), "main", workgroups).parameters(&parameters).arguments(&arguments)
}

/// The kernels that find the largest numbers, for operands of two parts; `tensors` are q, k, v and perhaps g.
fn largest(extent: &AttentionExtent, tensors: &[usize], scratch: usize) -> [CustomKernel; 2] {
    let text: std::sync::Arc<str> = WgslText::new(LARGEST).constant("PARTIAL", PARTIAL).into();
    let sizes = [extent.q(), extent.k(), extent.k(), extent.q()].map(|shape| (shape.numel() / 4) as u32);
    let count = tensors.len() as u32;
    let mut arguments = tensors.to_vec();
    arguments.resize(4, tensors[0]);
    arguments.push(scratch);
    let parts = CustomKernel::new(text.clone(), "parts", [PARTIAL as u32, count, 1]).parameters(&sizes);
    let all = CustomKernel::new(text, "all", [count, 1, 1]).parameters(&sizes);
    [parts, all].map(|kernel| kernel.arguments(&arguments))
}

/// Words of scratch that the kernels need.
pub fn scratch(op: &AttentionOp) -> Vec<usize> {
    if op.is_f16 { vec![] } else { vec![4 * PARTIAL + 4] }
}

/// Operands: q, k, v and extras; results: y, sums.
pub fn forward(op: &AttentionOp, extent: &AttentionExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let numbers = Numbers::of(op, 3);
    launches(op, extent, limits, &numbers, &[(MatrixKernel::Forward, &numbers.results)])
}

/// Operands: q, k, v, g, sums, shares and extras; results: gradients at q, and at k and v.
pub fn backward(op: &AttentionOp, extent: &AttentionExtent, limits: &CustomLimits) -> Vec<CustomKernel> {
    let numbers = Numbers::of(op, 6);
    let [queries, keys] = [&numbers.results[..1], &numbers.results[1..]];
    launches(op, extent, limits, &numbers, &[(MatrixKernel::Queries, queries), (MatrixKernel::Keys, keys)])
}

fn launches(
    op: &AttentionOp,
    extent: &AttentionExtent,
    limits: &CustomLimits,
    numbers: &Numbers,
    wanted: &[(MatrixKernel, &[usize])],
) -> Vec<CustomKernel> {
    let mut kernels = Vec::new();
    if !op.is_f16 {
        kernels.extend(largest(extent, &numbers.given[..numbers.given.len().min(4)], numbers.scratch));
    }
    for &(of, results) in wanted {
        let mut arguments = [&numbers.given, results, &numbers.extras].concat();
        arguments.extend((!op.is_f16).then_some(numbers.scratch));
        kernels.push(kernel(form(of, op, extent), op, extent, limits, arguments));
    }
    kernels
}
