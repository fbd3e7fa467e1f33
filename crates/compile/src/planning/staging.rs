//! Loops in one kernel that name more buffers than a kernel may. What is read or written only once goes through
//! shared arrays, one per dtype and direction.

use std::collections::HashMap;

use farad_ir::{DType, NodeId};

use super::{Planner, limits};
use crate::fusion::weave::{Homes, Woven};
use crate::planning::assemble::{CopiedPart, PlannedMemory, copy_all};
use crate::program::{BufferId, Place, Spec, Target};

impl Planner<'_, '_> {
    /// The kernel of a woven scan, with copies before and after it if it would have too many buffers.
    pub(super) fn woven(&mut self, woven: Woven, target: &Target) {
        let staged = woven.staged(target).then(|| [woven.once(), woven.last()]);
        let [before, after] = staged.unwrap_or_default();
        let mut homes = Homes::new();
        let groups = [before, after].map(|nodes| self.gathered(&nodes, &mut homes));
        let copy = |planner: &mut Self, group: &[NodeId], into: bool| {
            let place = |&id: &NodeId| {
                let ((array, offset), own) = (homes[&id], planner.buffer(id));
                match into {
                    true => CopiedPart { from: own, from_offset: 0, to: array, to_offset: offset },
                    false => CopiedPart { from: array, from_offset: offset, to: own, to_offset: 0 },
                }
            };
            let parts: Vec<_> = group.iter().map(place).collect();
            let spec = planner.spec(group[0]);
            for parts in parts.chunks(target.bindings - 1) {
                planner.push("copy".into(), copy_all(parts, spec.len, spec.dtype));
            }
        };
        groups[0].iter().for_each(|group| copy(self, group, true));
        let kernel = woven.kernel(self, &homes, self.program.sites.len());
        self.program.sites.extend(woven.sites);
        self.push("scan".into(), kernel);
        groups[1].iter().for_each(|group| copy(self, group, false));
    }

    /// Assigns nodes offsets in arrays of their dtypes; returns groups of nodes with the same dtype and length.
    fn gathered(&mut self, nodes: &[NodeId], homes: &mut Homes) -> Vec<Vec<NodeId>> {
        let mut lengths: HashMap<DType, usize> = HashMap::new();
        let mut groups: Vec<Vec<NodeId>> = Vec::new();
        let mut offsets = Vec::new();
        for &id in nodes {
            let spec = self.spec(id);
            let end = lengths.entry(spec.dtype).or_default();
            offsets.push((id, spec.dtype, *end));
            *end = (*end + spec.len).next_multiple_of(limits::PART_ALIGNMENT);
            match groups.iter_mut().find(|group| self.spec(group[0]) == spec) {
                Some(group) => group.push(id),
                None => groups.push(vec![id]),
            }
        }
        let mut arrays: HashMap<DType, BufferId> = HashMap::new();
        for (id, dtype, offset) in offsets {
            let array = match arrays.get(&dtype) {
                Some(&array) => array,
                None => {
                    let len = lengths[&dtype];
                    let block = self.add_block(len * dtype.size());
                    let array = self.add_buffer(Place::Block(block), 0, Spec { dtype, len });
                    arrays.insert(dtype, array);
                    array
                }
            };
            homes.insert(id, (array, offset));
        }
        groups
    }
}
