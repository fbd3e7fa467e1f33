//! `farad devices`: the devices of this machine.

use std::io::Write;

use farad::{AdapterInfo, AdapterKind, Device, ENVIRONMENT, FoundDevice};
use serde_json::{Value, json};

use crate::arguments::DevicesOptions;
use crate::error::Result;
use crate::look::{self, FAINT, GOOD, Table, TableCell, bytes, count, counted, left, paint};
use crate::processor::HostProcessor;

const NO_GPU: &str = "devices: no GPU was found: the cpu is used\n\
    help: install the GPU's Vulkan driver (Debian, Ubuntu: `apt install mesa-vulkan-drivers` for AMD and Intel, \
    `nvidia-driver` for NVIDIA); in a container, pass the GPU and its graphics capability through; \
    then run `farad devices` again";

const ONLY_SOFTWARE: &str = "devices: only a software GPU was found: the cpu is used unless a gpu is named, as it is faster\n\
    help: a software GPU is for tests (`--device gpu`); for speed, install the Vulkan driver of the GPU";

/// Lists the devices of every backend, GPUs first.
pub fn run(options: &DevicesOptions) -> Result<()> {
    let (mut devices, processor) = (Device::list(), HostProcessor::here());
    devices.sort_by_key(|device| device.adapter.is_none());
    let adapters: Vec<&AdapterInfo> = devices.iter().filter_map(|device| device.adapter.as_ref()).collect();
    let best = named_best(ENVIRONMENT.device.as_deref(), &devices);
    let mut out = look::out();
    if options.output.json {
        for device in &devices {
            writeln!(out, "{}", device_json(device, &processor, &best))?;
        }
    } else {
        write!(out, "{}", table(&devices, &processor, &best))?;
    }
    out.flush()?;
    if let Some(text) = not_the_best(ENVIRONMENT.unknown_device(), ENVIRONMENT.device.as_deref(), &best) {
        look::warn(text);
    }
    let missing = match adapters.iter().all(|adapter| adapter.kind == AdapterKind::Software) {
        true if adapters.is_empty() => Some(NO_GPU),
        true => Some(ONLY_SOFTWARE),
        false => None,
    };
    if let Some(text) = missing.filter(|_| !options.output.quiet) {
        look::warn(text);
    }
    Ok(())
}

/// Why `FARAD_DEVICE` is not the best device, if it is not.
fn not_the_best(unknown: Option<&str>, asked: Option<&str>, best: &str) -> Option<String> {
    if let Some(name) = unknown {
        let takes = farad::device_names_sentence("");
        return Some(format!(
            "environment: FARAD_DEVICE does not take `{name}`: the cpu is used\nhelp: it takes {takes}"
        ));
    }
    let asked = asked.filter(|name| name.starts_with("gpu") && best == "cpu")?;
    Some(format!(
        "environment: there is no device FARAD_DEVICE={asked}: the cpu is used\nhelp: name one of those above"
    ))
}

/// The name of the device that `best` means, without opening it.
fn named_best(asked: Option<&str>, devices: &[FoundDevice]) -> String {
    let is_there = |name: &str| devices.iter().any(|device| device.device == name);
    match asked.map(|name| if name == "gpu" { "gpu:0" } else { name }) {
        Some(name) if is_there(name) => name.into(),
        // What is asked for and not there becomes the CPU.
        Some(name) if name != "best" => "cpu".into(),
        _ => {
            let most = devices.iter().map(|device| device.preference).max().filter(|most| *most > 0);
            let best = devices.iter().find(|device| Some(device.preference) == most);
            best.map_or("cpu".into(), |device| device.device.clone())
        }
    }
}

/// What an adapter is made of, in one word.
pub fn kind(kind: AdapterKind) -> &'static str {
    match kind {
        AdapterKind::Discrete => "discrete",
        AdapterKind::Integrated => "integrated",
        AdapterKind::Virtual => "virtual",
        AdapterKind::Unknown => "unknown",
        AdapterKind::Software => "software",
    }
}

fn features(adapter: &AdapterInfo) -> Vec<&'static str> {
    let has = adapter.features;
    let all = [
        (has.subgroups, "subgroups"),
        (has.shader_f16, "f16"),
        (has.timestamps, "timestamps"),
        (has.cooperative_matrix, "cooperative-matrix"),
    ];
    all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
}

fn device_json(device: &FoundDevice, processor: &HostProcessor, best: &str) -> Value {
    match &device.adapter {
        Some(adapter) => adapter_json(adapter, best),
        None if device.device == "cpu" => processor_json(processor, best),
        None => json!({
            "device": device.device,
            "name": device.name,
            "kind": device.kind,
            "memory": Device::cpu().memory(),
            "best": device.device == best,
        }),
    }
}

fn adapter_json(adapter: &AdapterInfo, best: &str) -> Value {
    let (device, limits) = (format!("gpu:{}", adapter.index), adapter.limits);
    json!({
        "device": device,
        "index": adapter.index,
        "name": adapter.name,
        "kind": kind(adapter.kind),
        "backend": adapter.backend,
        "driver": adapter.driver,
        "best": device == best,
        "memory": memory(adapter),
        "features": features(adapter),
        "limits": {
            "binding_bytes": limits.binding_bytes,
            "buffer_bytes": limits.buffer_bytes,
            "storage_buffers": limits.storage_buffers,
            "workgroup_memory": limits.workgroup_memory,
            "invocations": limits.invocations,
            "workgroups": limits.workgroups,
            "subgroup_min": limits.subgroup_min,
            "subgroup_max": limits.subgroup_max,
        },
    })
}

