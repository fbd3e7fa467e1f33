//! Convolutions that are rewritten so that they need fewer multiplications, or no product.

use super::check;
use crate::program::Target;

fn small() -> Target {
    Target { parallel: 64, convolutions: 1, ..Target::cpu() }
}

#[test]
fn tiles_are_transformed_and_multiplied() {
    check(
        "winograd",
        &small(),
        "
            x = input(0) : f32[2, 8, 6, 6]
            w = input(1) : f32[16, 8, 3, 3]
            y = contract(a=2 b=16 c=6 d=6 e=8 f=3 g=3; a e c+f-1 d+g-1; b e f g -> a b c d) x w
            return y",
        "
            n0 = input(0) : f32[2, 8, 6, 6]
            n1 = input(1) : f32[16, 8, 3, 3]
            n2 = custom(winograd_image) n0 : f32[36, 8, 8]
            n3 = pick(0) n2 : f32[36, 8, 8]
            n4 = custom(winograd_window) n1 : f32[36, 8, 16]
            n5 = pick(0) n4 : f32[36, 8, 16]
            n6 = contract(a=36 b=16 c=8 d=8; a d b; a d c -> a b c) n5 n3 : f32[36, 16, 8]
            n7 = custom(winograd_result) n6 : f32[2, 16, 6, 6]
            n8 = pick(0) n7 : f32[2, 16, 6, 6]
            return n8",
    );
}

#[test]
fn gradients_of_windows_are_sums_over_tiles() {
    check(
        "winograd",
        &small(),
        "
            g = input(0) : f32[2, 16, 6, 6]
            x = input(1) : f32[2, 8, 6, 6]
            y = contract(a=2 b=16 c=6 d=6 e=8 f=3 g=3; a b c d; a e c+f-1 d+g-1 -> b e f g) g x
            return y",
        "
            n0 = input(0) : f32[2, 16, 6, 6]
            n1 = input(1) : f32[2, 8, 6, 6]
            n2 = custom(winograd_image) n1 : f32[36, 8, 32]
            n3 = pick(0) n2 : f32[36, 8, 32]
            n4 = custom(winograd_upstream) n0 : f32[36, 16, 32]
            n5 = pick(0) n4 : f32[36, 16, 32]
            n6 = contract(a=36 b=16 c=8 d=32; a b d; a c d -> a b c) n5 n3 : f32[36, 16, 8]
            n7 = custom(winograd_window_gradient) n6 : f32[16, 8, 3, 3]
            n8 = pick(0) n7 : f32[16, 8, 3, 3]
            return n8",
    );
}

#[test]
fn depthwise_convolutions_are_one_kernel() {
    check(
        "direct",
        &small(),
        "
            x = input(0) : f32[2, 8, 6, 6]
            w = input(1) : f32[8, 3, 3]
            y = contract(a=2 b=8 c=6 d=6 e=3 f=3; a b c+e-1 d+f-1; b e f -> a b c d) x w
            return y",
        "
            n0 = input(0) : f32[2, 8, 6, 6]
            n1 = input(1) : f32[8, 3, 3]
            n2 = custom(convolution) n0 n1 : f32[2, 8, 6, 6]
            n3 = pick(0) n2 : f32[2, 8, 6, 6]
            return n3",
    );
}

#[test]
fn gradients_of_strided_convolutions_are_put_together_from_phases() {
    check(
        "phases",
        &small(),
        "
            g = input(0) : f32[4, 16, 3]
            w = input(1) : f32[16, 8, 3]
            y = contract(a=4 b=16 c=3 d=8 e=6; a b (-c+e+1)/2; b d c -> a d e) g w
            return y",
        "
            n0 = input(0) : f32[4, 16, 3]
            n1 = input(1) : f32[16, 8, 3]
            n2 = slice(0:16:1, 0:8:1, 0:2:2) n1 : f32[16, 8, 2]
            n3 = contract(a=4 b=16 c=2 d=8 e=3; a b e-c+1; b d c -> a d e) n0 n2 : f32[4, 8, 3]
            n4 = slice(0:16:1, 0:8:1, 1:1:2) n1 : f32[16, 8, 1]
            n5 = contract(a=4 b=16 c=1 d=8 e=3; a b e-c; b d c -> a d e) n0 n4 : f32[4, 8, 3]
            n6 = reshape n3 : f32[4, 8, 3, 1]
            n7 = pad(0:0, 0:0, 0:0, 1:0) n6 : f32[4, 8, 3, 2]
            n8 = reshape n5 : f32[4, 8, 3, 1]
            n9 = pad(0:0, 0:0, 0:0, 0:1) n8 : f32[4, 8, 3, 2]
            n10 = add n7 n9 : f32[4, 8, 3, 2]
            n11 = reshape n10 : f32[4, 8, 6]
            return n11",
    );
}
