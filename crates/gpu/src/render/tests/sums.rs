//! Small sums of many matrices in one kernel.

use farad_compile::program::{Segment, Sums};

use super::*;

/// Sums of matrices `[parts, results]` that are adjacent in memory, with their results in the opposite order.
fn sums(sizes: &[[usize; 2]]) -> (Case, Kernel) {
    let mut case = Case::default();
    let all: usize = sizes.iter().map(|[parts, results]| parts * results).sum();
    let mut left: usize = sizes.iter().map(|[_, results]| results).sum();
    let (source, target) = (case.input(DType::F32, all), case.output(DType::F32, left));
    let mut from = 0;
    let segment = |&[parts, results]: &[usize; 2]| {
        left -= results;
        from += parts * results;
        Segment { from: from - parts * results, to: left, parts, results }
    };
    let segments = sizes.iter().map(segment).collect();
    (case, Kernel::Sums(Sums { source, target, segments }))
}

#[test]
fn every_matrix_is_added_up() {
    let (case, kernel) = sums(&[[32, 128], [32, 128], [7, 33], [1, 5], [300, 1], [64, 384]]);
    assert_eq!(case.check(&kernel, 2e-6), [0, 0]);
    let (case, kernel) = sums(&[[9, 40]; 48]);
    assert_eq!(case.check(&kernel, 2e-6), [0, 0]);
}
