//! Makes large f32 products out of f16 products, where that was asked for and the device has tensor cores.
//!
//! Every row of the left operand and every column of the right one is scaled so that its largest number is
//! [`LARGEST`]. Each number is then a sum of two f16 numbers, `high + low`, and the product is
//! `high·high + high·low + low·high`: a single product with three times the terms, summed in f32. What
//! `low·low` would add is below the rounding of f32. Long sums are cut, and the parts are added in f32.

use farad_ir::{Contraction, DType, Graph, IndexMap, NodeId, Op, Reduce, Shape, Var};

use crate::fusion::product::Roles;
use crate::program::Target;

/// The largest number of a scaled row. Its products, and sums of many of them, are far below the largest f32;
/// numbers a hundred thousand times smaller still have an exact low part.
const LARGEST: f64 = 16384.0;
/// The least that the largest number of a row counts as, so that rows of zeros stay zero.
const SMALLEST: f64 = 1e-30;
/// Most terms of a sum on tensor cores. On an H200, sums of 12,288 had an error of 2.1e-5, sums of 24,576 one of 4.4e-5.
/// At 3,072 terms, 4096×4096×4096 has 4.5e-6.
const LONGEST: usize = 3072;
/// Bytes that all sums together may take.
const MOST_BYTES: usize = 1 << 30;
/// Which parts the left and the right operand multiply: whether it is the low one.
const LEFT: [bool; 3] = [false, false, true];
const RIGHT: [bool; 3] = [false, true, false];

/// Rewrites the graph for the target; returns the new graph and outputs. `None` if no product is marked and
/// large.
pub fn split(graph: &Graph, outputs: &[NodeId], target: &Target) -> Option<(Graph, Vec<NodeId>)> {
    let wanted = |id: NodeId| match &graph.node(id).op {
        Op::Contract(contraction) => inner_axis(contraction, graph.node(id).dtype, target),
        _ => None,
    };
    graph.ids().find_map(wanted)?;
    let mut new = Graph::new();
    let map = graph.rewrite(graph.ids(), |id, node| match (&node.op, wanted(id)) {
        (Op::Contract(contraction), Some(inner)) => {
            product(&mut new, contraction, inner, [node.operands[0], node.operands[1]], target)
        }
        _ => new.append(node),
    });
    let outputs = map.all(outputs);
    Some((new, outputs))
}

/// The axis of the terms of a product that is made of f16 products; `None` for all others.
fn inner_axis(contraction: &Contraction, dtype: DType, target: &Target) -> Option<usize> {
    let plain = contraction.lhs.iter().chain(&contraction.rhs).all(|map| map.plain().is_some());
    let work: usize = contraction.sizes.iter().product();
    if work < target.high_products || !contraction.high || dtype != DType::F32 || !plain {
        return None;
    }
    let ranks = [&contraction.lhs, &contraction.rhs].map(Vec::len);
    let room = ranks.iter().chain([&contraction.out.len()]).all(|&rank| rank < farad_ir::MAX_RANK);
    match &Roles::of(contraction)?.inner[..] {
        &[inner] if room => Some(inner),
        _ => None,
    }
}

/// The product as one f16 product with three times the terms.
fn product(
    graph: &mut Graph,
    contraction: &Contraction,
    inner: usize,
    operands: [NodeId; 2],
    target: &Target,
) -> NodeId {
    let mut tripled = contraction.clone();
    tripled.high = false;
    let terms = contraction.sizes[inner] * LEFT.len();
    let bytes = 4 * contraction.output().numel();
    let cuts = cuts(terms, target.binding_bytes.min(MOST_BYTES) / bytes.max(1));
    tripled.sizes[inner] = terms / cuts;
    let cut = tripled.sizes.len();
    tripled.sizes.push(cuts);
    tripled.out.insert(0, cut);
    for maps in [&mut tripled.lhs, &mut tripled.rhs] {
        let place = maps.iter().position(|map| map.plain() == Some(inner)).expect("an operand has the terms");
        maps.insert(place, IndexMap::axis(cut));
    }
    let sides = [(&contraction.lhs, LEFT), (&contraction.rhs, RIGHT)];
    graph.write(|writer| {
        let [left, right] = [0, 1].map(|side| {
            let (maps, low) = sides[side];
            let axes: Vec<usize> = maps.iter().filter_map(IndexMap::plain).collect();
            ScaledParts::of(writer.var(operands[side]), &axes, inner, low, cuts)
        });
        let product = left.parts.contract(tripled, right.parts).sum(&[0]);
        let [left, right] = [left, right].map(|side| side.beside(product, &contraction.out));
        ((product * left) * right).id()
    })
}

/// Into how many sums this many terms are cut, at most `most`: tensor cores truncate as they add, so errors grow
/// with the length.
fn cuts(terms: usize, most: usize) -> usize {
    let wanted = terms.div_ceil(LONGEST);
    let divides = |count: &usize| terms.is_multiple_of(*count);
    let enough = (wanted..=(4 * wanted).min(most)).find(divides);
    enough.or_else(|| (1..=wanted.min(most)).rev().find(divides)).unwrap_or(1)
}

