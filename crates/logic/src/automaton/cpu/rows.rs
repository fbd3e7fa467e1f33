//! Gates on rows: a row holds one value of many cells, so a gate is a few vector instructions per row.
//!
//! The instructions are those of the machine (`S`), chosen at run time where a strip starts; every function
//! here is inlined there. Sums over cells are taken in an order that is fixed by the row, so results depend on
//! the machine's instructions, but not on threads.

use bytemuck::{Pod, Zeroable};
use pulp::Simd;

/// Cells per row.
pub const WIDTH: usize = 32;

/// One value of [`WIDTH`] cells.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct CellRow(pub [f32; WIDTH]);

impl CellRow {
    pub const ZERO: CellRow = CellRow([0.0; WIDTH]);
}

/// One value of the cells of a tile, for several channels that are processed together.
pub type ChannelRows<const CHANNELS: usize> = [CellRow; CHANNELS];

#[inline(always)]
fn vectors<S: Simd>(rows: &[CellRow]) -> &[S::f32s] {
    bytemuck::cast_slice(rows)
}

#[inline(always)]
fn vectors_mut<S: Simd>(rows: &mut [CellRow]) -> &mut [S::f32s] {
    bytemuck::cast_slice_mut(rows)
}

/// Both operands of a gate, as indices into the previous layer.
#[inline(always)]
fn operands(wire: u32) -> (usize, usize) {
    ((wire & 0xffff) as usize, (wire >> 16) as usize)
}

#[inline(always)]
fn broadcast<S: Simd>(s: S, c: &[f32; 4]) -> [S::f32s; 4] {
    [s.splat_f32s(c[0]), s.splat_f32s(c[1]), s.splat_f32s(c[2]), s.splat_f32s(c[3])]
}

/// A layer of gates with their wires and coefficients.
#[derive(Clone, Copy)]
pub struct GateRows<'a> {
    pub wires: &'a [u32],
    pub coefficients: &'a [[f32; 4]],
}

/// The outputs of a layer.
#[inline(always)]
pub fn layer<S: Simd, const K: usize>(
    s: S,
    gates: GateRows,
    inputs: &[ChannelRows<K>],
    outputs: &mut [ChannelRows<K>],
) {
    for ((&wire, c), y) in gates.wires.iter().zip(gates.coefficients).zip(outputs) {
        let (i, j) = operands(wire);
        let (a, b) = (vectors::<S>(&inputs[i]), vectors::<S>(&inputs[j]));
        let [c0, ca, cb, cab] = broadcast(s, c);
        let y = vectors_mut::<S>(y);
        for v in 0..K * WIDTH / S::F32_LANES {
            let rest = s.mul_add_e_f32s(ca, a[v], c0);
            y[v] = s.mul_add_e_f32s(b[v], s.mul_add_e_f32s(cab, a[v], cb), rest);
        }
    }
}

/// Adds a layer's gradients: those of its inputs to `below`, those of its coefficients, summed over all cells,
/// to `sums`.
#[inline(always)]
pub fn layer_back<S: Simd, const K: usize>(
    s: S,
    gates: GateRows,
    inputs: &[ChannelRows<K>],
    upstream: &[ChannelRows<K>],
    below: &mut [ChannelRows<K>],
    sums: &mut [[f32; 4]],
) {
    let gates = gates.wires.iter().zip(gates.coefficients);
    for (((&wire, c), g), sums) in gates.zip(upstream).zip(sums) {
        let (i, j) = operands(wire);
        let (a, b, g) = (vectors::<S>(&inputs[i]), vectors::<S>(&inputs[j]), vectors::<S>(g));
        let [_, ca, cb, cab] = broadcast(s, c);
        let mut total = [s.splat_f32s(0.0); 4];
        for v in 0..K * WIDTH / S::F32_LANES {
            let (ga, gb) = (s.mul_f32s(g[v], a[v]), s.mul_f32s(g[v], b[v]));
            // One operand after the other, because both may be the same row.
            let to = &mut vectors_mut::<S>(&mut below[i])[v];
            *to = s.mul_add_e_f32s(cab, gb, s.mul_add_e_f32s(ca, g[v], *to));
            let to = &mut vectors_mut::<S>(&mut below[j])[v];
            *to = s.mul_add_e_f32s(cab, ga, s.mul_add_e_f32s(cb, g[v], *to));
            total[0] = s.add_f32s(total[0], g[v]);
            total[1] = s.add_f32s(total[1], ga);
            total[2] = s.add_f32s(total[2], gb);
            total[3] = s.mul_add_e_f32s(ga, b[v], total[3]);
        }
        for (to, total) in sums.iter_mut().zip(total) {
            *to += s.reduce_sum_f32s(total);
        }
    }
}

