//! The folder that is served: which runs it has, and which of their files may be read.
//!
//! Invariant: whatever a request says, no path returned from here leads out of the folder, to a hidden file, or
//! to a file whose kind is not in [`KINDS`]. Names are checked first as text and then by the file system, so
//! neither dots nor links lead elsewhere. Start at [`RunLibrary::open`].

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Most runs that are shown.
pub const MOST_RUNS: usize = 2000;

/// The files that are served, by extension, and their content types.
const KINDS: [(&str, &str); 9] = [
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("gif", "image/gif"),
    ("md", "text/plain; charset=utf-8"),
    ("txt", "text/plain; charset=utf-8"),
    ("csv", "text/plain; charset=utf-8"),
    ("toml", "text/plain; charset=utf-8"),
    ("json", "text/plain; charset=utf-8"),
    ("jsonl", "text/plain; charset=utf-8"),
];

/// A folder of runs, or one run.
#[derive(Clone, Debug)]
pub struct RunLibrary {
    root: PathBuf,
    /// The name of the run, if the folder is a single run.
    single: Option<String>,
}

impl RunLibrary {
    /// A folder that must exist.
    pub fn open(folder: &Path) -> Result<RunLibrary> {
        match folder.is_dir() {
            true => Ok(RunLibrary::expect(folder)),
            false => Err(Error::NoFolder { path: folder.into() }),
        }
    }

    /// A folder that may be created later.
    pub fn expect(folder: &Path) -> RunLibrary {
        let whole = folder.canonicalize().ok();
        let name = whole.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        let single = is_run(folder).then(|| name.unwrap_or("run").to_string());
        RunLibrary { root: folder.into(), single }
    }

    /// The folder as given.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The names of all runs, in order, and whether there are more.
    pub fn names(&self) -> (Vec<String>, bool) {
        if let Some(name) = &self.single {
            return (vec![name.clone()], false);
        }
        let Ok(entries) = std::fs::read_dir(&self.root) else { return (vec![], false) };
        let mut names: Vec<String> = vec![];
        for entry in entries.flatten() {
            let Some(name) = entry.file_name().into_string().ok().filter(|name| is_plain(name)) else {
                continue;
            };
            let Ok(linked) = entry.file_type().map(|kind| kind.is_symlink()) else { continue };
            if linked && self.folder(&name).is_none() {
                continue;
            }
            match is_run(&entry.path()) {
                true => names.push(name),
                false if is_sweep(&entry.path()) => names.extend(self.trials(&name)),
                false => {}
            }
        }
        names.sort();
        let more = names.len() > MOST_RUNS;
        names.truncate(MOST_RUNS);
        (names, more)
    }

    /// The trials of a sweep: `SWEEP/TRIAL`.
    fn trials(&self, sweep: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(sweep)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let names = names.map(|name| format!("{sweep}/{name}"));
        names.filter(|name| self.folder(name).is_some_and(|folder| is_run(&folder))).collect()
    }

    /// The folder of a run, with links resolved; `None` if there is no such run, or if it is elsewhere. Trials are in the
    /// folder of their sweep, and nothing else is below another folder.
    pub fn folder(&self, name: &str) -> Option<PathBuf> {
        let root = self.root.canonicalize().ok()?;
        if let Some(single) = &self.single {
            return (single == name).then_some(root);
        }
        let inside = |around: &Path, name: &str| {
            is_plain(name).then(|| within(around, &around.join(name))).flatten().filter(|path| path.is_dir())
        };
        match name.split_once('/') {
            None => inside(&root, name),
            Some((sweep, trial)) => {
                let sweep = inside(&root, sweep).filter(|folder| !is_run(folder) && is_sweep(folder))?;
                inside(&sweep, trial).filter(|folder| is_run(folder))
            }
        }
    }

    /// A file of a run and its content type; `None` if there is no such file, or if it is not served.
    pub fn file(&self, name: &str, relative: &str) -> Option<(PathBuf, &'static str)> {
        let folder = self.folder(name)?;
        relative.split('/').all(is_plain).then_some(())?;
        let path = within(&folder, &folder.join(relative))?;
        let kind = content_type(&path)?;
        // A link may have another name than its target, and neither may be hidden.
        let inner = path.strip_prefix(&folder).ok()?;
        let plain = inner.components().all(|part| part.as_os_str().to_str().is_some_and(is_plain));
        (plain && path.is_file()).then_some((path, kind))
    }
}

/// Whether a folder is a run, or what is left of one: damage must be visible, not hidden.
pub fn is_run(folder: &Path) -> bool {
    folder.join("config.toml").is_file()
        || (folder.join("events.jsonl").is_file() && folder.join("log.csv").is_file())
}

/// Whether a folder is that of a sweep, which has its trials in it.
fn is_sweep(folder: &Path) -> bool {
    folder.join("sweep.toml").is_file()
}

/// The content type of a file; `None` if it is not served.
pub fn content_type(path: &Path) -> Option<&'static str> {
    let end = path.extension()?.to_str()?.to_ascii_lowercase();
    KINDS.iter().find(|(known, _)| *known == end).map(|(_, kind)| *kind)
}

/// Whether a text is the name of one visible file or folder on every platform: no parent folder, no separator,
/// no drive.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0'])
}

