//! Products whose operands are copied so that every row starts at a whole group.

use super::{check, gpu};
use crate::program::Target;

#[test]
fn rows_that_start_anywhere_get_longer() {
    check(
        "align_rows",
        &Target { aligned: 1, ..gpu() },
        "
            x = input(0) : f16[64, 71]
            w = input(1) : f16[71, 80]
            y = contract(a=64 b=80 c=71; a c; c b -> a b) x w
            return y",
        "
            n0 = input(0) : f16[64, 71]
            n1 = input(1) : f16[71, 80]
            n2 = pad(0:0, 0:1) n0 : f16[64, 72]
            n3 = barrier(0) n2 : f16[64, 72]
            n4 = slice(0:64:1, 0:71:1) n3 : f16[64, 71]
            n5 = contract(a=64 b=80 c=71; a c; c b -> a b) n4 n1 : f16[64, 80]
            return n5",
    );
}

#[test]
fn a_transposed_operand_keeps_its_order_in_memory() {
    check(
        "align_rows",
        &Target { aligned: 1, ..gpu() },
        "
            x = input(0) : f32[64, 80]
            w = input(1) : f32[90, 83]
            t = permute(1, 0) w
            s = slice(0:80:1, 0:90:1) t
            y = contract(a=64 b=90 c=80; a c; c b -> a b) x s
            return y",
        "
            n0 = input(0) : f32[64, 80]
            n1 = input(1) : f32[90, 83]
            n2 = permute(1, 0) n1 : f32[83, 90]
            n3 = slice(0:80:1, 0:90:1) n2 : f32[80, 90]
            n4 = permute(1, 0) n3 : f32[90, 80]
            n5 = pad(0:0, 0:0) n4 : f32[90, 80]
            n6 = barrier(0) n5 : f32[90, 80]
            n7 = permute(1, 0) n6 : f32[80, 90]
            n8 = contract(a=64 b=90 c=80; a c; c b -> a b) n0 n7 : f32[64, 90]
            return n8",
    );
}

#[test]
fn terms_without_a_suitable_divisor_get_more_of_them() {
    check(
        "align_rows",
        &gpu(),
        "
            x = input(0) : f16[148, 12018]
            w = input(1) : f16[12018, 576]
            y = contract(a=148 b=576 c=12018; a c; c b -> a b) x w
            return y",
        "
            n0 = input(0) : f16[148, 12018]
            n1 = input(1) : f16[12018, 576]
            n2 = pad(0:0, 0:782) n0 : f16[148, 12800]
            n3 = barrier(0) n2 : f16[148, 12800]
            n4 = pad(0:782, 0:0) n1 : f16[12800, 576]
            n5 = barrier(0) n4 : f16[12800, 576]
            n6 = contract(a=148 b=576 c=12800; a c; c b -> a b) n3 n5 : f16[148, 576]
            return n6",
    );
}

#[test]
fn what_is_aligned_stays() {
    check(
        "align_rows",
        &Target { aligned: 1, ..gpu() },
        "
            x = input(0) : f32[64, 80]
            w = input(1) : f32[80, 84]
            y = contract(a=64 b=84 c=80; a c; c b -> a b) x w
            return y",
        "
            n0 = input(0) : f32[64, 80]
            n1 = input(1) : f32[80, 84]
            n2 = contract(a=64 b=84 c=80; a c; c b -> a b) n0 n1 : f32[64, 84]
            return n2",
    );
}
