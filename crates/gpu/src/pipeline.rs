//! Pipelines, compiled once per WGSL text and device, in parallel.
//!
//! Up to 256 pipelines that no loaded program uses are kept for the next program with the same text. `cache`
//! keeps them for the next process.
//!
//! Invariant: equal text, entry point and layout give one pipeline. Equal layouts give one `BindGroupLayout`,
//! so a bind group works with every pipeline of that layout.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use crate::cache::PipelineFile;
use crate::counters::LiveCounters;
use crate::device::{GpuDevice, Shared, lock};
use crate::error::{Error, tidy};
use crate::exit;
use crate::heuristics::pools::MOST_IDLE;
use crate::routine::{LayoutKey, Routine};

/// What a device has compiled so far.
#[derive(Default)]
pub(crate) struct Pipelines {
    layouts: HashMap<LayoutKey, Arc<BindingLayout>>,
    pipelines: HashMap<PipelineKey, KeptPipeline>,
    clock: u64,
}

/// A pipeline, and when it was last used.
struct KeptPipeline {
    pipeline: Arc<Pipeline>,
    used: u64,
}

/// A compiled kernel.
pub(crate) struct Pipeline {
    pub(crate) raw: wgpu::ComputePipeline,
}

pub(crate) struct BindingLayout {
    pub(crate) group: wgpu::BindGroupLayout,
    pipeline: wgpu::PipelineLayout,
}

/// A routine without a pipeline, its key and its layout.
type Missing<'a> = (&'a Routine, PipelineKey, Arc<BindingLayout>);

/// Compared in full: the hash only finds the bucket.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PipelineKey {
    wgsl: Arc<str>,
    entry: Cow<'static, str>,
    layout: LayoutKey,
}

impl GpuDevice {
    /// A pipeline for every routine; those not seen before are compiled in parallel.
    pub(crate) fn pipelines(&self, routines: &[&Routine]) -> Result<Vec<Arc<Pipeline>>, Error> {
        // Known pipelines are held, so that no other thread drops them meanwhile.
        let (missing, _held) = self.missing(routines)?;
        let shared = &*self.shared;
        let made: Vec<(PipelineKey, Pipeline)> = missing
            .into_par_iter()
            .map(|(routine, key, layout)| Ok((key, compile(shared, routine, &layout)?)))
            .collect::<Result<_, Error>>()?;
        LiveCounters::add(&shared.tally.pipelines, made.len());
        if let Some(cache) = shared.cache.as_ref().filter(|_| !made.is_empty()) {
            cache.grew();
        }
        let mut known = lock(&shared.pipelines);
        known.clock += 1;
        let used = known.clock;
        for (key, pipeline) in made {
            known.pipelines.entry(key).or_insert_with(|| KeptPipeline { pipeline: Arc::new(pipeline), used });
        }
        let mut all = Vec::with_capacity(routines.len());
        for routine in routines {
            let kept =
                known.pipelines.get_mut(&PipelineKey::of(routine)).expect("known before, or just made");
            kept.used = used;
            all.push(kept.pipeline.clone());
        }
        known.forget_idle();
        Ok(all)
    }

    /// How many pipelines the device keeps, including those of loaded programs.
    pub fn pipelines_kept(&self) -> usize {
        lock(&self.shared.pipelines).pipelines.len()
    }

    /// Routines without a pipeline, each text once, and the pipelines of the others.
    fn missing<'a>(&self, routines: &[&'a Routine]) -> Result<(Vec<Missing<'a>>, Vec<Arc<Pipeline>>), Error> {
        let limit = self.shared.limits.max_storage_buffers_per_shader_stage as usize;
        let mut known = lock(&self.shared.pipelines);
        let mut seen = HashSet::new();
        let (mut missing, mut held) = (Vec::new(), Vec::new());
        for &routine in routines {
            let key = PipelineKey::of(routine);
            if let Some(kept) = known.pipelines.get(&key) {
                held.push(kept.pipeline.clone());
                continue;
            }
            if !seen.insert(key.clone()) {
                continue;
            }
            let got = routine.storage_buffers();
            // Layout keys hold one bit per storage array.
            if got > limit.min(64) {
                return Err(Error::Bindings { label: routine.label.to_string(), got, limit: limit.min(64) });
            }
            let layout = known.layout(&self.shared, key.layout);
            missing.push((routine, key, layout));
        }
        Ok((missing, held))
    }

    pub(crate) fn layout(&self, key: LayoutKey) -> Arc<BindingLayout> {
        lock(&self.shared.pipelines).layout(&self.shared, key)
    }
}

