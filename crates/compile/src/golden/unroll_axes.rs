//! Tiny axes that conditions depend on, unrolled.

use super::check_program;
use crate::program::Target;

#[test]
fn both_places_of_a_window_are_written_by_one_position() {
    check_program(
        &Target::cpu(),
        "
            x = input(0) : f32[5, 2]
            a = slice(0:5:1, 0:1:1) x
            b = slice(0:5:1, 1:1:1) x
            m = max a b
            all = expand m : f32[5, 2]
            y = input(1) : f32[5, 1]
            first = pad(0:0, 0:1) y
            z = add all first
            return z",
        "
            input 0: f32[10]
            input 1: f32[5]
            output 0: f32[10]
            blocks: []
            buffer b0: f32[10] in input 0 at 0
            buffer b1: f32[5] in input 1 at 0
            buffer b2: f32[10] in output 0 at 0
            wave 0 max+add: fused [5] reduced []
                r0: f32 = b0[[2]]
                r1: f32 = b0[1+[2]]
                r2: f32 = max r0 r1
                r3: f32 = b1[[1]]
                r4: f32 = add r2 r3
                b2[[2]] <- r4
                b2[1+[2]] <- r2",
    );
}
