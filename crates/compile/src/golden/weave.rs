//! Loops whose bodies work on each element by itself become one kernel.

use super::{check_program, gpu};

#[test]
fn a_pointwise_loop_is_one_kernel() {
    check_program(
        &gpu(),
        "
            x = input(0) : f32[7, 3]
            start = input(1) : f32[3]
            all = scan(steps 7, carries 1, sequences 1, reverse) start x : f32[3] {
              h = input(0) : f32[3]
              x = input(1) : f32[3]
              u = mul h x
              next = tanh u
              return next, u
            }
            last = pick(0) all : f32[3]
            rows = pick(1) all : f32[7, 3]
            return last, rows",
        "
            input 0: f32[21]
            input 1: f32[3]
            output 0: f32[3]
            output 1: f32[21]
            blocks: []
            buffer b0: f32[21] in input 0 at 0
            buffer b1: f32[3] in input 1 at 0
            buffer b2: f32[3] in output 0 at 0
            buffer b3: f32[21] in output 1 at 0
            wave 0 scan: recurrence [3] positions 7
                r0: f32 = b1[[1, 0]] (outer)
                r1: f32 = carry 0
                r2: f32 = b0[18+[1, -3]]
                r3: f32 = mul r1 r2
                r4: f32 = tanh r3
                carry 0: first r0, then r4, at last b2[[1, 0]]
                b3[18+[1, -3]] <- r3",
    );
}

#[test]
fn a_loop_that_mixes_elements_is_a_loop_over_kernels() {
    check_program(
        &gpu(),
        "
            x = input(0) : f32[7, 3]
            start = input(1) : f32[3]
            w = input(2) : f32[3, 3]
            all = scan(steps 7, carries 1, sequences 1) start x w : f32[3] {
              h = input(0) : f32[3]
              x = input(1) : f32[3]
              w = input(2) : f32[3, 3]
              u = contract(a=3 b=3; b; b a -> a) h w
              next = add u x
              return next
            }
            last = pick(0) all : f32[3]
            return last",
        "
            input 0: f32[21]
            input 1: f32[3]
            input 2: f32[9]
            output 0: f32[3]
            blocks: [256, 256, 256, 256]
            buffer b0: f32[21] in input 0 at 0
            buffer b1: f32[3] in input 1 at 0
            buffer b2: f32[9] in input 2 at 0
            buffer b3: f32[3] in output 0 at 0
            buffer b4: f32[3] in block 0 at 0
            buffer b5: f32[3] in block 1 at 0
            buffer b6: f32[3] in block 2 at 0
            buffer b7: f32[21] in input 0 at 0
            buffer b8: f32[9] in input 2 at 0
            buffer b9: f32[3] in block 3 at 0
            wave 0 copy: fused [3] reduced []
                r0: f32 = b1[[1]]
                b5[[1]] <- r0
            wave 1 scan: loop 7 slots [(BufferId(7), 3)] swaps [(BufferId(5), BufferId(6))]
              wave 0 contract: fused [3] reduced [3]
                  r0: f32 = b5[[0, 1]]
                  r1: f32 = b8[[1, 3]]
                  r2: f32 = mul r0 r1
                  r3: f32 = reduce sum r2 (outer)
                  b9[[1, 0]] <- r3
              wave 1 add: fused [3] reduced []
                  r0: f32 = b7[[1]]
                  r1: f32 = b9[[1]]
                  r2: f32 = add r0 r1
                  b6[[1]] <- r2
            wave 2 copy: fused [3] reduced []
                r0: f32 = b6[[1]]
                b4[[1]] <- r0
            wave 3 copy: fused [3] reduced []
                r0: f32 = b4[[1]]
                b3[[1]] <- r0",
    );
}
