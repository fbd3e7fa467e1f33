//! Products and convolutions: a contraction becomes `MatMul` or `Conv` if its index maps allow, otherwise
//! `Einsum` over operands whose windows are gathered first.

use farad_ir::{Contraction, IndexMap, NodeId, Op};
use farad_nn::Result;

use super::sizes::{Size, differ};
use super::writer::{ExportScope, Writer};
use crate::error::OnnxError;
use crate::proto::AttributeProto;

impl Writer {
    pub fn contraction(&mut self, scope: &ExportScope, id: NodeId) -> Result<String> {
        let (Op::Contract(a), Op::Contract(b)) = (&scope.a.node(id).op, &scope.b.node(id).op) else {
            return Err(differ("contract", "a product", "none").into());
        };
        if (&a.out, &a.lhs, &a.rhs) != (&b.out, &b.lhs, &b.rhs) {
            return Err(differ(&scope.what(id), format!("{:?}", a.lhs), format!("{:?}", b.lhs)).into());
        }
        let operands = &scope.a.node(id).operands;
        let names = [scope.name(operands[0]).to_string(), scope.name(operands[1]).to_string()];
        let plain = |maps: &[IndexMap]| maps.iter().map(IndexMap::plain).collect::<Option<Vec<usize>>>();
        if let (Some(lhs), Some(rhs)) = (plain(&a.lhs), plain(&a.rhs)) {
            if let Some(product) = ExportedProduct::of(&a.out, &lhs, &rhs) {
                return Ok(product.write(self, &names));
            }
            return self.einsum(scope, id, a, [(names[0].clone(), lhs), (names[1].clone(), rhs)]);
        }
        let sizes = [scope.sizes(operands[0])?, scope.sizes(operands[1])?];
        if let Some(convolution) = Convolution::of(a, &sizes) {
            return Ok(convolution.write(self, &names, &sizes, &scope.sizes(id)?));
        }
        let all = a.sizes.iter().zip(&b.sizes).map(|(&a, &b)| Size::of(&scope.what(id), a, b));
        let all = all.collect::<std::result::Result<Vec<Size>, OnnxError>>()?;
        let lhs = self.gathered(scope, id, &names[0], &a.lhs, &sizes[0], &all)?;
        let rhs = self.gathered(scope, id, &names[1], &a.rhs, &sizes[1], &all)?;
        self.einsum(scope, id, a, [lhs, rhs])
    }

    /// A sum of products of operands whose axes are axes of the contraction.
    fn einsum(
        &mut self,
        scope: &ExportScope,
        id: NodeId,
        of: &Contraction,
        operands: [(String, Vec<usize>); 2],
    ) -> Result<String> {
        let known = |axis: &usize| operands.iter().any(|(_, axes)| axes.contains(axis));
        let once = |axes: &[usize]| axes.iter().enumerate().all(|(n, axis)| !axes[..n].contains(axis));
        let fits = of.sizes.len() <= 26 && (0..of.sizes.len()).all(|axis| known(&axis));
        if !fits || !operands.iter().all(|(_, axes)| once(axes)) {
            let what = format!("{}: ONNX has no such op", scope.what(id));
            return Err(OnnxError::Export { what, found: format!("{of:?}") }.into());
        }
        let letters =
            |axes: &[usize]| axes.iter().map(|&axis| char::from(b'a' + axis as u8)).collect::<String>();
        let [lhs, rhs] = &operands;
        let equation = format!("{},{}->{}", letters(&lhs.1), letters(&rhs.1), letters(&of.out));
        Ok(self.node("Einsum", &[&lhs.0, &rhs.0], vec![AttributeProto::text("equation", &equation)]))
    }

