//! What the renderer hands to the runtime: the WGSL, its bindings and the grid.
//!
//! Layout of `@group(0)`: binding 0 is the uniform `array<vec4<u32>, N>` of parameters (with a dynamic offset),
//! then, starting at binding 1, one storage array per entry of [`Dispatch::bindings`]. With
//! [`Dispatch::reports`], the error words follow as `array<atomic<u32>>`.
//!
//! Every site of a program has [`ERROR_WORDS`] error words, which start at zero and are sticky. A kernel that
//! finds a bad index calls `atomicMax(&errors[2u * site], kind)`, where `kind` is [`SIGNED`] or [`UNSIGNED`],
//! and `atomicMax(&errors[2u * site + 1u], bits)`. So a report never mixes two sites and does not depend on the
//! order of invocations. The runtime reads the words with every read-back, reports the first site with an
//! error, and clears them. Storage bindings are as long as their buffers, rounded up to whole 16 bytes, so
//! `array<vec4<..>>` covers them.

use std::sync::Arc;

use farad_compile::costs::Costs;
use farad_compile::program::BufferId;

/// How many error words a site has: the kind of the index, and its bits.
pub const ERROR_WORDS: usize = 2;
/// The kind of a bad index that is an `i32`.
pub const SIGNED: u32 = 1;
/// The kind of a bad index that is a `u32`.
pub const UNSIGNED: u32 = 2;

/// What the renderer may use on an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Capabilities {
    /// Subgroup operations work in compute shaders.
    pub subgroups: bool,
    /// The size of a subgroup if subgroups have one fixed size and multiply 16×16 f16 matrices into `f32`;
    /// otherwise zero.
    pub cooperative: u32,
    /// `pack2x16float` rounds to nearest, ties to even.
    pub rounds_f16: bool,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// Invocations a workgroup may have.
    pub invocations: u32,
    /// Workgroups per dimension of a dispatch.
    pub workgroups: u32,
    /// Processors that share the work.
    pub processors: usize,
}

impl Capabilities {
    /// WebGPU's default limits and core WGSL: what every adapter has.
    pub fn core() -> Capabilities {
        Capabilities {
            subgroups: false,
            cooperative: 0,
            rounds_f16: false,
            workgroup_memory: 16 << 10,
            invocations: 256,
            workgroups: 65_535,
            processors: farad_compile::tiles::PROCESSORS,
        }
    }
}

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// The WGSL module. Equal text is one pipeline.
    pub wgsl: Arc<str>,
    /// The entry point.
    pub entry: &'static str,
    /// The storage arrays, in binding order.
    pub bindings: Vec<StorageBinding>,
    /// The words of the uniform, in order; the runtime pads them to whole `vec4`s.
    pub parameters: Vec<Word>,
    /// Whether the error words are bound after the storage arrays.
    pub reports: bool,
    /// The grid.
    pub workgroups: [u32; 3],
    /// The least work that it must do, for the profile.
    pub costs: Costs,
}

/// A storage array in a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StorageBinding {
    /// Which buffer of the program.
    pub buffer: BufferId,
    /// `read_write` if set, else `read`.
    pub write: bool,
}

/// A word of the uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// Known when the plan is made.
    Fixed(u32),
    /// The n-th parameter of the run, as register bits.
    Parameter(usize),
    /// In a loop: the offset of this buffer's current slice, in elements.
    Slot(BufferId),
}
