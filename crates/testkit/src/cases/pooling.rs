//! Pooling: adjacent, overlapping, padded, beyond the end, to a given size.

use farad::{PoolOptions, Tensor};

use super::SIGNED;
use crate::case::{Case, apart, float, half};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = adaptive();
    let (one, two) = (PoolOptions::<1>::new, |kernel| PoolOptions::<2>::new(kernel));
    let lines: [(&str, &[usize], PoolOptions<1>); 4] = [
        ("", &[2, 3, 8], one(2)),
        ("a rest", &[2, 3, 11], one(3)),
        ("overlapping", &[3, 12], one(3).stride(1).padding(1)),
        ("beyond the end", &[2, 2, 9], one(4).stride(3).padding(1).ceil()),
    ];
    for (detail, shape, options) in lines {
        let max = move |x: &crate::case::Given| x[0].max_pool1d(options);
        cases.push(Case::new("max_pool1d", detail, vec![apart(shape, SIGNED)], 1e-6, max));
        let mean = move |x: &crate::case::Given| x[0].avg_pool1d(options);
        cases.push(Case::new("avg_pool1d", detail, vec![float(shape, SIGNED)], 2e-6, mean));
    }
    let images: [(&str, &[usize], PoolOptions<2>); 9] = [
        ("", &[2, 3, 8, 6], two(2)),
        ("a rest", &[2, 3, 7, 5], two(2)),
        ("overlapping", &[2, 3, 8, 8], two(3).stride(2).padding(1)),
        ("overlapping, a rest", &[2, 3, 9, 7], two(3).stride(2)),
        ("every place", &[1, 2, 6, 7], two(3).stride(1).padding(1)),
        ("not square", &[2, 2, 8, 9], PoolOptions::new([1, 3]).stride([2, 3])),
        ("beyond the end", &[2, 2, 7, 8], two(3).stride(2).ceil()),
        ("beyond the end of padding", &[1, 2, 6, 7], two(3).stride(2).padding(1).ceil()),
        ("large windows", &[2, 3, 10, 14], PoolOptions::new([5, 7])),
    ];
    for (detail, shape, options) in images {
        let max = move |x: &crate::case::Given| x[0].max_pool2d(options);
        cases.push(Case::new("max_pool2d", detail, vec![apart(shape, SIGNED)], 1e-6, max));
        let mean = move |x: &crate::case::Given| x[0].avg_pool2d(options);
        cases.push(Case::new("avg_pool2d", detail, vec![float(shape, SIGNED)], 2e-6, mean));
        let inside = move |x: &crate::case::Given| x[0].avg_pool2d(options.without_padding_counted());
        let detail = format!("{detail}, padding not counted");
        cases.push(Case::new("avg_pool2d", detail, vec![float(shape, SIGNED)], 2e-6, inside));
    }
    cases.extend([
        Case::new("max_pool2d", "dilation", vec![apart([2, 2, 9, 8], SIGNED)], 1e-6, |x| {
            x[0].max_pool2d(PoolOptions::new(3).stride([1, 2]).padding(1).dilation(2))
        }),
        Case::new("max_pool2d", "", vec![half([2, 2, 6, 8], SIGNED)], 1e-6, |x| {
            x[0].max_pool2d(PoolOptions::new(3).stride(2).padding(1))
        })
        .without_gradient(),
        Case::new("avg_pool2d", "", vec![half([2, 2, 6, 8], SIGNED)], 1e-3, |x| {
            x[0].avg_pool2d(PoolOptions::new(2))
        }),
    ]);
    cases
}

fn adaptive() -> Vec<Case> {
    let line = |shape: &[usize]| apart(shape, SIGNED);
    type Method = fn(&Tensor, [usize; 2]) -> Tensor;
    let mut cases = vec![
        Case::new("adaptive_avg_pool1d", "", vec![line(&[2, 3, 7])], 2e-6, |x| x[0].adaptive_avg_pool1d(3)),
        Case::new("adaptive_max_pool1d", "", vec![line(&[2, 3, 7])], 1e-6, |x| x[0].adaptive_max_pool1d(3)),
    ];
    let images: [(&'static str, Method); 2] = [
        ("adaptive_avg_pool2d", |x, outputs| x.adaptive_avg_pool2d(outputs)),
        ("adaptive_max_pool2d", |x, outputs| x.adaptive_max_pool2d(outputs)),
    ];
    for (op, method) in images {
        for (detail, outputs) in [("all", [1, 1]), ("halves", [4, 5]), ("uneven", [3, 4]), ("more", [9, 11])]
        {
            let inputs = vec![line(&[2, 3, 8, 10])];
            cases.push(Case::new(op, detail, inputs, 2e-6, move |x| method(&x[0], outputs)));
        }
    }
    cases
}
