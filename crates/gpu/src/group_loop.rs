//! Loops that are a single launch: every workgroup runs all trips for some of the elements along one axis, and keeps their
//! state in workgroup memory.
//!
//! A world of bodies is a loop over some hundred small kernels. Bodies of one world act on each other, but worlds never meet.
//! So a workgroup takes a few worlds through all kernels of all trips, with a barrier wherever one thread reads what another
//! wrote. Launched one by one, such kernels cost far more than their work.
//!
//! Invariant: a loop is planned this way only if every kernel is pointwise, and every element that it reads from memory of the
//! loop belongs to the same place of that axis. All other loops stay as they are. Start at [`plan`].

mod axis;
mod memory;

use std::collections::{HashMap, HashSet};

use farad_compile::program::{
    BufferId, Code, Fused, Instr, Kernel, Level, Loop, Place, Program, ProgramBuffer, Reg, Store, View,
};
use farad_ir::DType;

use crate::dispatch::Capabilities;
use crate::heuristics::group_loops::{LARGEST_CONSTANT, LEAST_WORKGROUPS, MOST_ALONE, MOST_THREADS};
use axis::{SharedAxis, SplitKernel};

/// Trailing axes of views: the place along the shared axis, the same within the workgroup, and the loop's position.
pub(crate) const TRAILING: usize = 3;

/// A loop as one launch.
#[derive(Debug)]
pub(crate) struct GroupLoop {
    /// The size of the shared axis.
    pub places: usize,
    /// How many places a workgroup takes.
    pub group: usize,
    /// Threads of a workgroup.
    pub threads: usize,
    pub trips: usize,
    pub reverse: bool,
    /// Reads carries into workgroup memory.
    pub begin: Vec<Phase>,
    /// One trip.
    pub body: Vec<Phase>,
    /// Writes carries back.
    pub end: Vec<Phase>,
    /// Arrays in workgroup memory.
    pub locals: Vec<BufferId>,
    /// Small buffers that are copied side by side before the loop: from, to, and the first element there.
    pub constants: Vec<(BufferId, BufferId, usize)>,
    pub reads: Vec<BufferId>,
    pub writes: Vec<BufferId>,
}

impl GroupLoop {
    /// Instructions of all threads in a trip.
    pub fn work_of_a_trip(&self) -> u64 {
        let work = |phase: &Phase| phase.kernel.axes.iter().product::<usize>() * phase.kernel.tape.len();
        (self.body.iter().map(work).sum::<usize>() * self.places) as u64
    }
}

/// A kernel over a workgroup's places.
#[derive(Debug)]
pub(crate) struct Phase {
    /// Whether all threads wait before it.
    pub waits: bool,
    /// Its views have [`TRAILING`] axes more than it.
    pub kernel: Fused,
}

/// The loop as one launch, if it can be one; adds buffers to the program.
pub(crate) fn plan(
    program: &mut Program,
    body: &Loop,
    capabilities: &Capabilities,
    bindings: usize,
) -> Option<GroupLoop> {
    let kernels = pointwise(body)?;
    let memory = LoopMemory::of(program, body, &kernels)?;
    let sizes: HashSet<usize> = kernels.iter().flat_map(|kernel| kernel.axes.iter().copied()).collect();
    let mut sizes: Vec<usize> = sizes.into_iter().filter(|&size| size > 1).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let (axis, split) =
        sizes.into_iter().find_map(|places| SharedAxis::find(&kernels, &memory, body, places))?;
    let mut builder =
        Builder { program, body, memory, axis, reads: vec![], writes: vec![], constants: vec![] };
    let plan = builder.build(split, capabilities)?;
    (plan.reads.len() + plan.writes.len() <= bindings).then_some(plan)
}

/// The kernels of a loop, if all are pointwise and of words.
fn pointwise(body: &Loop) -> Option<Vec<&Fused>> {
    let kernel = |step: &'_ farad_compile::program::ProgramStep| match &step.kernel {
        Kernel::Fused(kernel) if kernel.outer == kernel.axes.len() => Some(()),
        _ => None,
    };
    body.steps.iter().map(kernel).collect::<Option<Vec<()>>>()?;
    let kernels = body.steps.iter().filter_map(|step| match &step.kernel {
        Kernel::Fused(kernel) => Some(kernel),
        _ => None,
    });
    Some(kernels.collect())
}

