//! The folder of a run: who may make, open and write it, and where its files are.
//!
//! Invariant: one process at a time writes to a run, and no folder that was there before is
//! written over. Start at [`Run::create`] and [`Run::resume`].

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Component, Path, PathBuf};

use toml::Table;

use super::{Checkpoint, Events, Log, Picture, current_name};
use crate::error::{Error, Result, TrainError};
use farad_tensor::engine::{is_unfinished, remove_all_unfinished, write_whole};

const FORMAT: &str = "farad-run";
const VERSION: i64 = 1;
const CONFIG: &str = "config.toml";
const LOCK: &str = ".lock";
/// What the head of `config.toml` says; a caller's table has other keys.
const RESERVED: [&str; 3] = ["format", "version", "kind"];

/// A training run as a folder.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    kind: String,
    config: Table,
    /// Locked while this process may write; the system unlocks it when the process ends, however
    /// it ends.
    lock: Option<Lock>,
}

/// The locked file of a run.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would not do: a process being started may have the file open as well.
        let _ = self.0.unlock();
    }
}

impl Run {
    /// Makes a run in a folder that does not exist or is empty. `kind` says what is trained, e.g. for
    /// `farad eval` to know who reads it; `config` is everything needed to train again.
    #[track_caller]
    pub fn create(folder: impl AsRef<Path>, kind: &str, config: Table) -> Result<Run> {
        let folder = folder.as_ref();
        let text = config_text(kind, &config);
        let fail = |source| Error::File { op: "run", path: folder.into(), source };
        if folder.exists() && !is_empty(folder).map_err(fail)? {
            return Err(TrainError::RunExists { path: folder.into() }.into());
        }
        std::fs::create_dir_all(folder).map_err(fail)?;
        let lock = lock(folder)?;
        // Somebody may have made a run between the look above and the lock.
        if !is_empty(folder).map_err(fail)? {
            return Err(TrainError::RunExists { path: folder.into() }.into());
        }
        write_whole("run", &folder.join(CONFIG), text.as_bytes())?;
        Ok(Run { folder: folder.into(), kind: kind.into(), config, lock: Some(lock) })
    }

