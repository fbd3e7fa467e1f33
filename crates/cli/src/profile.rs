//! `--profile`: where the time of a command went, on stderr at its end, and as a trace in a file.

use std::path::{Path, PathBuf};

use farad::{Device, OpenProfile, Profile, ProfileMode, ProfileOptions};

use crate::arguments::{ProfileFlags, ProfileKind};
use crate::error::{Error, Result};
use crate::look;

/// A profile of a command, if one was asked for.
pub struct Profiling<'a> {
    open: Option<OpenProfile>,
    trace: Option<&'a Path>,
}

impl<'a> Profiling<'a> {
    /// Begins what the flags ask for.
    pub fn start(flags: &'a ProfileFlags, device: &Device) -> Profiling<'a> {
        let trace = flags.profile.as_ref().and_then(|path| path.as_deref());
        let open = flags.profile.as_ref().map(|_| device.open_profile(options(flags)));
        Profiling { open, trace }
    }

    /// Prints and writes what was found.
    pub fn finish(self) -> Result<()> {
        match self.open {
            Some(open) => show(&open.finish(), self.trace),
            None => Ok(()),
        }
    }
}

/// Whether the trace can be written where it should go, before all the work is done.
pub fn check(flags: &ProfileFlags) -> Result<()> {
    match flags.profile.as_ref().and_then(|path| path.as_deref()).filter(|path| !has_folder(path)) {
        Some(path) => {
            let path = path.display().to_string();
            Err(Error::NoFolder { op: "profile", path, flag: "--profile" })
        }
        None => Ok(()),
    }
}

/// Whether the folder that a file should go to is there.
pub fn has_folder(file: &Path) -> bool {
    file.parent().is_none_or(|folder| folder.as_os_str().is_empty() || folder.is_dir())
}

/// How the flags want it to be measured.
pub fn options(flags: &ProfileFlags) -> ProfileOptions {
    let mode = match flags.profile_mode {
        ProfileKind::Kernels => ProfileMode::Kernels,
        ProfileKind::Host => ProfileMode::Host,
    };
    ProfileOptions { mode, peaks: true }
}

/// Prints a profile, and writes its trace where a file is named.
pub fn show(profile: &Profile, trace: Option<&Path>) -> Result<()> {
    look::tell(format!("\n{profile}"));
    if let Some(path) = trace {
        profile.write_trace(path)?;
        look::tell(format!("trace {}: open it at https://ui.perfetto.dev", path.display()));
    }
    Ok(())
}

/// The file for one of several traces: `trace.json` becomes `trace-NAME.json`.
pub fn trace_of(path: &Path, name: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path.extension().map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
    path.with_file_name(format!("{stem}-{name}{end}"))
}
