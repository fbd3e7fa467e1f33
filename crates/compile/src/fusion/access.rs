//! Which element of a node a kernel position needs: one affine form per node axis, and guards.
//!
//! A kernel iterates over *axes*. On the way from its root to its loads, every movement op turns the access of
//! its output into the access of its input. A reshape may need a kernel axis to be split in two
//! ([`Obstacle::Split`]). If that does not help, the node is materialized ([`Obstacle::Blocked`]).

use farad_ir::{IndexMap, Op, Shape};

use crate::program::{Guard, View};

/// `offset + Σ coefficients[axis] · i[axis]`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Affine {
    pub coefficients: Vec<i64>,
    pub offset: i64,
}

/// One affine form per node axis, and the conditions under which the element exists.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    pub coordinates: Vec<Affine>,
    pub guards: Vec<Guard>,
}

/// Why a movement op cannot be folded into index arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// It can be, once this kernel axis is split so that its inner part has this size.
    Split { axis: usize, inner: usize },
    /// It cannot be folded.
    Blocked,
}

impl Affine {
    pub fn zero(axes: usize) -> Affine {
        Affine { coefficients: vec![0; axes], offset: 0 }
    }

    pub fn axis(axes: usize, axis: usize) -> Affine {
        let mut form = Affine::zero(axes);
        form.coefficients[axis] = 1;
        form
    }

    /// `self · factor + offset`
    fn scaled(&self, factor: i64, offset: i64) -> Affine {
        Affine {
            coefficients: self.coefficients.iter().map(|c| c * factor).collect(),
            offset: self.offset * factor + offset,
        }
    }

    /// Whether the value stays in `0..size` for all positions of the axes.
    fn stays_below(&self, size: usize, axes: &[usize]) -> bool {
        let (mut least, mut most) = (self.offset, self.offset);
        for (&c, &n) in self.coefficients.iter().zip(axes) {
            let reach = c * (n as i64 - 1);
            if reach < 0 { least += reach } else { most += reach }
        }
        axes.contains(&0) || (least >= 0 && most < size as i64)
    }

    fn plus(mut self, other: &Affine) -> Affine {
        self.coefficients.iter_mut().zip(&other.coefficients).for_each(|(a, b)| *a += b);
        self.offset += other.offset;
        self
    }
}

/// `Σ strides · coordinates` as one form.
fn linear(coordinates: &[Affine], strides: &[usize], axes: usize) -> Affine {
    coordinates
        .iter()
        .zip(strides)
        .fold(Affine::zero(axes), |sum, (form, &stride)| sum.plus(&form.scaled(stride as i64, 0)))
}

impl Access {
    /// Every node axis becomes a kernel axis of its own, except axes of size 1, whose coordinate is always 0.
    /// Also returns the sizes of the kernel axes.
    pub fn identity(shape: &Shape) -> (Vec<usize>, Access) {
        let sizes: Vec<usize> = shape.iter().copied().filter(|&size| size != 1).collect();
        let mut next = 0;
        let coordinates = shape
            .iter()
            .map(|&size| {
                if size == 1 {
                    return Affine::zero(sizes.len());
                }
                next += 1;
                Affine::axis(sizes.len(), next - 1)
            })
            .collect();
        (sizes, Access { coordinates, guards: vec![] })
    }

    /// The access to the operand of a movement op, from the access to its result.
    pub fn through(&self, op: &Op, from: &Shape, to: &Shape, axes: &[usize]) -> Result<Access, Obstacle> {
        let mut guards = self.guards.clone();
        let out = &self.coordinates;
        let coordinates = match op {
            Op::Permute(order) => {
                let mut coordinates = out.clone();
                order.iter().enumerate().for_each(|(i, &axis)| coordinates[axis] = out[i].clone());
                coordinates
            }
            Op::Expand(_) => (0..from.rank())
                .map(|a| if from[a] == 1 { Affine::zero(axes.len()) } else { out[a].clone() })
                .collect(),
            Op::Slice(spans) => {
                out.iter().zip(spans).map(|(form, s)| form.scaled(s.step as i64, s.start as i64)).collect()
            }
            Op::Flip(flipped) => (0..from.rank())
                .map(|a| {
                    if flipped.contains(&a) { out[a].scaled(-1, from[a] as i64 - 1) } else { out[a].clone() }
                })
                .collect(),
            Op::Pad(widths) => {
                let coordinates: Vec<Affine> =
                    out.iter().zip(widths).map(|(form, w)| form.scaled(1, -(w.0 as i64))).collect();
                for (axis, form) in coordinates.iter().enumerate().filter(|(a, _)| widths[*a] != (0, 0)) {
                    guards.push(Guard {
                        coefficients: form.coefficients.clone(),
                        offset: form.offset,
                        divisor: 1,
                        size: from[axis] as i64,
                        stride: 0,
                    });
                }
                coordinates
            }
            Op::Reshape(_) => reshape(out, from, to, axes)?,
            _ => unreachable!("{} is no movement", op.name()),
        };
        Ok(Access { coordinates, guards })
    }

