//! The processor as plain data: its name, its cores, its vector instructions.

use std::process::Command;

/// What the CPU device computes on.
pub struct HostProcessor {
    /// The name that the maker gives, or the architecture.
    pub name: String,
    /// Threads that run at once.
    pub cores: usize,
    /// The widest vector instructions in use.
    pub simd: &'static str,
}

impl HostProcessor {
    /// The processor of this machine.
    pub fn here() -> HostProcessor {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        HostProcessor { name: name().unwrap_or_else(|| std::env::consts::ARCH.into()), cores, simd: simd() }
    }

    /// All of it in one line.
    pub fn describe(&self) -> String {
        let plural = if self.cores == 1 { "" } else { "s" };
        format!("{}, {} core{plural}, {}", self.name, self.cores, self.simd)
    }
}

fn name() -> Option<String> {
    if cfg!(target_os = "macos") {
        let said = Command::new("sysctl").args(["-n", "machdep.cpu.brand_string"]).output().ok()?;
        return Some(String::from_utf8_lossy(&said.stdout).trim().to_string())
            .filter(|name| !name.is_empty());
    }
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(target_arch = "x86_64")]
fn simd() -> &'static str {
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
        "AVX-512"
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        "AVX2"
    } else {
        "SSE2"
    }
}

#[cfg(target_arch = "aarch64")]
fn simd() -> &'static str {
    "NEON"
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn simd() -> &'static str {
    "scalar"
}
