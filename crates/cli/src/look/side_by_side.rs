//! Jobs side by side: a bar for all of them and a line for each that runs, where lines can be drawn again and again.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::progress::bar;
use super::{Talk, lively, tell};

/// The lines of several jobs. Dropping it takes them away.
pub struct SideBySide {
    quiet: bool,
    drawn: Option<(MultiProgress, ProgressBar)>,
}

/// The line of one job. Dropping it takes the line away.
pub struct JobLine {
    title: String,
    bar: Option<ProgressBar>,
}

impl Talk {
    /// Shows so many jobs of which several run at once. Where nothing can be drawn again, only what is said is seen.
    pub fn side_by_side(self, unit: &str, jobs: u64) -> SideBySide {
        let drawn = (!self.quiet && lively()).then(|| {
            let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            let whole = all.add(bar(jobs, 0));
            whole.enable_steady_tick(Duration::from_millis(250));
            whole.set_message(unit.to_string());
            (all, whole)
        });
        SideBySide { quiet: self.quiet, drawn }
    }
}

impl SideBySide {
    /// A line for one more job.
    pub fn line(&self, title: &str) -> JobLine {
        let bar = self.drawn.as_ref().map(|(all, _)| {
            let line = all.add(ProgressBar::no_length());
            line.set_style(ProgressStyle::with_template("{wide_msg}").expect("a fixed text"));
            line.set_message(title.to_string());
            line
        });
        JobLine { title: title.into(), bar }
    }

    /// So many jobs are over.
    pub fn done(&self, jobs: u64) {
        if let Some((_, whole)) = &self.drawn {
            whole.set_position(jobs);
        }
    }

    /// A line that stays, above those that change.
    pub fn say(&self, text: impl std::fmt::Display) {
        match &self.drawn {
            _ if self.quiet => {}
            Some((all, _)) => all.suspend(|| tell(text)),
            None => tell(text),
        }
    }
}

impl Drop for SideBySide {
    fn drop(&mut self) {
        if let Some((all, whole)) = &self.drawn {
            whole.finish_and_clear();
            let _ = all.clear();
        }
    }
}

impl JobLine {
    /// How far the job is.
    pub fn set(&self, progress: &str) {
        if let Some(bar) = self.bar.as_ref().filter(|_| !progress.is_empty()) {
            bar.set_message(format!("{}  {progress}", self.title));
        }
    }
}

impl Drop for JobLine {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
