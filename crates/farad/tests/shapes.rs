//! Sizes that are left open, and axes that stay.

use farad::prelude::*;
use farad::{Axes, Sizes};

mod panics;
use panics::panic_of;

fn message(work: impl FnOnce()) -> String {
    panic_of(work).expect("it is refused").0
}

fn shape(x: &Tensor, sizes: impl Into<Sizes>) -> Vec<usize> {
    x.reshape(sizes).shape().to_vec()
}

#[test]
fn one_size_follows_from_the_others() {
    let x = Tensor::arange(24, &Device::cpu());
    assert_eq!(shape(&x, [-1, 6]), [4, 6]);
    assert_eq!(shape(&x, [2i64, -1, 3]), [2, 4, 3]);
    assert_eq!(shape(&x, [FREE]), [24]);
    assert_eq!(shape(&x, vec![3, FREE, 1]), [3, 8, 1]);
    assert_eq!(shape(&x, [24, -1]), [24, 1]);
    assert_eq!(shape(&x.narrow(0, 0, 0), [-1, 5]), [0, 5]);
    assert_eq!(shape(&x.narrow(0, 0, 1), ()), [0usize; 0]);
    assert_eq!(shape(&x, 24), [24]);
}

#[test]
fn what_does_not_divide_is_refused() {
    let x = Tensor::arange(24, &Device::cpu());
    let text = message(|| drop(x.reshape([-1, 7])));
    assert_eq!(text, "reshape: the other sizes do not divide the elements: [24], axis 0 is free (24 vs 7)");
    let text = message(|| drop(x.reshape([-1, -1])));
    assert_eq!(text, "reshape: only one axis can be free: axes 0 and 1 are (2 vs 1)");
    assert!(
        message(|| drop(x.reshape([-2, 12])))
            .starts_with("reshape: a size is negative: (-2 vs at least 0)\nhelp: ")
    );
    assert!(message(|| drop(x.reshape([0, -1]))).ends_with("(24 vs 0)"));
}

#[test]
fn axes_stay_if_kept() {
    fn sizes(x: &Tensor, axes: impl Axes) -> [Vec<usize>; 3] {
        [x.sum_axes(&axes), x.variance(&axes, 0), x.logsumexp(&axes)].map(|y| y.shape().to_vec())
    }
    let x = Tensor::ones([2, 3, 4], &Device::cpu());
    assert_eq!(sizes(&x, [1]), [vec![2, 4], vec![2, 4], vec![2, 4]]);
    assert_eq!(sizes(&x, kept([0, -1])), [vec![1, 3, 1], vec![1, 3, 1], vec![1, 3, 1]]);
    assert_eq!(sizes(&x, vec![0, 1, 2]), [vec![0usize; 0], vec![], vec![]]);
}
