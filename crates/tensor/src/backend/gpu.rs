//! The row of GPUs, with the feature `gpu`.

use std::sync::Arc;

use farad_gpu::{AdapterInfo, AdapterKind};
use farad_runtime::Backend;

use super::{BackendRow, FoundDevice};
use crate::device::DeviceOptions;
use crate::environment::ENVIRONMENT;
use crate::error::Result;

pub(super) const ROW: BackendRow = BackendRow {
    name: "gpu",
    help: "a GPU by its number in `farad devices`",
    numbered: true,
    for_tests: false,
    list: || farad_gpu::adapters().into_iter().map(found_gpu).collect(),
    open: open_gpu,
};

fn found_gpu(adapter: AdapterInfo) -> FoundDevice {
    FoundDevice {
        device: format!("gpu:{}", adapter.index),
        name: adapter.name.clone(),
        kind: kind(adapter.kind),
        preference: if adapter.kind == AdapterKind::Software { 0 } else { 2 },
        adapter: Some(adapter),
    }
}

fn open_gpu(index: usize, options: &DeviceOptions) -> Result<Arc<dyn Backend>> {
    let DeviceOptions { core, checked, memory_limit, .. } = *options;
    let (memory_limit, lose_after) = (memory_limit.or(ENVIRONMENT.memory_limit), ENVIRONMENT.lose_after);
    let cache = ENVIRONMENT.cache.as_deref();
    let options = farad_gpu::Options { core, checked, memory_limit, lose_after, cache, ..Default::default() };
    Ok(Arc::new(farad_gpu::GpuDevice::open(index, options).map_err(farad_runtime::Error::from)?))
}

fn kind(kind: AdapterKind) -> &'static str {
    match kind {
        AdapterKind::Discrete => "discrete",
        AdapterKind::Integrated => "integrated",
        AdapterKind::Virtual => "virtual",
        AdapterKind::Unknown => "unknown",
        AdapterKind::Software => "software",
    }
}
