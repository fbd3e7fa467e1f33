//! Orders: what is sorted, by what, and with which scratch memory.

use super::{check_program, gpu};
use crate::program::Target;

#[test]
fn an_order_of_short_rows_needs_no_scratch_memory() {
    check_program(
        &gpu(),
        "
            x = input(0) : f32[4, 100]
            y = order(descending) x
            return y",
        "
            input 0: f32[400]
            output 0: i32[400]
            blocks: []
            buffer b0: f32[400] in input 0 at 0
            buffer b1: i32[400] in output 0 at 0
            wave 0 sort: sort 4 rows of 100 Descending b0 -> b1 scratch []",
    );
}

#[test]
fn the_order_of_an_order_is_its_inverse() {
    check_program(
        &gpu(),
        "
            x = input(0) : f32[4, 100]
            y = order(ascending) x
            z = order(ascending) y
            return z",
        "
            input 0: f32[400]
            output 0: i32[400]
            blocks: [1792]
            buffer b0: f32[400] in input 0 at 0
            buffer b1: i32[400] in output 0 at 0
            buffer b2: i32[400] in block 0 at 0
            wave 0 sort: sort 4 rows of 100 Ascending b0 -> b2 scratch []
            wave 1 sort: sort 4 rows of 100 Permutation b2 -> b1 scratch []",
    );
}

#[test]
fn long_rows_are_sorted_in_several_launches_with_memory_between_them() {
    check_program(
        &gpu(),
        "
            x = input(0) : f32[2, 4096]
            y = order(ascending) x
            return y",
        "
            input 0: f32[8192]
            output 0: i32[8192]
            blocks: [32768, 32768, 32768, 8192, 2048]
            buffer b0: f32[8192] in input 0 at 0
            buffer b1: i32[8192] in output 0 at 0
            buffer b2: u32[8192] in block 0 at 0
            buffer b3: u32[8192] in block 1 at 0
            buffer b4: u32[8192] in block 2 at 0
            buffer b5: u32[2048] in block 3 at 0
            buffer b6: u32[512] in block 4 at 0
            wave 0 sort: sort 2 rows of 4096 Ascending b0 -> b1 scratch [2, 3, 4, 5, 6]",
    );
}

#[test]
fn the_first_few_of_a_long_row_are_selected() {
    check_program(
        &gpu(),
        "
            x = input(0) : f32[2, 4096]
            y = topk(descending, 8) x
            return y",
        "
            input 0: f32[8192]
            output 0: i32[16]
            blocks: [256, 256, 8192, 256]
            buffer b0: f32[8192] in input 0 at 0
            buffer b1: i32[16] in output 0 at 0
            buffer b2: u32[16] in block 0 at 0
            buffer b3: u32[16] in block 1 at 0
            buffer b4: u32[2048] in block 2 at 0
            buffer b5: u32[16] in block 3 at 0
            wave 0 topk: first 8 of 2 rows of 4096 Descending b0 -> b1 scratch [2, 3, 4, 5]",
    );
}

#[test]
fn a_large_scatter_takes_its_sources_in_the_order_of_their_places() {
    check_program(
        &gpu(),
        "
            x = input(0) : f32[8192, 4]
            at = input(1) : i32[8192, 1]
            y = scatter_add(0, 4096) x at
            return y",
        "
            input 0: f32[32768]
            input 1: i32[8192]
            output 0: f32[16384]
            blocks: [32768, 32768, 32768, 32768, 8192, 1024]
            buffer b0: f32[32768] in input 0 at 0
            buffer b1: i32[8192] in input 1 at 0
            buffer b2: f32[16384] in output 0 at 0
            buffer b3: i32[8192] in block 0 at 0
            buffer b4: u32[8192] in block 1 at 0
            buffer b5: u32[8192] in block 2 at 0
            buffer b6: u32[8192] in block 3 at 0
            buffer b7: u32[2048] in block 4 at 0
            buffer b8: u32[256] in block 5 at 0
            wave 0 scatter_add order: sort 1 rows of 8192 Below(4096) b1 -> b3 scratch [4, 5, 6, 7, 8]
            wave 1 scatter_add: scatter [8192, 4] axis 0 size 4096 b0 by b1 in order b3 -> b2",
    );
}

#[test]
fn a_device_without_scratch_memory_looks_for_the_sources_of_every_place() {
    check_program(
        &Target::cpu(),
        "
            x = input(0) : f32[8192, 4]
            at = input(1) : i32[8192, 1]
            y = scatter_add(0, 4096) x at
            return y",
        "
            input 0: f32[32768]
            input 1: i32[8192]
            output 0: f32[16384]
            blocks: []
            buffer b0: f32[32768] in input 0 at 0
            buffer b1: i32[8192] in input 1 at 0
            buffer b2: f32[16384] in output 0 at 0
            wave 0 scatter_add: scatter [8192, 4] axis 0 size 4096 b0 by b1 -> b2",
    );
}
