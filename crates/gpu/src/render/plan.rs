//! How a kernel with reductions is mapped to threads, by a fixed rule on its shape.
//!
//! A *team* of threads shares one outer position (*row form*, four lanes along the reduced axes) or four
//! neighboring ones (*column form*, lanes along the last outer axis); a workgroup holds one or more teams. A
//! thread's part of the reduced positions is either *kept* (unrolled, so that later passes find its values in
//! registers) or looped over.

use farad_compile::program::{BufferId, Code, Fused, Instr, Level, Reg, View};

use crate::dispatch::Capabilities;
use crate::heuristics::rows;

/// The layout of a kernel with reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReducePlan {
    /// Lanes lie along the last outer axis instead of the last reduced one.
    pub columns: bool,
    /// Adjacent elements that a thread takes together.
    pub lanes: usize,
    /// Threads along the reduced positions.
    pub team: usize,
    /// Teams per workgroup.
    pub teams: usize,
    /// Groups of lanes that a thread keeps in registers; `None` for a loop.
    pub kept: Option<usize>,
    /// Groups per iteration of a loop.
    pub unroll: usize,
}

/// The largest power of two that is at most `n`, and at least 1.
fn floor_power(n: usize) -> usize {
    if n == 0 { 1 } else { 1 << n.ilog2() }
}

/// Iterations of a loop to unroll, for this many values each.
fn unroll(values: usize) -> usize {
    if values <= rows::UNROLLED_VALUES { rows::UNROLL } else { 1 }
}

/// Number of elements of the views that are contiguous along `axis`.
fn contiguous(kernel: &Fused, axis: usize) -> usize {
    let full = |view: &View| if view.strides[axis].abs() == 1 { view.reach(&kernel.axes) } else { 0 };
    let loads = kernel.tape.iter().map(|instr| match &instr.code {
        Code::Load(_, view) | Code::Take { view, .. } if instr.level == Level::Full => full(view),
        _ => 0,
    });
    let level = |register: Reg| kernel.tape[register.0 as usize].level;
    let stores =
        kernel.stores.iter().filter(|store| level(store.value) == Level::Full).map(|store| full(&store.view));
    loads.chain(stores).sum()
}

impl ReducePlan {
    /// The layout for a canonical kernel that has reduced axes.
    pub fn of(kernel: &Fused, capabilities: &Capabilities) -> ReducePlan {
        let full = kernel.tape.iter().filter(|instr| instr.level == Level::Full).count().max(1);
        let rank = kernel.axes.len();
        let along_rows = contiguous(kernel, rank - 1);
        let columns = kernel.outer > 0
            && kernel.axes[kernel.outer - 1] >= rows::LEAST_COLUMNS
            && contiguous(kernel, kernel.outer - 1) > along_rows;
        match columns {
            true => ReducePlan::columns(kernel, full),
            false => ReducePlan::rows(kernel, full, along_rows > 0, capabilities),
        }
    }

    fn rows(kernel: &Fused, full: usize, contiguous: bool, capabilities: &Capabilities) -> ReducePlan {
        let (outer, reduced) = (kernel.outer_len(), kernel.reduced_len());
        let inner = kernel.axes[kernel.axes.len() - 1];
        let lanes = if contiguous && inner.is_multiple_of(4) { 4 } else { 1 };
        let groups = reduced / lanes;
        let most = (rows::KEPT_VALUES / (full * lanes)).clamp(1, rows::KEPT_ELEMENTS / lanes);
        // Rows that do not fit in registers and that several passes read: with fewer rows at once, they stay in
        // cache.
        let again = groups > most * rows::TEAM && Passes::of(kernel).reads() > 1;
        let few = outer * rows::TEAM < rows::BUSY_THREADS && groups >= rows::LONG_ROW;
        let large = floor_power(capabilities.invocations as usize).min(rows::LARGE_TEAM);
        let limit = if few || again { large } else { rows::TEAM };
        let mut team = groups.div_ceil(most.min(rows::ELEMENTS / lanes)).next_power_of_two().min(limit);
        if groups >= rows::LEAST_TEAM {
            // Many short rows of odd length: one thread each, unless whole rows are written too.
            let short = lanes == 1 && groups <= most.min(rows::ELEMENTS) && outer >= rows::MANY_ROWS;
            let writes = kernel.stores.iter().any(|s| kernel.tape[s.value.0 as usize].level == Level::Full);
            team = team.max(if !short {
                rows::LEAST_TEAM
            } else if writes {
                rows::WRITING_TEAM
            } else {
                1
            });
        }
        while team < limit && team < groups && outer * team < rows::BUSY_THREADS {
            team *= 2;
        }
        let each = groups.div_ceil(team);
        let single = team >= rows::SINGLE_TEAM || (team == rows::SUBGROUP_TEAM && capabilities.subgroups);
        let mut teams = if single { 1 } else { rows::TEAMS_THREADS / team };
        while teams > 1 && outer / teams < rows::LEAST_WORKGROUPS {
            teams /= 2;
        }
        let kept = (reduced > 0 && each <= most).then_some(each);
        ReducePlan { columns: false, lanes, team, teams, kept, unroll: unroll(full * lanes) }
    }

