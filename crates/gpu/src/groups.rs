//! Bind groups: permanent ones for blocks, cached ones for the memory of a run.
//!
//! Invariant: a cached group is looked up by the numbers and offsets of the memories that it binds, and a
//! number never names another buffer. So a replay with the same memories creates nothing.

use farad_compile::program::Place;

use farad_runtime::Memory;

use crate::counters::LiveCounters;
use crate::device::GpuDevice;
use crate::error::Error;
use crate::heuristics::pools::GROUPS_KEPT;
use crate::memory::OnGpu;
use crate::schedule::{GroupSpec, StorageSlot};

/// What bind groups are created from.
pub(crate) struct Resources<'a> {
    pub(crate) inputs: &'a [(&'a Memory, usize)],
    pub(crate) outputs: &'a [&'a Memory],
    pub(crate) blocks: &'a [Memory],
    pub(crate) uniform: Option<&'a wgpu::Buffer>,
    pub(crate) errors: Option<&'a wgpu::Buffer>,
}

/// The groups of one executable.
#[derive(Default)]
pub(crate) struct Groups {
    /// One per specification: the group that the next run uses.
    pub(crate) current: Vec<Option<wgpu::BindGroup>>,
    kept: Vec<Vec<KeptGroup>>,
    /// Numbers and offsets of the inputs and outputs that `current` is for.
    bound: Vec<(u64, usize)>,
    clock: u64,
}

struct KeptGroup {
    key: Vec<(u64, usize)>,
    group: wgpu::BindGroup,
    used: u64,
}

impl Resources<'_> {
    fn memory(&self, place: Place) -> (&Memory, usize) {
        match place {
            Place::Input(n) => self.inputs[n],
            Place::Output(n) => (self.outputs[n], 0),
            Place::Block(n) => (&self.blocks[n], 0),
        }
    }

    fn identity(&self, slot: &StorageSlot) -> (u64, usize) {
        let (memory, offset) = self.memory(slot.place);
        (memory.number(), offset)
    }

    fn identities(&self) -> impl Iterator<Item = (u64, usize)> {
        let inputs = self.inputs.iter().map(|(memory, offset)| (memory.number(), *offset));
        inputs.chain(self.outputs.iter().map(|memory| (memory.number(), 0)))
    }

    fn binding(&self, slot: &StorageSlot) -> wgpu::BufferBinding<'_> {
        let (memory, base) = self.memory(slot.place);
        let offset = base + slot.offset;
        let bytes = slot.rounded.min(memory.bytes() - offset);
        wgpu::BufferBinding {
            buffer: memory.buffer(),
            offset: offset as u64,
            size: (bytes as u64).try_into().ok(),
        }
    }
}

impl Groups {
    /// Makes the permanent groups.
    pub(crate) fn new(
        device: &GpuDevice,
        specs: &[GroupSpec],
        resources: &Resources,
        alignment: usize,
    ) -> Result<Groups, Error> {
        check_slots("load", specs.iter().filter(|spec| !spec.varies()), resources, alignment)?;
        let make = |spec: &GroupSpec| (!spec.varies()).then(|| create(device, spec, resources));
        Ok(Groups {
            current: specs.iter().map(make).collect(),
            kept: specs.iter().map(|_| Vec::new()).collect(),
            bound: Vec::new(),
            clock: 0,
        })
    }

    /// Updates `current` for the memories of this run.
    pub(crate) fn select(
        &mut self,
        device: &GpuDevice,
        specs: &[GroupSpec],
        resources: &Resources,
        alignment: usize,
    ) -> Result<(), Error> {
        self.clock += 1;
        if self.clock > 1 && self.bound.iter().copied().eq(resources.identities()) {
            return Ok(());
        }
        check_slots("run", specs.iter().filter(|spec| spec.varies()), resources, alignment)?;
        let clock = self.clock;
        for (n, spec) in specs.iter().enumerate().filter(|(_, spec)| spec.varies()) {
            let varying = || spec.slots.iter().filter(|slot| !matches!(slot.place, Place::Block(_)));
            let key = || varying().map(|slot| resources.identity(slot));
            let kept = &mut self.kept[n];
            let found = kept.iter_mut().find(|kept| kept.key.iter().copied().eq(key()));
            let group = match found {
                Some(kept) => {
                    kept.used = clock;
                    kept.group.clone()
                }
                None => {
                    let group = create(device, spec, resources);
                    keep(kept, KeptGroup { key: key().collect(), group: group.clone(), used: clock });
                    group
                }
            };
            self.current[n] = Some(group);
        }
        self.bound.clear();
        self.bound.extend(resources.identities());
        Ok(())
    }

    /// Drops all cached groups, because one of them may be invalid.
    pub(crate) fn forget(&mut self) {
        self.kept.iter_mut().for_each(Vec::clear);
        self.bound.clear();
        self.clock = 0;
    }
}

fn keep(list: &mut Vec<KeptGroup>, new: KeptGroup) {
    if list.len() == GROUPS_KEPT {
        let oldest = (0..GROUPS_KEPT).min_by_key(|&n| list[n].used).unwrap_or(0);
        list.swap_remove(oldest);
    }
    list.push(new);
}

/// Checks that everything bound lies inside its memory, at valid offsets.
fn check_slots<'a>(
    op: &'static str,
    specs: impl Iterator<Item = &'a GroupSpec>,
    resources: &Resources,
    alignment: usize,
) -> Result<(), Error> {
    for slot in specs.flat_map(|spec| &spec.slots) {
        let (memory, base) = resources.memory(slot.place);
        let offset = base + slot.offset;
        memory.check_range(op, offset, slot.bytes)?;
        if !offset.is_multiple_of(alignment) {
            return Err(Error::Alignment { op, offset, alignment });
        }
    }
    Ok(())
}

fn create(device: &GpuDevice, spec: &GroupSpec, resources: &Resources) -> wgpu::BindGroup {
    let whole = |buffer, bytes: usize| wgpu::BufferBinding {
        buffer,
        offset: 0,
        size: (bytes as u64).try_into().ok(),
    };
    let uniform =
        resources.uniform.filter(|_| spec.layout.uniform).map(|buffer| whole(buffer, spec.uniform_bytes));
    let storage = spec.slots.iter().map(|slot| resources.binding(slot));
    let errors =
        resources.errors.filter(|_| spec.layout.reports).map(|buffer| whole(buffer, buffer.size() as usize));
    let entries: Vec<wgpu::BindGroupEntry> = uniform
        .into_iter()
        .chain(storage)
        .chain(errors)
        .zip(0..)
        .map(|(buffer, binding)| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(buffer),
        })
        .collect();
    LiveCounters::add(&device.shared.tally.bind_groups, 1);
    device.shared.gpu.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &device.layout(spec.layout).group,
        entries: &entries,
    })
}
