//! The table of cases. Names are those that other frameworks' scripts print for the same work.

use std::borrow::Cow;
use std::sync::LazyLock;

use farad::{DType, Device, Precision, Tensor};

use super::attention::AttentionForm;
use super::{
    attention, automaton, cartpole, compile, convolution, creatures, gpt, images, logic, matmul, movement,
    pointwise, pooling, ppo, recurrent, reduce, rows, shape::DrawnWork, sort, train,
};

/// One row: what is timed, where, and how wrong it may be.
pub struct BenchCase {
    /// The name, the same everywhere.
    pub name: Cow<'static, str>,
    /// Which devices its size suits.
    pub sizes: SuitedDevices,
    /// The largest relative error, norm-wise.
    pub tolerance: f64,
    /// How it is timed, and what makes its workload.
    pub kind: TimedAs,
}

/// Which devices a size suits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuitedDevices {
    /// All.
    Any,
    /// The CPU and GPUs in software.
    Small,
    /// GPUs.
    Large,
}

/// How a case is timed.
#[derive(Clone, Copy)]
pub enum TimedAs {
    /// One expression again and again.
    Operation(Prepare),
    /// Steps that change their parameters.
    Training(Prepare),
    /// Very many steps, the last compared with the first.
    Steady,
    /// The first run of a program of so many steps, on a handle of its own.
    Compile(compile::CompiledCase, usize),
    /// The first iteration of a new process.
    Process(fn(&Device) -> farad::Result<Workload>),
}

/// What makes a workload.
#[derive(Clone, Copy)]
pub enum Prepare {
    /// A row of the table.
    Listed(fn(&Device) -> farad::Result<Workload>),
    /// A shape that was drawn.
    Drawn(DrawnWork),
}

impl Prepare {
    /// The workload on a device.
    pub fn workload(&self, device: &Device) -> farad::Result<Workload> {
        match self {
            Prepare::Listed(prepare) => prepare(device),
            Prepare::Drawn(shape) => shape.workload(device),
        }
    }
}

/// What an iteration does at least.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CaseWork {
    /// Floating-point operations; 0 if they are not what limits it.
    pub flops: f64,
    /// Bytes read and written; 0 if they are not what limits it.
    pub bytes: f64,
    /// Samples; 0 if there are none.
    pub items: f64,
}

/// Something to time.
pub struct Workload {
    /// Starts one iteration and does not wait for it.
    pub iterate: Box<dyn FnMut() -> farad::Result<()>>,
    /// The relative error of the result against f64, on a sample.
    pub error: Box<dyn FnMut() -> farad::Result<f64>>,
    /// What an iteration does.
    pub work: CaseWork,
}

impl Workload {
    /// An expression of resident tensors: recorded anew each time, so that its plan replays.
    pub fn expression(
        inputs: Vec<Tensor>,
        work: CaseWork,
        build: impl Fn(&[Tensor]) -> Tensor + Clone + 'static,
        error: impl Fn(&[Tensor], &Tensor) -> farad::Result<f64> + 'static,
    ) -> Workload {
        let (kept, again) = (inputs.clone(), build.clone());
        Workload {
            iterate: Box::new(move || again(&kept).compute()),
            error: Box::new(move || {
                let result = build(&inputs).detach()?;
                error(&inputs, &result)
            }),
            work,
        }
    }
}

/// Uniform numbers from -1 to 1, computed and without history.
pub fn signed(shape: &[usize], device: &Device) -> farad::Result<Tensor> {
    (Tensor::rand(shape, device) * 2.0 - 1.0).detach()
}

/// Uniform numbers from 0 to 1, computed and without history.
pub fn uniform(shape: &[usize], device: &Device) -> farad::Result<Tensor> {
    Tensor::rand(shape, device).detach()
}

/// Attention of f16 tensors: weights are rounded as well as operands and results.
fn f16_attention(name: &'static str, prepare: fn(&Device) -> farad::Result<Workload>) -> BenchCase {
    BenchCase { tolerance: 2e-3, ..operation(name, SuitedDevices::Large, prepare) }
}

fn operation(
    name: &'static str,
    sizes: SuitedDevices,
    prepare: fn(&Device) -> farad::Result<Workload>,
) -> BenchCase {
    BenchCase {
        name: Cow::Borrowed(name),
        sizes,
        tolerance: 1e-5,
        kind: TimedAs::Operation(Prepare::Listed(prepare)),
    }
}

/// The error that f16 products may have: results are rounded to 11 bits.
pub const F16_TOLERANCE: f64 = 5e-4;

/// An f16 product.
fn f16_product(name: &'static str, prepare: fn(&Device) -> farad::Result<Workload>) -> BenchCase {
    BenchCase { tolerance: F16_TOLERANCE, ..operation(name, SuitedDevices::Large, prepare) }
}