    fn columns(kernel: &Fused, full: usize) -> ReducePlan {
        let (outer, reduced) = (kernel.outer_len(), kernel.reduced_len());
        let lanes = if kernel.axes[kernel.outer - 1].is_multiple_of(4) { 4 } else { 1 };
        let groups = outer / lanes;
        let team = floor_power(rows::COLUMN_THREADS / groups.max(1)).clamp(1, rows::COLUMN_TEAM);
        let team = team.min(floor_power(reduced / rows::COLUMN_ELEMENTS));
        let teams = (rows::COLUMN_WORKGROUP / team).min(groups.next_power_of_two());
        let each = reduced.div_ceil(team);
        let most = (rows::KEPT_VALUES / (full * lanes)).clamp(1, rows::COLUMN_KEPT);
        let kept = (reduced > 0 && each <= most).then_some(each);
        ReducePlan { columns: true, lanes, team, teams, kept, unroll: unroll(full * lanes) }
    }

    /// Threads per workgroup.
    pub fn threads(&self) -> usize {
        self.team * self.teams
    }
}

/// What happens in which pass over the reduced positions.
pub(super) struct Passes {
    /// After how many rounds of reductions each instruction can be computed.
    pub stages: Vec<usize>,
    /// The reductions that each pass computes.
    pub reduces: Vec<Vec<usize>>,
    /// The pass that writes full-level values, if there are any.
    pub stores: Option<usize>,
    /// Which instructions are needed.
    pub needed: Vec<bool>,
}

impl Passes {
    /// The passes of a kernel with reductions.
    pub fn of(kernel: &Fused) -> Passes {
        let tape = &kernel.tape;
        let needed = needed(kernel);
        let mut stages: Vec<usize> = Vec::new();
        for Instr { code, .. } in tape {
            let most = code.operands().iter().map(|register| stages[register.0 as usize]).max().unwrap_or(0);
            stages.push(most + usize::from(matches!(code, Code::Reduce(..))));
        }
        let rounds = (0..tape.len()).filter(|&at| needed[at]).map(|at| stages[at]).max().unwrap_or(0);
        let mut reduces = vec![Vec::new(); rounds + 1];
        for at in (0..tape.len()).filter(|&at| needed[at] && matches!(tape[at].code, Code::Reduce(..))) {
            reduces[stages[at] - 1].push(at);
        }
        let full = kernel.stores.iter().filter(|store| tape[store.value.0 as usize].level == Level::Full);
        let mut stores = full.clone().map(|store| stages[store.value.0 as usize]).max();
        // A buffer that is updated in place must not be read again by a later pass.
        let reads = |buffer| tape.iter().any(|instr| read(&instr.code) == Some(buffer));
        if full.clone().any(|store| reads(store.buffer)) {
            stores = Some(rounds);
        }
        Passes { stages, reduces, stores, needed }
    }

    /// How many passes go over the reduced positions.
    fn reads(&self) -> usize {
        (0..self.reduces.len())
            .filter(|&pass| !self.reduces[pass].is_empty() || self.stores == Some(pass))
            .count()
    }
}

/// The buffer that an instruction reads.
pub(super) fn read(code: &Code) -> Option<BufferId> {
    match code {
        Code::Load(buffer, _) | Code::Take { buffer, .. } => Some(*buffer),
        _ => None,
    }
}

/// Which instructions the stores depend on.
fn needed(kernel: &Fused) -> Vec<bool> {
    let mut needed = vec![false; kernel.tape.len()];
    let mut pending: Vec<Reg> = kernel.stores.iter().map(|store| store.value).collect();
    while let Some(register) = pending.pop() {
        let at = register.0 as usize;
        if !needed[at] {
            needed[at] = true;
            pending.extend(kernel.tape[at].code.operands());
        }
    }
    needed
}
