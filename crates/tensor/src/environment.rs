//! The one place that reads environment variables.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

/// What the user asked for through the environment.
pub struct EnvironmentVariables {
    /// `FARAD_DEVICE`: the device that `Device::best` gives.
    pub device: Option<String>,
    /// `FARAD_TUNING`: a file of tiles that `farad tune` made, for every GPU that is opened.
    pub tuning: Option<PathBuf>,
    /// `FARAD_DATA`: the folder where data sets are looked for first.
    pub data: Option<PathBuf>,
    /// `FARAD_CACHE`: the folder where compiled pipelines are kept between processes; none if it is `off`.
    pub cache: Option<PathBuf>,
    /// `FARAD_FAULT=lose-device:N`: GPUs are lost after so many submissions, for tests.
    pub lose_after: Option<usize>,
    /// `FARAD_FAULT=memory:N`: GPUs hold at most so many bytes, for tests.
    pub memory_limit: Option<usize>,
    /// `FARAD_DEBUG` has `plan`: print every new program.
    pub plan: bool,
    /// `FARAD_DEBUG` has `passes`: print the graph after each pass of the compiler.
    pub passes: bool,
    /// `FARAD_DEBUG` has `wgsl`: print every new shader.
    pub wgsl: bool,
    /// `FARAD_DEBUG` has `time`: time every kernel.
    pub time: bool,
    /// `FARAD_DEBUG` has `nan`: run unfused and stop at the first value that is not finite.
    pub nan: bool,
    /// Words of `FARAD_DEBUG` that mean nothing.
    pub unknown_debug: Vec<String>,
    /// `FARAD_FAULT` where it means nothing.
    pub unknown_fault: Option<String>,
    /// `TERM=dumb`: the terminal cannot draw a line again.
    pub dumb: bool,
    /// `FARAD_TOKEN`: what requests to `farad serve` must carry.
    pub token: Option<String>,
    /// How many processes `mpirun` or `srun` started together, if one of them started this one.
    pub ranks: Option<usize>,
    /// Which of these it is.
    pub rank: Option<usize>,
    /// How many tasks `srun` started together without connecting them, if this is the first of several.
    pub unconnected: Option<usize>,
}

/// The words that `FARAD_DEBUG` knows.
pub const DEBUG_WORDS: [&str; 5] = ["plan", "passes", "wgsl", "time", "nan"];

/// The forms that `FARAD_DEVICE` and `Device::named` take.
pub(crate) fn is_device_name(name: &str) -> bool {
    name == "best" || crate::backend::named(name).is_some()
}

impl EnvironmentVariables {
    /// `FARAD_DEVICE` where it is not the name of a device, whatever devices there are.
    pub fn unknown_device(&self) -> Option<&str> {
        self.device.as_deref().filter(|name| !is_device_name(name))
    }
}

/// The folder that `FARAD_CACHE` asks for, else one of the user's own, as the system has it.
fn cache(get: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match get("FARAD_CACHE").filter(|asked| !asked.is_empty()) {
        Some(asked) if asked == "off" => None,
        Some(asked) => Some(asked.into()),
        None => {
            let home = || folder("HOME").map(|home| home.join(".cache"));
            let own = folder("XDG_CACHE_HOME").or_else(|| folder("LOCALAPPDATA")).or_else(home);
            own.map(|own| own.join("farad"))
        }
    }
}

/// What launchers call the number of processes: OpenMPI, then MPICH and its relatives.
const RANKS: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];
/// What they call the number of a process.
const RANK: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];

fn first_number(names: &[&str], get: impl Fn(&str) -> Option<String>) -> Option<usize> {
    names.iter().find_map(|name| get(name)?.trim().parse().ok())
}

/// How many processes were started together. `srun` with PMIx says it in a variable of its own, which scripts that are no
/// rank have as well.
fn ranks(get: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let slurm = || get("PMIX_RANK").and_then(|_| first_number(&["SLURM_STEP_NUM_TASKS"], &get));
    first_number(&RANKS, &get).or_else(slurm)
}

