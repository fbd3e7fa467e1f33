//! Temporary folders for tests.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A temporary folder of a test.
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub fn new() -> ScratchFolder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("farad-dashboard-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        ScratchFolder(path)
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.0.join(relative)
    }

    pub fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Makes a run that has only its configuration.
    pub fn run(&self, relative: &str, kind: &str) {
        self.write(
            &format!("{relative}/config.toml"),
            &format!("format = \"farad-run\"\nversion = 1\nkind = \"{kind}\"\ndevice = \"cpu\"\n"),
        );
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