    /// An operand with one axis for every axis that its maps read: elements are gathered, and those outside are
    /// zero.
    fn gathered(
        &mut self,
        scope: &ExportScope,
        id: NodeId,
        name: &str,
        maps: &[IndexMap],
        sizes: &[Size],
        all: &[Size],
    ) -> Result<(String, Vec<usize>)> {
        let (mut name, mut axes) = (name.to_string(), vec![]);
        for (n, (map, size)) in maps.iter().zip(sizes).enumerate() {
            if let Some(axis) = map.plain() {
                axes.push(axis);
                continue;
            }
            let at = axes.len();
            let counts: Option<Vec<usize>> = map.terms.iter().map(|&(axis, _)| all[axis].fixed()).collect();
            let (Some(counts), Some(size)) = (counts, size.fixed()) else {
                return Err(differ(&scope.what(id), "a window over the batch", "another").into());
            };
            let places = places(map, &counts, size);
            if places.contains(&(size as i64)) {
                // Zeros at the end, for positions that do not exist.
                let rank = at + maps.len() - n;
                let mut ends = vec![0; 2 * rank];
                ends[rank + at] = 1;
                let (ends, zero) = (self.list(&ends), self.number(scope.dtype(id), 0.0)?);
                name = self.node("Pad", &[&name, &ends, &zero], vec![]);
            }
            let index = self.ints(&counts, &places);
            name = self.node("Gather", &[&name, &index], vec![AttributeProto::int("axis", at as i64)]);
            axes.extend(map.terms.iter().map(|&(axis, _)| axis));
        }
        Ok((name, axes))
    }
}

/// The positions that a map reads, for all values of its axes; `size` for those outside.
fn places(map: &IndexMap, counts: &[usize], size: usize) -> Vec<i64> {
    let total: usize = counts.iter().product();
    let place = |mut number: usize| {
        let mut sum = map.offset;
        for (&(_, factor), &count) in map.terms.iter().zip(counts).rev() {
            sum += factor * (number % count) as i64;
            number /= count;
        }
        let at = sum.div_euclid(map.divisor);
        if sum.rem_euclid(map.divisor) == 0 && (0..size as i64).contains(&at) { at } else { size as i64 }
    };
    (0..total).map(place).collect()
}

/// A matrix product: the permutations of its operands and of the result.
struct ExportedProduct {
    lhs: Vec<usize>,
    rhs: Vec<usize>,
    out: Vec<usize>,
}

impl ExportedProduct {
    /// If there is one axis each of rows, columns and terms, and the others are the batch.
    fn of(out: &[usize], lhs: &[usize], rhs: &[usize]) -> Option<ExportedProduct> {
        let once = |axes: &[usize]| axes.iter().enumerate().all(|(n, axis)| !axes[..n].contains(axis));
        if ![out, lhs, rhs].into_iter().all(once) {
            return None;
        }
        let only = |of: &[usize], not: &[usize]| {
            of.iter().copied().filter(|axis| !not.contains(axis)).collect::<Vec<_>>()
        };
        let batch: Vec<usize> =
            out.iter().copied().filter(|axis| lhs.contains(axis) && rhs.contains(axis)).collect();
        let (rows, columns) = (only(lhs, rhs), only(rhs, lhs));
        let terms = only(lhs, &[&rows[..], &batch].concat());
        let whole =
            rows.iter().chain(&columns).all(|axis| out.contains(axis)) && out.len() == batch.len() + 2;
        let (&[row], &[column], &[term]) = (&rows[..], &columns[..], &terms[..]) else { return None };
        let turn = |from: &[usize], last: [usize; 2]| -> Vec<usize> {
            let to = batch.iter().copied().chain(last);
            to.filter_map(|axis| from.iter().position(|&other| other == axis)).collect()
        };
        let made: Vec<usize> = batch.iter().copied().chain([row, column]).collect();
        let result = out.iter().filter_map(|axis| made.iter().position(|other| other == axis)).collect();
        whole.then(|| ExportedProduct {
            lhs: turn(lhs, [row, term]),
            rhs: turn(rhs, [term, column]),
            out: result,
        })
    }