/// Which buffers a loop writes, and which of them stay within it.
pub(crate) struct LoopMemory {
    /// Written and read: kept in workgroup memory, with elements per trip.
    kept: HashMap<BufferId, usize>,
    /// Written for those who come after the loop.
    results: HashSet<BufferId>,
    slots: HashMap<BufferId, usize>,
    dtypes: HashMap<BufferId, DType>,
}

impl LoopMemory {
    fn of(program: &Program, body: &Loop, kernels: &[&Fused]) -> Option<LoopMemory> {
        let slots: HashMap<BufferId, usize> = body.slots.iter().copied().collect();
        let old: HashSet<BufferId> = body.swaps.iter().map(|&(old, _)| old).collect();
        let new: HashSet<BufferId> = body.swaps.iter().map(|&(_, new)| new).collect();
        let reads =
            |kernel: &Fused| kernel.tape.iter().filter_map(|i| i.code.buffer()).collect::<HashSet<_>>();
        let written: HashSet<BufferId> =
            kernels.iter().flat_map(|k| k.stores.iter().map(|s| s.buffer)).collect();
        let read: HashSet<BufferId> = kernels.iter().flat_map(|kernel| reads(kernel)).collect();
        // A carry's old value is only read, its new one only written.
        if written.iter().any(|id| old.contains(id)) {
            return None;
        }
        let mut done: HashSet<BufferId> = old.clone();
        for kernel in kernels {
            if reads(kernel).iter().any(|id| written.contains(id) && !done.contains(id)) {
                return None;
            }
            done.extend(kernel.stores.iter().map(|store| store.buffer));
        }
        // What is read under another name than it is written under.
        let extent = |id: &BufferId| {
            let ProgramBuffer { place, offset, dtype, len } = program.buffers[id.0 as usize];
            (place, offset, offset + len * dtype.size())
        };
        let outside: Vec<&BufferId> =
            read.iter().filter(|id| !written.contains(id) && !old.contains(id)).collect();
        let meets = |a: &BufferId, b: &BufferId| {
            let ((p, from, to), (q, first, last)) = (extent(a), extent(b));
            p == q && from < last && first < to
        };
        let changed: Vec<&BufferId> = written.iter().chain(&old).collect();
        if outside.iter().any(|a| changed.iter().any(|b| meets(a, b))) {
            return None;
        }
        let inside = written.iter().filter(|id| read.contains(id) || new.contains(id)).chain(&old);
        let length = |id: &BufferId| slots.get(id).copied().unwrap_or(program.buffers[id.0 as usize].len);
        let kept: HashMap<BufferId, usize> = inside.map(|id| (*id, length(id))).collect();
        let results = written.iter().filter(|id| slots.contains_key(id)).copied().collect::<HashSet<_>>();
        // What nobody reads and no slice receives has no place here.
        if written.iter().any(|id| !kept.contains_key(id) && !results.contains(id)) {
            return None;
        }
        let dtypes = read.iter().chain(&written).chain(&old).chain(&new);
        let dtypes: HashMap<_, _> = dtypes.map(|id| (*id, program.buffers[id.0 as usize].dtype)).collect();
        let word = |dtype: &DType| matches!(dtype, DType::F32 | DType::I32 | DType::U32 | DType::Bool);
        written.iter().chain(&old).all(|id| word(&dtypes[id])).then_some(LoopMemory {
            kept,
            results,
            slots,
            dtypes,
        })
    }
}

struct Builder<'a> {
    program: &'a mut Program,
    body: &'a Loop,
    memory: LoopMemory,
    axis: SharedAxis,
    reads: Vec<BufferId>,
    writes: Vec<BufferId>,
    constants: Vec<(BufferId, BufferId, usize)>,
}

