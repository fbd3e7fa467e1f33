//! f16 products on tensor cores: subgroups multiply 16×16 matrices of f16 operands and sum in `f32`.
//!
//! Each subgroup holds a piece of the tile as 16×16 matrices in `f32`. It multiplies f16 matrices from
//! workgroup memory into them. Matrices cannot be indexed, so results reach the epilogue through workgroup
//! memory, one matrix at a time. Everything else is shared with the scalar product: prologues, edges that tiles
//! do not divide, batches, transposed operands, and the rule that chooses a tile.
//!
//! Workgroup memory is a single buffer of 24 KiB, so that two workgroups fit on a processor. One of them reads
//! while the other multiplies. While a workgroup multiplies, the next pieces of the operands are read into
//! registers. Double buffering, longer steps and more padding were slower, because then only one workgroup
//! fits. `docs/lab/f16-products.md` has the measurements, and says why f32 products are not made of f16 ones.

use super::layout::OperandLayout;
use super::module::{WgslModule, line};
use super::operand::{Side, TileStart};
use super::product::{ProductTile, call};
use super::stream::Stream;
use crate::heuristics::products::COMFORT;

/// Rows and columns of a matrix.
const SIDE: usize = 16;

/// Writes the product of a tile that starts at `at`, with the epilogue.
pub(super) fn write(
    module: &mut WgslModule,
    operands: &[OperandLayout; 2],
    terms: usize,
    tile: ProductTile,
    batch: &[String],
    at: (&str, &str),
) {
    module.use_cooperative();
    let across = tile.group().1;
    let down = module.bind("m", &format!("subgroup / {across}u * {}u", tile.rows));
    let right = module.bind("n", &format!("subgroup % {across}u * {}u", tile.columns));
    let f16_count = multiply(module, operands, terms, tile, batch, [at.0, at.1], [&down, &right]);
    let rooms = rooms(tile.group().0, f16_count);
    finish(module, tile, rooms, batch, [&format!("{} + {down}", at.0), &format!("{} + {right}", at.1)]);
}

/// The loop over the terms. Leaves the subgroup's sums in `c{row}_{column}`, and returns how many f16 elements
/// of workgroup memory it needs. `at` is where the tile starts, `own` where the subgroup's piece starts in it.
fn multiply(
    module: &mut WgslModule,
    operands: &[OperandLayout; 2],
    terms: usize,
    tile: ProductTile,
    batch: &[String],
    at: [&str; 2],
    own: [&str; 2],
) -> usize {
    for (row, column) in matrices(tile) {
        line!(module, "var c{row}_{column} = coop_mat16x16<f32, C>();");
    }
    let terms = module.size(terms);
    let mut sides = [0, 1].map(|n| {
        let start = TileStart { batch, first: at[n], terms: &terms };
        CooperativeSide::new(module, &operands[n], tile, start)
    });
    sides.iter_mut().for_each(|side| side.declare(module));
    line!(module, "for (var k0 = 0u; k0 < {terms}; k0 += {}u) {{", tile.k);
    sides.iter().for_each(|side| side.put(module));
    module.line("workgroupBarrier();");
    line!(module, "let k1 = k0 + {}u;", tile.k);
    if sides.iter().all(CooperativeSide::divides_terms) {
        line!(module, "if (k1 < {terms}) {{");
        sides.iter().for_each(|side| side.fetch(module, "k1", true));
    } else {
        // Only the last step has terms that do not exist. As a step of its own behind the loop it was slower.
        line!(module, "if (k1 + {}u <= {terms}) {{", tile.k);
        sides.iter().for_each(|side| side.fetch(module, "k1", true));
        line!(module, "}} else if (k1 < {terms}) {{");
        sides.iter().for_each(|side| side.fetch(module, "k1", false));
    }
    module.line("}");
    for step in (0..tile.k).step_by(SIDE) {
        let mut take = |n: usize, held: usize| -> Vec<String> {
            (0..held).step_by(SIDE).map(|along| sides[n].matrix(module, step, own[n], along)).collect()
        };
        let (a, b) = (take(0, tile.rows), take(1, tile.columns));
        for (row, column) in matrices(tile) {
            line!(module, "c{row}_{column} = coopMultiplyAdd({}, {}, c{row}_{column});", a[row], b[column]);
        }
    }
    module.line("workgroupBarrier();");
    module.line("}");
    sides.iter().map(CooperativeSide::f16_count).sum()
}

