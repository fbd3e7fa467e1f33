//! Numbers that a dtype has and does not have: casts between all dtypes at their ends, and numbers beside tensors of
//! integers.

mod devices;
mod panics;

use devices::{devices, turn};
use farad::DType;
use farad::nn::Dropout;
use farad::prelude::*;
use half::{bf16, f16};
use panics::panic_of;

/// A tensor of one element, and its value.
#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i128),
    Float(f64),
}

/// The ends of a dtype, what is beside them, and what other dtypes do not have.
fn extremes(dtype: DType) -> Vec<Number> {
    let whole = |list: &[i128]| list.iter().map(|&x| Number::Whole(x)).collect();
    let float = |list: &[f64]| list.iter().map(|&x| Number::Float(x)).collect();
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    match dtype {
        DType::F32 => float(&[
            0.0,
            -0.0,
            1.9,
            -1.9,
            255.9,
            256.0,
            -1.0,
            2147483520.0,
            2147483648.0,
            -2147483648.0,
            -3e9,
            4294967040.0,
            4294967296.0,
            1e15,
            -1e15,
            9.2e18,
            1e30,
            -1e30,
            1e-40,
            inf,
            -inf,
            nan,
        ]),
        DType::F16 => float(&[0.0, 1.5, -1.5, 65504.0, -65504.0, 6e-8, inf, -inf, nan]),
        DType::BF16 => float(&[0.0, 1.5, -1.5, 65536.0, 3.3e38, -3.3e38, inf, -inf, nan]),
        DType::F64 => float(&[
            0.0,
            1.9,
            -1.9,
            16777217.0,
            2147483647.9,
            4294967295.9,
            1e15,
            -1e15,
            9.3e18,
            -9.3e18,
            1e300,
            -1e300,
            1e-300,
            0.1,
            inf,
            -inf,
            nan,
        ]),
        DType::I32 => whole(&[0, 1, -1, 255, 256, 16_777_217, -16_777_217, i32::MAX.into(), i32::MIN.into()]),
        DType::U32 => whole(&[0, 1, 255, 256, 16_777_217, 2_147_483_648, 4_000_000_000, u32::MAX.into()]),
        DType::I64 => whole(&[
            0,
            1,
            -1,
            255,
            256,
            2_147_483_647,
            2_147_483_648,
            -2_147_483_649,
            4_294_967_295,
            4_294_967_296,
            1 << 40,
            (1 << 53) + 1,
            i64::MAX.into(),
            i64::MIN.into(),
        ]),
        DType::U64 => whole(&[0, 1, 255, 1 << 32, (1 << 53) + 1, 1 << 63, u64::MAX.into()]),
        DType::I8 => whole(&[0, 1, -1, 127, -128]),
        DType::I16 => whole(&[0, 1, -1, 255, 256, 32_767, -32_768]),
        DType::U16 => whole(&[0, 1, 255, 256, 32_768, 65_535]),
        DType::U8 => whole(&[0, 1, 127, 128, 255]),
        DType::Bool => whole(&[0, 1]),
    }
}

fn tensor(dtype: DType, number: Number, device: &Device) -> Tensor {
    match (dtype, number) {
        (DType::F32, Number::Float(x)) => Tensor::from_vec(vec![x as f32], [1], device),
        (DType::F16, Number::Float(x)) => Tensor::from_vec(vec![f16::from_f64(x)], [1], device),
        (DType::BF16, Number::Float(x)) => Tensor::from_vec(vec![bf16::from_f64(x)], [1], device),
        (DType::F64, Number::Float(x)) => Tensor::from_f64(&[x], [1], device),
        (DType::I32, Number::Whole(x)) => Tensor::from_vec(vec![x as i32], [1], device),
        (DType::U32, Number::Whole(x)) => Tensor::from_vec(vec![x as u32], [1], device),
        (DType::I64, Number::Whole(x)) => Tensor::from_vec(vec![x as i64], [1], device),
        (DType::U64, Number::Whole(x)) => Tensor::from_vec(vec![x as u64], [1], device),
        (DType::I8, Number::Whole(x)) => Tensor::from_vec(vec![x as i8], [1], device),
        (DType::I16, Number::Whole(x)) => Tensor::from_vec(vec![x as i16], [1], device),
        (DType::U16, Number::Whole(x)) => Tensor::from_vec(vec![x as u16], [1], device),
        (DType::U8, Number::Whole(x)) => Tensor::from_vec(vec![x as u8], [1], device),
        (DType::Bool, Number::Whole(x)) => Tensor::from_vec(vec![x != 0], [1], device),
        _ => unreachable!("{dtype} of {number:?}"),
    }
}

