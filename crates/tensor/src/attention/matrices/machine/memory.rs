//! Memory of the machine, as bytes, and who touched what since the last barrier.

use half::f16;
use naga::proc::Layouter;
use naga::{AddressSpace, Module};

use super::LANES;

/// All lanes of a subgroup together, in whatever order: a matrix.
const TOGETHER: usize = usize::MAX;

/// When a place was touched, and by whom.
#[derive(Clone, Copy, Default)]
struct Touch {
    /// Barriers of the workgroup, and of the subgroup, before it.
    epochs: [u32; 2],
    subgroup: usize,
    /// A lane, or [`TOGETHER`].
    lane: usize,
}

impl Touch {
    /// Whether nothing orders the two.
    fn meets(&self, other: &Touch) -> bool {
        let apart = self.lane != other.lane || self.lane == TOGETHER;
        self.epochs[0] == other.epochs[0]
            && (self.subgroup != other.subgroup || (self.epochs[1] == other.epochs[1] && apart))
    }
}

/// A global variable.
struct Global {
    name: String,
    bytes: Vec<u8>,
    binding: Option<usize>,
    /// Of every two bytes of workgroup memory: who wrote last, and who read last.
    written: Vec<Touch>,
    read: Vec<Touch>,
}

/// The global variables.
pub struct MachineMemory {
    globals: Vec<Global>,
    barriers: u32,
    subgroup_barriers: Vec<u32>,
}

impl MachineMemory {
    pub fn new(
        module: &Module,
        layouter: &Layouter,
        buffers: &mut [Vec<u8>],
        subgroups: usize,
    ) -> MachineMemory {
        let global = |variable: &naga::GlobalVariable| {
            let binding = variable.binding.as_ref().map(|binding| binding.binding as usize);
            let size = layouter[variable.ty].size as usize;
            let bytes = binding.map_or_else(|| vec![0; size], |n| std::mem::take(&mut buffers[n]));
            let touches = if variable.space == AddressSpace::WorkGroup { size / 2 } else { 0 };
            let [written, read] = [0, 1].map(|_| vec![Touch::default(); touches]);
            Global { name: variable.name.clone().unwrap_or_default(), bytes, binding, written, read }
        };
        let globals = module.global_variables.iter().map(|(_, variable)| variable).map(global).collect();
        MachineMemory { globals, barriers: 1, subgroup_barriers: vec![1; subgroups] }
    }

    /// Starts a workgroup: its memory holds anything.
    pub fn forget(&mut self) {
        self.barrier();
        let workgroup = self.globals.iter_mut().filter(|global| global.binding.is_none());
        workgroup.for_each(|global| global.bytes.fill(0xff));
    }

    pub fn give_back(self, buffers: &mut [Vec<u8>]) {
        for global in self.globals {
            if let Some(binding) = global.binding {
                buffers[binding] = global.bytes;
            }
        }
    }

    pub fn barrier(&mut self) {
        self.barriers += 1;
    }

    pub fn subgroup_barrier(&mut self, subgroup: usize) {
        self.subgroup_barriers[subgroup] += 1;
    }

    /// Notes an access and panics if it races with another.
    fn touch(&mut self, global: usize, [at, bytes]: [usize; 2], [subgroup, lane]: [usize; 2], writes: bool) {
        let epochs = [self.barriers, self.subgroup_barriers[subgroup]];
        let me = Touch { epochs, subgroup, lane };
        let Global { name, written, read, .. } = &mut self.globals[global];
        for place in at / 2..((at + bytes) / 2).min(written.len()) {
            let who = format!("subgroup {subgroup}, lane {lane}, place {place} of {name}");
            assert!(!me.meets(&written[place]), "an access meets a write: {who}");
            if writes {
                assert!(!me.meets(&read[place]), "a write meets a read: {who}");
                written[place] = me;
            } else if read[place].epochs[0] == me.epochs[0] && read[place].subgroup != subgroup {
                // Several subgroups: a write by any of them would race.
                read[place] = Touch { subgroup: usize::MAX, ..me };
            } else if read[place].epochs == me.epochs && read[place].lane != lane {
                read[place] = Touch { lane: TOGETHER, ..me };
            } else {
                read[place] = me;
            }
        }
    }

    /// A thread reads numbers of so many bytes each.
    pub fn load(&mut self, global: usize, at: usize, [width, count]: [usize; 2], thread: usize) -> [u32; 4] {
        self.touch(global, [at, width * count], [thread / LANES, thread % LANES], false);
        let bytes = &self.globals[global].bytes[at..][..width * count];
        let mut bits = [0; 4];
        for (bits, bytes) in bits.iter_mut().zip(bytes.chunks(width)) {
            *bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | byte as u32);
        }
        bits
    }

    /// A thread writes numbers.
    pub fn store(
        &mut self,
        global: usize,
        at: usize,
        [width, count]: [usize; 2],
        thread: usize,
        bits: [u32; 4],
    ) {
        self.touch(global, [at, width * count], [thread / LANES, thread % LANES], true);
        let bytes = &mut self.globals[global].bytes[at..][..width * count];
        for (bytes, bits) in bytes.chunks_mut(width).zip(bits) {
            bytes.copy_from_slice(&bits.to_le_bytes()[..width]);
        }
    }

    /// A subgroup reads a matrix, `stride` bytes from row to row.
    pub fn load_matrix(
        &mut self,
        global: usize,
        at: usize,
        stride: usize,
        width: usize,
        subgroup: usize,
    ) -> [f32; 256] {
        assert!(
            at.is_multiple_of(16) && stride.is_multiple_of(16),
            "a matrix at byte {at}, rows of {stride}"
        );
        let mut matrix = [0.0; 256];
        for (row, to) in matrix.chunks_mut(16).enumerate() {
            let at = at + row * stride;
            self.touch(global, [at, 16 * width], [subgroup, TOGETHER], false);
            for (to, bytes) in to.iter_mut().zip(self.globals[global].bytes[at..].chunks(width)) {
                *to = match width {
                    2 => f16::from_le_bytes([bytes[0], bytes[1]]).to_f32(),
                    _ => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
                };
            }
        }
        matrix
    }

    /// A subgroup writes a matrix of `f32`.
    pub fn store_matrix(
        &mut self,
        global: usize,
        at: usize,
        stride: usize,
        subgroup: usize,
        matrix: &[f32; 256],
    ) {
        assert!(
            at.is_multiple_of(16) && stride.is_multiple_of(16),
            "a matrix at byte {at}, rows of {stride}"
        );
        for (row, from) in matrix.chunks(16).enumerate() {
            let at = at + row * stride;
            self.touch(global, [at, 64], [subgroup, TOGETHER], true);
            for (bytes, from) in self.globals[global].bytes[at..].chunks_mut(4).zip(from) {
                bytes.copy_from_slice(&from.to_le_bytes());
            }
        }
    }
}
