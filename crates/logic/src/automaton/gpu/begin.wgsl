// Lays the gradient at the end where the backward pass takes it up.

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> upstream: array<f32>;
@group(0) @binding(2) var<storage, read_write> gradients: array<f32>;

@compute @workgroup_size(256)
fn begin(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (id.x + id.y * count.x) * 256u + lane;
    if i < parameters[0].x { gradients[i] = upstream[i]; }
}
