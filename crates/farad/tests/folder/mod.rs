//! Folders for tests that write files.

use std::path::PathBuf;

/// A folder of a test's own, gone when the test is over.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty folder; `name` tells the tests of one process apart.
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("farad-run-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A path in it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
