//! How far a job is: a bar where it can be drawn again and again, else a line now and then.

use std::cell::RefCell;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{colored_errors, count, duration, lively, tell};

/// Lines come at least so often.
const SELDOM: Duration = Duration::from_secs(5);
/// Lines that tell of another tenth come at most so often.
const OFTEN: Duration = Duration::from_secs(2);

/// What of a bar is done, where it ends, and what is left.
const FILLED: &str = "━╸─";
/// Steps of a bar that shows a share.
const FINE: u64 = 1_000;

/// What shows how far a job is. Dropping it takes the bar away.
pub struct JobProgress(BarKind);

enum BarKind {
    Hidden,
    Bar(DrawnBar),
    Lines(RefCell<ProgressLines>),
    /// Lines that come by themselves, until this is dropped.
    Ticks(#[allow(dead_code)] mpsc::Sender<()>),
}

/// A bar, and what is shown above it.
struct DrawnBar {
    all: MultiProgress,
    bar: ProgressBar,
    above: RefCell<Option<ProgressBar>>,
}

impl DrawnBar {
    fn new(bar: ProgressBar) -> DrawnBar {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        let bar = all.add(bar);
        // Only now is it clear where it is drawn.
        bar.enable_steady_tick(Duration::from_millis(250));
        DrawnBar { all, bar, above: RefCell::default() }
    }
}

impl JobProgress {
    /// For so many steps, of which some are done.
    pub(super) fn new(quiet: bool, unit: &str, steps: u64, done: u64) -> JobProgress {
        JobProgress(match () {
            _ if quiet => BarKind::Hidden,
            _ if lively() => BarKind::Bar(DrawnBar::new(bar(steps, done))),
            _ => BarKind::Lines(RefCell::new(ProgressLines::new(unit, steps, done, Instant::now()))),
        })
    }

    /// A sign that work goes on, with the time that it has taken so far.
    pub(super) fn working(quiet: bool, what: &str) -> JobProgress {
        if quiet {
            return JobProgress(BarKind::Hidden);
        }
        if !lively() {
            return JobProgress(ticking(what.to_string()));
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}").expect("a fixed text"));
        bar.set_message(what.to_string());
        JobProgress(BarKind::Bar(DrawnBar::new(bar)))
    }

    /// A part of the work is so far, from 0 to 1, and what it is: a bar in the place of the sign.
    pub fn works(&self, share: f64, what: &str) {
        let BarKind::Bar(DrawnBar { bar, .. }) = &self.0 else { return };
        if bar.length().is_none() {
            let style = format!("{} {{elapsed}}  {{wide_msg}}", bar_template());
            bar.set_style(ProgressStyle::with_template(&style).expect("a fixed text").progress_chars(FILLED));
            bar.set_length(FINE);
        }
        bar.set_position((share.clamp(0.0, 1.0) * FINE as f64) as u64);
        bar.set_message(what.to_string());
    }

    /// This many steps are done. What is known is said if it is time to.
    pub fn set(&self, done: u64, known: impl FnOnce() -> String) {
        match &self.0 {
            BarKind::Hidden | BarKind::Ticks(_) => {}
            BarKind::Bar(DrawnBar { bar, .. }) => {
                bar.set_position(done);
                bar.set_message(known());
            }
            BarKind::Lines(lines) => {
                lines.borrow_mut().set(done, Instant::now(), known).into_iter().for_each(tell)
            }
        }
    }

    /// Shows lines above the bar, in the place of those that were there; `cut` ones are as long as the terminal is wide.
    pub fn above(&self, lines: String, cut: bool) {
        let BarKind::Bar(drawn) = &self.0 else { return };
        let mut above = drawn.above.borrow_mut();
        let bar = above.get_or_insert_with(|| {
            let bar = drawn.all.insert(0, ProgressBar::no_length());
            let template = if cut { "{wide_msg}" } else { "{msg}" };
            bar.set_style(ProgressStyle::with_template(template).expect("a fixed text"));
            bar
        });
        bar.set_message(lines);
    }

    /// Does something that writes lines, without the bar between them.
    pub fn suspend(&self, writes: impl FnOnce()) {
        match &self.0 {
            BarKind::Bar(drawn) => drawn.all.suspend(writes),
            _ => writes(),
        }
    }