/// The value that a tensor of one element has.
fn value(tensor: &Tensor) -> Number {
    match tensor.dtype() {
        DType::F32 => Number::Float(tensor.to_vec::<f32>().unwrap()[0].into()),
        DType::F16 => Number::Float(tensor.to_vec::<f16>().unwrap()[0].into()),
        DType::BF16 => Number::Float(tensor.to_vec::<bf16>().unwrap()[0].into()),
        DType::F64 => Number::Float(tensor.to_f64().unwrap()[0]),
        DType::I32 => Number::Whole(tensor.to_vec::<i32>().unwrap()[0].into()),
        DType::U32 => Number::Whole(tensor.to_vec::<u32>().unwrap()[0].into()),
        DType::I64 => Number::Whole(tensor.to_vec::<i64>().unwrap()[0].into()),
        DType::U64 => Number::Whole(tensor.to_vec::<u64>().unwrap()[0].into()),
        DType::I8 => Number::Whole(tensor.to_vec::<i8>().unwrap()[0].into()),
        DType::I16 => Number::Whole(tensor.to_vec::<i16>().unwrap()[0].into()),
        DType::U16 => Number::Whole(tensor.to_vec::<u16>().unwrap()[0].into()),
        DType::U8 => Number::Whole(tensor.to_vec::<u8>().unwrap()[0].into()),
        DType::Bool => Number::Whole(tensor.to_vec::<bool>().unwrap()[0].into()),
    }
}

/// What Rust makes of the value.
fn converted(x: Number, to: DType) -> Number {
    macro_rules! whole {
        ($x:expr, $zero:expr) => {
            match to {
                DType::I8 => $x as i8 as i128,
                DType::I16 => $x as i16 as i128,
                DType::I32 => $x as i32 as i128,
                DType::I64 => $x as i64 as i128,
                DType::U8 => $x as u8 as i128,
                DType::U16 => $x as u16 as i128,
                DType::U32 => $x as u32 as i128,
                DType::U64 => $x as u64 as i128,
                _ => ($x != $zero) as i128,
            }
        };
    }
    // To f16 through `f32`.
    let rounded = |x: f32| match to {
        DType::F16 => f16::from_f32(x).into(),
        DType::BF16 => bf16::from_f32(x).into(),
        _ => x.into(),
    };
    match x {
        Number::Float(x) if to == DType::F64 => Number::Float(x),
        Number::Whole(x) if to == DType::F64 => Number::Float(x as f64),
        Number::Float(x) if to.is_float() => Number::Float(rounded(x as f32)),
        Number::Whole(x) if to.is_float() => Number::Float(rounded(x as f32)),
        Number::Float(x) => Number::Whole(whole!(x, 0.0)),
        Number::Whole(x) => Number::Whole(whole!(x, 0)),
    }
}

fn same(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => a == b,
        // Devices may flush what is below the normal numbers.
        (Number::Float(a), Number::Float(b)) => {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() < 1.2e-38
        }
        _ => false,
    }
}

#[test]
fn every_cast_at_the_ends_is_that_of_rust() {
    let _turn = turn();
    for device in devices() {
        let held = |dtype: &DType| !device.is_gpu() || dtype.is_on_gpus();
        for from in DType::ALL.into_iter().filter(held) {
            for to in DType::ALL.into_iter().filter(held) {
                for x in extremes(from) {
                    let given = tensor(from, x, &device);
                    let x = value(&given);
                    let wanted = converted(x, to);
                    let got = value(&given.cast(to));
                    assert!(
                        same(got, wanted),
                        "{x:?} of {from} as {to} is {got:?}, not {wanted:?}, on {device}"
                    );
                    let pending = given.reshape([1, 1]).reshape([1]);
                    assert!(same(value(&pending.cast(to)), wanted), "{x:?} of {from}, pending, on {device}");
                }
            }
        }
    }
}

