//! Tests whether an adapter rounds to `f16` as required: to nearest, ties to even.
//!
//! WGSL does not specify how `pack2x16float` rounds, so kernels round in software before they pack. That took a
//! third of the time at the end of a product tile. So each adapter is tested once, with every `f16` value and
//! every midpoint between two. If all results are right, kernels leave rounding to the adapter.

use half::f16;
use wgpu::util::{BufferInitDescriptor, DeviceExt};

/// Tests the adapter; `false` if anything goes wrong.
pub(crate) fn is_nearest_even(gpu: &wgpu::Device, queue: &wgpu::Queue) -> bool {
    let numbers = numbers();
    words(gpu, queue, &numbers).is_some_and(|words| all_nearest(&numbers, &words))
}

/// Makes the adapter compile, run and read back one small kernel, ignoring the result.
pub(crate) fn ask_once(gpu: &wgpu::Device, queue: &wgpu::Queue) {
    words(gpu, queue, &[1.0]);
}

/// Every finite f16, the midpoints between neighbors and the floats next to them, and values that are too
/// large.
fn numbers() -> Vec<f32> {
    let positive = (0..f16::INFINITY.to_bits()).flat_map(|bits| {
        let this = f16::from_bits(bits).to_f32();
        // After the largest f16, take what the next one would be.
        let next = if bits == f16::MAX.to_bits() { 65_536.0 } else { f16::from_bits(bits + 1).to_f32() };
        let middle = 0.5 * (this + next);
        [this, middle.next_down(), middle, middle.next_up()]
    });
    positive.chain([65_536.0, 1e10, f32::MAX, f32::INFINITY]).collect()
}

fn all_nearest(numbers: &[f32], words: &[u32]) -> bool {
    let as_f16 =
        |x: f32| u32::from(f16::from_f32(x).to_bits()) | u32::from(f16::from_f32(-x).to_bits()) << 16;
    numbers.len() == words.len() && numbers.iter().zip(words).all(|(&x, &word)| as_f16(x) == word)
}

/// The words that the adapter computes for the numbers.
fn words(gpu: &wgpu::Device, queue: &wgpu::Queue, numbers: &[f32]) -> Option<Vec<u32>> {
    let scope = gpu.push_error_scope(wgpu::ErrorFilter::Validation);
    let size = size_of_val(numbers) as u64;
    let buffer = |usage| {
        gpu.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let given = gpu.create_buffer_init(&BufferInitDescriptor {
        label: None,
        contents: bytemuck::cast_slice(numbers),
        usage: wgpu::BufferUsages::STORAGE,
    });
    let made = buffer(wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC);
    let staging = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    let module = gpu.create_shader_module(wgpu::include_wgsl!("wgsl/halves.wgsl"));
    let pipeline = gpu.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("rounding"),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    });
    let entries = [&given, &made].into_iter().zip(0..);
    let entries = entries
        .map(|(buffer, binding)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
    let group = gpu.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries.collect::<Vec<_>>(),
    });
    let mut encoder = gpu.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(numbers.len().div_ceil(256) as u32, 1, 1);
    }
    encoder.copy_buffer_to_buffer(&made, 0, &staging, 0, size);
    let index = queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |_| ());
    gpu.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None }).ok()?;
    if pollster::block_on(scope.pop()).is_some() {
        return None;
    }
    let view = staging.get_mapped_range(..).ok()?;
    Some(bytemuck::pod_collect_to_vec(&view))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(round: impl Fn(f32) -> f16) -> Vec<u32> {
        let word = |x: f32| u32::from(round(x).to_bits()) | u32::from(round(-x).to_bits()) << 16;
        numbers().into_iter().map(word).collect()
    }

    #[test]
    fn other_ways_to_round_are_seen() {
        let nearest = f16::from_f32;
        assert!(all_nearest(&numbers(), &pack(nearest)));
        let toward_zero = |x: f32| match nearest(x) {
            half if half.to_f32().abs() > x.abs() => f16::from_bits(half.to_bits() - 1),
            half => half,
        };
        assert!(!all_nearest(&numbers(), &pack(toward_zero)));
        let ties_away = |x: f32| nearest(if x.abs() < 65_504.0 { x * (1.0 + f32::EPSILON) } else { x });
        assert!(!all_nearest(&numbers(), &pack(ties_away)));
        let no_subnormals = |x: f32| if nearest(x).is_normal() { nearest(x) } else { f16::from_f32(0.0 * x) };
        assert!(!all_nearest(&numbers(), &pack(no_subnormals)));
        assert!(!all_nearest(&numbers(), &[]));
    }
}
