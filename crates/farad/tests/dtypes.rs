//! Dtypes beside `f32`: integers of every size exact, `f64` as fine as it is, promotion, files, and what GPUs refuse.

mod devices;
mod panics;

use devices::{devices, turn};
use farad::prelude::*;
use farad::{DType, Order};
use farad_ir::{Binary, Unary};
use panics::panic_of;

/// Integers of 64 bits that floats do not hold, and the ends.
const LONG: [i64; 15] = [
    0,
    1,
    -1,
    2,
    -7,
    63,
    64,
    1 << 31,
    (1 << 53) + 1,
    -(1 << 53) - 1,
    0x0123_4567_89ab_cdef,
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
    i64::MIN + 1,
];

/// Every pair of them, as tensors of a dtype.
fn pairs(dtype: DType) -> (Vec<(i64, i64)>, Tensor, Tensor) {
    let pairs: Vec<(i64, i64)> = LONG.iter().flat_map(|&a| LONG.iter().map(move |&b| (a, b))).collect();
    let (a, b): (Vec<i64>, Vec<i64>) = pairs.iter().copied().unzip();
    let tensor = |x: Vec<i64>| Tensor::from_vec(x, [pairs.len()], &Device::cpu()).cast(dtype);
    let (a, b) = (tensor(a), tensor(b));
    (pairs, a, b)
}

fn bits(x: &Tensor) -> Vec<i64> {
    match x.dtype() {
        DType::Bool => x.to_vec::<bool>().unwrap().into_iter().map(i64::from).collect(),
        DType::U64 => x.to_vec::<u64>().unwrap().into_iter().map(|x| x as i64).collect(),
        _ => x.to_vec::<i64>().unwrap(),
    }
}

#[test]
fn arithmetic_of_64_bits_is_exact() {
    type Row = (Binary, fn(&Tensor, &Tensor) -> Tensor);
    let rows: [Row; 18] = [
        (Binary::Add, |a, b| a + b),
        (Binary::Sub, |a, b| a - b),
        (Binary::Mul, |a, b| a * b),
        (Binary::Div, |a, b| a / b),
        (Binary::Rem, |a, b| a % b),
        (Binary::Max, |a, b| a.maximum(b)),
        (Binary::Min, |a, b| a.minimum(b)),
        (Binary::Less, |a, b| a.less(b)),
        (Binary::LessEqual, |a, b| a.less_equal(b)),
        (Binary::Greater, |a, b| a.greater(b)),
        (Binary::GreaterEqual, |a, b| a.greater_equal(b)),
        (Binary::Equal, |a, b| a.equal(b)),
        (Binary::NotEqual, |a, b| a.not_equal(b)),
        (Binary::And, |a, b| a & b),
        (Binary::Or, |a, b| a | b),
        (Binary::Xor, |a, b| a ^ b),
        (Binary::Shl, |a, b| a << b),
        (Binary::Shr, |a, b| a >> b),
    ];
    for dtype in [DType::I64, DType::U64] {
        let (pairs, a, b) = pairs(dtype);
        for (op, function) in rows {
            let y = function(&a, &b);
            for (&(a, b), y) in pairs.iter().zip(bits(&y)) {
                assert_eq!(Some(y), op.whole(dtype, a, b), "{op:?} of {a} and {b} as {dtype}");
            }
        }
        assert_eq!(bits(&!&a), pairs.iter().map(|p| !p.0).collect::<Vec<_>>());
    }
    let (pairs, a, _) = pairs(DType::I64);
    for (op, y) in
        [(Unary::Neg, -&a), (Unary::Abs, a.abs()), (Unary::Sign, a.sign()), (Unary::Relu, a.relu())]
    {
        let wanted: Vec<i64> = pairs.iter().map(|p| op.whole(DType::I64, p.0).unwrap()).collect();
        assert_eq!(bits(&y), wanted, "{op:?}");
    }
    // By hand, so that the table too is checked.
    let one = |x: i64| Tensor::from_vec(vec![x], [1], &Device::cpu());
    assert_eq!(bits(&(one(i64::MAX) + 1)), [i64::MIN], "sums wrap");
    assert_eq!(bits(&(one(-7) / &one(2))), [-3], "quotients truncate");
    assert_eq!(bits(&(one(-7) % &one(2))), [1], "remainders have the divisor's sign");
    assert_eq!(bits(&(one(-1) % &one(i64::MIN))), [-1]);
    assert_eq!(bits(&(one((1 << 53) + 1) - (1i64 << 53))), [1], "an i64 beside a tensor is whole");
}