#[test]
fn elements_of_eight_bytes_move_whole() {
    let device = Device::cpu();
    let (far, fine) = (1i64 << 40, 0.1f64);
    let whole: Vec<i64> = (0..6).map(|i| far + i).collect();
    let float: Vec<f64> = (0..6).map(|i| fine + i as f64).collect();
    let (a, b) = (Tensor::from_vec(whole, [2, 3], &device), Tensor::from_f64(&float, [2, 3], &device));
    let moves: [(&str, fn(&Tensor) -> Tensor, &[i64]); 7] = [
        ("reshape", |x| x.reshape([3, 2]), &[0, 1, 2, 3, 4, 5]),
        ("transpose", |x| x.transpose(0, 1), &[0, 3, 1, 4, 2, 5]),
        ("slice", |x| x.slice((.., 1..)), &[1, 2, 4, 5]),
        ("narrow", |x| x.narrow(0, 1, 1), &[3, 4, 5]),
        ("flip", |x| x.flip(&[1]), &[2, 1, 0, 5, 4, 3]),
        ("expand", |x| x.narrow(0, 0, 1).expand([2, 3]), &[0, 1, 2, 0, 1, 2]),
        ("unsqueeze and flatten", |x| x.unsqueeze(0).flatten(0), &[0, 1, 2, 3, 4, 5]),
    ];
    for (name, moved, order) in moves {
        let (whole, float) = (moved(&a).to_vec::<i64>().unwrap(), moved(&b).to_f64().unwrap());
        assert_eq!(whole, order.iter().map(|i| far + i).collect::<Vec<_>>(), "{name}");
        assert_eq!(float, order.iter().map(|&i| fine + i as f64).collect::<Vec<_>>(), "{name}");
    }
    let padded = a.narrow(0, 0, 1).pad(&[(0, 0), (1, 0)]);
    assert_eq!(padded.to_vec::<i64>().unwrap(), [0, far, far + 1, far + 2]);
    assert_eq!(a.full_like((1u64 << 52) as f64).to_vec::<i64>().unwrap(), [1 << 52; 6]);
    assert_eq!(b.full_like(0.1).to_f64().unwrap(), [0.1; 6]);
}

#[test]
fn positions_that_32_bits_do_not_hold_are_out_of_range() {
    let device = Device::cpu();
    let table = Tensor::from_vec(vec![1.0f32, 2.0, 3.0], [3], &device);
    let near = Tensor::from_vec(vec![2i64, 0], [2], &device);
    assert_eq!(table.index_select(0, &near).to_vec::<f32>().unwrap(), [3.0, 1.0]);
    for far in [1i64 << 32, -(1 << 40), i64::MIN] {
        let index = Tensor::from_vec(vec![0, far], [2], &device);
        let error = table.index_select(0, &index).to_vec::<f32>().unwrap_err().to_string();
        assert!(error.contains("gather: index out of range"), "{far}: {error}");
        assert_eq!(index.one_hot(3).to_vec::<f32>().unwrap()[3..], [0.0; 3], "{far}");
    }
}