    /// The access to an operand of a contraction, given the affine form of each of the contraction's axes.
    /// `None` if a map divides, because such a position is not affine.
    pub fn mapped(maps: &[IndexMap], place: &[Affine], shape: &Shape, axes: &[usize]) -> Option<Access> {
        let mut access = Access { coordinates: Vec::with_capacity(maps.len()), guards: vec![] };
        for (dim, map) in maps.iter().enumerate() {
            let form = mapped_form(map, place, axes.len());
            if map.divisor != 1 {
                return None;
            }
            access.guards.extend(guard(map, &form, shape[dim], 0, axes));
            access.coordinates.push(form);
        }
        Some(access)
    }

    /// Where the element lies in row-major memory of the node's shape.
    pub fn view(&self, shape: &Shape, axes: usize) -> View {
        let form = linear(&self.coordinates, &shape.strides(), axes);
        View { offset: form.offset, strides: form.coefficients, guards: self.guards.clone() }
    }
}

/// The affine form of a map, before its division.
fn mapped_form(map: &IndexMap, place: &[Affine], axes: usize) -> Affine {
    let start = Affine { offset: map.offset, ..Affine::zero(axes) };
    map.terms.iter().fold(start, |sum, &(axis, factor)| sum.plus(&place[axis].scaled(factor, 0)))
}

/// The guard of a map's position, if the position can lie outside of the operand.
fn guard(map: &IndexMap, form: &Affine, size: usize, stride: i64, axes: &[usize]) -> Option<Guard> {
    if map.divisor == 1 && form.stays_below(size, axes) {
        return None;
    }
    let Affine { coefficients, offset } = form.clone();
    Some(Guard { coefficients, offset, divisor: map.divisor, size: size as i64, stride })
}

/// The view of an operand in memory that a contraction reads, given the affine form of each of the
/// contraction's axes.
pub fn mapped_view(maps: &[IndexMap], place: &[Affine], shape: &Shape, axes: &[usize]) -> View {
    let mut view = View { offset: 0, strides: vec![0; axes.len()], guards: vec![] };
    for (dim, map) in maps.iter().enumerate() {
        let stride = shape.strides()[dim] as i64;
        let form = mapped_form(map, place, axes.len());
        let divides = map.divisor != 1;
        view.guards.extend(guard(map, &form, shape[dim], if divides { stride } else { 0 }, axes));
        if !divides {
            view.offset += stride * form.offset;
            view.strides.iter_mut().zip(&form.coefficients).for_each(|(s, c)| *s += stride * c);
        }
    }
    view
}

/// Coordinates in `from` of the element at `out` in `to`. Works group by group: a group is a run of axes with
/// the same number of elements on both sides.
pub fn reshape(
    out: &[Affine],
    from: &[usize],
    to: &[usize],
    axes: &[usize],
) -> Result<Vec<Affine>, Obstacle> {
    let mut coordinates = vec![Affine::zero(axes.len()); from.len()];
    if from.contains(&0) {
        return Ok(coordinates);
    }
    let (mut f, mut t) = (0, 0);
    while f < from.len() && t < to.len() {
        let (f0, t0) = (f, t);
        let (mut a, mut b) = (from[f], to[t]);
        (f, t) = (f + 1, t + 1);
        while a != b {
            if a < b {
                a *= from[f];
                f += 1;
            } else {
                b *= to[t];
                t += 1;
            }
        }
        let strides = Shape::new(&to[t0..t]).strides();
        let position = linear(&out[t0..t], &strides, axes.len());
        delinearise(position, &from[f0..f], &mut coordinates[f0..f], axes)?;
    }
    Ok(coordinates)
}

