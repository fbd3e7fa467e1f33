//! The observer of a training. Libraries print nothing; they report to a [`Watcher`].

/// How training stands.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Steps made.
    pub step: u64,
    /// Steps at the end.
    pub steps: u64,
    /// The losses of the step, one for each model that is trained.
    pub losses: Vec<f32>,
    /// The same in a few words, with what else is known.
    pub words: String,
}

/// Receives progress of something that takes long. `()` ignores it.
pub trait Watcher {
    /// Something to know, in a line.
    fn say(&self, _words: &str) {}

    /// Training stands here.
    fn trained(&self, _progress: &Progress) {}

    /// Something else is so far: parts done, parts in all, and what it is.
    fn advanced(&self, _done: u64, _all: u64, _what: &str) {}
}

impl Watcher for () {}