#[test]
fn files_with_numbers_that_do_not_fit_are_refused_on_gpus() {
    let _turn = turn();
    let folder = std::env::temp_dir().join(format!("farad-numbers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let far = Tensor::from_vec(vec![5i64, -(1 << 40)], [2], &Device::cpu());
    let near = Tensor::from_vec(vec![5i64, -7], [2], &Device::cpu());
    for device in devices() {
        for (tensor, fits) in [(&far, false), (&near, true)] {
            let (file, array) = (folder.join("x.safetensors"), folder.join("x.npy"));
            farad::save(&file, &[("x", tensor)]).unwrap();
            farad::write_npy(&array, tensor).unwrap();
            let read =
                [farad::load(&file, &device).map(|all| all["x"].clone()), farad::read_npy(&array, &device)];
            for result in read {
                match (device.is_gpu(), fits, result) {
                    (false, _, Ok(back)) => {
                        assert_eq!(back.to_vec::<i64>().unwrap(), tensor.to_vec::<i64>().unwrap())
                    }
                    (true, true, Ok(back)) => assert_eq!(back.to_vec::<i32>().unwrap(), [5, -7]),
                    (true, false, Err(error)) => {
                        let error = error.to_string();
                        assert!(error.contains("-1099511627776, element 1 of i64"), "{error}");
                    }
                    (_, _, result) => panic!("{result:?} on {device}"),
                }
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_number_that_the_dtype_does_not_have_is_refused_everywhere() {
    let _turn = turn();
    for device in devices() {
        let words = Tensor::from_vec(vec![0u32, 7], [2], &device);
        let whole = Tensor::from_vec(vec![0i32, 7], [2], &device);
        let truth = Tensor::from_vec(vec![false, true], [2], &device);
        type Work<'a> = Box<dyn Fn() -> Tensor + 'a>;
        let cases: Vec<(&str, &str, Work)> = vec![
            ("add", "u32 does not have this number (-1 vs 0 to 4294967295)", Box::new(|| &words + -1)),
            ("sub", "(-1 vs", Box::new(|| &words - -1.0)),
            ("sub", "(-1 vs", Box::new(|| -1.0 - &words)),
            ("mul", "(-1 vs", Box::new(|| words.clone() * -1)),
            ("div", "(4294967296 vs", Box::new(|| &words / 4294967296.0)),
            ("rem", "(-3 vs", Box::new(|| &words % -3)),
            ("bitand", "(-1 vs", Box::new(|| &words & -1)),
            ("shl", "(-1 vs", Box::new(|| &words << -1)),
            ("equal", "(-1 vs", Box::new(|| words.equal(-1))),
            ("not_equal", "(-1 vs", Box::new(|| words.not_equal(-1))),
            ("less", "(-1 vs", Box::new(|| words.less(-1))),
            ("greater_equal", "(5000000000 vs", Box::new(|| words.greater_equal(5e9))),
            ("maximum", "(-1 vs", Box::new(|| words.maximum(-1))),
            ("clamp", "(-1 vs", Box::new(|| words.clamp(-1, 5))),
            ("clamp", "(5000000000 vs", Box::new(|| words.clamp(1, 5e9))),
            ("xor", "(-1 vs", Box::new(|| words.xor(-1))),
            ("full_like", "(-1 vs", Box::new(|| words.full_like(-1.0))),
            ("full_like", "(0.5 vs", Box::new(|| words.full_like(0.5))),
            ("full_like", "(NaN vs", Box::new(|| whole.full_like(f64::NAN))),
            ("add", "i32 does not have this number (3000000000 vs", Box::new(|| &whole + 3e9)),
            ("add", "(4000000000 vs", Box::new(|| &whole + 4_000_000_000u32)),
            ("equal", "(-2147483649 vs", Box::new(|| whole.equal(-2147483649.0))),
            ("equal", "bool does not have this number (2 vs 0 to 1)", Box::new(|| truth.equal(2))),
        ];
        for (op, numbers, work) in cases {
            let (message, file) = panic_of(|| drop(work()))
                .unwrap_or_else(|| panic!("{op} {numbers} went through on {device}"));
            assert!(
                message.starts_with(&format!("{op}: ")) && message.contains(numbers),
                "{op} {numbers}: {message}"
            );
            assert!(message.contains("help:"), "{message}");
            assert!(file.ends_with("numbers.rs"), "{message} is laid at {file}");
        }
        assert_eq!((&words + 4294967295.0).to_vec::<u32>().unwrap(), [4294967295, 6], "sums wrap");
        assert_eq!((&whole + -2147483648.0).to_vec::<i32>().unwrap(), [-2147483648, -2147483641]);
        assert_eq!((&whole + 0.5).to_vec::<f32>().unwrap(), [0.5, 7.5], "fractions make floats");
        assert_eq!(whole.less(f64::INFINITY).to_vec::<bool>().unwrap(), [true, true]);
    }
    let bytes = Tensor::from_vec(vec![200u8], [1], &Device::cpu());
    assert_eq!((&bytes + 100).to_vec::<u8>().unwrap(), [44], "bytes stay bytes, and wrap");
    let (message, _) = panic_of(|| drop(&bytes + 300)).expect("300 is no byte");
    assert!(message.contains("u8 does not have this number (300 vs 0 to 255)"), "{message}");
}

#[test]
fn labels_without_sign_can_have_some_ignored() {
    let device = Device::cpu();
    let logits = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [2, 2], &device);
    let labels = Tensor::from_vec(vec![0u32, 1], [2], &device);
    let all = logits.cross_entropy(&labels).item().unwrap();
    let none = farad::loss::CrossEntropy::new().ignore(-100).loss(&logits, &labels).item().unwrap();
    assert_eq!(all, none, "label 0 is not label -100");
}

#[test]
fn what_is_no_probability_is_refused() {
    use farad::nn::{Gru, MultiHeadAttention, TransformerOptions};
    let x = Tensor::ones([2], &Device::cpu());
    for p in [-0.1, 1.5, f64::NAN, f64::INFINITY] {
        let cases: [(&str, Box<dyn Fn() + '_>); 7] = [
            ("Tensor::dropout", Box::new(|| drop(x.dropout(p)))),
            ("Tensor::random_mask", Box::new(|| drop(Tensor::random_mask(p, [2], &Device::cpu())))),
            ("Dropout", Box::new(|| drop(Dropout::new(p)))),
            ("Attention", Box::new(|| drop(farad::Attention::new().dropout(p)))),
            ("MultiHeadAttention", Box::new(|| drop(MultiHeadAttention::new(4, 2).dropout(p)))),
            ("TransformerOptions", Box::new(|| _ = TransformerOptions::new(4, 2).dropout(p))),
            ("Gru", Box::new(|| drop(Gru::new(2, 2).dropout(p)))),
        ];
        for (name, work) in cases {
            let (message, file) = panic_of(work).unwrap_or_else(|| panic!("{name} took {p}"));
            assert!(
                message.contains("not a probability") && message.contains("vs 0 to 1"),
                "{name}: {message}"
            );
            assert!(file.ends_with("numbers.rs"), "{name}: {message} is laid at {file}");
        }
    }
}
