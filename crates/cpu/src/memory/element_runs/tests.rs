//! Elements of every dtype, in and out; what repeats; runs that leave their buffer.

use super::*;
use farad_compile::program::View;

fn round_trip<T: Copy + PartialEq + std::fmt::Debug>(dtype: DType, data: &mut [T], words: &[u32]) {
    let binding = Binding { start: data.as_mut_ptr().cast(), len: data.len(), dtype };
    for (offset, stride) in [(0, 1), (data.len() as i64 - 1, -1)] {
        let view = View { offset, strides: vec![stride], guards: vec![] };
        let access = ViewAccess::new(&view, &[data.len()], &[0], &[]);
        let range = DomainRange { start: 0, count: data.len(), fixed: &[] };
        let mut out = vec![7; data.len()];
        let before = data.to_vec();
        // SAFETY: the binding is this slice.
        unsafe { load(&access, range, 0, binding, &mut out) };
        let mut want = words.to_vec();
        if stride < 0 {
            want.reverse();
        }
        assert_eq!(out, want, "{dtype}");
        // SAFETY: as above.
        unsafe { store(&access, range, binding, &out) };
        assert_eq!(data, &before[..], "{dtype}");
    }
}

#[test]
fn every_dtype_goes_in_and_out() {
    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let floats = [1.5f32, -2.0, 0.0, 8.0, 0.25];
    round_trip(DType::F32, &mut floats.clone(), &bits(&floats));
    round_trip(DType::F16, &mut floats.map(f16::from_f32), &bits(&floats));
    round_trip(DType::BF16, &mut floats.map(bf16::from_f32), &bits(&floats));
    round_trip(DType::I32, &mut [-5i32, 7, 0], &[-5i32 as u32, 7, 0]);
    round_trip(DType::U8, &mut [0u8, 255, 3], &[0, 255, 3]);
    round_trip(DType::U16, &mut [0u16, 65_535, 3], &[0, 65_535, 3]);
    round_trip(DType::I8, &mut [-5i8, 127, -128], &[-5i32 as u32, 127, -128i32 as u32]);
    round_trip(DType::I16, &mut [-5i16, 32_767, 0], &[-5i32 as u32, 32_767, 0]);
    round_trip(DType::Bool, &mut [0u32, 1], &[0, 1]);
}

#[test]
fn repeated_contents_are_repeated() {
    let mut bias = [1u32, 2, 3];
    let binding = Binding { start: bias.as_mut_ptr().cast(), len: 3, dtype: DType::U32 };
    let view = View { offset: 0, strides: vec![0, 1], guards: vec![] };
    let access = ViewAccess::new(&view, &[5, 3], &[0, 1], &[]);
    let mut out = [0u32; 11];
    // SAFETY: the binding is this array.
    unsafe { load(&access, DomainRange { start: 2, count: 11, fixed: &[] }, 0, binding, &mut out) };
    assert_eq!(out, [3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1]);
}

#[test]
#[should_panic(expected = "view: goes beyond its buffer: 1..=3 (3 vs 3)")]
fn a_run_outside_its_buffer_panics() {
    let mut data = [1u32, 2, 3];
    let binding = Binding { start: data.as_mut_ptr().cast(), len: 3, dtype: DType::U32 };
    let access = ViewAccess::new(&View { offset: 1, strides: vec![1], guards: vec![] }, &[3], &[0], &[]);
    // SAFETY: the binding is this array.
    unsafe { load(&access, DomainRange { start: 0, count: 3, fixed: &[] }, 0, binding, &mut [0u32; 3]) };
}