/// An operand on its way to matrices: as it is in memory, or computed.
enum CooperativeSide<'p> {
    Streamed(Stream<'p>),
    Computed(Side<'p>),
}

impl<'p> CooperativeSide<'p> {
    fn new(module: &mut WgslModule, layout: &'p OperandLayout, tile: ProductTile, start: TileStart) -> Self {
        match Stream::new(module, layout, tile, &start) {
            Some(stream) => CooperativeSide::Streamed(stream),
            None => CooperativeSide::Computed(Side::new(module, layout, tile, start)),
        }
    }

    fn declare(&mut self, module: &mut WgslModule) {
        match self {
            CooperativeSide::Streamed(stream) => stream.declare(module),
            CooperativeSide::Computed(side) => side.declare_f16(module),
        }
    }

    fn put(&self, module: &mut WgslModule) {
        match self {
            CooperativeSide::Streamed(stream) => stream.put(module),
            CooperativeSide::Computed(side) => side.put(module),
        }
    }

    fn divides_terms(&self) -> bool {
        match self {
            CooperativeSide::Streamed(stream) => stream.divides_terms(),
            CooperativeSide::Computed(side) => side.divides_terms(),
        }
    }

    fn fetch(&self, module: &mut WgslModule, start: &str, whole: bool) {
        match self {
            CooperativeSide::Streamed(stream) => stream.fetch(module, start, whole),
            CooperativeSide::Computed(side) => side.fetch(module, start, whole),
        }
    }

    fn matrix(&self, module: &mut WgslModule, terms: usize, first: &str, along: usize) -> String {
        match self {
            CooperativeSide::Streamed(stream) => stream.matrix(module, terms, first, along),
            CooperativeSide::Computed(side) => side.matrix(module, terms, first, along),
        }
    }

    fn f16_count(&self) -> usize {
        match self {
            CooperativeSide::Streamed(stream) => stream.f16_count(),
            CooperativeSide::Computed(side) => side.f16_count(),
        }
    }
}

/// How many subgroups write their results through workgroup memory at a time: as many as fit beside the f16 tiles, in
/// equal turns.
fn rooms(subgroups: usize, f16_count: usize) -> usize {
    let most = COMFORT.saturating_sub(2 * f16_count) / (SIDE * SIDE * 4);
    (1..=most.clamp(1, subgroups)).rev().find(|&rooms| subgroups.is_multiple_of(rooms)).unwrap_or(1)
}

/// The subgroup's matrices, by row and column.
fn matrices(tile: ProductTile) -> impl Iterator<Item = (usize, usize)> {
    let columns = tile.columns / SIDE;
    (0..tile.rows / SIDE).flat_map(move |row| (0..columns).map(move |column| (row, column)))
}

/// Passes the matrices through workgroup memory to the epilogue. `rooms` subgroups at a time have space there.
fn finish(module: &mut WgslModule, tile: ProductTile, rooms: usize, batch: &[String], at: [&str; 2]) {
    let (turns, room) = (tile.group().0 / rooms, SIDE * SIDE);
    module.global(&format!("var<workgroup> results: array<f32, {}>;", rooms * room));
    let (row, column) = (module.bind("m", at[0]), module.bind("n", at[1]));
    for (number, (down, right)) in matrices(tile).enumerate() {
        for turn in 0..turns {
            if turns > 1 {
                if number + turn > 0 {
                    module.line("workgroupBarrier();");
                }
                line!(module, "if (subgroup / {rooms}u == {turn}u) {{");
            }
            let own = format!("subgroup % {rooms}u * {room}u");
            line!(module, "coopStoreT(c{down}_{right}, &results[{own}], {SIDE}u);");
            module.line("subgroupBarrier();");
            line!(module, "for (var e = lane * 4u; e < {room}u; e += width * 4u) {{");
            line!(module, "let o = {own} + e;");
            let value = "vec4<f32>(results[o], results[o + 1u], results[o + 2u], results[o + 3u])";
            let down = format!("{row} + {}u + e / {SIDE}u", down * SIDE);
            let right = format!("{column} + {}u + e % {SIDE}u", right * SIDE);
            call(module, batch, &down, &right, value);
            module.line("}");
            module.line("subgroupBarrier();");
            if turns > 1 {
                module.line("}");
            }
        }
    }
}