#[test]
fn reductions_orders_and_indices_of_64_bits_are_exact() {
    let device = Device::cpu();
    let values: Vec<i64> = (0..5000i64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64)).collect();
    for rows in [1, 5, 50, 1000] {
        let len = values.len() / rows;
        let x = Tensor::from_vec(values.clone(), [rows, len], &device);
        let chunks = || values.chunks(len);
        let each = |f: fn(&[i64]) -> i64| chunks().map(f).collect::<Vec<_>>();
        assert_eq!(bits(&x.sum_axes([1])), each(|r| r.iter().fold(0, |a, &b| a.wrapping_add(b))));
        assert_eq!(bits(&x.prod_axes([1])), each(|r| r.iter().fold(1, |a, &b| a.wrapping_mul(b))));
        assert_eq!(bits(&x.max_axes([1])), each(|r| *r.iter().max().unwrap()));
        assert_eq!(bits(&x.transpose(0, 1).min_axes([0])), each(|r| *r.iter().min().unwrap()));
        let unsigned = x.cast(DType::U64);
        let largest: Vec<u64> = chunks().map(|r| r.iter().map(|&x| x as u64).max().unwrap()).collect();
        assert_eq!(unsigned.max_axes([1]).to_vec::<u64>().unwrap(), largest);
        let mut sorted: Vec<Vec<i64>> = chunks().map(<[i64]>::to_vec).collect();
        sorted.iter_mut().for_each(|row| row.sort());
        assert_eq!(bits(&x.sort(1, Order::Ascending).0), sorted.concat());
        let place = |row: &[i64]| (0..len).max_by_key(|&n| (row[n], std::cmp::Reverse(n))).unwrap() as i32;
        assert_eq!(x.argmax(1).to_vec::<i32>().unwrap(), chunks().map(place).collect::<Vec<_>>());
    }
    let x = Tensor::from_vec(values[..6].to_vec(), [3, 2], &device);
    let index = Tensor::from_vec(vec![2i64, 0], [2], &device);
    assert_eq!(bits(&x.index_select(0, &index)), [&values[4..6], &values[..2]].concat());
    let ones = Tensor::from_vec(vec![i64::MAX, 1, 1], [3], &device);
    let to = Tensor::from_vec(vec![1, 1, 0], [3], &device);
    assert_eq!(bits(&ones.full_like(0.0).scatter_add(0, &to, &ones)), [1, i64::MIN, 0]);
    assert_eq!(bits(&ones.cumsum(0)), [i64::MAX, i64::MIN, i64::MIN + 1]);
}

#[test]
fn small_integers_wrap_after_every_op() {
    let device = Device::cpu();
    let bytes = Tensor::from_vec(vec![250u8, 3], [2], &device);
    // In one kernel: the sum is compared after it wrapped.
    assert_eq!((&bytes + 10).less(10).to_vec::<bool>().unwrap(), [true, false]);
    assert_eq!((&bytes + 10).cast(DType::F32).to_vec::<f32>().unwrap(), [4.0, 13.0]);
    let small = Tensor::from_vec(vec![-128i8, 100], [2], &device);
    assert_eq!((-&small).to_vec::<i8>().unwrap(), [-128, -100]);
    assert_eq!((&small * 2 / 2).to_vec::<i8>().unwrap(), [0, -28]);
    assert_eq!((&small >> 1).to_vec::<i8>().unwrap(), [-64, 50]);
    let short = Tensor::from_vec(vec![30_000i16; 3], [3], &device);
    assert_eq!(short.sum().to_vec::<i16>().unwrap(), [90_000i32 as i16]);
    assert_eq!(short.cumsum(0).to_vec::<i16>().unwrap(), [30_000, 60_000i32 as i16, 90_000i32 as i16]);
    let words = Tensor::from_vec(vec![65_535u16, 1], [2], &device);
    assert_eq!((&words + 1).to_vec::<u16>().unwrap(), [0, 2]);
    assert_eq!((!&words).to_vec::<u16>().unwrap(), [0, 65_534]);
}

