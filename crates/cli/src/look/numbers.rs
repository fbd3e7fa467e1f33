//! Numbers as people read them: `1,234`, `3.5 s`, `1.5 MiB`, `97.30 %`.

use std::time::Duration;

pub use farad::run::{count, counted};

/// A time in the unit that suits it.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        0.0 => "0 s".into(),
        _ if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        _ if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        _ if seconds < 60.0 => format!("{seconds:.1} s"),
        _ if seconds < 3600.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Bytes in the largest unit that leaves a number of at least one.
pub fn bytes(count: u64) -> String {
    farad::run::bytes(count.into())
}

/// A share of one.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas() {
        assert_eq!(
            [0u64, 999, 1_000, 65_536, 1_234_567].map(count),
            ["0", "999", "1,000", "65,536", "1,234,567"]
        );
    }

    #[test]
    fn times_have_units() {
        let shown =
            [2e-6, 0.0123, 3.0, 90.0, 5400.0].map(|seconds| duration(Duration::from_secs_f64(seconds)));
        assert_eq!(shown, ["2.0 µs", "12.3 ms", "3.0 s", "1.5 min", "1.5 h"]);
    }

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(48 << 10), "48 KiB");
        assert_eq!(bytes(3 << 29), "1.5 GiB");
        assert_eq!(bytes((4 << 30) - 4), "4.0 GiB");
    }
}