    /// Opens a run to read it; any number of processes may, also while one writes.
    pub fn open(folder: impl AsRef<Path>) -> Result<Run> {
        let folder = folder.as_ref();
        let not = |why: &str| TrainError::NotRun { path: folder.into(), why: why.into() };
        if !folder.is_dir() {
            return Err(not(if folder.exists() { "it is not a folder" } else { "no such folder" }).into());
        }
        let path = folder.join(CONFIG);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(not("it has no config.toml").into());
            }
            Err(source) => return Err(Error::File { op: "run", path, source }),
        };
        let message = |e: toml::de::Error| e.message().to_string();
        let mut config: Table =
            text.parse().map_err(|e| TrainError::RunConfig { path: path.clone(), message: message(e) })?;
        if config.get("format").and_then(|f| f.as_str()) != Some(FORMAT) {
            return Err(not("its config.toml does not say format = \"farad-run\"").into());
        }
        let damaged = |message: &str| TrainError::RunConfig { path: path.clone(), message: message.into() };
        let version = config.get("version").and_then(|v| v.as_integer());
        let found = version.ok_or_else(|| damaged("it has no version"))?;
        if found > VERSION {
            return Err(TrainError::RunVersion { path: folder.into(), found, reads: VERSION }.into());
        }
        let kind = config.get("kind").and_then(|k| k.as_str()).ok_or_else(|| damaged("it has no kind"))?;
        let kind = kind.to_string();
        config.retain(|key, _| !RESERVED.contains(&key));
        let config = config.into_iter().map(|(key, value)| (current_name(&key).to_string(), value)).collect();
        Ok(Run { folder: folder.into(), kind, config, lock: None })
    }

    /// Opens a run to go on with it; refused while another process does.
    pub fn resume(folder: impl AsRef<Path>) -> Result<Run> {
        let folder = folder.as_ref();
        Run::open(folder)?;
        let lock = lock(folder)?;
        remove_all_unfinished(folder);
        // Read again: the config may have changed before the lock was had.
        Ok(Run { lock: Some(lock), ..Run::open(folder)? })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// What is trained.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// What the run was made with.
    pub fn config(&self) -> &Table {
        &self.config
    }

    /// Changes what the run goes on with, e.g. the number of updates.
    #[track_caller]
    pub fn set_config(&mut self, config: Table) -> Result<()> {
        self.writes();
        write_whole("run", &self.config_path(), config_text(&self.kind, &config).as_bytes())?;
        self.config = config;
        Ok(())
    }

    /// `config.toml`.
    pub fn config_path(&self) -> PathBuf {
        self.folder.join(CONFIG)
    }

    /// `log.csv`.
    pub fn log_path(&self) -> PathBuf {
        self.folder.join("log.csv")
    }

    /// `events.jsonl`.
    pub fn events_path(&self) -> PathBuf {
        self.folder.join("events.jsonl")
    }

    /// `checkpoint.safetensors`.
    pub fn checkpoint_path(&self) -> PathBuf {
        self.folder.join("checkpoint.safetensors")
    }

    /// `checkpoint.previous.safetensors`: the one before, for when the last is damaged.
    pub fn previous_path(&self) -> PathBuf {
        self.folder.join("checkpoint.previous.safetensors")
    }

    /// `best.safetensors`: the model of the best validation, where one is kept.
    pub fn best_path(&self) -> PathBuf {
        self.folder.join("best.safetensors")
    }

    /// What was learned: the best model if one is kept, else the checkpoint; none before the first.
    pub fn learned(&self) -> Result<Option<Checkpoint>> {
        match self.best_path().exists() {
            true => Checkpoint::read(self.best_path(), &self.kind).map(Some),
            false => self.checkpoint(),
        }
    }

    /// `plots`, for pictures and charts.
    pub fn plots_path(&self) -> PathBuf {
        self.folder.join("plots")
    }

    /// `report.md`.
    pub fn report_path(&self) -> PathBuf {
        self.folder.join("report.md")
    }

    /// Starts the log, with these columns after `step`.
    #[track_caller]
    pub fn create_log(&self, columns: &[&str]) -> Result<Log> {
        self.writes();
        Log::create(self.log_path(), columns)
    }

    /// Goes on with the log after a checkpoint's step (none: from the beginning); see [`Log::resume`].
    #[track_caller]
    pub fn resume_log(&self, columns: &[&str], step: Option<u64>) -> Result<Log> {
        self.writes();
        Log::resume(self.log_path(), columns, step)
    }

    /// Opens the list of events to add to it.
    #[track_caller]
    pub fn events(&self) -> Result<Events> {
        self.writes();
        Events::open(self.events_path())
    }

    /// Writes the checkpoint, and before it the log, so that no checkpoint is ahead of the log. The checkpoint that was
    /// there becomes the previous one.
    #[track_caller]
    pub fn save(&self, checkpoint: &Checkpoint, log: &mut Log) -> Result<()> {
        self.writes();
        log.flush()?;
        checkpoint.write_and_keep(&self.checkpoint_path(), Some(&self.previous_path()))
    }

    /// The checkpoint, if one was written yet. Where it is damaged, the error says whether the one before is not.
    pub fn checkpoint(&self) -> Result<Option<Checkpoint>> {
        let (path, before) = (self.checkpoint_path(), self.previous_path());
        if !path.exists() && !before.exists() {
            return Ok(None);
        }
        let damaged = match Checkpoint::read(&path, &self.kind) {
            Ok(checkpoint) => return Ok(Some(checkpoint)),
            // Nothing is wrong with the file: somebody else must read it.
            Err(error)
                if matches!(
                    error.part(),
                    Some(TrainError::CheckpointVersion { .. } | TrainError::CheckpointKind { .. })
                ) =>
            {
                return Err(error);
            }
            Err(error) => error,
        };
        let Ok(whole) = Checkpoint::read(&before, &self.kind) else { return Err(damaged) };
        let [path, before] = [path, before].map(|path| path.display().to_string());
        Err(TrainError::CheckpointBefore { source: Box::new(damaged), path, before, step: whole.step() }
            .into())
    }

    /// Writes a chart's SVG text to `plots/{name}.svg` and returns where it is.
    #[track_caller]
    pub fn write_plot(&self, name: &str, svg: &str) -> Result<PathBuf> {
        self.write_file(format!("plots/{name}.svg"), svg.as_bytes())
    }

    /// Writes a picture to `plots/{name}.png` and returns where it is.
    #[track_caller]
    pub fn write_picture(&self, name: &str, picture: &Picture) -> Result<PathBuf> {
        let path = self.plot_path(&format!("{name}.png"))?;
        picture.write_png(&path)?;
        Ok(path)
    }

    /// A file in `plots`, which is made if it is not there: for those who write it themselves.
    #[track_caller]
    pub fn plot_path(&self, file: &str) -> Result<PathBuf> {
        self.writes();
        let folder = self.plots_path();
        make_folder(&folder)?;
        Ok(folder.join(file))
    }

    /// Writes `report.md`, and the same as `report.html`, with the pictures that are in the run's folder by now.
    #[track_caller]
    pub fn write_report(&self, text: &str) -> Result<()> {
        self.writes();
        super::html::write(text, &self.folder)
    }

    /// Writes a file of the run atomically, and returns where it is; folders on the way are made.
    ///
    /// # Panics
    /// If the path leads out of the run, or the run was opened to read only.
    #[track_caller]
    pub fn write_file(&self, relative: impl AsRef<Path>, bytes: &[u8]) -> Result<PathBuf> {
        self.writes();
        let relative = relative.as_ref();
        let inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
        assert!(inside, "run: a file lies in the run's folder: {}", relative.display());
        let path = self.folder.join(relative);
        make_folder(path.parent().expect("the run's folder at least"))?;
        write_whole("run", &path, bytes)?;
        Ok(path)
    }

    #[track_caller]
    fn writes(&self) {
        let path = self.folder.display();
        assert!(
            self.lock.is_some(),
            "run: opened to read only: {path}\nhelp: use `Run::resume` to write to it"
        );
    }
}