/// A function with most families of ops in it: products, sums, functions, gathers, orders, running sums.
fn busy(x: &Tensor, w: &Tensor) -> Tensor {
    let h = (x.matmul(w) / 3.0).tanh() + x.exp().log1p().sum_axes(farad::kept([1]));
    let index = Tensor::from_vec(vec![2, 0, 1], [3], x.device());
    let picked = h.index_select(1, &index).softmax(1) * h.sigmoid().cumsum(1);
    let sorted = (picked.erf() + h.sin()).sort(1, Order::Descending).0;
    (sorted * picked.square().mean_axes(farad::kept([0]))).sum() + h.max_axes([1]).prod()
}

#[test]
fn gradients_of_f64_agree_with_differences_on_the_cpu() {
    let device = Device::cpu();
    let number = |n: usize| ((n * 37 % 101) as f64 / 50.0 - 1.0) * 0.9;
    let (x, w): (Vec<f64>, Vec<f64>) = ((0..20).map(number).collect(), (20..32).map(number).collect());
    let tensor = |x: &[f64], shape: [usize; 2]| Tensor::from_f64(x, shape, &device);
    let (a, b) = (tensor(&x, [5, 4]), tensor(&w, [4, 3]));
    let loss = busy(&a, &b);
    assert_eq!(loss.dtype(), DType::F64);
    let gradients = loss.gradients_at(&[&a, &b]).unwrap();
    let found: Vec<Vec<f64>> = gradients.iter().map(|g| g.to_f64().unwrap()).collect();
    const STEP: f64 = 1e-6;
    for (input, gradient) in found.iter().enumerate() {
        for (n, &slope) in gradient.iter().enumerate() {
            let at = |by: f64| {
                let (mut x, mut w) = (x.clone(), w.clone());
                if input == 0 {
                    x[n] += by
                } else {
                    w[n] += by
                }
                busy(&tensor(&x, [5, 4]), &tensor(&w, [4, 3])).to_f64().unwrap()[0]
            };
            let difference = (at(STEP) - at(-STEP)) / (2.0 * STEP);
            let error = (difference - slope).abs() / slope.abs().max(1.0);
            assert!(error < 1e-7, "input {input}, element {n}: {slope} is not {difference}");
        }
    }
}

#[test]
fn optimizers_train_f64() {
    let device = Device::cpu();
    let target = Tensor::from_f64(&[0.1, -2.0, 1.0 / 3.0], [3], &device);
    let weight = Parameter::new(Tensor::from_f64(&[1.0, 1.0, 1.0], [3], &device));
    let mut sgd =
        Sgd::new(vec![weight.clone()]).learning_rate(0.125).momentum(0.5).clip(farad::optim::Clip::Norm(1.0));
    let loss = |w: &Parameter| (w.value() - &target).square().sum();
    for _ in 0..400 {
        sgd.step(&loss(&weight)).unwrap();
    }
    let error = (weight.value() - &target).abs().max().to_f64().unwrap()[0];
    assert!(error < 1e-15, "{error:e} is far for f64");
    let state = sgd.state().unwrap();
    assert!(state.iter().any(|(_, tensor)| tensor.dtype() == DType::F64), "moments are f64");
    sgd.restore(&state).unwrap();
    let adam = Parameter::new(Tensor::from_f64(&[1.0, 1.0, 1.0], [3], &device));
    let mut optimizer = AdamW::new(vec![adam.clone()]).learning_rate(0.01);
    let gradients = optimizer.gradients(&loss(&adam)).unwrap();
    assert_eq!(gradients[0].dtype(), DType::F64);
    optimizer.apply(&gradients).unwrap();
    optimizer.step(&loss(&adam)).unwrap();
    assert_eq!(adam.value().dtype(), DType::F64);
    let half = Parameter::new(target.cast(DType::F32));
    let error = Sgd::new(vec![adam.clone(), half]).step(&loss(&adam)).unwrap_err().to_string();
    assert_eq!(error, "step: dtypes differ: f64 and f32");
}

