//! How many processors an adapter has: streaming multiprocessors, compute units, cores.
//!
//! The cost model of tiles asks for it. Vulkan drivers of NVIDIA and AMD tell; for others there is a table of names.
//!
//! Invariant: the number depends on the adapter alone, so that runs on it repeat.

use crate::adapter::AdapterKind;

/// Parts of adapters' names, and their processors; the first that fits counts. From the makers' data sheets.
const KNOWN: [(&str, usize); 20] = [
    ("H200", 132),
    ("H100 PCIe", 114),
    ("H100", 132),
    ("A100", 108),
    ("L40", 142),
    ("RTX 4090", 128),
    ("RTX 4080", 76),
    ("RTX 3090", 82),
    ("RTX 3080", 68),
    ("RX 7900 XTX", 96),
    ("RX 6900", 80),
    ("Arc(TM) A770", 32),
    ("M1 Max", 32),
    ("M1 Pro", 16),
    ("M1", 8),
    ("M2 Max", 38),
    ("M2", 10),
    ("M3", 10),
    ("Iris(R) Xe", 12),
    ("UHD Graphics", 4),
];
/// What an adapter counts as that neither its driver nor the table knows, by its kind. A software GPU plans like the
/// large one on which the model was measured, so that tests see its plans.
const DISCRETE: usize = 48;
const INTEGRATED: usize = 12;
const SOFTWARE: usize = 132;

/// The processors of an adapter.
pub(crate) fn count(adapter: &wgpu::Adapter, name: &str, kind: AdapterKind) -> usize {
    if kind == AdapterKind::Software {
        return SOFTWARE;
    }
    told(adapter).filter(|&count| count > 0).unwrap_or_else(|| by_name(name, kind))
}

/// The processors of an adapter whose driver does not tell.
fn by_name(name: &str, kind: AdapterKind) -> usize {
    let known = KNOWN.iter().find(|(part, _)| name.contains(part)).map(|(_, count)| *count);
    known.unwrap_or(if kind == AdapterKind::Discrete { DISCRETE } else { INTEGRATED })
}

/// What the driver tells; only Vulkan does.
#[cfg(target_vendor = "apple")]
fn told(_: &wgpu::Adapter) -> Option<usize> {
    None
}

/// What the driver tells; only Vulkan does.
#[cfg(not(target_vendor = "apple"))]
fn told(adapter: &wgpu::Adapter) -> Option<usize> {
    use ash::vk;

    // SAFETY: nothing is destroyed, and the handle is used while the adapter lives.
    let adapter = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = adapter.shared_instance().raw_instance();
    let device = adapter.raw_physical_device();
    // SAFETY: the adapter is one of this very instance.
    let extensions = unsafe { instance.enumerate_device_extension_properties(device) }.ok()?;
    let has = |name| extensions.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name));
    let mut nvidia = vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV::default();
    let mut amd = vk::PhysicalDeviceShaderCorePropertiesAMD::default();
    let mut properties = vk::PhysicalDeviceProperties2::default();
    if has(ash::nv::shader_sm_builtins::NAME) {
        properties = properties.push_next(&mut nvidia);
    }
    if has(ash::amd::shader_core_properties::NAME) {
        properties = properties.push_next(&mut amd);
    }
    // SAFETY: the adapter is one of this very instance, and the chain holds structures of its extensions.
    unsafe { instance.get_physical_device_properties2(device, &mut properties) };
    let units =
        amd.shader_engine_count * amd.shader_arrays_per_engine_count * amd.compute_units_per_shader_array;
    Some(nvidia.shader_sm_count.max(units) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_others_count_by_their_kind() {
        assert_eq!(by_name("NVIDIA H200", AdapterKind::Discrete), 132);
        assert_eq!(by_name("Apple M1 Max", AdapterKind::Integrated), 32);
        assert_eq!(by_name("Apple M1", AdapterKind::Integrated), 8);
        assert_eq!(by_name("a new one", AdapterKind::Discrete), DISCRETE);
        assert_eq!(by_name("a new one", AdapterKind::Integrated), INTEGRATED);
    }
}
