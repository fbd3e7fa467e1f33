//! Casts between all pairs of dtypes, and reads of storage dtypes.

use farad::Tensor;
use farad_ir::DType;

use super::HALF;
use crate::case::{Case, Input, all_of, float, half, int, truth, unsigned, whole};

/// Numbers of a dtype: those that most others can represent, and its whole range.
fn sources(dtype: DType) -> Vec<Input> {
    match dtype {
        DType::F32 => vec![float([301], (-3.0, 300.0)), whole([301], (-1.0, 1.0))],
        DType::F16 => vec![half([301], (-3.0, 300.0)), whole([301], (-1.0, 1.0)).stored(DType::F16)],
        DType::I32 => vec![int([301], -2, 2), int([301], -15_000, 15_000)],
        DType::U32 => vec![unsigned([301], 0, 2), unsigned([301], 0, 30_000)],
        DType::Bool => vec![truth([301])],
        DType::BF16 => vec![float([301], (-3.0, 200.0)).stored(dtype)],
        DType::F64 => {
            let fine = float([301], (-3.0, 200.0)).stored(dtype);
            vec![fine, whole([301], (-900.0, 900.0)).stored(dtype)]
        }
        DType::I8 | DType::I16 | DType::U8 => vec![all_of([301], dtype)],
        DType::I64 | DType::U64 | DType::U16 => {
            vec![whole([301], (0.0, 30_000.0)).stored(dtype), all_of([301], dtype)]
        }
    }
}

/// Whether a float dtype cannot represent the numbers of an input.
fn overflows(input: &Input, to: DType) -> bool {
    to == DType::F16 && input.dtype.is_int() && input.largest() > 60_000.0
}