/// An f32 product of f16 products, whose errors are a little larger.
fn precise(name: &'static str, prepare: fn(&Device) -> farad::Result<Workload>) -> BenchCase {
    BenchCase { tolerance: 4e-5, ..operation(name, SuitedDevices::Large, prepare) }
}

fn training(
    name: &'static str,
    sizes: SuitedDevices,
    prepare: fn(&Device) -> farad::Result<Workload>,
) -> BenchCase {
    BenchCase {
        name: Cow::Borrowed(name),
        sizes,
        tolerance: 1e-4,
        kind: TimedAs::Training(Prepare::Listed(prepare)),
    }
}

fn other(name: &'static str, tolerance: f64, kind: TimedAs) -> BenchCase {
    BenchCase { name: Cow::Borrowed(name), sizes: SuitedDevices::Any, tolerance, kind }
}

/// Convolutions of one channel, of many, and of many on large images.
const SMALL: convolution::ConvolutionSize = convolution::ConvolutionSize {
    batch: 64,
    inputs: 1,
    outputs: 32,
    side: 28,
    window: 3,
    stride: 1,
    groups: 1,
};
const BIG: convolution::ConvolutionSize =
    convolution::ConvolutionSize { batch: 32, inputs: 128, outputs: 256, side: 56, ..SMALL };
const HUGE: convolution::ConvolutionSize = convolution::ConvolutionSize { side: 224, ..BIG };

/// A network of convolutions as others time it, and one that is wide enough to keep tensor cores busy.
const CNN: images::ImagesSize = images::ImagesSize { batch: 64, channels: [32, 64] };
const WIDE: images::ImagesSize = images::ImagesSize { batch: 128, channels: [256, 512] };

/// Decoder transformers.
const GPT_TINY: gpt::GptSize =
    gpt::GptSize { layers: 2, heads: 4, width: 128, time: 64, batch: 32, vocabulary: 8192 };
const GPT_SMALL: gpt::GptSize = gpt::GptSize { layers: 6, heads: 6, width: 384, time: 256, ..GPT_TINY };