/// `fire·new + (1 - fire)·old`, which is exactly one of them where `fire` is 1 or 0.
#[inline(always)]
pub fn blend<S: Simd>(s: S, fire: &CellRow, new: &CellRow, old: &CellRow, to: &mut CellRow) {
    let [fire, new, old] = [fire, new, old].map(|row| vectors::<S>(std::slice::from_ref(row)));
    let one = s.splat_f32s(1.0);
    for (v, to) in vectors_mut::<S>(std::slice::from_mut(to)).iter_mut().enumerate() {
        let kept = s.mul_f32s(s.sub_f32s(one, fire[v]), old[v]);
        *to = s.mul_add_e_f32s(fire[v], new[v], kept);
    }
}

/// Splits a buffer, which grows if it is too small, into parts of these lengths.
pub fn carve<const PARTS: usize>(buffer: &mut Vec<CellRow>, lens: [usize; PARTS]) -> [&mut [CellRow]; PARTS] {
    let total = lens.iter().sum();
    if buffer.len() < total {
        buffer.resize(total, CellRow::ZERO);
    }
    let mut rest = &mut buffer[..];
    lens.map(|len| rest.split_off_mut(..len).expect("the buffer was resized above"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::{Arch, Scalar, WithSimd};

    const WIRES: [u32; 3] = [1 | 2 << 16, 3, 2 | 2 << 16];
    const COEFFICIENTS: [[f32; 4]; 3] =
        [[0.1, 0.7, -0.4, 0.9], [0.8, -0.5, 0.25, -1.5], [0.0, 1.0, 1.0, -2.0]];

    /// Outputs of a layer, gradients of its inputs, and gradients of its coefficients.
    type Found = (Vec<ChannelRows<2>>, Vec<ChannelRows<2>>, Vec<[f32; 4]>);

    fn blocks(count: usize) -> Vec<ChannelRows<2>> {
        let number = |n: usize| (n * 7919 % 1009) as f32 / 1009.0;
        let row = |first: usize| CellRow(std::array::from_fn(|lane| number(first + lane)));
        (0..count).map(|n| [row(2 * n * WIDTH), row((2 * n + 1) * WIDTH)]).collect()
    }

    struct Both;

    impl WithSimd for Both {
        type Output = Found;

        #[inline(always)]
        fn with_simd<S: Simd>(self, s: S) -> Found {
            let gates = GateRows { wires: &WIRES, coefficients: &COEFFICIENTS };
            let (inputs, g) = (blocks(4), blocks(3));
            let (mut outputs, mut below, mut sums) =
                (blocks(3), vec![[CellRow::ZERO; 2]; 4], vec![[0.0; 4]; 3]);
            layer(s, gates, &inputs, &mut outputs);
            layer_back(s, gates, &inputs, &g, &mut below, &mut sums);
            (outputs, below, sums)
        }
    }

    fn close(found: f32, wanted: f64) {
        assert!((found as f64 - wanted).abs() < 1e-5 * wanted.abs().max(1.0), "{found} vs {wanted}");
    }

    fn check((outputs, below, sums): Found) {
        let (inputs, g) = (blocks(4), blocks(3));
        let mut wanted_sums = [[0f64; 4]; 3];
        for (n, lane) in (0..2).flat_map(|n| (0..WIDTH).map(move |lane| (n, lane))) {
            let mut slopes = [0f64; 4];
            for gate in 0..3 {
                let (i, j) = operands(WIRES[gate]);
                let [c0, ca, cb, cab] = COEFFICIENTS[gate].map(f64::from);
                let [a, b, g] = [&inputs[i], &inputs[j], &g[gate]].map(|block| block[n].0[lane] as f64);
                close(outputs[gate][n].0[lane], c0 + ca * a + cb * b + cab * a * b);
                slopes[i] += g * (ca + cab * b);
                slopes[j] += g * (cb + cab * a);
                wanted_sums[gate].iter_mut().zip([g, g * a, g * b, g * a * b]).for_each(|(to, x)| *to += x);
            }
            slopes.iter().zip(&below).for_each(|(&wanted, below)| close(below[n].0[lane], wanted));
        }
        sums.iter()
            .flatten()
            .zip(wanted_sums.iter().flatten())
            .for_each(|(&sum, &wanted)| close(sum, wanted));
    }

    #[test]
    fn gates_are_right_with_every_instruction_set() {
        check(Arch::new().dispatch(Both));
        check(Scalar.vectorize(Both));
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            check(Simd::vectorize(simd, Both));
        }
    }
}
