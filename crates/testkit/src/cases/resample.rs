//! Images of another size.

use super::SIGNED;
use crate::case::{Case, float, half};
use farad::Corners;

pub(super) fn cases() -> Vec<Case> {
    let image = || vec![float([2, 3, 4, 5], SIGNED)];
    let mut cases = Vec::new();
    for (detail, size) in [("twice", [8, 10]), ("one axis", [4, 15]), ("uneven", [7, 9]), ("smaller", [3, 2])]
    {
        cases.push(Case::new("resize_nearest", detail, image(), 2e-6, move |x| x[0].resize_nearest(size)));
        for align in [false, true] {
            let detail = format!("{detail}{}", if align { ", corners aligned" } else { "" });
            let resize = move |x: &crate::case::Given| {
                x[0].resize_bilinear(size, if align { Corners::Centers } else { Corners::Edges })
            };
            cases.push(Case::new("resize_bilinear", detail, image(), 2e-6, resize));
        }
    }
    cases.extend([
        Case::new("resize_bilinear", "", vec![half([1, 2, 3, 4], SIGNED)], 2e-3, |x| {
            x[0].resize_bilinear([5, 9], Corners::Edges)
        }),
        Case::new("resize_bilinear", "to one pixel", image(), 2e-6, |x| {
            x[0].resize_bilinear([1, 1], Corners::Centers)
        }),
        Case::new("pixel_shuffle", "", vec![float([2, 12, 3, 4], SIGNED)], 1e-6, |x| x[0].pixel_shuffle(2)),
        Case::new("pixel_shuffle", "without a batch", vec![float([9, 2, 3], SIGNED)], 1e-6, |x| {
            x[0].pixel_shuffle(3)
        }),
    ]);
    cases
}
