//! The observer of a training. Libraries print nothing; they report to a [`Watcher`].

use crate::run::Picture;

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

/// What a model makes at present.
#[derive(Clone, Debug)]
pub enum Glimpse {
    /// A grid, a cell per pixel.
    Picture(Picture),
    /// Text by the model.
    Text(String),
}

/// Receives progress of something that takes long. `()` ignores it.
pub trait Watcher {
    /// Something to know, in a line.
    fn say(&self, _words: &str) {}

    /// Training stands here.
    fn trained(&self, _progress: &Progress) {}

    /// Whether it wants to see what the model makes. Making it takes time.
    fn looks(&self) -> bool {
        false
    }

    /// What the model makes after so many steps.
    fn glimpsed(&self, _step: u64, _glimpse: &Glimpse) {}

    /// Something else is so far: parts done, parts in all, and what it is.
    fn advanced(&self, _done: u64, _all: u64, _what: &str) {}

    /// A part of longer work is so far, from 0 to 1, and what it is. Parts may come after it, and nobody knows how many. Only who
    /// [looks](Watcher::looks) is told.
    fn works(&self, _share: f64, _what: &str) {}
}

impl Watcher for () {}
