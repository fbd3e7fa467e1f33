//! The table of backends: one row for each that devices can be opened on.
//!
//! A row has a name, a line of help, and how devices are listed and opened. `Device::named`, `--device`,
//! `farad devices`, `FARAD_DEVICE` and the texts of errors read it.
//!
//! Invariant: whatever names, lists or opens devices asks this table, so that a new backend is a crate and a
//! row here.

#[cfg(feature = "gpu")]
mod gpu;

use std::sync::Arc;

use farad_runtime::Backend;

use crate::device::DeviceOptions;
use crate::error::Result;

/// A kind of device.
pub struct BackendRow {
    /// What it is called, by `--device` too.
    pub name: &'static str,
    /// What it is, in a few words.
    pub help: &'static str,
    /// Whether there may be several: `name:1` is the second.
    pub numbered: bool,
    /// Whether it is for tests only, and never what `best` means.
    pub for_tests: bool,
    /// The devices of this kind on this machine.
    pub list: fn() -> Vec<FoundDevice>,
    /// Opens one by its number.
    pub open: fn(usize, &DeviceOptions) -> Result<Arc<dyn Backend>>,
}

/// A device that this machine has; nothing was opened to find it.
#[derive(Clone, Debug)]
pub struct FoundDevice {
    /// What [`Device::named`](crate::Device::named) takes.
    pub device: String,
    /// The hardware's name, where the backend knows it.
    pub name: String,
    /// The kind of hardware, in one word.
    pub kind: &'static str,
    /// Which of all devices `best` means: the first with the highest number. Never one with 0.
    pub preference: u8,
    /// More about GPUs.
    #[cfg(feature = "gpu")]
    pub adapter: Option<farad_gpu::AdapterInfo>,
}

/// All backends.
pub static BACKENDS: &[BackendRow] = &[
    BackendRow {
        name: "cpu",
        help: "the processor",
        numbered: false,
        for_tests: false,
        list: || {
            vec![FoundDevice {
                device: "cpu".into(),
                name: String::new(),
                kind: "processor",
                preference: 1,
                #[cfg(feature = "gpu")]
                adapter: None,
            }]
        },
        open: |_, options| Ok(Arc::new(farad_cpu::CpuDevice::with_limit(options.memory_limit))),
    },
    #[cfg(feature = "gpu")]
    gpu::ROW,
    BackendRow {
        name: "reference",
        help: "everything in f64; slow, for tests",
        numbered: false,
        for_tests: true,
        list: || {
            vec![FoundDevice {
                device: "reference".into(),
                name: "everything in f64, slow, for tests".into(),
                kind: "interpreter",
                preference: 0,
                #[cfg(feature = "gpu")]
                adapter: None,
            }]
        },
        open: |_, options| Ok(Arc::new(farad_reference::ReferenceDevice::new(options.memory_limit))),
    },
];

/// The row and the number that a name means: `cpu`, `gpu` or `gpu:1`.
pub(crate) fn named(name: &str) -> Option<(&'static BackendRow, usize)> {
    let (kind, number) = match name.split_once(':') {
        Some((kind, number)) => (kind, Some(number.parse().ok()?)),
        None => (name, None),
    };
    let row = BACKENDS.iter().find(|row| row.name == kind && (row.numbered || number.is_none()))?;
    Some((row, number.unwrap_or(0)))
}

/// Every form of a device's name: `best`, and those of the table.
pub fn device_names() -> Vec<String> {
    let forms = |row: &BackendRow| {
        let second = row.numbered.then(|| format!("{}:1", row.name));
        std::iter::once(row.name.to_string()).chain(second)
    };
    std::iter::once("best".to_string()).chain(BACKENDS.iter().flat_map(forms)).collect()
}

/// The forms in a sentence, between marks: `best`, `cpu` or `gpu`.
pub fn device_names_sentence(mark: &str) -> String {
    let names: Vec<String> = device_names().iter().map(|name| format!("{mark}{name}{mark}")).collect();
    let (last, first) = names.split_last().expect("there is a best device");
    format!("{} or {last}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_table() {
        let found = |name: &str| named(name).map(|(row, number)| (row.name, number));
        assert_eq!(found("cpu"), Some(("cpu", 0)));
        assert_eq!(found("gpu"), Some(("gpu", 0)));
        assert_eq!(found("gpu:3"), Some(("gpu", 3)));
        assert_eq!(found("reference"), Some(("reference", 0)));
        for wrong in ["", "cpu:0", "reference:1", "gpu:", "gpu:x", "tpu", "best"] {
            assert_eq!(found(wrong), None, "{wrong}");
        }
        let text = crate::Device::named("tpu").unwrap_err().to_string();
        for name in device_names() {
            assert!(text.contains(&format!("`{name}`")), "{text}");
        }
    }

    #[test]
    fn every_row_lists_what_it_opens_and_the_best_is_never_the_reference() {
        for row in BACKENDS {
            for found in (row.list)() {
                assert_eq!(named(&found.device).map(|(row, _)| row.name), Some(row.name));
            }
        }
        let reference = crate::Device::named("reference").expect("it needs no hardware");
        assert_eq!((reference.name(), reference.is_gpu()), ("reference", false));
        assert_eq!(reference, crate::Device::reference());
        assert!(
            crate::Device::list().iter().any(|device| device.device == "reference" && device.preference == 0)
        );
    }
}
