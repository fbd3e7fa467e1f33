//! Convolutions whose operands are copied with the channels last.

use super::{check, gpu};
use crate::program::Target;

#[test]
fn both_operands_get_copies_with_the_channels_last() {
    check("channels_last", &Target { channels_last: 1, ..gpu() },
        "
            x = input(0) : f32[2, 8, 6, 6]
            w = input(1) : f32[16, 8, 3, 3]
            y = contract(a=2 b=16 c=6 d=6 e=8 f=3 g=3; a e c+f-1 d+g-1; b e f g -> a b c d) x w
            return y",
        "
            n0 = input(0) : f32[2, 8, 6, 6]
            n1 = input(1) : f32[16, 8, 3, 3]
            n2 = permute(0, 2, 3, 1) n0 : f32[2, 6, 6, 8]
            n3 = barrier(0) n2 : f32[2, 6, 6, 8]
            n4 = permute(0, 2, 3, 1) n1 : f32[16, 3, 3, 8]
            n5 = barrier(0) n4 : f32[16, 3, 3, 8]
            n6 = contract(a=2 b=16 c=6 d=6 e=3 f=3 g=8; a c+e-1 d+f-1 g; b e f g -> a b c d) n3 n5 : f32[2, 16, 6, 6]
            return n6",
    );
}

#[test]
fn channels_that_are_not_in_fours_stay_where_they_are() {
    check("channels_last", &Target { channels_last: 1, ..gpu() },
        "
            x = input(0) : f32[2, 3, 6, 6]
            w = input(1) : f32[16, 3, 3, 3]
            y = contract(a=2 b=16 c=6 d=6 e=3 f=3 g=3; a e c+f-1 d+g-1; b e f g -> a b c d) x w
            return y",
        "
            n0 = input(0) : f32[2, 3, 6, 6]
            n1 = input(1) : f32[16, 3, 3, 3]
            n2 = contract(a=2 b=16 c=6 d=6 e=3 f=3 g=3; a e c+f-1 d+g-1; b e f g -> a b c d) n0 n1 : f32[2, 16, 6, 6]
            return n2",
    );
}