/// The rounding error of a cast to the dtype.
fn tolerance(to: DType) -> f64 {
    match to {
        DType::F16 => HALF,
        DType::BF16 => 8e-3,
        DType::F64 => 0.0,
        _ => 1e-7,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for from in DType::ALL {
        for to in DType::ALL {
            for input in sources(from).into_iter().filter(|input| !overflows(input, to)) {
                let case =
                    Case::new("cast", format!("to {to}"), vec![input], tolerance(to), move |x| x[0].cast(to));
                let compute = from.is_compute() && to.is_compute();
                let everywhere = from.is_on_gpus() && to.is_on_gpus();
                let case = only(everywhere, case);
                // A cast to integers or booleans has no gradient.
                cases.push(if to.is_float() && compute { case } else { case.without_gradient() });
            }
        }
    }
    let wide = [
        (float([257], (-4e9, 4e9)), DType::I32),
        (float([257], (-4e9, 8e9)), DType::U32),
        (float([257], (-15_000.0, 15_000.0)), DType::I32),
        (float([257], (-15_000.0, 15_000.0)), DType::F16),
        (float([257], (-1e38, 1e38)), DType::BF16),
        (int([257], i32::MIN, i32::MAX), DType::U32),
        (unsigned([257], 0, u32::MAX), DType::I32),
        (int([257], i32::MIN, i32::MAX), DType::F32),
        (unsigned([257], 0, u32::MAX), DType::F32),
        (int([257], i32::MIN, i32::MAX), DType::Bool),
        (float([257], (-1e5, 1e5)), DType::I16),
        (float([257], (-300.0, 300.0)), DType::I8),
        (float([257], (-1e5, 1e5)), DType::U16),
        (float([257], (-2e19, 2e19)), DType::I64),
        (float([257], (-2e19, 4e19)), DType::U64),
        (float([257], (-2e19, 4e19)).stored(DType::F64), DType::U64),
        (float([257], (-2e19, 2e19)).stored(DType::F64), DType::I64),
        (float([257], (-4e9, 4e9)).stored(DType::F64), DType::I32),
    ];
    for (input, to) in wide {
        cases.push(only(input.dtype.is_on_gpus() && to.is_on_gpus(), {
            Case::new("cast", format!("far, to {to}"), vec![input], tolerance(to), move |x| x[0].cast(to))
                .without_gradient()
        }));
    }
    cases.extend(constants());
    cases.push(Case::new("cast", "there and back", vec![float([65], (-3.0, 3.0))], HALF, |x| {
        x[0].cast(DType::F16).cast(DType::F32)
    }));
    cases.extend(brains());
    cases.extend(bytes());
    cases
}

/// Marks the case as CPU only, unless GPUs support its dtypes.
fn only(everywhere: bool, case: Case) -> Case {
    if everywhere { case } else { case.on_cpu_only() }
}

/// `bf16` in odd shapes, through movement ops and as an operand of a product.
fn brains() -> Vec<Case> {
    let brain = |shape: &[usize]| float(shape, (-3.0, 3.0)).stored(DType::BF16);
    let of = |detail: &str, input: Input, tolerance: f64, function: fn(&Tensor) -> Tensor| {
        Case::new("cast", detail, vec![input], tolerance, move |x| function(&x[0])).without_gradient()
    };
    let to = |dtype| tolerance(dtype);
    vec![
        of("bf16 there and back", float([65], (-3.0, 3.0)), to(DType::BF16), |x| {
            x.cast(DType::BF16).cast(DType::F32)
        }),
        of("bf16 of rows of three", float([5, 3], (-3.0, 3.0)), to(DType::BF16), |x| x.cast(DType::BF16)),
        of("bf16 transposed", brain(&[7, 5]), 0.0, |x| x.transpose(0, 1).cast(DType::F32)),
        of("bf16 kept transposed", float([7, 5], (-3.0, 3.0)), to(DType::BF16), |x| {
            x.transpose(0, 1).cast(DType::BF16)
        }),
        of("bf16 in a product", brain(&[33, 40]), 1e-6, |x| {
            let x = x.cast(DType::F32);
            x.matmul(&x.transpose(0, 1))
        }),
        of("bf16 summed", brain(&[9, 64]), 1e-6, |x| x.cast(DType::F32).sum_axes([1])),
    ]
}

/// Small integers in odd shapes, through movement ops, indices and loops: on GPUs a word has four bytes.
fn bytes() -> Vec<Case> {
    type Row = (&'static str, &'static [usize], fn(&Tensor) -> Tensor);
    let rows: [Row; 10] = [
        ("there and back", &[65], |x| x.cast(DType::F32).cast(x.dtype())),
        ("of rows of three", &[5, 3], |x| x + 1.0),
        ("transposed", &[7, 5], |x| x.transpose(0, 1) + 1.0),
        ("transposed by fours", &[8, 12], |x| x.transpose(0, 1) + 1.0),
        ("padded", &[5, 3], |x| x.pad(&[(1, 0), (2, 1)])),
        ("reversed", &[1031], |x| x.flip(&[0])),
        ("joined", &[3, 7], |x| Tensor::concat(&[x, &x.flip(&[1])], 1)),
        ("every third", &[100], |x| x.index_select(0, &(Tensor::arange(33, x.device()) * 3))),
        ("added up at places", &[20, 3], |x| {
            let places = Tensor::arange(20, x.device()) % 7;
            x.narrow(0, 0, 7).scatter_add(0, &places.reshape([20, 1]), x)
        }),
        ("accumulated", &[9, 5], |x| x.cumsum(0)),
    ];
    let dtypes = DType::ALL.into_iter().filter(|d| d.is_int() && d.is_narrow());
    let of = |dtype: DType| {
        rows.map(|(detail, shape, function)| {
            let inputs = vec![all_of(shape, dtype)];
            Case::new("cast", format!("{dtype} {detail}"), inputs, 0.0, move |x| function(&x[0]))
        })
    };
    dtypes.flat_map(of).collect()
}

/// Casts of constants, which the compiler folds: the result must be what the device would give.
fn constants() -> Vec<Case> {
    let of = |value: f32, to: DType| {
        Case::new("cast", format!("of {value} everywhere, to {to}"), vec![], tolerance(to), move |x| {
            Tensor::full(value, [3], &x.device).cast(to)
        })
    };
    let whole = |value: f64, to: DType| {
        let detail = format!("of {value} everywhere, to {to}");
        Case::new("cast", detail, vec![int([3], 0, 9)], tolerance(to), move |x| {
            x[0].full_like(value).cast(to)
        })
    };
    vec![
        of(3e9, DType::I32),
        of(-3e9, DType::I32),
        of(-1.5, DType::U32),
        of(1e10, DType::U32),
        of(-0.5, DType::Bool),
        of(0.1, DType::F16),
        of(f32::NAN, DType::I32),
        whole(-1.0, DType::U32),
        whole(-2.0, DType::Bool),
        whole(16_777_217.0, DType::F32),
    ]
}