/// A path with links resolved, if it exists and lies inside of a folder without links.
fn within(folder: &Path, path: &Path) -> Option<PathBuf> {
    let whole = path.canonicalize().ok()?;
    (whole.starts_with(folder) && whole != folder).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;

    fn library() -> (ScratchFolder, RunLibrary) {
        let scratch = ScratchFolder::new();
        scratch.run("runs/plain", "automaton");
        scratch.run("runs/odd name %2e <b>&\"'", "fit");
        scratch.write("runs/plain/plots/loss.svg", "<svg/>");
        scratch.write("runs/plain/.hidden/a.svg", "");
        scratch.write("runs/plain/.lock", "1");
        scratch.write("runs/plain/.secret.svg", "");
        scratch.write("runs/plain/checkpoint.safetensors", "");
        scratch.write("runs/no run/notes.txt", "");
        scratch.write("secret.txt", "secret");
        scratch.write("elsewhere/config.toml", "format = \"farad-run\"\nversion = 1\nkind = \"x\"\n");
        let library = RunLibrary::open(&scratch.path("runs")).unwrap();
        (scratch, library)
    }

    #[test]
    fn runs_are_folders_with_a_configuration() {
        let (_scratch, library) = library();
        assert_eq!(library.names(), (vec!["odd name %2e <b>&\"'".to_string(), "plain".to_string()], false));
        assert!(library.folder("odd name %2e <b>&\"'").is_some());
        assert!(RunLibrary::open(Path::new("/no/such/folder")).is_err());
        assert_eq!(RunLibrary::expect(Path::new("/no/such/folder")).names(), (vec![], false));
    }

    #[test]
    fn trials_of_a_sweep_are_runs() {
        let (scratch, library) = library();
        scratch.write("runs/sweep/sweep.toml", "train = \"csv\"\n");
        scratch.run("runs/sweep/001", "fit");
        scratch.run("runs/sweep/002", "fit");
        scratch.run("runs/sweep/.hidden", "fit");
        scratch.run("runs/sweep/002/deeper", "fit");
        scratch.run("runs/no run/inner", "fit");
        scratch.write("runs/sweep/plots/trials.svg", "<svg/>");
        let names = library.names().0;
        assert!(names.ends_with(&["sweep/001".to_string(), "sweep/002".to_string()]), "{names:?}");
        assert!(library.file("sweep/001", "config.toml").is_some());
        for (run, file) in [
            ("sweep", "../plain/.lock"),
            ("sweep/..", "plain/config.toml"),
            ("sweep/../plain", "config.toml"),
            ("sweep/.hidden", "config.toml"),
            ("sweep/002/deeper", "config.toml"),
            ("sweep/plots", "trials.svg"),
            ("no run/inner", "config.toml"),
            ("sweep//001", "config.toml"),
            ("/sweep/001", "config.toml"),
        ] {
            assert_eq!(library.file(run, file), None, "{run} {file}");
        }
    }

    #[test]
    fn one_run_may_be_served_by_itself() {
        let (scratch, _) = library();
        let library = RunLibrary::open(&scratch.path("runs/plain")).unwrap();
        assert_eq!(library.names().0, ["plain"]);
        assert!(library.file("plain", "plots/loss.svg").is_some());
        for (run, file) in [("plain", "../../secret.txt"), ("..", "secret.txt"), ("other", "plots/loss.svg")]
        {
            assert_eq!(library.file(run, file), None, "{run} {file}");
        }
    }

    #[test]
    fn only_known_files_inside_the_folder_are_served() {
        let (_scratch, library) = library();
        let (path, kind) = library.file("plain", "plots/loss.svg").unwrap();
        assert!(path.ends_with("runs/plain/plots/loss.svg") && kind == "image/svg+xml");
        let hostile = [
            ("plain", "../../secret.txt"),
            ("plain", "plots/../../../secret.txt"),
            ("plain", "/etc/passwd"),
            ("plain", "//etc/passwd"),
            ("plain", "plots/./loss.svg"),
            ("plain", "plots//loss.svg"),
            ("plain", "plots\\loss.svg"),
            ("plain", "plots/loss.svg\0"),
            ("plain", "C:plots/loss.svg"),
            ("plain", ".lock"),
            ("plain", ".secret.svg"),
            ("plain", ".hidden/a.svg"),
            ("plain", "checkpoint.safetensors"),
            ("plain", "plots"),
            ("plain", ""),
            ("plain", "missing.svg"),
            ("..", "secret.txt"),
            (".", "plain/config.toml"),
            ("", "plain/config.toml"),
            ("plain/plots", "loss.svg"),
            ("../runs/plain", "plots/loss.svg"),
            ("%2e%2e", "secret.txt"),
        ];
        for (run, file) in hostile {
            assert_eq!(library.file(run, file), None, "{run} {file}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_out_are_refused() {
        use std::os::unix::fs::symlink;
        let (scratch, library) = library();
        symlink(scratch.path("secret.txt"), scratch.path("runs/plain/plots/leak.txt")).unwrap();
        symlink(scratch.path("runs/plain/.secret.svg"), scratch.path("runs/plain/plots/hidden.svg")).unwrap();
        symlink(scratch.path("elsewhere"), scratch.path("runs/outside")).unwrap();
        symlink(scratch.path("runs/plain"), scratch.path("runs/again")).unwrap();
        symlink(scratch.path("runs/plain/plots/loss.svg"), scratch.path("runs/plain/same.svg")).unwrap();
        assert_eq!(library.file("plain", "plots/leak.txt"), None);
        assert_eq!(library.file("plain", "plots/hidden.svg"), None);
        assert_eq!(library.folder("outside"), None);
        assert!(!library.names().0.contains(&"outside".to_string()));
        assert!(library.file("plain", "same.svg").is_some() && library.file("again", "same.svg").is_some());
    }
}