/// All cases, in the order in which they run.
pub static CASES: LazyLock<Vec<BenchCase>> = LazyLock::new(|| {
    vec![
        operation("matmul_1024_f32", SuitedDevices::Any, |device| matmul::square(1024, device)),
        operation("matmul_4096_f32", SuitedDevices::Large, |device| matmul::square(4096, device)),
        operation("matmul_8192_f32", SuitedDevices::Large, |device| matmul::square(8192, device)),
        precise("matmul_4096_high", |device| matmul::square_high(4096, device)),
        precise("matmul_8192_high", |device| matmul::square_high(8192, device)),
        f16_product("matmul_1024_f16", |device| matmul::square_f16(1024, [false, false], device)),
        f16_product("matmul_4096_f16", |device| matmul::square_f16(4096, [false, false], device)),
        f16_product("matmul_8192_f16", |device| matmul::square_f16(8192, [false, false], device)),
        f16_product("matmul_tn_8192_f16", |device| matmul::square_f16(8192, [true, false], device)),
        f16_product("matmul_nt_8192_f16", |device| matmul::square_f16(8192, [false, true], device)),
        operation("bmm_64x512x64x512_f32", SuitedDevices::Large, |device| {
            matmul::batched(64, 512, 64, device)
        }),
        operation("copy_scale_2p26_f32", SuitedDevices::Large, |device| pointwise::scale(1 << 26, device)),
        operation("ew_chain_2p22_f32", SuitedDevices::Small, |device| pointwise::chain(1 << 22, device)),
        operation("ew_chain_2p26_f32", SuitedDevices::Large, |device| pointwise::chain(1 << 26, device)),
        operation("softmax_1024x1024_f32", SuitedDevices::Small, |device| {
            rows::softmax([1024, 1024], device)
        }),
        operation("softmax_16384x1024_f32", SuitedDevices::Large, |device| {
            rows::softmax([16_384, 1024], device)
        }),
        operation("layernorm_16384x1024_f32", SuitedDevices::Large, |device| {
            rows::layer_norm([16_384, 1024], device)
        }),
        operation("relu_2p26_f32", SuitedDevices::Large, |device| pointwise::relu(1 << 26, device)),
        operation("clamp_2p26_f32", SuitedDevices::Large, |device| pointwise::clamp(1 << 26, device)),
        operation("maximum_2p26_f32", SuitedDevices::Large, |device| pointwise::maximum(1 << 26, device)),
        operation("max_dim0_8192_f32", SuitedDevices::Large, |device| reduce::max(0, [8192; 2], device)),
        operation("max_dim1_8192_f32", SuitedDevices::Large, |device| reduce::max(1, [8192; 2], device)),
        operation("maxpool_2x2_64x64x112_f32", SuitedDevices::Large, |device| pooling::largest(2, 0, device)),
        operation("maxpool_3x3_64x64x112_f32", SuitedDevices::Large, |device| pooling::largest(3, 1, device)),
        operation("maxpool_3x3_64x64x112_fwdbwd_f32", SuitedDevices::Large, |device| {
            pooling::both(3, 1, device)
        }),
        operation("sum_dim0_8192_f32", SuitedDevices::Large, |device| reduce::sum(0, [8192; 2], device)),
        operation("sum_dim1_8192_f32", SuitedDevices::Large, |device| reduce::sum(1, [8192; 2], device)),
        operation("permute_nchw_nhwc_f32", SuitedDevices::Large, |device| movement::permute(64, device)),
        operation("sort_2p20_f32", SuitedDevices::Any, |device| sort::sort(1 << 20, device)),
        operation("sort_2p24_f32", SuitedDevices::Large, |device| sort::sort(1 << 24, device)),
        operation("argsort_256x1024_f32", SuitedDevices::Small, |device| sort::argsort(256, 1024, device)),
        operation("argsort_4096x1024_f32", SuitedDevices::Large, |device| sort::argsort(4096, 1024, device)),
        operation("topk_64_of_64x8192_f32", SuitedDevices::Small, |device| sort::topk(64, 8192, 64, device)),
        operation("topk_64_of_256x32768_f32", SuitedDevices::Large, |device| {
            sort::topk(256, 32_768, 64, device)
        }),
        operation("embedding_grad_8192x4096x64_f32", SuitedDevices::Small, |device| {
            sort::embedding_gradient(8192, 4096, 64, device)
        }),
        operation("embedding_grad_32768x8192x384_f32", SuitedDevices::Large, |device| {
            sort::embedding_gradient(32_768, 8192, 384, device)
        }),
        operation("conv_small_fwd_f32", SuitedDevices::Any, |device| convolution::forward(SMALL, device)),
        operation("conv_small_fwdbwd_f32", SuitedDevices::Any, |device| convolution::both(SMALL, device)),
        operation("conv_big_fwd_f32", SuitedDevices::Large, |device| convolution::forward(BIG, device)),
        operation("conv_big_fwdbwd_f32", SuitedDevices::Large, |device| convolution::both(BIG, device)),
        operation("conv_huge_fwd_f32", SuitedDevices::Large, |device| convolution::forward(HUGE, device)),
        operation("lstm_16x16x128_fwdbwd_f32", SuitedDevices::Small, |device| {
            recurrent::lstm(recurrent::RecurrentSize { time: 16, batch: 16, hidden: 128 }, device)
        }),
        operation("lstm_fwdbwd_f32", SuitedDevices::Large, |device| {
            recurrent::lstm(recurrent::RecurrentSize { time: 64, batch: 64, hidden: 512 }, device)
        }),
        operation("cartpole_steps_2048", SuitedDevices::Small, |device| cartpole::steps(2048, device)),
        operation("cartpole_steps_65536", SuitedDevices::Large, |device| cartpole::steps(65_536, device)),
        operation("cartpole_steps_1048576", SuitedDevices::Large, |device| cartpole::steps(1 << 20, device)),
        BenchCase {
            tolerance: 1.0,
            ..operation("humanoid_steps_64", SuitedDevices::Small, |device| {
                creatures::steps("humanoid", 64, device)
            })
        },
        BenchCase {
            tolerance: 1.0,
            ..operation("humanoid_steps_8192", SuitedDevices::Large, |device| {
                creatures::steps("humanoid", 8192, device)
            })
        },
        operation("attention_fwdbwd_4x6x256x64_f32", SuitedDevices::Small, |device| {
            attention::both_ways([4, 6, 256, 64], DType::F32, AttentionForm::Kernels, device)
        }),
        operation("attention_composed_4x6x256x64_f32", SuitedDevices::Small, |device| {
            attention::both_ways([4, 6, 256, 64], DType::F32, AttentionForm::Composed, device)
        }),
        operation("attention_fwdbwd_32x6x256x64_f32", SuitedDevices::Large, |device| {
            attention::both_ways([32, 6, 256, 64], DType::F32, AttentionForm::Kernels, device)
        }),
        operation("attention_composed_32x6x256x64_f32", SuitedDevices::Large, |device| {
            attention::both_ways([32, 6, 256, 64], DType::F32, AttentionForm::Composed, device)
        }),
        operation("attention_fwdbwd_32x6x1024x64_f32", SuitedDevices::Large, |device| {
            attention::both_ways([32, 6, 1024, 64], DType::F32, AttentionForm::Kernels, device)
        }),
        operation("attention_composed_32x6x1024x64_f32", SuitedDevices::Large, |device| {
            attention::both_ways([32, 6, 1024, 64], DType::F32, AttentionForm::Composed, device)
        }),
        operation("attention_fwdbwd_8x8x1024x128_f32", SuitedDevices::Large, |device| {
            attention::both_ways([8, 8, 1024, 128], DType::F32, AttentionForm::Kernels, device)
        }),
        f16_attention("attention_fwdbwd_32x6x256x64_f16", |device| {
            attention::both_ways([32, 6, 256, 64], DType::F16, AttentionForm::Kernels, device)
        }),
        f16_attention("attention_composed_32x6x256x64_f16", |device| {
            attention::both_ways([32, 6, 256, 64], DType::F16, AttentionForm::Composed, device)
        }),
        f16_attention("attention_fwdbwd_32x6x1024x64_f16", |device| {
            attention::both_ways([32, 6, 1024, 64], DType::F16, AttentionForm::Kernels, device)
        }),
        f16_attention("attention_composed_32x6x1024x64_f16", |device| {
            attention::both_ways([32, 6, 1024, 64], DType::F16, AttentionForm::Composed, device)
        }),
        f16_attention("attention_fwdbwd_8x8x1024x128_f16", |device| {
            attention::both_ways([8, 8, 1024, 128], DType::F16, AttentionForm::Kernels, device)
        }),
        training("mlp_train_f32", SuitedDevices::Any, train::mlp),
        // Adam's first steps are as long for a small gradient as for a large one, and rounding to f16 changes the sign of some.
        BenchCase { tolerance: 0.1, ..training("mlp_train_mixed", SuitedDevices::Any, train::mlp_mixed) },
        training("cnn_train_f32", SuitedDevices::Any, |device| images::train(CNN, Precision::Single, device)),
        training("cnn_wide_train_f32", SuitedDevices::Large, |device| {
            images::train(WIDE, Precision::Single, device)
        }),
        BenchCase {
            tolerance: 0.02,
            ..training("cnn_wide_train_mixed", SuitedDevices::Large, |device| {
                images::train(WIDE, Precision::Mixed, device)
            })
        },
        training("gpt_tiny_train_f32", SuitedDevices::Any, |device| {
            gpt::train(GPT_TINY, Precision::Single, device)
        }),
        BenchCase {
            tolerance: 0.01,
            ..training("gpt_tiny_train_mixed", SuitedDevices::Large, |device| {
                gpt::train(GPT_TINY, Precision::Mixed, device)
            })
        },
        training("gpt_small_train_f32", SuitedDevices::Large, |device| {
            gpt::train(GPT_SMALL, Precision::Single, device)
        }),
        BenchCase {
            tolerance: 0.01,
            ..training("gpt_small_train_mixed", SuitedDevices::Large, |device| {
                gpt::train(GPT_SMALL, Precision::Mixed, device)
            })
        },
        training("logic1_train_f32", SuitedDevices::Large, |device| logic::train(1, device)),
        training("logic4_train_f32", SuitedDevices::Large, |device| logic::train(4, device)),
        training("difflogic_ca_16x16_b1", SuitedDevices::Any, |device| automaton::checkerboard(1, 1, device)),
        training("difflogic_ca_16x16_b2", SuitedDevices::Any, |device| automaton::checkerboard(2, 1, device)),
        training("difflogic_ca_16x16_b20", SuitedDevices::Large, |device| {
            automaton::checkerboard(20, 1, device)
        }),
        training("difflogic_ca_16x16_b2_seeds16", SuitedDevices::Large, |device| {
            automaton::checkerboard(2, 16, device)
        }),
        // How far below what it should an agent may end, and how many of 64 may.
        BenchCase {
            tolerance: 0.05,
            ..training("ppo_cartpole_update", SuitedDevices::Any, |device| ppo::update(1, device))
        },
        BenchCase {
            tolerance: 0.05,
            ..training("ppo_cartpole_1m", SuitedDevices::Large, |device| ppo::whole(1, device))
        },
        BenchCase {
            tolerance: 0.11,
            ..training("ppo_cartpole_seeds64", SuitedDevices::Large, |device| ppo::whole(64, device))
        },
        BenchCase { tolerance: 1e-3, ..operation("xor_200_epochs", SuitedDevices::Any, train::xor) },
        other("tiny_steps_100k", 0.05, TimedAs::Steady),
        other("compile_pendulum_200", 1.0, TimedAs::Compile(compile::pendulum, 200)),
        other("compile_chain_10000", 1.0, TimedAs::Compile(compile::chain, 10_000)),
        other("first_step", 1e-4, TimedAs::Process(train::first)),
        BenchCase {
            sizes: SuitedDevices::Large,
            ..other("ppo_cartpole_first", 0.05, TimedAs::Process(|device| ppo::whole(1, device)))
        },
    ]
});
