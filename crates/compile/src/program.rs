//! What backends run: kernels over buffers, in order, with every memory decision made.
//!
//! Invariants that backends rely on, all of them checked by [`mod@verify`]:
//! - A kernel never reads and writes one allocation, except for exact in-place updates. There, load and store
//!   name the *same* [`BufferId`] and the load's view equals the store's view.
//! - All views stay inside their buffers at every position where their guards hold.
//! - Everything that a kernel reads was written before, and no other tensor has overwritten it since.
//! - Steps of one wave write nothing that another of them touches.
//! - No kernel has more storage bindings than the target allows.
//!
//! Start at [`Program`], then [`Kernel`].

pub mod costs;
mod instruction;
mod kernel;
mod show;
pub mod sort;
mod touches;
pub mod verify;
mod view;

use std::collections::HashMap;
use std::panic::Location;

use farad_ir::DType;

pub use farad_ir::CustomLimits;
pub use kernel::{
    Carry, Code, Custom, Fused, Instr, Kernel, Level, Loop, Product, ProductOperand, Recurrence, Reg,
    Scatter, Segment, Store, Sums,
};
pub use sort::{Keys, Sort};
pub use view::{Guard, View};

/// A buffer of the program: an index into [`Program::buffers`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// Kernels over buffers, in order.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The tensors that a run is given.
    pub inputs: Vec<Spec>,
    /// The dtypes of a run's parameters ([`Code::Parameter`]), one per 32-bit word; a 64-bit number takes two,
    /// the lower half first.
    pub parameters: Vec<DType>,
    /// The tensors that a run gives back.
    pub outputs: Vec<ProgramOutput>,
    /// Sizes of the scratch blocks in bytes. Blocks are kept between runs. Blocks start zeroed, and a gap that
    /// no kernel writes stays zero.
    pub blocks: Vec<usize>,
    /// Every range of memory that kernels name.
    pub buffers: Vec<ProgramBuffer>,
    /// What runs, in order. Steps of one wave do not depend on each other.
    pub steps: Vec<ProgramStep>,
    /// Ops that can fail on bad data ([`Code::Take`], [`Scatter`]).
    pub sites: Vec<Site>,
}

/// Elements of one dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The element type.
    pub dtype: DType,
    /// How many.
    pub len: usize,
}

impl Program {
    /// What a buffer holds.
    pub fn spec(&self, id: BufferId) -> Spec {
        let buffer = &self.buffers[id.0 as usize];
        Spec { dtype: buffer.dtype, len: buffer.len }
    }

    /// After how many steps outputs are as they will be: one number per output, none smaller than that of the output before.
    /// Cut there, a run can hand over one output while it computes the next.
    pub fn cuts(&self, outputs: &[usize]) -> Vec<usize> {
        let mut last: HashMap<Place, usize> = HashMap::new();
        for (n, step) in self.steps.iter().enumerate() {
            for id in step.kernel.touches().1 {
                last.insert(self.buffers[id.0 as usize].place, n + 1);
            }
        }
        let mut cut = 0;
        let mut cuts = Vec::with_capacity(outputs.len());
        for &output in outputs {
            let place = self.outputs[output].donor.map_or(Place::Output(output), Place::Input);
            cut = cut.max(last.get(&place).copied().unwrap_or(0));
            cuts.push(cut);
        }
        cuts
    }
}

/// A tensor that a run gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramOutput {
    /// What it holds.
    pub spec: Spec,
    /// The input whose memory it takes over (updated in place); its buffers are that input's.
    pub donor: Option<usize>,
}

/// Which allocation a buffer lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The n-th input (and, if donated, the output that takes its memory).
    Input(usize),
    /// The n-th output, which has no donor.
    Output(usize),
    /// The n-th block.
    Block(usize),
}

/// A contiguous range of elements in an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramBuffer {
    /// Where it lies.
    pub place: Place,
    /// Byte offset in the allocation (a multiple of 256).
    pub offset: usize,
    /// The element type.
    pub dtype: DType,
    /// How many elements.
    pub len: usize,
}

/// An op that can fail on bad data, and where the user wrote it.
#[derive(Clone, Debug)]
pub struct Site {
    /// The op's name.
    pub op: String,
    /// The caller's line.
    pub location: Option<&'static Location<'static>>,
    /// The size that an index must stay below.
    pub size: usize,
}

/// A kernel and its wave.
#[derive(Clone, Debug)]
pub struct ProgramStep {
    /// Steps of the same wave may run in any order, or at once.
    pub wave: usize,
    /// The label in profiles.
    pub label: String,
    /// What runs.
    pub kernel: Kernel,
}

/// What the compiler needs to know about the device that will run the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Storage buffers that one kernel may bind.
    pub bindings: usize,
    /// Processors that share a product's tiles.
    pub processors: usize,
    /// How many positions keep the device busy; reductions with fewer results are split.
    pub parallel: usize,
    /// Whether pointwise work may be merged into other kernels; off only to test that merging
    /// changes nothing.
    pub fuse: bool,
    /// Largest size of a binding in bytes.
    pub binding_bytes: usize,
    /// Fewest multiplications for which a convolution's operands are copied with the channels last.
    pub channels_last: usize,
    /// Fewest multiplications for which a product that may be made of f16 products is.
    pub high_products: usize,
    /// Fewest multiplications for which a product's operands are copied so that their rows are aligned.
    pub aligned: usize,
    /// Fewest multiplications for which a convolution may be rewritten so that it needs fewer.
    pub convolutions: usize,
    /// Whether sorts need several launches with scratch memory between them. If so, a scatter of many sources
    /// to many positions is sorted first.
    pub scratch: bool,
}

impl Target {
    /// A CPU.
    pub fn cpu() -> Target {
        Target {
            bindings: 64,
            processors: crate::passes::tiles::PROCESSORS,
            parallel: 1,
            fuse: true,
            binding_bytes: usize::MAX,
            channels_last: usize::MAX,
            high_products: usize::MAX,
            aligned: usize::MAX,
            convolutions: usize::MAX,
            scratch: false,
        }
    }
}