    /// How many steps there are, once that is known.
    pub fn set_length(&self, steps: u64) {
        match &self.0 {
            BarKind::Hidden | BarKind::Ticks(_) => {}
            BarKind::Bar(DrawnBar { bar, .. }) => bar.set_length(steps),
            BarKind::Lines(lines) => lines.borrow_mut().steps = steps,
        }
    }
}

impl Drop for JobProgress {
    fn drop(&mut self) {
        if let BarKind::Bar(drawn) = &self.0 {
            drawn.above.borrow().iter().for_each(ProgressBar::finish_and_clear);
            drawn.bar.finish_and_clear();
            // What was drawn last may wait for its turn; what comes now must not.
            let _ = drawn.all.clear();
        }
    }
}

/// Says now and then that work goes on, by a thread that ends with what is given.
fn ticking(what: String) -> BarKind {
    let (end, ended) = mpsc::channel();
    let started = Instant::now();
    let tick = move || {
        while ended.recv_timeout(SELDOM) == Err(mpsc::RecvTimeoutError::Timeout) {
            tell(format!("{what}: {} so far", duration(Duration::from_secs(started.elapsed().as_secs()))));
        }
    };
    // Without the thread there are no lines, and the work goes on.
    let _ = std::thread::Builder::new().name("farad-progress".into()).spawn(tick);
    BarKind::Ticks(end)
}

/// A bar that is drawn once it is among others.
pub(super) fn bar(steps: u64, done: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
    // What matters least comes last: narrow terminals cut it off.
    let style = format!("{} {{human_pos}}/{{human_len}}  {{left}} left  {{wide_msg}}", bar_template());
    let left = |state: &ProgressState, line: &mut dyn std::fmt::Write| {
        let _ = write!(line, "{}", duration(Duration::from_secs(state.eta().as_secs())));
    };
    let style = ProgressStyle::with_template(&style).expect("a fixed text").with_key("left", left);
    bar.set_style(style.progress_chars(FILLED));
    bar.set_position(done);
    bar.reset_eta();
    bar
}

/// The bar itself, in its colors.
fn bar_template() -> String {
    format!("{{bar:20{}}}", if colored_errors() { ".green/dim" } else { "" })
}

/// When a line is due, and what it says.
struct ProgressLines {
    unit: String,
    steps: u64,
    first: u64,
    started: Instant,
    /// When the last line was, and at which tenth.
    last: (Instant, u64),
}

impl ProgressLines {
    fn new(unit: &str, steps: u64, done: u64, now: Instant) -> ProgressLines {
        let mut lines = ProgressLines { unit: unit.into(), steps, first: done, started: now, last: (now, 0) };
        lines.last.1 = lines.tenth(done);
        lines
    }

    fn tenth(&self, done: u64) -> u64 {
        done.saturating_mul(10) / self.steps.max(1)
    }

    fn set(&mut self, done: u64, now: Instant, known: impl FnOnce() -> String) -> Option<String> {
        let (waited, tenth) = (now - self.last.0, self.tenth(done));
        if waited < OFTEN || (waited < SELDOM && tenth == self.last.1) {
            return None;
        }
        self.last = (now, tenth);
        let share =
            done.saturating_sub(self.first) as f64 / self.steps.saturating_sub(self.first).max(1) as f64;
        let left = (now - self.started).as_secs_f64() * (1.0 / share.max(1e-9) - 1.0);
        let left = duration(Duration::try_from_secs_f64(left.max(0.0)).unwrap_or(Duration::MAX));
        let (done, all) = (count(done), count(self.steps));
        Some(format!("{done} of {all} {}  {}  left {left}", self.unit, known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_with_tenths_and_every_five_seconds() {
        let start = Instant::now();
        let mut lines = ProgressLines::new("steps", 2_000, 0, start);
        let mut at = |seconds: u64, done: u64| {
            lines.set(done, start + Duration::from_secs(seconds), || "loss 1".into())
        };
        assert_eq!(at(1, 400), None, "too soon");
        assert_eq!(at(4, 500).unwrap(), "500 of 2,000 steps  loss 1  left 12.0 s");
        assert_eq!(at(8, 550), None, "the same tenth");
        assert!(at(9, 560).unwrap().starts_with("560 of 2,000"), "five seconds are over");
        assert!(at(10, 1_900).is_none());
        assert!(at(11, 2_000).unwrap().ends_with("left 0 s"));
    }
}