/// How many tasks Slurm started together that nothing connects, if this is the first of several: `srun` without `--mpi`.
fn unconnected(get: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let tasks = first_number(&["SLURM_STEP_NUM_TASKS"], &get)?;
    let is_first = first_number(&["SLURM_PROCID"], &get) == Some(0);
    (tasks > 1 && is_first && ranks(&get).is_none()).then_some(tasks)
}

/// The environment as it was at first use.
pub static ENVIRONMENT: LazyLock<EnvironmentVariables> = LazyLock::new(|| {
    let debug = std::env::var("FARAD_DEBUG").unwrap_or_default();
    let fault = std::env::var("FARAD_FAULT").unwrap_or_default();
    let number = |name: &str| fault.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
    let (lose_after, memory_limit) = (number("lose-device"), number("memory"));
    let understood = fault.is_empty() || lose_after.is_some() || memory_limit.is_some();
    let has = |word: &str| debug.split(',').any(|w| w.trim() == word);
    EnvironmentVariables {
        device: std::env::var("FARAD_DEVICE").ok().filter(|d| !d.is_empty()),
        tuning: std::env::var_os("FARAD_TUNING").filter(|path| !path.is_empty()).map(Into::into),
        data: std::env::var_os("FARAD_DATA").filter(|path| !path.is_empty()).map(Into::into),
        cache: cache(|name| std::env::var_os(name)),
        lose_after,
        memory_limit,
        unknown_fault: (!understood).then(|| fault.clone()),
        plan: has("plan"),
        passes: has("passes"),
        wgsl: has("wgsl"),
        time: has("time"),
        nan: has("nan"),
        unknown_debug: debug
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty() && !DEBUG_WORDS.contains(word))
            .map(String::from)
            .collect(),
        dumb: std::env::var_os("TERM").is_some_and(|term| term == "dumb"),
        token: std::env::var("FARAD_TOKEN").ok(),
        ranks: ranks(|name| std::env::var(name).ok()),
        rank: first_number(&RANK, |name| std::env::var(name).ok()),
        unconnected: unconnected(|name| std::env::var(name).ok()),
    }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_how_many_processes_there_are() {
        let of = |set: &[(&str, &str)]| {
            ranks(|name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.to_string()))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "8")]), Some(8));
        assert_eq!(of(&[("PMI_SIZE", "4")]), Some(4));
        // A script of eight tasks is no rank itself.
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "8")]), None);
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "8"), ("PMIX_RANK", "3")]), Some(8));
        let apart = |set: &[(&str, &str)]| {
            unconnected(|name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.to_string()))
        };
        let [tasks, first, second] =
            [("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "0"), ("SLURM_PROCID", "1")];
        assert_eq!(apart(&[tasks, first]), Some(8));
        assert_eq!(apart(&[tasks, second]), None);
        assert_eq!(apart(&[tasks, first, ("PMIX_RANK", "0")]), None);
        assert_eq!(apart(&[("SLURM_STEP_NUM_TASKS", "1"), first]), None);
    }

    #[test]
    fn pipelines_are_kept_where_the_user_says_or_in_the_users_cache() {
        let of = |set: &[(&str, &str)]| {
            let found = |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into());
            cache(found)
        };
        let home = ("HOME", "/home/ada");
        assert_eq!(of(&[home]), Some("/home/ada/.cache/farad".into()));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "/big")]), Some("/big/farad".into()));
        // What is not absolute means nothing.
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "big")]), Some("/home/ada/.cache/farad".into()));
        assert_eq!(of(&[home, ("FARAD_CACHE", "here")]), Some("here".into()));
        assert_eq!(of(&[home, ("FARAD_CACHE", "")]), Some("/home/ada/.cache/farad".into()));
        assert_eq!(of(&[home, ("FARAD_CACHE", "off")]), None);
        assert_eq!(of(&[]), None);
    }
}