fn make_folder(folder: &Path) -> Result<()> {
    let fail = |source| Error::File { op: "run", path: folder.into(), source };
    std::fs::create_dir_all(folder).map_err(fail)
}

/// Whether a folder has nothing in it but what a process leaves that was killed while making a run.
fn is_empty(folder: &Path) -> std::io::Result<bool> {
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        if name != LOCK && !is_unfinished(&name, Path::new(CONFIG)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Takes the folder's lock and writes this process's number into it.
fn lock(folder: &Path) -> Result<Lock> {
    let path = folder.join(LOCK);
    let fail = |source| Error::File { op: "run", path: path.clone(), source };
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = opened.map_err(fail)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut process = String::new();
            // Where locks keep others from reading, the number stays unknown.
            let _ = file.read_to_string(&mut process);
            let process = if process.trim().is_empty() { "unknown".into() } else { process.trim().into() };
            return Err(TrainError::RunInUse { path: folder.into(), process }.into());
        }
        Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
            tracing::warn!("run: {} cannot be locked; see that one process writes to it", folder.display());
        }
        Err(TryLockError::Error(error)) => return Err(fail(error)),
    }
    let mut lock = Lock(file);
    lock.0.set_len(0).and_then(|()| lock.0.rewind()).map_err(fail)?;
    writeln!(lock.0, "{}", std::process::id()).map_err(fail)?;
    Ok(lock)
}

#[track_caller]
fn config_text(kind: &str, config: &Table) -> String {
    for key in RESERVED {
        assert!(!config.contains_key(key), "run: config key is reserved: {key}");
    }
    let mut all = Table::new();
    all.insert("format".into(), FORMAT.into());
    all.insert("version".into(), VERSION.into());
    all.insert("kind".into(), kind.into());
    all.extend(config.iter().map(|(key, value)| (key.clone(), value.clone())));
    all.to_string()
}
