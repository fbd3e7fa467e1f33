//! Long work on circuits beside whoever watches: the work goes to a thread of its own, and this one looks at it now and then.
//!
//! Invariant: what comes out does not depend on whether somebody watches. Start at [`watched`].

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use farad::run::{count, counted};
use farad::train::Watcher;
use farad_circuit::{WorkPart, WorkProgress};

/// How often it is looked at.
const OFTEN: Duration = Duration::from_millis(100);

/// Does work that tells how far it is, while the watcher sees it. `of` says what it is done to, where there are several.
pub fn watched<T: Send>(watcher: &dyn Watcher, of: &str, work: impl FnOnce(&WorkProgress) -> T + Send) -> T {
    if !watcher.looks() {
        return work(&WorkProgress::default());
    }
    let progress = WorkProgress::watched();
    let of = if of.is_empty() { String::new() } else { format!("{of}: ") };
    std::thread::scope(|scope| {
        // Who works ends the waiting by dropping its end.
        let (ends, ended) = channel::<()>();
        let shown = progress.clone();
        let worker = scope.spawn(move || {
            let _ends = ends;
            work(&shown)
        });
        while ended.recv_timeout(OFTEN) == Err(RecvTimeoutError::Timeout) {
            if let Some(part) = progress.now() {
                let share = part.done as f64 / part.all.max(1) as f64;
                watcher.works(share, &format!("{of}{}", words(&part)));
            }
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What is being done, in a few words.
fn words(part: &WorkPart) -> String {
    let what = match part.what {
        "rewriting" => "simplifying: small cones rewritten",
        "expressing" => "simplifying: gates by other gates",
        "comparing" => "looking for equal gates",
        "proving" => "proving that nothing changed",
        "searching" => "repairing",
        other => other,
    };
    let gates = part.gates.map(|gates| counted(gates, "gate"));
    let wrong = part.wrong.map(|wrong| format!("{} wrong", count(wrong)));
    let outputs =
        (part.what == "proving").then(|| format!("{} of {}", count(part.done), counted(part.all, "output")));
    [Some(what.to_string()), wrong, gates, outputs].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Notes what it is shown, if it looks.
    struct Seen(bool, RefCell<Vec<(f64, String)>>);

    impl Watcher for Seen {
        fn looks(&self) -> bool {
            self.0
        }

        fn works(&self, share: f64, what: &str) {
            self.1.borrow_mut().push((share, what.into()));
        }
    }

    #[test]
    fn who_looks_sees_the_work_and_gets_its_result() {
        for looks in [true, false] {
            let seen = Seen(looks, RefCell::default());
            let result = watched(&seen, "seed 5", |progress| {
                progress.begin("rewriting", 4, Some(1_200));
                progress.step();
                std::thread::sleep(3 * OFTEN);
                7
            });
            let (seen, wanted) =
                (seen.1.into_inner(), (0.25, "seed 5: simplifying: small cones rewritten, 1,200 gates"));
            assert_eq!(result, 7);
            assert_eq!(seen.is_empty(), !looks);
            assert!(seen.iter().all(|(share, what)| (*share, what.as_str()) == wanted), "{seen:?}");
        }
    }

    #[test]
    fn parts_are_told_in_words() {
        let part = WorkPart { what: "searching", gates: Some(55), wrong: Some(1_234), ..WorkPart::default() };
        assert_eq!(words(&part), "repairing, 1,234 wrong, 55 gates");
        let part = WorkPart { what: "proving", done: 3, all: 130, ..WorkPart::default() };
        assert_eq!(words(&part), "proving that nothing changed, 3 of 130 outputs");
    }
}
