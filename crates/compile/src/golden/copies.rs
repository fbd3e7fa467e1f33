//! Copies of values that would need two locations in memory.

use super::check;
use crate::program::Target;

#[test]
fn a_leaf_and_a_repeated_output_are_copied() {
    check(
        "copies",
        &Target::cpu(),
        "
            x = input(0) : f32[4]
            y = exp x
            return x, y, y",
        "
            n0 = input(0) : f32[4]
            n1 = exp n0 : f32[4]
            n2 = barrier(2) n0 : f32[4]
            n3 = barrier(3) n1 : f32[4]
            return n2, n1, n3",
    );
}

#[test]
fn a_part_of_two_packs_is_copied_for_the_second() {
    check(
        "copies",
        &Target::cpu(),
        "
            x = input(0) : f32[4]
            a = exp x
            b = neg x
            p = pack(0, 64 of 128) a b
            q = pack(0, 64 of 128) b x
            p = neg p
            q = neg q
            return p, q",
        "
            n0 = input(0) : f32[4]
            n1 = exp n0 : f32[4]
            n2 = neg n0 : f32[4]
            n3 = pack(0, 64 of 128) n1 n2 : f32[128]
            n4 = barrier(4) n2 : f32[4]
            n5 = barrier(5) n0 : f32[4]
            n6 = pack(0, 64 of 128) n4 n5 : f32[128]
            n7 = neg n3 : f32[128]
            n8 = neg n6 : f32[128]
            return n7, n8",
    );
}

/// Both outputs are the product, once where it is written and once as a copy.
#[test]
fn a_product_is_written_where_an_output_in_another_shape_is() {
    check(
        "copies",
        &Target::cpu(),
        "
            x = input(0) : f32[4, 3]
            w = input(1) : f32[3, 2]
            y = contract(a=4 b=2 c=3; a c; c b -> a b) x w
            long = reshape y : f32[8]
            cube = reshape long : f32[2, 2, 2]
            return cube, long",
        "
            n0 = input(0) : f32[4, 3]
            n1 = input(1) : f32[3, 2]
            n2 = contract(a=4 b=2 c=3; a c; c b -> a b) n0 n1 : f32[4, 2]
            n3 = reshape n2 : f32[8]
            n4 = reshape n3 : f32[2, 2, 2]
            n5 = barrier(5) n2 : f32[4, 2]
            return n2, n5",
    );
}
