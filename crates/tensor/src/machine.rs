//! What the machine has.

/// Bytes of memory that this machine has, or that this process may use of them; none if the system does not say.
pub fn physical() -> Option<u64> {
    static FOUND: std::sync::OnceLock<Option<u64>> = std::sync::OnceLock::new();
    *FOUND.get_or_init(look)
}

/// Lets CPU devices use so many threads; whether that was still to be decided. Without it they use all cores.
pub fn use_threads(threads: usize) -> bool {
    rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build_global().is_ok()
}

#[cfg(target_os = "linux")]
fn look() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    // A container may be allowed less; `max` is no number.
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let allowed = limits.iter().filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok());
    allowed.chain([kibibytes.saturating_mul(1024)]).min()
}

#[cfg(target_os = "macos")]
fn look() -> Option<u64> {
    let asked = std::process::Command::new("/usr/sbin/sysctl").args(["-n", "hw.memsize"]).output().ok()?;
    String::from_utf8(asked.stdout).ok()?.trim().parse().ok()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn look() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_some_memory() {
        assert!(physical().is_some_and(|bytes| bytes > 1 << 24));
    }
}
