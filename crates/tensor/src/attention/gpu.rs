//! The ops as WGSL kernels: one forward, and two backward that each write what no other workgroup writes.
//!
//! A workgroup has some rows of a head in its memory and lets the others pass by, in tiles as large as the
//! adapter's workgroup memory allows.

use std::f64::consts::LOG2_E;

use farad_ir::{CustomKernel, CustomLimits};

use super::extent::AttentionExtent;
use super::op::AttentionOp;
use super::text::{AttentionTile, specialize};

const FORWARD: &str = include_str!("forward.wgsl");
const QUERIES: &str = include_str!("queries.wgsl");
const KEYS: &str = include_str!("keys.wgsl");

/// Bytes of workgroup memory that large GPUs have. Not measured.
const LARGE: u32 = 48 << 10;

/// Rows that a workgroup has and that pass by at once, the largest first. Case: `attention_fwdbwd_32x6x256x64_f32`; what was
/// tried is in docs/lab/attention.md. The smaller ones are for adapters with less memory, and not measured.
const TILES: [(usize, usize); 8] = [(64, 32), (32, 32), (32, 16), (16, 16), (16, 8), (8, 8), (8, 4), (4, 4)];

/// The largest tile that fits, with at most so many vectors of the result in an invocation's registers; `vectors`
/// says how many `vec4`s of workgroup memory one takes.
fn choose(
    width: usize,
    most: usize,
    limits: &CustomLimits,
    vectors: impl Fn(&AttentionTile) -> usize,
) -> AttentionTile {
    let width = width.div_ceil(4);
    // Compilers of large GPUs leave loops as they are; longer texts cost small ones more than they give.
    let steps = if limits.workgroup_memory >= LARGE { 4 } else { 1 };
    let fits = |tile: &AttentionTile| {
        tile.own >= tile.rows
            && tile.stream >= tile.lanes
            && tile.threads() <= limits.invocations as usize
            && 16 * vectors(tile) <= limits.workgroup_memory as usize
    };
    let tile = |lanes: usize, (own, stream): (usize, usize)| {
        let rows = [8, 4, 2].into_iter().find(|rows| rows * width.div_ceil(lanes) <= most).unwrap_or(1);
        AttentionTile { own, stream, rows: rows.min(lanes), lanes, width, steps }
    };
    // Measured on a large GPU: sixteen invocations to a row and four rows each are twice as fast as eight with
    // eight, whose few threads wait for memory.
    let many = if limits.workgroup_memory >= LARGE && width.is_multiple_of(16) { &TILES[1..] } else { &[] };
    let many = many
        .iter()
        .map(|&sizes| tile(16, sizes))
        .map(|tile| AttentionTile { rows: tile.rows.min(4), ..tile });
    // Eight invocations share rows of a multiple of eight vectors; where that leaves no room, four.
    let wide = if width.is_multiple_of(8) { &TILES[..] } else { &[] };
    let few = wide.iter().map(|&sizes| tile(8, sizes)).chain(TILES.iter().map(|&sizes| tile(4, sizes)));
    many.chain(few).find(fits).unwrap_or(tile(4, TILES[TILES.len() - 1]))
}

fn forward_tile(width: usize, limits: &CustomLimits) -> AttentionTile {
    choose(width, 16, limits, |tile| {
        (tile.own + tile.stream) * tile.stride() + tile.own * tile.scores() + tile.own.div_ceil(4)
    })
}

/// With `matrices` of scores.
fn backward_tile(width: usize, matrices: usize, limits: &CustomLimits) -> AttentionTile {
    let most = if matrices == 1 { 16 } else { 8 };
    choose(width, most, limits, |tile| {
        2 * (tile.own + tile.stream) * tile.stride() + matrices * tile.own * tile.scores()
    })
}

struct AttentionLaunch<'a> {
    op: &'a AttentionOp,
    extent: &'a AttentionExtent,
    limits: &'a CustomLimits,
    masked: bool,
}

