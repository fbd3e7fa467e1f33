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
    cases.extend(large());
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

/// Those with enough work that GPUs compute them otherwise. Tiles of six double the error of sums; tiles of eight are four
/// times worse.
fn large() -> Vec<Case> {
    let two = ConvOptions::<2>::new;
    let image = |detail: &str, shapes: (&[usize], &[usize]), options| {
        case("conv2d", Tensor::conv2d, detail, shapes, options)
    };
    vec![
        image("tiles of six", (&[2, 8, 22, 21], &[32, 8, 3, 3]), two().padding(1)).looser(4.0),
        image("tiles of eight", (&[1, 8, 20, 19], &[16, 8, 5, 5]), two().padding(2)).looser(8.0),
        image("tiles, stride", (&[2, 6, 31, 30], &[24, 6, 5, 5]), two().stride(2).padding(2)).looser(4.0),
        image("kernel of one, stride, many channels", (&[2, 48, 32, 31], &[48, 48, 1, 1]), two().stride(2)),
        image("many groups", (&[4, 48, 26, 27], &[48, 1, 3, 3]), two().padding(1).groups(48)),
        image(
            "many groups, stride",
            (&[8, 64, 33, 32], &[64, 1, 3, 3]),
            two().stride(2).padding(1).groups(64),
        ),
        image("groups of two and three", (&[2, 24, 30, 31], &[36, 2, 4, 4]), two().padding(2).groups(12)),
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
        image("many channels", (&[2, 16, 12, 13], &[16, 24, 4, 4]), two().stride(2).padding(1)),
    ]
}
