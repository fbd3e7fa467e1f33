//! Steps that do not depend on each other share a wave.

use super::check_program;
use crate::program::Target;

#[test]
fn what_reads_the_same_input_shares_a_wave() {
    check_program(
        &Target::cpu(),
        "
            x = input(0) : f32[4, 8]
            a = sum(0) x
            b = sum(1) x
            c = order(ascending) b
            return a, b, c",
        "
            input 0: f32[32]
            output 0: f32[8]
            output 1: f32[4]
            output 2: i32[4]
            blocks: []
            buffer b0: f32[32] in input 0 at 0
            buffer b1: f32[8] in output 0 at 0
            buffer b2: f32[4] in output 1 at 0
            buffer b3: i32[4] in output 2 at 0
            wave 0 sum: fused [8] reduced [4]
                r0: f32 = b0[[1, 8]]
                r1: f32 = reduce sum r0 (outer)
                b1[[1, 0]] <- r1
            wave 0 sum: fused [4] reduced [8]
                r0: f32 = b0[[8, 1]]
                r1: f32 = reduce sum r0 (outer)
                b2[[1, 0]] <- r1
            wave 1 sort: sort 1 rows of 4 Ascending b2 -> b3 scratch []",
    );
}
