//! How busy this machine is, and how much of that are the runs that train: read from `/proc`.
//!
//! Invariant: where the system does not tell, nothing is told. Start at [`LoadMeter::measure`].

use std::collections::BTreeMap;
use std::path::Path;

use farad::run::{Value, json};

/// Measures between two calls.
#[derive(Default)]
pub struct LoadMeter {
    /// Time that all processors had, and how much of it they were idle, in the system's unit.
    spent: Option<(u64, u64)>,
    /// By run: its process and the processor time that this had used.
    processes: BTreeMap<String, (u32, u64)>,
}

impl LoadMeter {
    /// The load since the last call; none the first time and where there is no `/proc`. `runs` are those that train,
    /// with their folders.
    pub fn measure<'a>(&mut self, runs: impl Iterator<Item = (&'a str, &'a Path)>) -> Option<Value> {
        let (all, idle, cores) = processor_time(&read("/proc/stat")?)?;
        let (total, free) = memory(&read("/proc/meminfo")?)?;
        let before = self.spent.replace((all, idle));
        let passed = before.map_or(0, |(before, _)| all.saturating_sub(before));
        let known = std::mem::take(&mut self.processes);
        let mut told = json!({});
        for (name, folder) in runs {
            let Some((process, used, held)) = process(folder) else { continue };
            let since = known.get(name).filter(|(other, _)| *other == process);
            if let Some((_, before)) = since.filter(|_| passed > 0) {
                let share = used.saturating_sub(*before) as f64 / passed as f64;
                told[name] = json!({ "cores": hundredths(share * cores as f64), "memory": held });
            }
            self.processes.insert(name.into(), (process, used));
        }
        let (_, idle_before) = before.filter(|_| passed > 0)?;
        let busy = 1.0 - idle.saturating_sub(idle_before) as f64 / passed as f64;
        Some(json!({
            "processor": hundredths(busy.clamp(0.0, 1.0)),
            "cores": cores,
            "memory": total - free,
            "memory_total": total,
            "runs": told,
        }))
    }
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Of `/proc/stat`: the time of all processors, how much of it was idle, and how many there are.
fn processor_time(stat: &str) -> Option<(u64, u64, usize)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user nice system idle iowait irq softirq steal; guests are counted in the first two.
    let times: Vec<u64> = line.split_whitespace().take(8).filter_map(|time| time.parse().ok()).collect();
    let idle = times.get(3)? + times.get(4).unwrap_or(&0);
    let one = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    Some((times.iter().sum(), idle, stat.lines().filter(one).count().max(1)))
}

/// Of `/proc/meminfo`: how many bytes there are and how many could be had.
fn memory(meminfo: &str) -> Option<(u64, u64)> {
    let (total, free) = (kibibytes(meminfo, "MemTotal:")?, kibibytes(meminfo, "MemAvailable:")?);
    (free <= total).then_some((total, free))
}

/// The bytes that a line such as `VmRSS:  1234 kB` says.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|count| count.saturating_mul(1024))
}

/// The process that trains a run, the processor time that it has used, and the bytes that it holds.
fn process(folder: &Path) -> Option<(u32, u64, u64)> {
    let process: u32 = read(folder.join(".lock").to_str()?)?.trim().parse().ok()?;
    let used = used(&read(&format!("/proc/{process}/stat"))?)?;
    let held = kibibytes(&read(&format!("/proc/{process}/status"))?, "VmRSS:")?;
    Some((process, used, held))
}

/// Of `/proc/PID/stat`: the processor time. The name of the program before it may contain anything.
fn used(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read() {
        let stat = "cpu  10 1 5 100 4 0 0 0 3 0\ncpu0 5 0 2 50 2\ncpu1 5 1 3 50 2\nintr 1\n";
        assert_eq!(processor_time(stat), Some((120, 104, 2)));
        assert_eq!(memory("MemTotal: 16 kB\nMemFree: 1 kB\nMemAvailable:   4 kB\n"), Some((16384, 4096)));
        assert_eq!(used("7 (a) b) (c) R 1 2 3 4 5 6 7 8 9 10 30 12 0"), Some(42));
        assert_eq!((processor_time("nothing"), memory(""), used("7 (a) R 1")), (None, None, None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_load_is_told_from_the_second_time_on() {
        let folder = std::env::temp_dir().join(format!("farad-load-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(".lock"), format!("{}\n", std::process::id())).unwrap();
        let mut meter = LoadMeter::default();
        let runs = || [("run", folder.as_path()), ("gone", Path::new("/nowhere"))].into_iter();
        assert_eq!(meter.measure(runs()), None);
        let begin = std::time::Instant::now();
        let load = loop {
            std::thread::sleep(std::time::Duration::from_millis(20));
            if let Some(load) = meter.measure(runs()) {
                break load;
            }
            assert!(begin.elapsed().as_secs() < 10);
        };
        assert!((0.0..=1.0).contains(&load["processor"].as_f64().unwrap()), "{load}");
        assert!(load["runs"]["run"]["memory"].as_u64().unwrap() > 1 << 20 && load["runs"]["gone"].is_null());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