impl Builder<'_> {
    fn build(&mut self, split: Vec<SplitKernel>, capabilities: &Capabilities) -> Option<GroupLoop> {
        let places = self.axis.places;
        let waits = memory::waits(&split, &self.memory);
        let homes = memory::assign(&split, &waits, &self.memory, self.body, places);
        let bytes = homes.elements.values().sum::<usize>() * 4;
        let most = (capabilities.workgroup_memory as usize).checked_div(bytes)?;
        let enough = (places / LEAST_WORKGROUPS).max(1);
        let group = (0..6).map(|n| 1 << n).filter(|&n| n <= most && n <= enough.min(places)).max()?;
        let rows = split.iter().map(|one| one.kernel.axes.iter().product::<usize>()).max()?;
        // Few workgroups with much to do each would leave most of the device idle.
        if places / group < LEAST_WORKGROUPS / 4 && rows * places > MOST_ALONE {
            return None;
        }
        let widest = rows * group;
        let limit = MOST_THREADS.min(capabilities.invocations as usize);
        let threads = widest.next_multiple_of(32).min(limit);
        let locals = self.locals(&homes, group);
        let constants = self.gather_constants(&split);
        let place = PlacedMemory { homes: &homes, locals: &locals, constants: &constants, group };
        let mut body: Vec<Phase> = Vec::new();
        for (one, &waits) in split.iter().zip(&waits) {
            body.push(Phase { waits, kernel: self.placed(one, &place)? });
        }
        let (mut begin, mut end) = (Vec::new(), Vec::new());
        for (n, &(old, new)) in self.body.swaps.iter().enumerate() {
            let [from, to] = [old, new].map(|id| self.own(id, &place));
            let outside = [old, new].map(|id| (id, self.whole(id)));
            begin.push(self.moved(old, outside[0].clone(), from.clone(), false));
            body.push(self.moved(old, to, from.clone(), n == 0));
            for to in outside {
                end.push(self.moved(old, from.clone(), to, false));
            }
            self.note_write(old);
            self.note_write(new);
        }
        self.reads.retain(|id| !self.writes.contains(id));
        Some(GroupLoop {
            places,
            group,
            threads,
            trips: self.body.trips,
            reverse: self.body.reverse,
            begin,
            body,
            end,
            locals: locals.values().copied().collect::<std::collections::BTreeSet<_>>().into_iter().collect(),
            constants: std::mem::take(&mut self.constants),
            reads: std::mem::take(&mut self.reads),
            writes: std::mem::take(&mut self.writes),
        })
    }

    fn note_write(&mut self, id: BufferId) {
        if !self.writes.contains(&id) {
            self.writes.push(id);
        }
    }

    fn note_read(&mut self, id: BufferId) {
        if !self.reads.contains(&id) {
            self.reads.push(id);
        }
    }

    fn add_buffer(&mut self, dtype: DType, len: usize) -> BufferId {
        let block = self.program.blocks.len();
        self.program.buffers.push(ProgramBuffer { place: Place::Block(block), offset: 0, dtype, len });
        BufferId(self.program.buffers.len() as u32 - 1)
    }

    /// An array in workgroup memory for every type of element.
    fn locals(&mut self, homes: &memory::Homes, group: usize) -> HashMap<DType, BufferId> {
        let mut elements: Vec<(DType, usize)> = homes.elements.iter().map(|(&d, &n)| (d, n)).collect();
        elements.sort_unstable_by_key(|(dtype, _)| dtype.name());
        elements.into_iter().map(|(dtype, n)| (dtype, self.add_buffer(dtype, n * group))).collect()
    }

    /// Small buffers that the loop only reads, side by side: one binding for all of a type.
    fn gather_constants(&mut self, split: &[SplitKernel]) -> HashMap<BufferId, (BufferId, usize)> {
        let mut small: Vec<BufferId> = Vec::new();
        for id in split.iter().flat_map(|one| one.kernel.tape.iter().filter_map(|i| i.code.buffer())) {
            let outside = !self.memory.kept.contains_key(&id) && !self.memory.slots.contains_key(&id);
            let ProgramBuffer { dtype, len, .. } = self.program.buffers[id.0 as usize];
            if outside && len <= LARGEST_CONSTANT && dtype.size() == 4 && !small.contains(&id) {
                small.push(id);
            }
        }
        let mut found = HashMap::new();
        let dtypes = [DType::F32, DType::I32, DType::U32, DType::Bool];
        for dtype in dtypes {
            let own = small.iter().filter(|id| self.program.buffers[id.0 as usize].dtype == dtype);
            let own: Vec<BufferId> = own.copied().collect();
            let len: usize = own.iter().map(|id| self.program.buffers[id.0 as usize].len).sum();
            if own.is_empty() {
                continue;
            }
            let all = self.add_buffer(dtype, len);
            self.program.blocks.push((len * 4).next_multiple_of(256));
            let mut at = 0;
            for id in own {
                found.insert(id, (all, at));
                self.constants.push((id, all, at));
                at += self.program.buffers[id.0 as usize].len;
            }
        }
        found
    }

    /// The kernel with its buffers where they are now.
    fn placed(&mut self, one: &SplitKernel, place: &PlacedMemory) -> Option<Fused> {
        let mut kernel = one.kernel.clone();
        for instr in &mut kernel.tape {
            let Some(id) = instr.code.buffer() else { continue };
            let new = self.placed_read(id, place);
            let inner = self.axis.layouts.get(&id).copied();
            match &mut instr.code {
                Code::Load(buffer, view) => {
                    (*buffer, *view) = self.shifted(id, view, new, inner, place)?;
                }
                Code::Take { buffer, view, stride, .. } => {
                    (*buffer, *view) = self.shifted(id, view, new, inner, place)?;
                    if let (Some(inner), true) = (inner, place.homes.offsets.contains_key(&id)) {
                        *stride = axis::local(*stride, inner, self.axis.places, place.group);
                    }
                }
                _ => {}
            }
        }
        let mut stores = Vec::new();
        for store in &kernel.stores {
            if self.memory.results.contains(&store.buffer) {
                self.note_write(store.buffer);
                let view = self.along_time(store.buffer, &store.view);
                stores.push(Store { view, ..store.clone() });
            }
            if self.memory.kept.contains_key(&store.buffer) {
                let inner = self.axis.layouts.get(&store.buffer).copied();
                let (buffer, view) = self.shifted(store.buffer, &store.view, None, inner, place)?;
                stores.push(Store { buffer, view, ..store.clone() });
            }
        }
        kernel.stores = stores;
        Some(kernel)
    }

    /// Where a buffer of the outside is read.
    fn placed_read(&mut self, id: BufferId, place: &PlacedMemory) -> Option<(BufferId, usize)> {
        if self.memory.kept.contains_key(&id) {
            return None;
        }
        let home = place.constants.get(&id).copied().unwrap_or((id, 0));
        self.note_read(home.0);
        Some(home)
    }

    fn shifted(
        &self,
        id: BufferId,
        view: &View,
        outside: Option<(BufferId, usize)>,
        inner: Option<i64>,
        place: &PlacedMemory,
    ) -> Option<(BufferId, View)> {
        if let Some((buffer, offset)) = outside {
            let mut view = self.along_time(id, view);
            view.offset += offset as i64;
            return Some((buffer, view));
        }
        let (buffer, offset) = self.own_place(id, place);
        Some((buffer, axis::local_view(view, inner?, self.axis.places, place.group, offset)))
    }

    /// The view of a slice, at the loop's position.
    fn along_time(&self, id: BufferId, view: &View) -> View {
        let mut view = view.clone();
        if let (Some(&stride), Some(last)) = (self.memory.slots.get(&id), view.strides.last_mut()) {
            *last = stride as i64;
        }
        view
    }

    /// The workgroup array of a kept buffer, and its first element there.
    fn own_place(&self, id: BufferId, place: &PlacedMemory) -> (BufferId, usize) {
        (place.locals[&self.memory.dtypes[&id]], place.homes.offsets[&id])
    }

    /// The view over all elements of a carry in workgroup memory.
    fn own(&self, id: BufferId, place: &PlacedMemory) -> (BufferId, View) {
        let (buffer, offset) = self.own_place(id, place);
        let inner = self.axis.layouts[&id];
        let whole = self.whole(id);
        (buffer, axis::local_view(&whole, inner, self.axis.places, place.group, offset))
    }

    /// The view over all elements of a carry in memory.
    fn whole(&self, id: BufferId) -> View {
        let inner = self.axis.layouts[&id];
        View { offset: 0, strides: vec![inner * self.axis.places as i64, 1, inner, 0, 0], guards: vec![] }
    }

    /// A kernel that moves all elements of a carry.
    fn moved(&self, id: BufferId, from: (BufferId, View), to: (BufferId, View), waits: bool) -> Phase {
        let inner = self.axis.layouts[&id] as usize;
        let outer = self.memory.kept[&id] / self.axis.places / inner;
        let dtype = self.memory.dtypes[&id].register();
        let load = Instr { code: Code::Load(from.0, from.1), dtype, level: Level::Full };
        let store = Store { buffer: to.0, value: Reg(0), view: to.1 };
        Phase {
            waits,
            kernel: Fused { axes: vec![outer, inner], outer: 2, tape: vec![load], stores: vec![store] },
        }
    }
}

/// Where everything lies.
struct PlacedMemory<'a> {
    homes: &'a memory::Homes,
    locals: &'a HashMap<DType, BufferId>,
    constants: &'a HashMap<BufferId, (BufferId, usize)>,
    group: usize,
}
