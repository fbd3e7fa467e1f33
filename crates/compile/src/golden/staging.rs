//! Loops in one kernel that name more buffers than a kernel may.

use super::{check_program, gpu};
use crate::program::Target;

/// Two values that turn about each other: two are read before the loop, two are there after it.
const TURNING: &str = "
    a = input(0) : f32[3]
    b = input(1) : f32[3]
    all = scan(steps 5, carries 2, sequences 0) a b : f32[3] {
      a = input(0) : f32[3]
      b = input(1) : f32[3]
      c = sub a b
      d = add a b
      return c, d
    }
    c = pick(0) all : f32[3]
    d = pick(1) all : f32[3]
    return c, d";

#[test]
fn a_loop_with_few_buffers_names_them_all() {
    check_program(
        &Target { bindings: 4, ..gpu() },
        TURNING,
        "
            input 0: f32[3]
            input 1: f32[3]
            output 0: f32[3]
            output 1: f32[3]
            blocks: []
            buffer b0: f32[3] in input 0 at 0
            buffer b1: f32[3] in input 1 at 0
            buffer b2: f32[3] in output 0 at 0
            buffer b3: f32[3] in output 1 at 0
            wave 0 scan: recurrence [3] positions 5
                r0: f32 = b0[[1, 0]] (outer)
                r1: f32 = carry 0
                r2: f32 = carry 1
                r3: f32 = sub r1 r2
                r4: f32 = b1[[1, 0]] (outer)
                r5: f32 = add r1 r2
                carry 0: first r0, then r3, at last b2[[1, 0]]
                carry 1: first r4, then r5, at last b3[[1, 0]]",
    );
}

#[test]
fn what_is_read_and_written_once_goes_through_one_array_each() {
    check_program(
        &Target { bindings: 3, ..gpu() },
        TURNING,
        "
            input 0: f32[3]
            input 1: f32[3]
            output 0: f32[3]
            output 1: f32[3]
            blocks: [512, 512]
            buffer b0: f32[3] in input 0 at 0
            buffer b1: f32[3] in input 1 at 0
            buffer b2: f32[3] in output 0 at 0
            buffer b3: f32[3] in output 1 at 0
            buffer b4: f32[128] in block 0 at 0
            buffer b5: f32[128] in block 1 at 0
            wave 0 copy: fused [3] reduced []
                r0: f32 = b0[[1]]
                r1: f32 = b1[[1]]
                b4[[1]] <- r0
                b4[64+[1]] <- r1
            wave 1 scan: recurrence [3] positions 5
                r0: f32 = b4[[1, 0]] (outer)
                r1: f32 = carry 0
                r2: f32 = carry 1
                r3: f32 = sub r1 r2
                r4: f32 = b4[64+[1, 0]] (outer)
                r5: f32 = add r1 r2
                carry 0: first r0, then r3, at last b5[[1, 0]]
                carry 1: first r4, then r5, at last b5[64+[1, 0]]
            wave 2 copy: fused [3] reduced []
                r0: f32 = b5[[1]]
                r1: f32 = b5[64+[1]]
                b2[[1]] <- r0
                b3[[1]] <- r1",
    );
}
