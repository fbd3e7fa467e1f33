//! `farad devices`: what there is to compute on.

use std::io::Write;

use farad::{AdapterInfo, AdapterKind, ENVIRONMENT};
use serde_json::{Value, json};

use crate::arguments::DevicesOptions;
use crate::error::Result;
use crate::processor::Processor;

const NO_GPU: &str = "no GPU found: the cpu is used\n\
    help: install the GPU's Vulkan driver (Debian, Ubuntu: `apt install mesa-vulkan-drivers` for AMD and Intel, \
    `nvidia-driver` for NVIDIA); in a container, pass the GPU and its graphics capability through; \
    then run `farad devices` again";

const ONLY_SOFTWARE: &str = "only a software GPU found: the cpu is used unless a gpu is named, as it is faster\n\
    help: a software GPU is for tests (`--device gpu`); for speed, install the Vulkan driver of the GPU";

/// Lists adapters and the CPU.
pub fn run(options: &DevicesOptions) -> Result<()> {
    let (adapters, processor) = (farad::adapters(), Processor::here());
    let best = best(&adapters);
    let mut out = std::io::stdout().lock();
    if options.json {
        for adapter in &adapters {
            writeln!(out, "{}", adapter_json(adapter, &best))?;
        }
        writeln!(out, "{}", processor_json(&processor, &best))?;
    } else {
        write!(out, "{}", table(&adapters, &processor, &best))?;
    }
    out.flush()?;
    if adapters.is_empty() {
        eprintln!("{NO_GPU}");
    } else if adapters.iter().all(|adapter| adapter.kind == AdapterKind::Software) {
        eprintln!("{ONLY_SOFTWARE}");
    }
    Ok(())
}

/// The name of the device that `best` means, without opening it.
fn best(adapters: &[AdapterInfo]) -> String {
    match &ENVIRONMENT.device {
        Some(name) if name == "gpu" => "gpu:0".into(),
        Some(name) if name != "best" => name.clone(),
        _ => adapters
            .iter()
            .find(|adapter| adapter.kind != AdapterKind::Software)
            .map_or("cpu".into(), |adapter| format!("gpu:{}", adapter.index)),
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

fn processor_json(processor: &Processor, best: &str) -> Value {
    json!({
        "device": "cpu",
        "name": processor.name,
        "kind": "processor",
        "cores": processor.cores,
        "simd": processor.simd,
        "best": best == "cpu",
    })
}

/// One row a device, columns as wide as their contents; the best device has a star.
fn table(adapters: &[AdapterInfo], processor: &Processor, best: &str) -> String {
    let mut rows = vec![["", "device", "name", "kind", "backend", "driver"].map(String::from)];
    let star = |device: &str| if device == best { "*" } else { "" }.to_string();
    for adapter in adapters {
        let device = format!("gpu:{}", adapter.index);
        let (name, kind) = (adapter.name.clone(), kind(adapter.kind).into());
        rows.push([star(&device), device, name, kind, adapter.backend.clone(), adapter.driver.clone()]);
    }
    let cores = format!("{} cores", processor.cores);
    rows.push([
        star("cpu"),
        "cpu".into(),
        processor.name.clone(),
        cores,
        "native".into(),
        processor.simd.into(),
    ]);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for (n, row) in rows.iter().enumerate() {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        text += &format!("{}\n", cells.join("  ").trim_end());
        if let Some(adapter) = n.checked_sub(1).and_then(|n| adapters.get(n)) {
            text += &format!("{:width$}{}\n", "", details(adapter), width = widths[0] + widths[1] + 4);
        }
    }
    text
}

fn details(adapter: &AdapterInfo) -> String {
    let limits = adapter.limits;
    let features = features(adapter);
    format!(
        "buffers to {}, bindings to {}, {} bindings, workgroups of {} with {}, subgroups of {}-{}; {}",
        bytes(limits.buffer_bytes),
        bytes(limits.binding_bytes),
        limits.storage_buffers,
        limits.invocations,
        bytes(limits.workgroup_memory as u64),
        limits.subgroup_min,
        limits.subgroup_max,
        if features.is_empty() { "no optional features".into() } else { features.join(", ") },
    )
}

/// Bytes in the largest unit that leaves a number of at least one.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (count.max(1).ilog2() as usize / 10).min(UNITS.len() - 1);
    let scaled = count as f64 / (1u64 << (10 * unit)) as f64;
    let digits = if scaled.fract() == 0.0 || scaled >= 100.0 { 0 } else { 1 };
    format!("{scaled:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(48 << 10), "48 KiB");
        assert_eq!(bytes(3 << 29), "1.5 GiB");
        assert_eq!(bytes((4 << 30) - 4), "4.0 GiB");
    }

    #[test]
    fn the_table_names_the_cpu() {
        let processor = Processor { name: "Test 9000".into(), cores: 8, simd: "AVX2" };
        let text = table(&[], &processor, "cpu");
        assert!(text.contains("*  cpu     Test 9000  8 cores  native   AVX2"), "{text}");
    }
}