/// Splits a linear position into coordinates of `sizes`, if no coordinate can overflow into the next.
fn delinearise(
    position: Affine,
    sizes: &[usize],
    out: &mut [Affine],
    axes: &[usize],
) -> Result<(), Obstacle> {
    let real: Vec<usize> = (0..sizes.len()).filter(|&a| sizes[a] != 1).collect();
    if real.len() <= 1 {
        if let Some(&axis) = real.first() {
            out[axis] = position;
        }
        return Ok(());
    }
    if position.offset < 0 || position.coefficients.iter().any(|c| *c < 0) {
        return Err(Obstacle::Blocked);
    }
    let mut inner = 1i64;
    for (i, &axis) in real.iter().enumerate().rev() {
        let span = if i == 0 { i64::MAX } else { inner * sizes[axis] as i64 };
        let mut form = Affine::zero(axes.len());
        form.offset = if i == 0 { position.offset / inner } else { position.offset % span / inner };
        let mut most = form.offset;
        for (k, &c) in position.coefficients.iter().enumerate().filter(|(_, c)| **c != 0) {
            if c >= span && c % span == 0 || c < inner {
                continue;
            }
            if c >= span || c % inner != 0 {
                return Err(Obstacle::Blocked);
            }
            let reach = c.saturating_mul(axes[k] as i64);
            if reach > span {
                let part = span / c;
                let splits = span % c == 0 && axes[k] as i64 % part == 0;
                return Err(if splits {
                    Obstacle::Split { axis: k, inner: part as usize }
                } else {
                    Obstacle::Blocked
                });
            }
            form.coefficients[k] = c / inner;
            most += c / inner * (axes[k] as i64 - 1);
        }
        if i > 0 && most >= sizes[axis] as i64 {
            return Err(Obstacle::Blocked);
        }
        out[axis] = form;
        inner *= sizes[axis] as i64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sizes: &[usize]) -> Shape {
        Shape::new(sizes)
    }

    #[test]
    fn a_merging_reshape_is_affine() {
        let (axes, access) = Access::identity(&shape(&[2, 3, 4]));
        let got = access
            .through(&Op::Reshape(shape(&[2, 3, 4])), &shape(&[6, 4]), &shape(&[2, 3, 4]), &axes)
            .unwrap();
        assert_eq!(got.coordinates[0].coefficients, [3, 1, 0]);
        assert_eq!(got.coordinates[1].coefficients, [0, 0, 1]);
    }

    #[test]
    fn a_splitting_reshape_asks_for_a_split() {
        let (axes, access) = Access::identity(&shape(&[6, 4]));
        let op = Op::Reshape(shape(&[6, 4]));
        let got = access.through(&op, &shape(&[2, 3, 4]), &shape(&[6, 4]), &axes);
        assert_eq!(got, Err(Obstacle::Split { axis: 0, inner: 3 }));
    }

    #[test]
    fn a_crossing_reshape_is_blocked() {
        let (axes, access) = Access::identity(&shape(&[4, 6]));
        let op = Op::Reshape(shape(&[4, 6]));
        assert_eq!(access.through(&op, &shape(&[3, 8]), &shape(&[4, 6]), &axes), Err(Obstacle::Blocked));
    }

    #[test]
    fn pads_guard_and_flips_reverse() {
        let (axes, access) = Access::identity(&shape(&[5]));
        let padded = access.through(&Op::Pad(vec![(1, 1)]), &shape(&[3]), &shape(&[5]), &axes).unwrap();
        assert_eq!((padded.guards[0].offset, padded.guards[0].size), (-1, 3));
        let flipped = access.through(&Op::Flip(vec![0]), &shape(&[5]), &shape(&[5]), &axes).unwrap();
        assert_eq!(flipped.view(&shape(&[5]), 1), View { offset: 4, strides: vec![-1], guards: vec![] });
    }
}