/// An operand in f16 parts, and what was divided out of it.
#[derive(Clone)]
struct ScaledParts<'g> {
    /// The parts, one behind the other along the terms, in f32 that is exact in f16.
    parts: Var<'g>,
    /// By what results must be multiplied, for each position along the other axes.
    scale: Var<'g>,
    /// The axes of the contraction that these are.
    axes: Vec<usize>,
}

impl<'g> ScaledParts<'g> {
    /// `axes` are the axes of the contraction that the operand has, `low` says which of its parts are low.
    fn of(x: Var<'g>, axes: &[usize], inner: usize, low: [bool; 3], cuts: usize) -> ScaledParts<'g> {
        let place = axes.iter().position(|&axis| axis == inner).expect("an operand has the terms");
        let shape = x.shape();
        let sizes = |at: usize, instead: &[usize]| {
            let mut sizes = shape.to_vec();
            sizes.splice(place..place + at, instead.iter().copied());
            Shape::new(&sizes)
        };
        let largest = x.abs().reduce(Reduce::Max, &[place]).max(SMALLEST);
        let factor = (LARGEST / largest).reshape(sizes(1, &[1])).expand(shape);
        let scaled = x * factor;
        // Rounded in memory: in registers a driver may take the rounding for needless, and nothing would be left.
        let high = scaled.cast(DType::F16).push(Op::Barrier(0), &[]);
        let rest = (scaled - high.cast(DType::F32)).cast(DType::F16);
        // Three copies along a new axis, each of one part.
        let copies = sizes(0, &[low.len()]);
        let place_of_low = low.iter().position(|&low| low).expect("a part is low");
        let number = x.iota(low.len());
        let is_low = number.equal(place_of_low as f64);
        let lined = (0..copies.rank()).map(|axis| if axis == place { low.len() } else { 1 });
        let is_low = is_low.reshape(lined.collect::<Vec<_>>()).expand(copies);
        let [high, rest] = [high, rest].map(|part| part.reshape(sizes(0, &[1])).expand(copies));
        let parts = is_low.select(rest, high).push(Op::Barrier(0), &[]);
        let parts = parts.reshape(sizes(1, &[cuts, shape[place] * low.len() / cuts])).cast(DType::F32);
        let axes = axes.iter().copied().filter(|&axis| axis != inner).collect();
        ScaledParts { parts, scale: largest * (1.0 / LARGEST), axes }
    }

    /// The scale with the shape of the product, whose axes are `out`.
    fn beside(self, product: Var<'g>, out: &[usize]) -> Var<'g> {
        let shape = product.shape();
        let own = out.iter().filter(|axis| self.axes.contains(axis));
        let order: Vec<usize> =
            own.filter_map(|axis| self.axes.iter().position(|other| other == axis)).collect();
        let sizes = out.iter().zip(shape.iter());
        let sizes = sizes.map(|(axis, &size)| if self.axes.contains(axis) { size } else { 1 });
        self.scale.permute(&order).reshape(sizes.collect::<Vec<_>>()).expand(shape)
    }
}

#[cfg(test)]
mod tests {
    use farad_ir::reference::{Values, evaluate_outputs};

    use super::*;

    #[test]
    fn sums_are_cut_as_far_as_they_fit() {
        assert_eq!(cuts(3 * 4096, 100), 4);
        assert_eq!(cuts(3 * 8192, 100), 8);
        assert_eq!(cuts(3 * 8192, 4), 4, "eight would not fit");
        assert_eq!(cuts(3 * 1000, 100), 1);
        assert_eq!(cuts(3 * 4099, 100), 3, "a prime number of terms has only the three copies");
        assert_eq!(cuts(3 * 4096, 0), 1);
    }

    /// A product whose rows differ in size by a lot, before and after the pass, in f64 with every f16 rounded.
    #[test]
    fn errors_are_those_of_f32_whatever_the_size_of_rows() {
        let (rows, terms, columns) = (6, 40, 5);
        let mut graph = Graph::new();
        let x = graph.input(0, Shape::new(&[rows, terms]), DType::F32);
        let w = graph.input(1, Shape::new(&[terms, columns]), DType::F32);
        let contraction = Contraction { high: true, ..Contraction::matmul(&[], rows, terms, columns) };
        let y = graph.contract(contraction, x, w);
        let target = Target { high_products: 1, ..Target::cpu() };
        let (new, outputs) = split(&graph, &[y], &target).expect("the product is marked");
        assert!(split(&new, &outputs, &target).is_none(), "a product is taken apart once");
        let number = |at: usize| ((at * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
        let sizes = [1.0, 1e20, 1e-20, 0.0, 3e4, 7e-5];
        let left = (0..rows * terms).map(|at| (number(at) * sizes[at / terms]) as f32 as f64).collect();
        let right = (0..terms * columns).map(|at| number(at + 5) as f32 as f64).collect();
        let inputs = [Values::Float(left), Values::Float(right)];
        let [before, after] = [(&graph, vec![y]), (&new, outputs)].map(|(graph, outputs)| {
            match evaluate_outputs(graph, &inputs, &[], &outputs).remove(0) {
                Values::Float(values) => values,
                _ => unreachable!("the product is a float"),
            }
        });
        for (row, (before, after)) in before.chunks(columns).zip(after.chunks(columns)).enumerate() {
            let largest = before.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            for (x, y) in before.iter().zip(after) {
                assert!((x - y).abs() <= 1e-6 * largest, "row {row}: {x} and {y}");
            }
        }
    }
}
