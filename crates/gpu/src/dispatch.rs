//! What the renderer hands to the runtime: WGSL text, what it binds and how it is launched.
//!
//! Layout of `@group(0)`: binding 0 is the uniform `array<vec4<u32>, N>` of parameters (with a
//! dynamic offset), then one storage array per entry of [`Dispatch::bindings`] from binding 1 on,
//! then, if [`Dispatch::reports`], the error words as `array<atomic<u32>>`.
//!
//! Every site of a program has [`ERROR_WORDS`] error words, which start at zero and are sticky: a
//! kernel that meets a bad index does `atomicMax(&errors[2u * site], kind)`, with [`SIGNED`] or
//! [`UNSIGNED`], and `atomicMax(&errors[2u * site + 1u], bits)`. So a report never mixes two sites
//! and does not depend on which invocation comes first. The runtime reads the words with every
//! read-back, reports the first site that has any and clears them. Storage bindings are as long as
//! their buffers, rounded up to whole 16 bytes, so `array<vec4<..>>` covers them.

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
    /// Invocations of a subgroup if subgroups multiply 16×16 matrices of halves into `f32` and all have
    /// the same size; zero if they do not.
    pub cooperative: u32,
    /// `pack2x16float` rounds to nearest, ties to even.
    pub rounds_f16: bool,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// Invocations a workgroup may have.
    pub invocations: u32,
    /// Workgroups per dimension of a dispatch.
    pub workgroups: u32,
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
        }
    }
}

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// The module. Equal text is one pipeline.
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
    /// What it must do at least, for the profile.
    pub costs: Costs,
}

/// A storage array.
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
    /// The n-th number given with the run, as its register's bits.
    Parameter(usize),
    /// In a loop: elements by which the current slice of this buffer is further on.
    Slot(BufferId),
}