impl Pipelines {
    /// Drops idle pipelines beyond the limit.
    fn forget_idle(&mut self) {
        if self.pipelines.len() <= MOST_IDLE {
            return;
        }
        let idle = self.pipelines.values().filter(|kept| Arc::strong_count(&kept.pipeline) == 1);
        let mut times: Vec<u64> = idle.map(|kept| kept.used).collect();
        if times.len() <= MOST_IDLE {
            return;
        }
        times.sort_unstable();
        let last = times[times.len() - MOST_IDLE];
        self.pipelines.retain(|_, kept| Arc::strong_count(&kept.pipeline) > 1 || kept.used >= last);
    }

    fn layout(&mut self, shared: &Shared, key: LayoutKey) -> Arc<BindingLayout> {
        self.layouts.entry(key).or_insert_with(|| Arc::new(create_layout(shared, key))).clone()
    }
}

impl PipelineKey {
    fn of(routine: &Routine) -> PipelineKey {
        PipelineKey { wgsl: routine.wgsl.clone(), entry: routine.entry.clone(), layout: routine.layout() }
    }
}

fn create_layout(shared: &Shared, key: LayoutKey) -> BindingLayout {
    let uniform = key.uniform.then_some((wgpu::BufferBindingType::Uniform, true));
    let storage = (0..key.storage).map(|n| storage(key.writes >> n & 1 == 0));
    let errors = key.reports.then_some(storage_written());
    let entries: Vec<wgpu::BindGroupLayoutEntry> = uniform
        .into_iter()
        .chain(storage)
        .chain(errors)
        .zip(0..)
        .map(|((ty, has_dynamic_offset), binding)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
            count: None,
        })
        .collect();
    let descriptor = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
    let group = shared.gpu.create_bind_group_layout(&descriptor);
    let pipeline = shared.gpu.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&group)],
        immediate_size: 0,
    });
    BindingLayout { group, pipeline }
}

fn storage(read_only: bool) -> (wgpu::BufferBindingType, bool) {
    (wgpu::BufferBindingType::Storage { read_only }, false)
}

fn storage_written() -> (wgpu::BufferBindingType, bool) {
    storage(false)
}

/// Compiles on the calling thread, because error scopes are per thread.
fn compile(shared: &Shared, routine: &Routine, layout: &BindingLayout) -> Result<Pipeline, Error> {
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: Some(&routine.label),
        source: wgpu::ShaderSource::Wgsl(Cow::Borrowed(&routine.wgsl)),
    };
    let checks = if shared.checked {
        wgpu::ShaderRuntimeChecks::checked()
    } else {
        wgpu::ShaderRuntimeChecks::unchecked()
    };
    exit::made_pipeline();
    let made = shared.scoped(|| {
        // SAFETY: without checks, the WGSL must stay inside its bindings, end its loops and not divide by zero.
        // Rendered kernels do so by construction: views stay inside their buffers (the invariant of
        // `farad_compile::program`), run-time positions are clamped, and loops count to given bounds. Custom
        // ops must do the same; the tests run all of them with the checks on.
        let module = unsafe { shared.gpu.create_shader_module_trusted(descriptor, checks) };
        shared.gpu.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&routine.label),
            layout: Some(&layout.pipeline),
            module: &module,
            entry_point: Some(&routine.entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[],
                zero_initialize_workgroup_memory: false,
            },
            cache: shared.cache.as_ref().map(PipelineFile::raw),
        })
    });
    made.map(|raw| Pipeline { raw }).map_err(|error| match error {
        wgpu::Error::OutOfMemory { .. } => shared.ledger.refusal(format!("compile {}", routine.label), None),
        error => Error::Shader {
            label: routine.label.to_string(),
            message: tidy(&error.to_string()),
            wgsl: routine.wgsl.clone(),
        },
    })
}
