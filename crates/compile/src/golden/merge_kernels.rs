//! Merging of kernels over one space that share data.

use super::check_program;
use crate::program::Target;

#[test]
fn two_results_of_one_input_are_one_kernel() {
    check_program(
        &Target::cpu(),
        "
            x = input(0) : f32[4, 8]
            y = exp x
            z = neg x
            return y, z",
        "
            input 0: f32[32]
            output 0: f32[32]
            output 1: f32[32]
            blocks: []
            buffer b0: f32[32] in input 0 at 0
            buffer b1: f32[32] in output 0 at 0
            buffer b2: f32[32] in output 1 at 0
            wave 0 exp+neg: fused [32] reduced []
                r0: f32 = b0[[1]]
                r1: f32 = neg r0
                r2: f32 = exp r0
                b2[[1]] <- r1
                b1[[1]] <- r2",
    );
}

#[test]
fn a_result_that_is_used_where_it_is_made_is_not_loaded_again() {
    check_program(
        &Target::cpu(),
        "
            x = input(0) : f32[4, 8]
            y = exp x
            s = sum(1) y
            z = neg y
            return s, z, y",
        "
            input 0: f32[32]
            output 0: f32[4]
            output 1: f32[32]
            output 2: f32[32]
            blocks: []
            buffer b0: f32[32] in input 0 at 0
            buffer b1: f32[4] in output 0 at 0
            buffer b2: f32[32] in output 1 at 0
            buffer b3: f32[32] in output 2 at 0
            wave 0 exp+sum+neg: fused [4] reduced [8]
                r0: f32 = b0[[8, 1]]
                r1: f32 = exp r0
                r2: f32 = neg r1
                r3: f32 = reduce sum r1 (outer)
                b2[[8, 1]] <- r2
                b3[[8, 1]] <- r1
                b1[[1, 0]] <- r3",
    );
}

#[test]
fn other_spaces_stay_apart() {
    check_program(
        &Target::cpu(),
        "
            x = input(0) : f32[4, 8]
            y = exp x
            z = slice(0:4:1, 0:4:1) x
            z = neg z
            return y, z",
        "
            input 0: f32[32]
            output 0: f32[32]
            output 1: f32[16]
            blocks: []
            buffer b0: f32[32] in input 0 at 0
            buffer b1: f32[32] in output 0 at 0
            buffer b2: f32[16] in output 1 at 0
            wave 0 exp: fused [32] reduced []
                r0: f32 = b0[[1]]
                r1: f32 = exp r0
                b1[[1]] <- r1
            wave 0 neg: fused [4, 4] reduced []
                r0: f32 = b0[[8, 1]]
                r1: f32 = neg r0
                b2[[4, 1]] <- r1",
    );
}