/// Bytes of a device's memory. A software GPU has that of the machine.
fn memory(adapter: &AdapterInfo) -> Option<u64> {
    match adapter.kind {
        AdapterKind::Software => Device::cpu().memory(),
        _ => adapter.memory,
    }
}

fn processor_json(processor: &HostProcessor, best: &str) -> Value {
    json!({
        "device": "cpu",
        "name": processor.name,
        "kind": "processor",
        "cores": processor.cores,
        "simd": processor.simd,
        "memory": Device::cpu().memory(),
        "best": best == "cpu",
    })
}

/// One row a device; the best device has a star.
fn table(devices: &[FoundDevice], processor: &HostProcessor, best: &str) -> String {
    let mut table = Table::new(
        ["", "device", "name", "kind"]
            .map(left)
            .into_iter()
            .chain([left("backend").optional(), left("driver").optional()]),
    );
    for found in devices {
        let star = TableCell::new(GOOD, if found.device == best { "*" } else { "" });
        let [name, kind, backend, driver] = match &found.adapter {
            Some(adapter) => [&found.name, found.kind, &adapter.backend, &adapter.driver].map(str::to_string),
            None if found.device == "cpu" => {
                [&processor.name, &counted(processor.cores, "core"), "native", processor.simd]
                    .map(str::to_string)
            }
            None => [&found.name, found.kind, "native", ""].map(str::to_string),
        };
        table.row([star, (&found.device).into(), name.into(), kind.into(), backend.into(), driver.into()]);
    }
    let (lines, mut text) = (table.to_string(), String::new());
    let indent = anstream::adapter::strip_str(&lines).to_string().find("name").unwrap_or(0);
    // A row may have several lines; its details come after the last of them.
    let begins = |line: &str, found: &FoundDevice| {
        let plain = anstream::adapter::strip_str(line).to_string();
        plain.trim_start_matches(['*', ' ']).split(' ').next() == Some(&found.device)
    };
    let (mut rest, mut open) = (devices.iter().peekable(), None::<&AdapterInfo>);
    let end = |text: &mut String, adapter: Option<&AdapterInfo>| {
        if let Some(adapter) = adapter {
            *text += &format!("{:indent$}{}\n", "", paint(FAINT, details(adapter)));
        }
    };
    for line in lines.lines() {
        if let Some(found) = rest.next_if(|found| begins(line, found)) {
            end(&mut text, std::mem::replace(&mut open, found.adapter.as_ref()));
        }
        text += &format!("{line}\n");
    }
    end(&mut text, open);
    text
}

fn details(adapter: &AdapterInfo) -> String {
    let limits = adapter.limits;
    let features = features(adapter);
    let memory = memory(adapter).map_or(String::new(), |size| format!("memory {}, ", bytes(size)));
    format!(
        "{memory}buffers to {}, bindings to {}, {}, workgroups of {} with {}, subgroups of {}-{}; {}",
        bytes(limits.buffer_bytes),
        bytes(limits.binding_bytes),
        counted(limits.storage_buffers, "binding"),
        count(limits.invocations),
        bytes(limits.workgroup_memory as u64),
        limits.subgroup_min,
        limits.subgroup_max,
        if features.is_empty() { "no optional features".into() } else { features.join(", ") },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_the_cpu() {
        let processor = HostProcessor { name: "Test 9000".into(), cores: 8, simd: "AVX2" };
        let devices: Vec<FoundDevice> =
            Device::list().into_iter().filter(|device| device.adapter.is_none()).collect();
        let text = anstream::adapter::strip_str(&table(&devices, &processor, "cpu")).to_string();
        let words = |name: &str| {
            let line = text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{text}"));
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words("Test 9000"), "* cpu Test 9000 8 cores native AVX2");
        let reference = words("reference");
        assert!(reference.starts_with("reference ") && reference.contains("for tests"), "{reference}");
    }

    #[test]
    fn a_device_that_cannot_be_the_best_is_told() {
        let said = not_the_best(Some("banana"), Some("banana"), "cpu").unwrap();
        assert!(said.contains("FARAD_DEVICE does not take `banana`") && said.contains("help: it takes best"));
        assert!(not_the_best(None, Some("gpu:9"), "cpu").unwrap().contains("no device FARAD_DEVICE=gpu:9"));
        assert_eq!(not_the_best(None, Some("gpu:0"), "gpu:0"), None);
        assert_eq!(not_the_best(None, Some("cpu"), "cpu"), None);
        assert_eq!(not_the_best(None, None, "cpu"), None);
    }

    #[test]
    fn what_is_asked_for_and_not_there_is_not_the_best() {
        assert_eq!(
            [Some("gpu:9"), Some("gpu"), Some("best"), None].map(|asked| named_best(asked, &[])),
            ["cpu"; 4]
        );
    }
}