impl AttentionLaunch<'_> {
    /// A workgroup for every tile of `rows` of every head.
    fn kernel(
        &self,
        file: &str,
        tile: &AttentionTile,
        (heads, rows): (usize, usize),
        arguments: &[usize],
    ) -> CustomKernel {
        let AttentionExtent { heads: all, sharing, queries, keys, .. } = *self.extent;
        let factor = (self.op.scale.0 * LOG2_E) as f32;
        let ahead = self.op.ahead(self.extent).min(i32::MAX as usize / 2);
        let parameters = [
            all as u32,
            queries as u32,
            keys as u32,
            sharing as u32,
            ahead as u32,
            factor.to_bits(),
            (self.op.scale.0 as f32).to_bits(),
            self.extent.mask_heads() as u32,
        ];
        let x = heads.clamp(1, self.limits.workgroups as usize);
        let workgroups = [x, rows.div_ceil(tile.own), heads.div_ceil(x)].map(|size| size as u32);
        CustomKernel::new(specialize(file, tile, self.masked), "main", workgroups)
            .parameters(&parameters)
            .arguments(&arguments[..arguments.len() - !self.masked as usize])
    }
}

/// Operands: q, k, v, perhaps a mask; results: y, sums.
pub fn forward(
    op: &AttentionOp,
    extent: &AttentionExtent,
    masked: bool,
    limits: &CustomLimits,
) -> Vec<CustomKernel> {
    let launch = AttentionLaunch { op, extent, limits, masked };
    let results = 3 + masked as usize;
    let tile = forward_tile(extent.width, limits);
    let size = (extent.heads, extent.queries);
    vec![launch.kernel(FORWARD, &tile, size, &[0, 1, 2, results, results + 1, 3])]
}

/// Operands: q, k, v, g, sums, shares, perhaps a mask; results: gradients at q, and at k and v.
pub fn backward(
    op: &AttentionOp,
    extent: &AttentionExtent,
    masked: bool,
    limits: &CustomLimits,
) -> Vec<CustomKernel> {
    let launch = AttentionLaunch { op, extent, limits, masked };
    let results = 6 + masked as usize;
    let (queries, keys) = (backward_tile(extent.width, 1, limits), backward_tile(extent.width, 2, limits));
    let (at_queries, at_keys) = ((extent.heads, extent.queries), (extent.key_heads(), extent.keys));
    vec![
        launch.kernel(QUERIES, &queries, at_queries, &[0, 1, 2, 3, 4, 5, results, 6]),
        launch.kernel(KEYS, &keys, at_keys, &[0, 1, 2, 3, 4, 5, results + 1, 6]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: CustomLimits = CustomLimits {
        invocations: 256,
        workgroup_memory: 16 << 10,
        workgroups: 65_535,
        subgroups: false,
        matrices: 0,
    };

    fn valid(text: &str) {
        let module =
            naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{}", e.emit_to_string(text)));
        let (flags, capabilities) = (naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty());
        let checked = naga::valid::Validator::new(flags, capabilities).validate(&module);
        checked.unwrap_or_else(|error| panic!("{}", error.emit_to_string(text)));
    }

    #[test]
    fn every_width_has_valid_kernels_within_every_limit() {
        let op = AttentionOp {
            scale: farad_ir::Exact(0.5),
            offset: Some(3),
            is_f16: false,
            mask: false,
            bias: None,
            dropout: None,
        };
        for memory in [16, 32, 48] {
            let limits = CustomLimits { workgroup_memory: memory << 10, ..CORE };
            for width in [4, 12, 16, 20, 64, 80, 96, super::super::WIDEST] {
                let extent = AttentionExtent {
                    heads: 6,
                    sharing: 2,
                    masks: 3,
                    biases: 1,
                    queries: 65,
                    keys: 70,
                    width,
                };
                let masked = width % 8 == 0;
                let kernels = forward(&op, &extent, masked, &limits);
                for kernel in kernels.into_iter().chain(backward(&op, &extent, masked, &limits)) {
                    valid(&kernel.wgsl);
                    assert!(kernel.arguments.expect("given").len() <= 8);
                }
                for tile in [forward_tile(width, &limits), backward_tile(width, 2, &limits)] {
                    assert!(tile.threads() <= 256 && tile.rows <= tile.lanes, "{width}: {tile:?}");
                    let memory = 16 * (tile.own + tile.stream) * tile.stride();
                    assert!(memory <= limits.workgroup_memory as usize, "{width}: {tile:?}");
                }
            }
        }
    }

    #[test]
    fn large_memories_have_large_tiles() {
        let limits = CustomLimits { workgroup_memory: 48 << 10, ..CORE };
        assert_eq!(
            forward_tile(64, &limits),
            AttentionTile { own: 32, stream: 32, rows: 4, lanes: 16, width: 16, steps: 4 }
        );
        assert_eq!(
            backward_tile(64, 2, &limits),
            AttentionTile { own: 32, stream: 32, rows: 4, lanes: 16, width: 16, steps: 4 }
        );
    }
}
