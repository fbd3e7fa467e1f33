//! A small wgpu harness: runs one dispatch on the first adapter, with default limits or with everything that
//! the adapter supports.

use std::sync::OnceLock;

use crate::dispatch::{Capabilities, Dispatch, ERROR_WORDS, Word};

/// A device, and what the renderer may use on it.
pub struct Machine {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// What the renderer may use.
    pub capabilities: Capabilities,
}

/// The machine with default limits and the one with everything; empty without an adapter.
pub fn machines() -> &'static [Machine] {
    static MACHINES: OnceLock<Vec<Machine>> = OnceLock::new();
    MACHINES.get_or_init(|| {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let options = wgpu::RequestAdapterOptions::default();
        let Ok(adapter) = pollster::block_on(instance.request_adapter(&options)) else {
            {
                use std::io::Write;
                let _ = writeln!(std::io::stderr(), "skipped: no GPU adapter (a software one is enough)");
            }
            return vec![];
        };
        let cooperative = crate::adapter::multiplies_halves(&adapter);
        let wanted = if cooperative { crate::adapter::COOPERATIVE } else { wgpu::Features::SUBGROUP };
        let features = adapter.features() & wanted;
        let limits = adapter.limits();
        let all = Capabilities {
            subgroups: !features.is_empty(),
            cooperative: if cooperative { adapter.get_info().subgroup_max_size } else { 0 },
            rounds_f16: false,
            workgroup_memory: limits.max_compute_workgroup_storage_size,
            invocations: limits.max_compute_invocations_per_workgroup,
            workgroups: limits.max_compute_workgroups_per_dimension,
            ..Capabilities::core()
        };
        vec![
            open(&adapter, wgpu::Features::empty(), wgpu::Limits::default(), Capabilities::core()),
            open(&adapter, features, limits, all),
        ]
    })
}

fn open(
    adapter: &wgpu::Adapter,
    features: wgpu::Features,
    limits: wgpu::Limits,
    capabilities: Capabilities,
) -> Machine {
    let descriptor = wgpu::DeviceDescriptor {
        required_features: features,
        required_limits: limits,
        experimental_features: crate::device::experimental(capabilities.cooperative > 0),
        ..Default::default()
    };
    let (device, queue) =
        pollster::block_on(adapter.request_device(&descriptor)).expect("the adapter gives a device");
    // Every adapter is asked here, also those whose devices are not.
    let rounds_f16 =
        capabilities != Capabilities::core() && crate::rounding::is_nearest_even(&device, &queue);
    Machine { device, queue, capabilities: Capabilities { rounds_f16, ..capabilities } }
}

/// The kernel's inputs other than buffers.
pub struct Given<'a> {
    /// Register bits of the run's parameters.
    pub parameters: &'a [u32],
    /// Offsets of slots, in elements.
    pub slots: &'a [(farad_compile::program::BufferId, u32)],
}

/// Sites that a dispatch may report.
const SITES: usize = 8;

impl Machine {
    /// Runs the dispatch on the bytes of every buffer; returns the first site with a bad index plus one, and
    /// the index's bits.
    pub fn run(&self, dispatch: &Dispatch, memory: &mut [Vec<u8>], given: &Given) -> [u32; 2] {
        let words: Vec<u32> = dispatch.parameters.iter().map(|word| resolve(word, given)).collect();
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let mut uniform: Vec<u8> = bytemuck::cast_slice(&words).to_vec();
        uniform.resize(uniform.len().next_multiple_of(16), 0);
        let mut buffers = vec![self.upload(&uniform, wgpu::BufferUsages::UNIFORM)];
        for binding in &dispatch.bindings {
            buffers.push(self.upload(&memory[binding.buffer.0 as usize], usage));
        }
        if dispatch.reports {
            buffers.push(self.upload(&[0; SITES * ERROR_WORDS * 4], usage));
        }
        self.launch(dispatch, &buffers);
        for (at, binding) in dispatch.bindings.iter().enumerate().filter(|(_, binding)| binding.write) {
            let target = &mut memory[binding.buffer.0 as usize];
            let bytes = self.download(&buffers[at + 1]);
            let len = target.len();
            target.copy_from_slice(&bytes[..len]);
        }
        if !dispatch.reports {
            return [0; 2];
        }
        let bytes = self.download(buffers.last().expect("the error words are bound last"));
        let word = |n: usize| u32::from_le_bytes(bytes[4 * n..][..4].try_into().expect("four bytes"));
        let site = (0..SITES).find(|site| word(ERROR_WORDS * site) != 0);
        site.map_or([0; 2], |site| [site as u32 + 1, word(ERROR_WORDS * site + 1)])
    }

    fn upload(&self, bytes: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let size = bytes.len().next_multiple_of(4).max(16) as u64;
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage: usage | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(4), 0);
        self.queue.write_buffer(&buffer, 0, &padded);
        buffer
    }

    fn launch(&self, dispatch: &Dispatch, buffers: &[wgpu::Buffer]) {
        let source = wgpu::ShaderSource::Wgsl(dispatch.wgsl.as_ref().into());
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some(dispatch.entry),
            compilation_options: Default::default(),
            cache: None,
        });
        let entries: Vec<wgpu::BindGroupEntry> = buffers
            .iter()
            .enumerate()
            .map(|(at, buffer)| wgpu::BindGroupEntry {
                binding: at as u32,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let layout = pipeline.get_bind_group_layout(0);
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &entries,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        let [x, y, z] = dispatch.workgroups;
        pass.dispatch_workgroups(x, y, z);
        drop(pass);
        self.queue.submit([encoder.finish()]);
    }

    fn download(&self, buffer: &wgpu::Buffer) -> Vec<u8> {
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: buffer.size(),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
        self.queue.submit([encoder.finish()]);
        staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("the copy can be mapped"));
        self.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device answers");
        let bytes = staging.get_mapped_range(..).expect("the copy is mapped").to_vec();
        staging.unmap();
        bytes
    }
}

fn resolve(word: &Word, given: &Given) -> u32 {
    match word {
        Word::Fixed(word) => *word,
        Word::Parameter(number) => given.parameters[*number],
        Word::Slot(buffer) => {
            given.slots.iter().find(|(id, _)| id == buffer).map_or(0, |(_, elements)| *elements)
        }
    }
}
