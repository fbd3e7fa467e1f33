//! Long sums cut into parts, where the device would otherwise idle.

use super::{check, gpu};

#[test]
fn a_sum_with_few_results_is_two() {
    check(
        "split_sums",
        &gpu(),
        "
            x = input(0) : f32[8192, 64]
            y = sum(0) x
            return y",
        "
            n0 = input(0) : f32[8192, 64]
            n1 = reshape n0 : f32[256, 32, 64]
            n2 = sum(1) n1 : f32[256, 64]
            n3 = sum(0) n2 : f32[64]
            return n3",
    );
}

#[test]
fn a_sum_of_halves_is_rounded_once() {
    check(
        "split_sums",
        &gpu(),
        "
            x = input(0) : f16[8192, 64]
            y = sum(0) x
            return y",
        "
            n0 = input(0) : f16[8192, 64]
            n1 = cast n0 : f32[8192, 64]
            n2 = reshape n1 : f32[256, 32, 64]
            n3 = sum(1) n2 : f32[256, 64]
            n4 = sum(0) n3 : f32[64]
            n5 = cast n4 : f16[64]
            return n5",
    );
}

#[test]
fn a_whole_sum_of_awkward_length_is_padded() {
    check(
        "split_sums",
        &gpu(),
        "
            x = input(0) : f32[1000003]
            y = sum(0) x
            return y",
        "
            n0 = input(0) : f32[1000003]
            n1 = pad(0:189) n0 : f32[1000192]
            n2 = reshape n1 : f32[256, 3907]
            n3 = sum(1) n2 : f32[256]
            n4 = sum(0) n3 : f32[]
            return n4",
    );
}

#[test]
fn a_product_with_few_results_is_a_batch_and_a_sum() {
    check(
        "split_sums",
        &gpu(),
        "
            a = input(0) : f32[2, 512]
            b = input(1) : f32[512, 512]
            c = contract(a=2 b=512 c=512; a c; c b -> a b) a b
            return c",
        "
            n0 = input(0) : f32[2, 512]
            n1 = input(1) : f32[512, 512]
            n2 = reshape n0 : f32[2, 4, 128]
            n3 = reshape n1 : f32[4, 128, 512]
            n4 = contract(a=2 b=512 c=128 d=4; a d c; d c b -> d a b) n2 n3 : f32[4, 2, 512]
            n5 = sum(0) n4 : f32[2, 512]
            return n5",
    );
}

#[test]
fn what_keeps_the_device_busy_stays_whole() {
    check(
        "split_sums",
        &gpu(),
        "
            x = input(0) : f32[8192, 8192]
            y = sum(1) x
            return y",
        "
            n0 = input(0) : f32[8192, 8192]
            n1 = sum(1) n0 : f32[8192]
            return n1",
    );
}
