//! What was made lately from checkpoints of runs.
//!
//! Invariant: a thing is made once for each state of a folder, and only a few are kept.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::summary::stamp;

/// Things that are kept.
const KEPT: usize = 8;

/// The folder, and when the sources were written.
type Key = (PathBuf, [u64; 2]);

/// Things made from folders of runs.
pub struct Recent<T> {
    kept: Mutex<VecDeque<(Key, Option<Arc<T>>)>>,
}

impl<T> Default for Recent<T> {
    fn default() -> Recent<T> {
        Recent { kept: Mutex::default() }
    }
}

impl<T> Recent<T> {
    /// What is made from the newest state of a folder; `None` if nothing can be made of it.
    pub fn get(&self, folder: &Path, make: impl FnOnce() -> Option<T>) -> Option<Arc<T>> {
        let stamps = ["checkpoint.safetensors", "circuits"].map(|name| stamp(&folder.join(name)));
        let key = (folder.to_path_buf(), stamps);
        let mut kept = self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, made)) = kept.iter().find(|(other, _)| *other == key) {
            return made.clone();
        }
        // Made under the lock: several frames of one page ask at once, and one result serves all.
        let made = make().map(Arc::new);
        kept.retain(|((other, _), _)| other != folder);
        kept.push_back((key, made.clone()));
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
        made
    }
}
