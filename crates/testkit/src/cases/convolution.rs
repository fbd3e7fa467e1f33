//! Convolutions and transposed ones with stride, padding, dilation and groups.

use farad::{ConvOptions, Tensor};

use super::{HALF, SIGNED};
use crate::case::{Case, Given, float, half};

type ConvolutionMethod<const N: usize> = fn(&Tensor, &Tensor, ConvOptions<N>) -> Tensor;

fn case<const N: usize>(
    op: &'static str,
    method: ConvolutionMethod<N>,
    detail: &str,
    (input, weight): (&[usize], &[usize]),
    options: ConvOptions<N>,
) -> Case {
    let inputs = vec![float(input, SIGNED), float(weight, SIGNED)];
    let terms: usize = weight[1..].iter().product();
    let convolve = move |x: &Given| method(&x[0], &x[1], options);
    Case::new(op, detail, inputs, 2e-6, convolve).of_size((terms as f64).sqrt())
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = images();
    let one = ConvOptions::<1>::new;
    let line = |detail: &str, shapes: (&[usize], &[usize]), options| {
        case("conv1d", Tensor::conv1d, detail, shapes, options)
    };
    cases.extend([
        line("", (&[2, 3, 11], &[4, 3, 3]), one()),
        line("without a batch", (&[3, 11], &[4, 3, 3]), one().padding(1)),
        line("everything", (&[2, 4, 17], &[6, 2, 3]), one().stride(2).padding(3).dilation(2).groups(2)),
    ]);
    let three = ConvOptions::<3>::new;
    let volume = |detail: &str, shapes: (&[usize], &[usize]), options| {
        case("conv3d", Tensor::conv3d, detail, shapes, options)
    };
    cases.extend([
        volume("", (&[2, 2, 4, 5, 3], &[3, 2, 2, 3, 2]), three().padding([0, 1, 1])),
        volume("groups", (&[1, 4, 5, 4, 4], &[4, 2, 3, 2, 2]), three().stride([2, 1, 1]).groups(2)),
    ]);
    cases.extend(transposed());
    cases
}

fn images() -> Vec<Case> {
    let two = ConvOptions::<2>::new;
    let image = |detail: &str, shapes: (&[usize], &[usize]), options| {
        case("conv2d", Tensor::conv2d, detail, shapes, options)
    };
    let mixed = two().stride([2, 1]).padding([1, 2]).dilation([1, 2]);
    let inputs = vec![half([2, 3, 6, 7], SIGNED), half([5, 3, 3, 3], SIGNED)];
    vec![
        image("", (&[2, 3, 7, 6], &[5, 3, 3, 3]), two()),
        image("same size", (&[2, 3, 8, 9], &[16, 3, 3, 3]), two().padding(1)),
        image("kernel of one", (&[2, 5, 4, 3], &[7, 5, 1, 1]), two()),
        image("kernel of one, stride", (&[2, 5, 5, 4], &[7, 5, 1, 1]), two().stride(2)),
        image("not square", (&[1, 2, 9, 8], &[3, 2, 3, 2]), mixed),
        image("groups", (&[2, 6, 5, 5], &[4, 3, 3, 3]), two().padding(1).groups(2)),
        image("depthwise", (&[2, 5, 7, 7], &[5, 1, 3, 3]), two().stride(2).padding(1).groups(5)),
        image("stride beyond the kernel", (&[1, 2, 9, 10], &[3, 2, 2, 2]), two().stride(3)),
        image("kernel as large as the image", (&[3, 2, 4, 5], &[4, 2, 4, 5]), two()),
        image("wider", (&[2, 8, 17, 17], &[17, 8, 3, 3]), two().padding(1)),
        Case::new("conv2d", "", inputs, 2.0 * HALF, |x| x[0].conv2d(&x[1], ConvOptions::new().padding(1))),
    ]
}

fn transposed() -> Vec<Case> {
    let (one, two) = (ConvOptions::<1>::new, ConvOptions::<2>::new);
    let line = |detail: &str, shapes: (&[usize], &[usize]), options| {
        case("conv_transpose1d", Tensor::conv_transpose1d, detail, shapes, options)
    };
    let image = |detail: &str, shapes: (&[usize], &[usize]), options| {
        case("conv_transpose2d", Tensor::conv_transpose2d, detail, shapes, options)
    };
    vec![
        line("", (&[2, 3, 7], &[3, 4, 3]), one()),
        line("everything", (&[2, 4, 7], &[4, 3, 3]), one().stride(3).padding(1).output_padding(2).groups(2)),
        image("", (&[2, 3, 4, 5], &[3, 4, 3, 3]), two()),
        image("stride", (&[2, 3, 4, 5], &[3, 2, 4, 4]), two().stride(2).padding(1)),
        image("dilation", (&[1, 2, 4, 3], &[2, 3, 2, 3]), two().dilation([2, 1]).output_padding([1, 0])),
        image("groups", (&[1, 4, 3, 3], &[4, 2, 3, 3]), two().stride(2).groups(2)),
    ]
}
