//! What is left of a graph once redundant work is removed.

use super::check;
use crate::program::Target;

#[test]
fn what_changes_no_number_vanishes() {
    check(
        "simplify",
        &Target::cpu(),
        "
            x = input(0) : f32[4]
            one = constant(1.0) : f32[]
            one = reshape one : f32[1]
            ones = expand one : f32[4]
            y = mul x ones
            y = neg y
            y = neg y
            dead = exp y
            return y",
        "
            n0 = input(0) : f32[4]
            return n0",
    );
}

#[test]
fn an_equal_node_is_computed_once() {
    check(
        "simplify",
        &Target::cpu(),
        "
            x = input(0) : f32[4]
            y = input(1) : f32[4]
            a = add x y
            b = add y x
            c = mul a b
            return c",
        "
            n0 = input(0) : f32[4]
            n1 = input(1) : f32[4]
            n2 = add n0 n1 : f32[4]
            n3 = mul n2 n2 : f32[4]
            return n3",
    );
}

#[test]
fn numbers_are_computed_now() {
    check(
        "simplify",
        &Target::cpu(),
        "
            x = input(0) : f32[3]
            two = constant(2.0) : f32[]
            three = constant(3.0) : f32[]
            six = mul two three
            one = reshape six : f32[1]
            all = expand one : f32[3]
            y = mul x all
            y = mul y all
            return y",
        "
            n0 = input(0) : f32[3]
            n1 = constant(36.0) : f32[]
            n2 = reshape n1 : f32[1]
            n3 = expand n2 : f32[3]
            n4 = mul n0 n3 : f32[3]
            return n4",
    );
}

#[test]
fn moves_that_undo_each_other_vanish() {
    check(
        "simplify",
        &Target::cpu(),
        "
            x = input(0) : f32[2, 3]
            y = permute(1, 0) x
            y = permute(1, 0) y
            y = reshape y : f32[6]
            y = reshape y : f32[3, 2]
            y = slice(0:3:1, 0:2:1) y
            return y",
        "
            n0 = input(0) : f32[2, 3]
            n1 = reshape n0 : f32[3, 2]
            return n1",
    );
}

#[test]
fn a_sum_of_repeats_is_a_product() {
    check(
        "simplify",
        &Target::cpu(),
        "
            x = input(0) : f32[3, 1]
            y = expand x : f32[3, 8]
            y = sum(1) y
            return y",
        "
            n0 = input(0) : f32[3, 1]
            n1 = reshape n0 : f32[3]
            n2 = constant(8.0) : f32[]
            n3 = reshape n2 : f32[1]
            n4 = expand n3 : f32[3]
            n5 = mul n1 n4 : f32[3]
            return n5",
    );
}

#[test]
fn a_division_by_what_is_repeated_is_a_product() {
    check(
        "simplify",
        &Target::cpu(),
        "
            x = input(0) : f32[3, 8]
            s = input(1) : f32[3, 1]
            s = expand s : f32[3, 8]
            y = div x s
            return y",
        "
            n0 = input(0) : f32[3, 8]
            n1 = input(1) : f32[3, 1]
            n2 = recip n1 : f32[3, 1]
            n3 = expand n2 : f32[3, 8]
            n4 = mul n0 n3 : f32[3, 8]
            return n4",
    );
}

#[test]
fn a_product_gives_its_result_permuted() {
    check(
        "simplify",
        &Target::cpu(),
        "
            a = input(0) : f32[4, 8]
            b = input(1) : f32[8, 6]
            c = contract(a=4 b=6 c=8; a c; c b -> a b) a b
            y = permute(1, 0) c
            return y",
        "
            n0 = input(0) : f32[4, 8]
            n1 = input(1) : f32[8, 6]
            n2 = contract(a=4 b=6 c=8; a c; c b -> b a) n0 n1 : f32[6, 4]
            return n2",
    );
}

#[test]
fn a_cast_to_halves_comes_before_moves() {
    check(
        "simplify",
        &Target::cpu(),
        "
            x = input(0) : f32[4, 8]
            y = permute(1, 0) x
            y = cast y : f16[8, 4]
            return y",
        "
            n0 = input(0) : f32[4, 8]
            n1 = cast n0 : f16[4, 8]
            n2 = permute(1, 0) n1 : f16[8, 4]
            return n2",
    );
}

#[test]
fn work_on_a_reshaped_product_is_done_in_its_shape() {
    check(
        "simplify",
        &Target::cpu(),
        "
            a = input(0) : f32[6, 8]
            b = input(1) : f32[8, 5]
            c = contract(a=6 b=5 c=8; a c; c b -> a b) a b
            c = reshape c : f32[2, 3, 5]
            y = exp c
            return y",
        "
            n0 = input(0) : f32[6, 8]
            n1 = input(1) : f32[8, 5]
            n2 = contract(a=6 b=5 c=8; a c; c b -> a b) n0 n1 : f32[6, 5]
            n3 = exp n2 : f32[6, 5]
            n4 = reshape n3 : f32[2, 3, 5]
            return n4",
    );
}