#[test]
fn numbers_beside_tensors_keep_the_dtype() {
    let device = Device::cpu();
    let x = Tensor::from_f64(&[0.1], [1], &device);
    assert_eq!((&x * 2.0 + 1).to_f64().unwrap(), [0.1 * 2.0 + 1.0]);
    assert_eq!((1.0 / &x).to_f64().unwrap(), [1.0 / 0.1]);
    for dtype in DType::ALL.into_iter().filter(|d| d.is_int()) {
        let x = Tensor::from_vec(vec![5i32], [1], &device).cast(dtype);
        assert_eq!((&x + 1).dtype(), dtype);
        assert_eq!((&x * 0.5).dtype(), DType::F32, "a fraction beside {dtype}");
    }
    // A number that changes from run to run becomes one that is given with it, in all its bits.
    for n in 0..4 {
        let number = 0.1 + n as f64;
        assert_eq!((&x * number).to_f64().unwrap(), [0.1 * number]);
    }
    let long = Tensor::from_vec(vec![0i64], [1], &device);
    for n in 0..4i64 {
        assert_eq!((&long + ((1 << 60) + n)).to_vec::<i64>().unwrap(), [(1 << 60) + n]);
    }
}

#[test]
fn dtypes_meet_as_the_table_says() {
    use DType::*;
    let rows = [
        (Bool, U8, Some(U8)),
        (Bool, F64, Some(F64)),
        (I8, I16, Some(I16)),
        (I32, I64, Some(I64)),
        (U8, U16, Some(U16)),
        (U32, U64, Some(U64)),
        (U8, I8, Some(I16)),
        (U8, I64, Some(I64)),
        (U16, I8, Some(I32)),
        (U16, I16, Some(I32)),
        (U32, I8, Some(I64)),
        (U32, I64, Some(I64)),
        (U32, I32, Some(I32)),
        (U64, I8, None),
        (U64, I64, None),
        (I64, F16, Some(F16)),
        (U8, F32, Some(F32)),
        (I8, BF16, Some(F32)),
        (F16, F32, Some(F32)),
        (F16, BF16, Some(F32)),
        (BF16, BF16, Some(F32)),
        (F32, F64, Some(F64)),
        (BF16, F64, Some(F64)),
    ];
    for (a, b, met) in rows {
        assert_eq!((a.promote(b), b.promote(a)), (met, met), "{a} and {b}");
        let one = |dtype| Tensor::ones([1], &Device::cpu()).cast(dtype);
        match met {
            Some(met) => assert_eq!((&one(a) + &one(b)).dtype(), met, "{a} and {b}"),
            None => {
                let (message, file) = panic_of(|| drop(&one(a) + &one(b))).expect("no integer holds both");
                let start = format!("add: no integer dtype holds both: lhs {a}, rhs {b}\nhelp: ");
                assert!(message.starts_with(&start), "{message}");
                assert!(file.ends_with("dtypes.rs"), "{message} is laid at {file}");
            }
        }
    }
    for dtype in DType::ALL {
        assert_eq!(dtype.promote(dtype), Some(if dtype == BF16 { F32 } else { dtype }));
    }
}

/// Some numbers of a dtype.
fn sample(dtype: DType) -> Tensor {
    let device = Device::cpu();
    match dtype {
        DType::F64 => Tensor::from_f64(&[0.1, -1e300, f64::MIN_POSITIVE, 7.0], [2, 2], &device),
        DType::I64 => Tensor::from_vec(vec![i64::MIN, i64::MAX, (1 << 53) + 1, -1], [2, 2], &device),
        DType::U64 => Tensor::from_vec(vec![u64::MAX, 0, (1 << 63) + 1, 7], [2, 2], &device),
        DType::Bool => Tensor::from_vec(vec![true, false, false, true], [2, 2], &device),
        _ => Tensor::from_vec(vec![1i32, 127, 0, 3], [2, 2], &device).cast(dtype),
    }
}

