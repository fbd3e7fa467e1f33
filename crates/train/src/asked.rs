//! What a user asks a kind of training for.

use farad_group::Group;
use farad_tensor::Device;
use toml::Table;

use crate::error::{Result, TrainError};
use crate::run::Run;
use crate::settings::SettingsTable;
use crate::watcher::Watcher;

/// What a user asks for, when a training begins, goes on or is judged.
pub struct Asked<'a> {
    /// What should be learned, e.g. `mnist`; empty where there is a run already.
    pub subject: &'a str,
    /// The keys of a file of settings.
    pub file: Option<Table>,
    /// Flags that were given: their names with `_` for `-`, and their texts; `true` where they take none.
    pub flags: Vec<(String, String)>,
    /// Assignments `key=value`, which override the flags.
    pub set: &'a [String],
    /// The device, if one was asked for.
    pub device: Option<Device>,
    /// Receives the progress.
    pub watcher: &'a dyn Watcher,
    /// The ranks that train together, if there are several.
    pub group: Option<&'a Group>,
}

impl<'a> Asked<'a> {
    /// For a subject and nothing else.
    pub fn new(subject: &'a str) -> Asked<'a> {
        Asked { subject, file: None, flags: vec![], set: &[], device: None, watcher: &(), group: None }
    }

    /// The ranks that train together; a group of one if nobody said which.
    pub fn group(&self) -> Group {
        self.group.cloned().unwrap_or_else(Group::alone)
    }

    /// The text of a flag, if it was given.
    pub fn flag(&self, name: &str) -> Option<&str> {
        self.flags.iter().find(|(flag, _)| flag == name).map(|(_, text)| text.as_str())
    }

    /// Whether an assignment sets a key.
    pub fn sets(&self, key: &str) -> bool {
        self.set.iter().any(|text| text.split('=').next().is_some_and(|before| before.trim() == key))
    }

    /// What a key is set to from anywhere, the last word first: assignments, flags, the file.
    pub fn text(&self, key: &str) -> Option<String> {
        let assigned = self.set.iter().rev().filter_map(|text| text.split_once('='));
        let assigned = assigned.map(|(key, text)| (key.trim(), text.trim())).find(|(other, _)| *other == key);
        let file = || self.file.as_ref().and_then(|file| file.get(key)?.as_str());
        assigned.map(|(_, text)| text).or_else(|| self.flag(key)).or_else(file).map(str::to_string)
    }

    /// Puts everything into settings: the file, then the flags that are called like a key, then the assignments.
    pub fn fill<S: SettingsTable>(&self, settings: &mut S) -> Result<()> {
        if let Some(file) = &self.file {
            settings.take(file)?;
        }
        let rows = S::rows();
        for (flag, text) in
            self.flags.iter().filter(|(flag, _)| rows.iter().any(|row| row.key == flag.as_str()))
        {
            settings.assign(flag, text)?;
        }
        self.set.iter().try_for_each(|assignment| settings.set(assignment))
    }

    /// The device that was asked for, else the best.
    pub fn device_or_best(&self) -> Result<Device> {
        match &self.device {
            Some(device) => Ok(device.clone()),
            None => Device::named("best"),
        }
    }

    /// The device that was asked for, else the run's own.
    pub fn device_of(&self, run: &Run) -> Result<Device> {
        match &self.device {
            Some(device) => Ok(device.clone()),
            None => run_device(run),
        }
    }
}

/// The device that a run was started on.
pub fn run_device(run: &Run) -> Result<Device> {
    let name = run.config().get("device").and_then(|device| device.as_str()).unwrap_or_default();
    // Without the adapter's name.
    let device = name.split(' ').next().unwrap_or_default().to_string();
    Device::named(&device).map_err(|source| TrainError::RunDevice { device, source: Box::new(source) }.into())
}
