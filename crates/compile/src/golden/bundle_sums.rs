//! Small sums that go to one array become one kernel.

use super::{check_program, gpu};

#[test]
fn sums_of_two_gradients_are_one_kernel() {
    check_program(
        &gpu(),
        "
            x = input(0) : f32[512, 4]
            y = input(1) : f32[512, 8]
            a = exp x
            a = sum(0) a
            b = exp y
            b = sum(0) b
            p = pack(0, 64 of 128) a b
            q = neg p
            return q",
        "
            input 0: f32[2048]
            input 1: f32[4096]
            output 0: f32[128]
            blocks: [512, 768]
            buffer b0: f32[2048] in input 0 at 0
            buffer b1: f32[4096] in input 1 at 0
            buffer b2: f32[128] in output 0 at 0
            buffer b3: f32[128] in block 0 at 0
            buffer b4: f32[4] in block 0 at 0
            buffer b5: f32[8] in block 0 at 256
            buffer b6: f32[64] in block 1 at 0
            buffer b7: f32[128] in block 1 at 256
            buffer b8: f32[192] in block 1 at 0
            buffer b9: f32[128] in block 0 at 0
            wave 0 exp+sum: fused [16, 4] reduced [32]
                r0: f32 = b0[[128, 1, 4]]
                r1: f32 = exp r0
                r2: f32 = reduce sum r1 (outer)
                b6[[4, 1, 0]] <- r2
            wave 1 exp+sum: fused [16, 8] reduced [32]
                r0: f32 = b1[[256, 1, 8]]
                r1: f32 = exp r0
                r2: f32 = reduce sum r1 (outer)
                b7[[8, 1, 0]] <- r2
            wave 2 sums: sums b8 -> b9
                0+[16, 4] -> 0
                64+[16, 8] -> 64
            wave 3 neg: fused [128] reduced []
                r0: f32 = b3[[1]]
                r1: f32 = neg r0
                b2[[1]] <- r1",
    );
}