#[test]
fn files_hold_every_dtype() {
    let folder = std::env::temp_dir().join(format!("farad-dtypes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let device = Device::cpu();
    for dtype in DType::ALL {
        let x = sample(dtype);
        let bytes = |x: &Tensor| x.read().unwrap().wait().unwrap();
        let (file, array, many) = (folder.join("x.safetensors"), folder.join("x.npy"), folder.join("x.npz"));
        farad::save(&file, &[("x", &x)]).unwrap();
        let back = &farad::load(&file, &device).unwrap()["x"];
        assert_eq!((back.dtype(), bytes(back)), (dtype, bytes(&x)), "safetensors");
        // NumPy does not know bf16.
        let x = if dtype == DType::BF16 { x.cast(DType::F32) } else { x };
        farad::write_npy(&array, &x).unwrap();
        farad::write_npz(&many, &[("x", &x)]).unwrap();
        let arrays = [
            farad::read_npy(&array, &device).unwrap(),
            farad::read_npz(&many, &device).unwrap()["x"].clone(),
        ];
        for back in arrays {
            assert_eq!((back.dtype(), bytes(&back)), (x.dtype(), bytes(&x)), "npy and npz");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn gpus_say_which_dtypes_they_do_not_have() {
    let _turn = turn();
    for device in devices().into_iter().filter(|device| device.is_gpu()) {
        for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_on_gpus()) {
            let x = Tensor::ones([2], &device);
            let (message, file) = panic_of(|| drop(x.cast(dtype))).expect("a dtype that GPUs do not have");
            let wanted = format!(
                "cast: dtype not supported: {dtype}\nhelp: GPUs do not have this dtype; move the tensor to the CPU first"
            );
            assert_eq!(message, wanted);
            assert!(file.ends_with("dtypes.rs"), "{message} is laid at {file}");
            let (message, _) = panic_of(|| drop(sample(dtype).to_device(&device))).expect("as above");
            let wanted = format!(
                "from_vec: dtype not supported: {dtype}\nhelp: GPUs do not have this dtype; cast it on the CPU first, or stay there"
            );
            assert_eq!(message, wanted);
        }
    }
}

#[test]
fn loops_carry_every_size() {
    let device = Device::cpu();
    let n = 37;
    let long: Vec<i64> = (0..n as i64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64)).collect();
    let fine: Vec<f64> = (0..n).map(|i| 0.1 * i as f64).collect();
    let bytes: Vec<u8> = (0..n).map(|i| 7 * i as u8).collect();
    let steps: Vec<i16> = (0..5 * n).map(|i| 1000 * (i % 29) as i16).collect();
    let carries = [
        Tensor::from_vec(long.clone(), [n], &device),
        Tensor::from_f64(&fine, [n], &device),
        Tensor::from_vec(bytes.clone(), [n], &device),
    ];
    let sequence = Tensor::from_vec(steps.clone(), [5, n], &device);
    let (last, kept) = farad::scan(&[&carries[0], &carries[1], &carries[2]], &[&sequence], |c, s| {
        let next = vec![&c[0] * 3 + s[0].cast(DType::I64), (&c[1] * 0.5 + &s[0]).sin(), &c[2] + 100];
        let summed = c[0].cast(DType::U64) + c[2].cast(DType::U64);
        (next, vec![summed])
    });
    let (mut a, mut b, mut c) = (long, fine, bytes);
    let mut sums = Vec::new();
    for row in steps.chunks(n) {
        for (i, &s) in row.iter().enumerate() {
            sums.push((a[i] as u64).wrapping_add(c[i] as u64));
            a[i] = a[i].wrapping_mul(3).wrapping_add(s.into());
            b[i] = (b[i] * 0.5 + s as f64).sin();
            c[i] = c[i].wrapping_add(100);
        }
    }
    assert_eq!(bits(&last[0]), a);
    assert_eq!(last[1].to_f64().unwrap(), b);
    assert_eq!(last[2].to_vec::<u8>().unwrap(), c);
    assert_eq!(kept[0].to_vec::<u64>().unwrap(), sums);
}
