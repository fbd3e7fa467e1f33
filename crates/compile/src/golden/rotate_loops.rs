//! Loops that begin with the product that they ended with before.

use super::{check, gpu};
use crate::program::Target;

#[test]
fn a_loop_carries_the_operand_of_its_product() {
    check(
        "rotate_loops",
        &gpu(),
        "
            x = input(0) : f32[4, 2, 512]
            w = input(1) : f32[512, 512]
            start = input(2) : f32[2, 512]
            all = scan(steps 4, carries 1, sequences 1) start x w : f32[2, 512] {
              y = input(0) : f32[2, 512]
              x = input(1) : f32[2, 512]
              w = input(2) : f32[512, 512]
              u = tanh y
              next = contract(a=2 b=512 c=512; a c; c b -> a b) u w
              seen = mul y x
              return next, seen
            }
            last = pick(0) all : f32[2, 512]
            seen = pick(1) all : f32[4, 2, 512]
            return last, seen",
        "
            n0 = input(0) : f32[4, 2, 512]
            n1 = input(1) : f32[512, 512]
            n2 = input(2) : f32[2, 512]
            n3 = constant(0.0) : f32[]
            n4 = reshape n3 : f32[1, 1]
            n5 = expand n4 : f32[2, 512]
            n6 = reshape n2 : f32[1, 2, 512]
            n7 = pad(0:3, 0:0, 0:0) n6 : f32[4, 2, 512]
            n8 = scan(steps 4, carries 1, sequences 2) n5 n0 n7 n1 : f32[2, 512] {
              n0 = input(0) : f32[2, 512]
              n1 = input(1) : f32[2, 512]
              n2 = input(2) : f32[2, 512]
              n3 = input(3) : f32[512, 512]
              n4 = contract(a=2 b=512 c=512; a c; c b -> a b) n0 n3 : f32[2, 512]
              n5 = add n4 n2 : f32[2, 512]
              n6 = tanh n5 : f32[2, 512]
              n7 = contract(a=2 b=512 c=512; a c; c b -> a b) n6 n3 : f32[2, 512]
              n8 = mul n5 n1 : f32[2, 512]
              return n6, n8
            }
            n9 = pick(0) n8 : f32[2, 512]
            n10 = contract(a=2 b=512 c=512; a c; c b -> a b) n9 n1 : f32[2, 512]
            n11 = pick(1) n8 : f32[4, 2, 512]
            return n10, n11",
    );
}

#[test]
fn a_loop_with_a_small_product_stays() {
    check(
        "rotate_loops",
        &Target::cpu(),
        "
            x = input(0) : f32[4, 2, 8]
            w = input(1) : f32[8, 8]
            start = input(2) : f32[2, 8]
            all = scan(steps 4, carries 1, sequences 1) start x w : f32[2, 8] {
              y = input(0) : f32[2, 8]
              x = input(1) : f32[2, 8]
              w = input(2) : f32[8, 8]
              u = add y x
              next = contract(a=2 b=8 c=8; a c; c b -> a b) u w
              return next
            }
            last = pick(0) all : f32[2, 8]
            return last",
        "
            n0 = input(0) : f32[4, 2, 8]
            n1 = input(1) : f32[8, 8]
            n2 = input(2) : f32[2, 8]
            n3 = scan(steps 4, carries 1, sequences 1) n2 n0 n1 : f32[2, 8] {
              n0 = input(0) : f32[2, 8]
              n1 = input(1) : f32[2, 8]
              n2 = input(2) : f32[8, 8]
              n3 = add n0 n1 : f32[2, 8]
              n4 = contract(a=2 b=8 c=8; a c; c b -> a b) n3 n2 : f32[2, 8]
              return n4
            }
            n4 = pick(0) n3 : f32[2, 8]
            return n4",
    );
}