    fn write(&self, writer: &mut Writer, names: &[String; 2]) -> String {
        let (lhs, rhs) = (writer.permute(&names[0], &self.lhs), writer.permute(&names[1], &self.rhs));
        let product = writer.node("MatMul", &[&lhs, &rhs], vec![]);
        writer.permute(&product, &self.out)
    }
}

/// A convolution.
struct Convolution {
    grouped: bool,
    group: usize,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    pads: Vec<i64>,
}

impl Convolution {
    /// If the maps are those of a convolution: see [`Tensor::conv2d`](farad_tensor::Tensor::conv2d).
    fn of(of: &Contraction, sizes: &[Vec<Size>; 2]) -> Option<Convolution> {
        let spatial = of.lhs.iter().position(|map| map.plain().is_none())?;
        let plain = |maps: &[IndexMap]| maps.iter().map(IndexMap::plain).collect::<Option<Vec<usize>>>();
        let (lead, rhs) = (plain(&of.lhs[..spatial])?, plain(&of.rhs)?);
        let windows = &of.lhs[spatial..];
        let grouped = lead.len() == 3;
        let group = grouped.then(|| lead[1]);
        let (batch, inputs) = (lead[0], *lead.last()?);
        let outputs = *rhs.get(usize::from(grouped))?;
        let (mut strides, mut dilations, mut pads) = (vec![], vec![], vec![]);
        let (mut places, mut taps) = (vec![], vec![]);
        for (axis, map) in windows.iter().enumerate() {
            let &[(place, stride), (tap, dilation)] = &map.terms[..] else { return None };
            let size = sizes[0][spatial + axis].fixed()? as i64;
            let (made, reach) = (of.sizes[place] as i64, dilation * (of.sizes[tap] as i64 - 1) + 1);
            if map.divisor != 1 || stride < 1 || dilation < 1 || map.offset > 0 {
                return None;
            }
            let before = -map.offset;
            let gives = |after: i64| (size + before + after - reach).div_euclid(stride) + 1 == made;
            let least = ((made - 1) * stride + reach - size - before).max(0);
            let after = [before, least].into_iter().find(|&after| gives(after))?;
            strides.push(stride);
            dilations.push(dilation);
            pads.push((before, after));
            places.push(place);
            taps.push(tap);
        }
        let wanted_out: Vec<usize> =
            [Some(batch), group, Some(outputs)].into_iter().flatten().chain(places).collect();
        let wanted_rhs: Vec<usize> = group.into_iter().chain([outputs, inputs]).chain(taps).collect();
        let fits = (2..=3).contains(&lead.len()) && of.out == wanted_out && rhs == wanted_rhs;
        let group = group.map_or(1, |group| of.sizes[group]);
        let pads = pads.iter().map(|pad| pad.0).chain(pads.iter().map(|pad| pad.1)).collect();
        fits.then_some(Convolution { grouped, group, strides, dilations, pads })
    }

    fn write(
        &self,
        writer: &mut Writer,
        names: &[String; 2],
        sizes: &[Vec<Size>; 2],
        out: &[Size],
    ) -> String {
        let join = |sizes: &[Size], at: usize| -> Vec<Size> {
            let product = sizes[at].fixed().unwrap_or(1) * sizes[at + 1].fixed().unwrap_or(1);
            sizes[..at]
                .iter()
                .copied()
                .chain([Size::Fixed(product)])
                .chain(sizes[at + 2..].iter().copied())
                .collect()
        };
        let attributes = vec![
            AttributeProto::ints("strides", &self.strides),
            AttributeProto::ints("dilations", &self.dilations),
            AttributeProto::ints("pads", &self.pads),
            AttributeProto::int("group", self.group as i64),
        ];
        if !self.grouped {
            return writer.node("Conv", &[&names[0], &names[1]], attributes);
        }
        let x = writer.reshape(&names[0], &join(&sizes[0], 1));
        let weight = writer.reshape(&names[1], &join(&sizes[1], 0));
        let made = writer.node("Conv", &[&x, &weight], attributes);
        writer.reshape(&made, out)
    }
}
