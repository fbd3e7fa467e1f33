//! The adapters of this machine as plain data, in order of preference.

use std::sync::OnceLock;

/// The kind of an adapter, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AdapterKind {
    /// A GPU with its own memory.
    Discrete,
    /// A GPU that shares the CPU's memory.
    Integrated,
    /// A GPU that a host passes through.
    Virtual,
    /// The driver does not say.
    Unknown,
    /// A software GPU, which runs on the CPU.
    Software,
}

/// The limits of an adapter that the runtime uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdapterLimits {
    /// Bytes of one storage binding.
    pub binding_bytes: u64,
    /// Bytes of one buffer.
    pub buffer_bytes: u64,
    /// Storage buffers that one kernel may bind.
    pub storage_buffers: u32,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// Invocations of one workgroup.
    pub invocations: u32,
    /// Workgroups per dimension of a dispatch.
    pub workgroups: u32,
    /// The smallest subgroup.
    pub subgroup_min: u32,
    /// The largest subgroup.
    pub subgroup_max: u32,
}

/// Optional features that the runtime uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AdapterFeatures {
    /// Subgroup operations in compute shaders.
    pub subgroups: bool,
    /// Half-precision arithmetic in shaders.
    pub shader_f16: bool,
    /// Time stamps around passes.
    pub timestamps: bool,
    /// Products of small matrices by whole subgroups.
    pub cooperative_matrix: bool,
}

/// An adapter as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AdapterInfo {
    /// What [`crate::GpuDevice::open`] takes.
    pub index: usize,
    /// The name that the driver gives.
    pub name: String,
    /// The PCI vendor ID, or what the driver reports instead.
    pub vendor: u32,
    /// `vulkan`, `metal`, `dx12` or `noop`.
    pub backend: String,
    /// Its kind.
    pub kind: AdapterKind,
    /// The driver's name and version.
    pub driver: String,
    /// Limits that matter here.
    pub limits: AdapterLimits,
    /// Features that matter here.
    pub features: AdapterFeatures,
    /// Bytes of its own or shared memory; `None` if the driver does not tell.
    pub memory: Option<u64>,
    /// Streaming multiprocessors, compute units or cores.
    pub processors: usize,
}

/// The adapters of this machine: discrete, integrated, virtual, software.
pub fn adapters() -> Vec<AdapterInfo> {
    found().iter().enumerate().map(|(index, adapter)| describe(index, adapter)).collect()
}

/// The adapters in the order of [`adapters`], looked up once, because loading drivers is slow.
pub(crate) fn found() -> &'static [wgpu::Adapter] {
    static FOUND: OnceLock<Vec<wgpu::Adapter>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut list = crate::instance::enumerate();
        list.sort_by_key(|adapter| kind(adapter.get_info().device_type));
        list
    })
}

/// The adapter that validates and allocates but computes nothing.
pub(crate) fn noop() -> Option<wgpu::Adapter> {
    let noop = wgpu::NoopBackendOptions {
        limits: Some(wgpu::Limits::defaults()),
        subgroup_min_size: Some(32),
        subgroup_max_size: Some(32),
        ..wgpu::NoopBackendOptions::enabled()
    };
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::NOOP,
        flags: wgpu::InstanceFlags::empty(),
        backend_options: wgpu::BackendOptions { noop, ..Default::default() },
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).ok()
}

pub(crate) fn describe(index: usize, adapter: &wgpu::Adapter) -> AdapterInfo {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    AdapterInfo {
        index,
        vendor: info.vendor,
        backend: info.backend.to_string(),
        kind: kind(info.device_type),
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_string(),
        limits: limits_of(&limits, &info),
        features: features_of(adapter.features()),
        memory: crate::instance::memory(adapter),
        processors: crate::processors::count(adapter, &info.name, kind(info.device_type)),
        name: info.name,
    }
}

pub(crate) fn limits_of(limits: &wgpu::Limits, info: &wgpu::AdapterInfo) -> AdapterLimits {
    AdapterLimits {
        binding_bytes: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
        buffer_bytes: limits.max_buffer_size,
        storage_buffers: limits.max_storage_buffers_per_shader_stage,
        workgroup_memory: limits.max_compute_workgroup_storage_size,
        invocations: limits.max_compute_invocations_per_workgroup,
        workgroups: limits.max_compute_workgroups_per_dimension,
        subgroup_min: info.subgroup_min_size,
        subgroup_max: info.subgroup_max_size,
    }
}

/// Features that cooperative products need together.
pub(crate) const COOPERATIVE: wgpu::Features = wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX
    .union(wgpu::Features::SHADER_F16)
    .union(wgpu::Features::SUBGROUP)
    .union(wgpu::Features::SUBGROUP_BARRIER);

/// Whether subgroups of one fixed size multiply 16×16 f16 matrices and accumulate in `f32`.
pub(crate) fn multiplies_halves(adapter: &wgpu::Adapter) -> bool {
    use wgpu::CooperativeScalarType::{F16, F32};
    let info = adapter.get_info();
    let fits = |shape: &wgpu::CooperativeMatrixProperties| {
        (shape.m_size, shape.n_size, shape.k_size) == (16, 16, 16)
            && (shape.ab_type, shape.cr_type) == (F16, F32)
    };
    adapter.features().contains(COOPERATIVE)
        && info.subgroup_min_size == info.subgroup_max_size
        && adapter.cooperative_matrix_properties().iter().any(fits)
}

pub(crate) fn features_of(features: wgpu::Features) -> AdapterFeatures {
    AdapterFeatures {
        subgroups: features.contains(wgpu::Features::SUBGROUP),
        shader_f16: features.contains(wgpu::Features::SHADER_F16),
        timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
        cooperative_matrix: features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX),
    }
}

fn kind(device: wgpu::DeviceType) -> AdapterKind {
    match device {
        wgpu::DeviceType::DiscreteGpu => AdapterKind::Discrete,
        wgpu::DeviceType::IntegratedGpu => AdapterKind::Integrated,
        wgpu::DeviceType::VirtualGpu => AdapterKind::Virtual,
        wgpu::DeviceType::Other => AdapterKind::Unknown,
        wgpu::DeviceType::Cpu => AdapterKind::Software,
    }
}
