//! A kernel as the runtime launches it, whatever the source of its WGSL, and the stages of a program.

use std::borrow::Cow;
use std::sync::Arc;

use farad_compile::costs::Costs;
use farad_compile::program::{BufferId, Custom, Program, ProgramBuffer};
use farad_ir::CustomKernel;

use crate::dispatch::{Dispatch, StorageBinding, Word};

/// Consecutive launches, run once or in a loop.
#[derive(Clone, Debug)]
pub enum LaunchStage {
    /// One after another.
    Once(Vec<Routine>),
    /// A body run several times, as [`farad_compile::program::Loop`] says.
    Loop {
        /// How often.
        trips: usize,
        /// From the last position to the first.
        reverse: bool,
        /// Buffers that the body sees shifted by `position · stride` elements.
        slots: Vec<(BufferId, usize)>,
        /// Pairs of buffers that are swapped after every trip.
        swaps: Vec<(BufferId, BufferId)>,
        /// What every trip runs.
        body: Vec<Routine>,
    },
}

/// One launch, with its label in profiles.
#[derive(Clone, Debug)]
pub struct Routine {
    pub(crate) label: Arc<str>,
    pub(crate) wgsl: Arc<str>,
    pub(crate) entry: Cow<'static, str>,
    pub(crate) bindings: Vec<StorageBinding>,
    /// `None`: the WGSL has no parameter uniform, and storage starts at binding 0.
    pub(crate) parameters: Option<Vec<Word>>,
    /// The WGSL knows no slots: in a loop, slices are bound at their start.
    pub(crate) bound_slices: bool,
    pub(crate) reports: bool,
    pub(crate) workgroups: [u32; 3],
    pub(crate) costs: Costs,
}

/// What decides a bind group's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LayoutKey {
    pub(crate) uniform: bool,
    pub(crate) storage: u32,
    /// Bit `n`: storage array `n` is written.
    pub(crate) writes: u64,
    pub(crate) reports: bool,
}

impl Routine {
    /// A launch that the renderer made.
    pub fn new(label: &str, dispatch: Dispatch) -> Routine {
        Routine {
            label: label.into(),
            wgsl: dispatch.wgsl,
            entry: Cow::Borrowed(dispatch.entry),
            bindings: dispatch.bindings,
            parameters: Some(dispatch.parameters),
            bound_slices: false,
            reports: dispatch.reports,
            workgroups: dispatch.workgroups,
            costs: dispatch.costs,
        }
    }

    /// A kernel of a custom op, bound as [`CustomKernel`] says.
    pub(crate) fn custom(
        label: &str,
        kernel: CustomKernel,
        custom: &Custom,
        buffers: &[ProgramBuffer],
        slots: &[(BufferId, usize)],
    ) -> Routine {
        let all: Vec<BufferId> =
            custom.operands.iter().chain(&custom.results).chain(&custom.scratch).copied().collect();
        let arguments = kernel.arguments.unwrap_or_else(|| (0..all.len()).collect());
        let parameters: Vec<Word> = kernel.parameters.iter().map(|&word| Word::Fixed(word)).collect();
        let first = !parameters.is_empty() as usize;
        let bindings: Vec<StorageBinding> = arguments
            .iter()
            .enumerate()
            .map(|(n, &argument)| {
                let declared = declared_write(&kernel.wgsl, first + n);
                let write = declared.unwrap_or(argument >= custom.operands.len());
                StorageBinding { buffer: all[argument], write }
            })
            .collect();
        // The size that this launch declares; in a loop, that of one slice. Other launches shift their own
        // buffers.
        let size = |(n, binding): (usize, &StorageBinding)| {
            let buffer = &buffers[binding.buffer.0 as usize];
            let slot = slots.iter().find(|(id, _)| *id == binding.buffer);
            let len = slot.map_or(buffer.len, |(_, stride)| *stride);
            declared_write(&kernel.wgsl, first + n).map_or(0, |_| (len * buffer.dtype.size()) as u64)
        };
        let (bytes, flops) = kernel.costs.unwrap_or_else(|| (bindings.iter().enumerate().map(size).sum(), 0));
        Routine {
            label: label.into(),
            wgsl: kernel.wgsl,
            entry: Cow::Owned(kernel.entry),
            bindings,
            parameters: Some(parameters).filter(|words| !words.is_empty()),
            bound_slices: true,
            reports: false,
            workgroups: kernel.workgroups,
            costs: Costs { bytes, flops, half_flops: 0 },
        }
    }

    pub(crate) fn layout(&self) -> LayoutKey {
        let writes = self.bindings.iter().enumerate().filter(|(_, binding)| binding.write);
        LayoutKey {
            uniform: self.parameters.is_some(),
            storage: self.bindings.len() as u32,
            writes: writes.fold(0, |bits, (n, _)| bits | 1 << n),
            reports: self.reports,
        }
    }

    /// Storage buffers bound, including the error words.
    pub(crate) fn storage_buffers(&self) -> usize {
        self.bindings.len() + self.reports as usize
    }
}

impl LaunchStage {
    /// The launches of one trip.
    pub(crate) fn body(&self) -> &[Routine] {
        match self {
            LaunchStage::Once(body) | LaunchStage::Loop { body, .. } => body,
        }
    }

    pub(crate) fn into_body(self) -> Vec<Routine> {
        match self {
            LaunchStage::Once(body) | LaunchStage::Loop { body, .. } => body,
        }
    }
}

/// Whether a module declares `@binding(n)` as `read_write`; `None` if it does not declare it. A custom op may
/// read in one kernel what an earlier one wrote, and the layouts must agree.
fn declared_write(wgsl: &str, n: usize) -> Option<bool> {
    let mut rest = wgsl;
    while let Some(at) = rest.find("@binding") {
        rest = &rest[at + "@binding".len()..];
        let inside = rest.trim_start().strip_prefix('(')?;
        let (number, after) = inside.split_once(')')?;
        let number = number.trim().trim_end_matches(['u', 'i']);
        if number.parse() == Ok(n) {
            let declaration = after.split(';').next()?;
            let space = declaration.split_once('<')?.1.split_once('>')?.0;
            return Some(space.contains("read_write"));
        }
    }
    None
}

/// The bytes of a program's buffer.
pub(crate) fn buffer_bytes(program: &Program, id: BufferId) -> usize {
    let buffer = &program.buffers[id.0 as usize];
    buffer.len * buffer.dtype.size()
}

#[cfg(test)]
mod tests {
    use super::declared_write;

    #[test]
    fn declarations_tell_what_is_written() {
        let wgsl = "
            @group(0) @binding(0) var<storage, read> a: array<f32>;
            @group(0) @binding( 1 ) var<storage, read_write> b: array<f32>;
            @binding(10) @group(0) var<storage> c: array<f32>;";
        assert_eq!(declared_write(wgsl, 0), Some(false));
        assert_eq!(declared_write(wgsl, 1), Some(true));
        assert_eq!(declared_write(wgsl, 10), Some(false));
        assert_eq!(declared_write(wgsl, 2), None);
    }
}
