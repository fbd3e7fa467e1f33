//! How far long work is: a simplification, a proof, a search. Who works writes it down, and another thread may look.
//!
//! Invariant: looking changes nothing, and what nobody looks at costs one branch per step. Start at [`WorkProgress`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where work writes how far it is. The default is looked at by nobody.
#[derive(Clone, Debug, Default)]
pub struct WorkProgress(Option<Arc<SharedPart>>);

/// A part of the work, as another thread sees it.
#[derive(Debug, Default)]
struct SharedPart {
    done: AtomicU64,
    part: Mutex<WorkPart>,
}

/// What is being done just now. More parts may come, and nobody knows how many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkPart {
    /// What it is: `rewriting`, `proving`, `searching`, …; empty before anything began.
    pub what: &'static str,
    /// Steps of this part that are done.
    pub done: u64,
    /// Steps of this part.
    pub all: u64,
    /// Gates that are left, where the work is about gates.
    pub gates: Option<u64>,
    /// What is still wrong: bits of an automaton, samples of a classifier.
    pub wrong: Option<u64>,
}

impl WorkProgress {
    /// One that may be looked at: clones of it show the same.
    pub fn watched() -> WorkProgress {
        WorkProgress(Some(Arc::default()))
    }

    /// What is being done; none if nothing began, or if nobody may look.
    pub fn now(&self) -> Option<WorkPart> {
        let shared = self.0.as_ref()?;
        let part = shared.part.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let done = shared.done.load(Ordering::Relaxed).min(part.all);
        (!part.what.is_empty()).then_some(WorkPart { done, ..part })
    }

    /// Whether somebody may look.
    pub fn is_watched(&self) -> bool {
        self.0.is_some()
    }

    /// A part of so many steps begins, with so many gates.
    pub fn begin(&self, what: &'static str, all: usize, gates: Option<usize>) {
        let gates = gates.map(|gates| gates as u64);
        self.show(WorkPart { what, all: all as u64, gates, ..WorkPart::default() });
    }

    /// The part stands here.
    pub fn show(&self, part: WorkPart) {
        if let Some(shared) = &self.0 {
            let mut now = shared.part.lock().unwrap_or_else(PoisonError::into_inner);
            shared.done.store(part.done, Ordering::Relaxed);
            *now = part;
        }
    }

    /// One more step of the part is done.
    pub fn step(&self) {
        if let Some(shared) = &self.0 {
            shared.done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Budgets are equal whoever looks at the work.
impl PartialEq for WorkProgress {
    fn eq(&self, _: &WorkProgress) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlist::Netlist;
    use crate::simplify::{SimplifyOptions, simplify};

    #[test]
    fn clones_show_the_same_and_the_default_shows_nothing() {
        let (silent, watched) = (WorkProgress::default(), WorkProgress::watched());
        silent.begin("proving", 3, None);
        assert_eq!((silent.now(), watched.now()), (None, None));
        let seen = watched.clone();
        watched.begin("rewriting", 3, Some(20));
        (0..5).for_each(|_| watched.step());
        let part = seen.now().unwrap();
        assert_eq!((part.what, part.done, part.all, part.gates), ("rewriting", 3, 3, Some(20)));
    }

    /// What is seen from outside while a circuit is simplified and proved: every pass, and never more than all.
    #[test]
    fn a_simplification_shows_its_parts_and_stays_as_it_is() {
        let netlist = Netlist::random(5, 24, 1_500, 12);
        let quiet =
            simplify(&netlist, &SimplifyOptions { time: None, ..SimplifyOptions::default() }).unwrap();
        let progress = WorkProgress::watched();
        let options =
            SimplifyOptions { time: None, progress: progress.clone(), ..SimplifyOptions::default() };
        let seen = std::thread::scope(|scope| {
            let work = scope.spawn(|| simplify(&netlist, &options).unwrap());
            let mut seen: Vec<WorkPart> = vec![];
            while !work.is_finished() {
                seen.extend(progress.now());
            }
            assert_eq!(work.join().unwrap().netlist, quiet.netlist);
            seen.extend(progress.now());
            seen
        });
        assert!(seen.iter().all(|part| part.done <= part.all), "{seen:?}");
        let kinds: std::collections::BTreeSet<&str> = seen.iter().map(|part| part.what).collect();
        for what in ["rewriting", "expressing", "proving"] {
            assert!(kinds.contains(what), "{what} is not in {kinds:?}");
        }
        let steps =
            seen.windows(2).filter(|pair| pair[0].what == pair[1].what && pair[0].done < pair[1].done);
        assert!(steps.count() > 3, "{seen:?}");
    }
}
