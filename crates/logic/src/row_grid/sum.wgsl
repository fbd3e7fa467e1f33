// Adds the parts of the gradients at the coefficients, in order.
// parameters: gates, parts.

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> parts: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> weights: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let gate = id.x + id.y * groups.x * 64u;
    let gates = parameters[0].x;
    if gate >= gates {
        return;
    }
    var sum = vec4<f32>();
    for (var part = 0u; part < parameters[0].y; part++) {
        sum += parts[part * gates + gate];
    }
    weights[gate] = sum;
}
