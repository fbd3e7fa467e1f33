//! Shapes of recipes, and the movements between them.

use farad::{Part, Tensor};
use farad_ir::Shape;

use crate::sample::NumberStream;

/// Sizes that are awkward for kernels: one, primes, one off a power of two.
const SIZES: [usize; 16] = [1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 13, 17, 31, 33, 64, 65];

/// A shape of at most `most` elements; sometimes an empty one.
pub(super) fn shape(sample: &mut NumberStream, most: usize) -> Shape {
    let rank = sample.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4]);
    let mut sizes: Vec<usize> = Vec::new();
    for _ in 0..rank {
        let room = most / sizes.iter().filter(|&&size| size > 0).product::<usize>();
        let size = if sample.once_in(60) { 0 } else { sample.pick(&SIZES) };
        sizes.push(if size <= room { size } else { 1 });
    }
    Shape::new(&sizes)
}

/// A shape that broadcasts with another: some axes 1, some leading ones removed.
pub(super) fn broadcastable(sample: &mut NumberStream, shape: &Shape) -> Shape {
    let skipped = if shape.rank() > 0 && sample.once_in(4) { sample.below(shape.rank() + 1) } else { 0 };
    let sizes: Vec<usize> =
        shape[skipped..].iter().map(|&size| if sample.once_in(3) { 1 } else { size }).collect();
    Shape::new(&sizes)
}

/// How a movement op is built.
pub(super) type Build = Box<dyn Fn(&[&Tensor]) -> Tensor + Send + Sync>;

/// A movement op for a tensor of this shape, with its name and result shape.
pub(super) fn movement(
    sample: &mut NumberStream,
    shape: &Shape,
    most: usize,
) -> Option<(String, Build, Shape)> {
    let rank = shape.rank();
    let axis = if rank > 0 { sample.below(rank) } else { 0 };
    match sample.below(8) {
        0 => reshaped(sample, shape),
        1 if rank > 1 => permuted(sample, shape),
        2 if rank < 5 && shape.numel() * 3 <= most => expanded(sample, shape),
        3 if rank > 0 => padded(sample, shape, most),
        4 if rank > 0 => sliced(sample, shape),
        5 if rank > 0 => {
            Some((format!("flip {axis}"), Box::new(move |x| x[0].flip(&[axis as isize])), *shape))
        }
        6 if rank > 0 && rank < 6 => {
            let mut sizes = shape.to_vec();
            sizes.insert(axis, 1);
            Some((
                format!("unsqueeze {axis}"),
                Box::new(move |x| x[0].unsqueeze(axis as isize)),
                Shape::new(&sizes),
            ))
        }
        7 if rank > 0 && shape[axis] > 0 => {
            let at = sample.below(shape[axis]);
            let build: Build = Box::new(move |x| x[0].narrow(axis as isize, at, 1).squeeze(axis as isize));
            Some((format!("position {at} of axis {axis}"), build, shape.without(&[axis])))
        }
        _ => None,
    }
}

fn reshaped(sample: &mut NumberStream, shape: &Shape) -> Option<(String, Build, Shape)> {
    let mut left = shape.numel();
    let mut sizes = Vec::new();
    if left == 0 {
        sizes = vec![0, 1 + sample.below(3)];
    }
    while left > 1 && sizes.len() < 4 {
        let divisors: Vec<usize> = (2..=left).filter(|d| left.is_multiple_of(*d)).collect();
        let size = if sizes.len() == 3 { left } else { sample.pick(&divisors) };
        sizes.push(size);
        left /= size;
    }
    if sample.once_in(3) {
        sizes.insert(sample.below(sizes.len() + 1), 1);
    }
    let to = Shape::new(&sizes);
    Some((format!("reshape {to}"), Box::new(move |x| x[0].reshape(to)), to))
}

fn permuted(sample: &mut NumberStream, shape: &Shape) -> Option<(String, Build, Shape)> {
    let mut order: Vec<isize> = (0..shape.rank() as isize).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, sample.below(i + 1));
    }
    let to = Shape::new(&order.iter().map(|&a| shape[a as usize]).collect::<Vec<_>>());
    Some((format!("permute {order:?}"), Box::new(move |x| x[0].permute(&order)), to))
}

fn expanded(sample: &mut NumberStream, shape: &Shape) -> Option<(String, Build, Shape)> {
    let (axis, times) = (sample.below(shape.rank() + 1), 1 + sample.below(3));
    let mut sizes = shape.to_vec();
    sizes.insert(axis, times);
    let to = Shape::new(&sizes);
    Some((format!("repeat {to}"), Box::new(move |x| x[0].unsqueeze(axis as isize).expand(to)), to))
}

fn padded(sample: &mut NumberStream, shape: &Shape, most: usize) -> Option<(String, Build, Shape)> {
    let widths: Vec<(usize, usize)> =
        shape.iter().map(|_| (sample.pick(&[0, 0, 1, 2]), sample.pick(&[0, 0, 1, 3]))).collect();
    let sizes: Vec<usize> = shape.iter().zip(&widths).map(|(size, w)| size + w.0 + w.1).collect();
    let to = Shape::new(&sizes);
    if to.numel() > most {
        return None;
    }
    Some((format!("pad {widths:?}"), Box::new(move |x| x[0].pad(&widths)), to))
}

fn sliced(sample: &mut NumberStream, shape: &Shape) -> Option<(String, Build, Shape)> {
    let axis = sample.below(shape.rank());
    let size = shape[axis];
    let start = sample.below(size + 1);
    let (len, step) = (sample.below(size - start + 1), sample.pick(&[1, 1, 2, 3]));
    let part = Part::Step(start, Some(start + len), step);
    let to = shape.with(axis, len.div_ceil(step));
    let build: Build = Box::new(move |x| {
        // The axis is moved to the front, where a single range selects it.
        let (a, taken) = (axis as isize, x[0].transpose(0, axis as isize).slice(part));
        taken.transpose(0, a)
    });
    Some((format!("slice axis {axis} from {start}, {len} by {step}"), build, to))
}
