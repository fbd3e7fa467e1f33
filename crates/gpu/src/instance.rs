//! Enumerates adapters without a window system.
//!
//! Invariant: no window-system extension is requested from a driver. On Linux, an instance with such extensions
//! makes a Vulkan layer of Mesa look for a Wayland server. On servers and in containers, libwayland then
//! complains on stderr that `XDG_RUNTIME_DIR` is not set. Computing needs no windows. Start at [`enumerate`].

const FLAGS: wgpu::InstanceFlags = wgpu::InstanceFlags::DISCARD_HAL_LABELS;

const BUDGET: wgpu::MemoryBudgetThresholds = wgpu::MemoryBudgetThresholds {
    // An error at creation is better than a device lost to memory pressure later.
    for_resource_creation: Some(98),
    for_device_loss: None,
};

fn instance(backends: wgpu::Backends) -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        flags: FLAGS,
        memory_budget_thresholds: BUDGET,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    })
}

/// The adapters of this machine, in the order of the drivers.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
pub(crate) fn enumerate() -> Vec<wgpu::Adapter> {
    pollster::block_on(instance(wgpu::Backends::PRIMARY).enumerate_adapters(wgpu::Backends::PRIMARY))
}

/// The adapters of this machine, in the order of the driver; none without a Vulkan loader.
#[cfg(all(unix, not(target_vendor = "apple")))]
pub(crate) fn enumerate() -> Vec<wgpu::Adapter> {
    use wgpu::hal::{self, Instance as _, api::Vulkan, vulkan};
    // The extensions of window systems. The common one (`VK_KHR_surface`) stays, because device extensions
    // depend on it.
    const WINDOWS: [&std::ffi::CStr; 3] =
        [c"VK_KHR_wayland_surface", c"VK_KHR_xcb_surface", c"VK_KHR_xlib_surface"];
    let descriptor = hal::InstanceDescriptor {
        name: "farad",
        flags: FLAGS,
        memory_budget_thresholds: BUDGET,
        backend_options: wgpu::BackendOptions::default(),
        telemetry: None,
        display: None,
    };
    let without_windows: Box<vulkan::CreateInstanceCallback> =
        Box::new(|arguments| arguments.extensions.retain(|name| !WINDOWS.contains(name)));
    // SAFETY: no extension is added. The removed ones are used only to create surfaces. That code checks the
    // list first, and no surface is ever created.
    let Ok(vulkan) = (unsafe { vulkan::Instance::init_with_callback(&descriptor, Some(without_windows)) })
    else {
        return vec![];
    };
    // An instance made from `vulkan` itself would use other flags, which limit buffers to 4 GiB.
    let host = instance(wgpu::Backends::empty());
    // SAFETY: no surface is given.
    let found = unsafe { vulkan.enumerate_adapters(None) };
    let sound = |adapter: &hal::ExposedAdapter<Vulkan>| {
        let limits = &adapter.capabilities.limits;
        limits.min_uniform_buffer_offset_alignment.is_power_of_two()
            && limits.min_storage_buffer_offset_alignment.is_power_of_two()
    };
    // SAFETY: every adapter holds what it needs of the Vulkan instance, and `host` only keeps lists of them.
    let taken = |adapter| unsafe { host.create_adapter_from_hal::<Vulkan>(adapter) };
    found.into_iter().filter(sound).map(taken).collect()
}

/// Bytes of an adapter's memory; only Vulkan tells.
#[cfg(target_vendor = "apple")]
pub(crate) fn memory(_: &wgpu::Adapter) -> Option<u64> {
    None
}

/// Bytes of an adapter's memory; only Vulkan tells.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn memory(adapter: &wgpu::Adapter) -> Option<u64> {
    // `VK_MEMORY_HEAP_DEVICE_LOCAL_BIT`
    const LOCAL: u32 = 1;
    // SAFETY: nothing is destroyed, and the handle is used while the adapter lives.
    let adapter = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = adapter.shared_instance().raw_instance();
    // SAFETY: the adapter is one of this very instance.
    let found = unsafe { instance.get_physical_device_memory_properties(adapter.raw_physical_device()) };
    let heaps = found.memory_heaps.iter().take(found.memory_heap_count as usize);
    let local = heaps.filter(|heap| heap.flags.as_raw() & LOCAL != 0).map(|heap| heap.size);
    local.reduce(u64::saturating_add)
}
