// The gradients of the coefficients: those of perception gates are summed over channels.
//
// Parameters: gates of all seeds, gates of a seed, perception gates of a kernel, kernels; channels,
// sums of a seed.

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read> totals: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> coefficients: array<vec4<f32>>;

@compute @workgroup_size(64)
fn collect(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (id.x + id.y * count.x) * 64u + lane;
    let sizes = parameters[0];
    let channels = parameters[1].x;
    if i >= sizes.x { return; }
    let totals_of = i / sizes.y * parameters[1].y;
    let gate = i % sizes.y;
    let perception = sizes.z * sizes.w;
    if gate >= perception {
        coefficients[i] = totals[totals_of + perception * channels + gate - perception];
        return;
    }
    let pairs = totals_of + gate % sizes.z * sizes.w * channels + gate / sizes.z * channels;
    var sum = totals[pairs];
    for (var channel = 1u; channel < channels; channel++) { sum += totals[pairs + channel]; }
    coefficients[i] = sum;
}
