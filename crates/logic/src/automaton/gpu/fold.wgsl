// Adds the sums of all workgroups of a seed, always in the same order: eight invocations per column, each of
// which takes every eighth workgroup.
//
// Parameters: workgroups, columns of 32 of a seed, sums, slots.

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> partials: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> totals: array<vec4<f32>>;

var<workgroup> parts: array<vec4<f32>, 256>;

@compute @workgroup_size(256)
fn fold(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = id.x + id.y * count.x;
    let sizes = parameters[0];
    if number >= sizes.x { return; }
    let seed = number / sizes.y;
    let column = number % sizes.y * 32u + lane % 32u;
    let first = seed * sizes.w * sizes.z + min(column, sizes.z - 1u);
    var sum = vec4<f32>(0.0);
    for (var slot = lane / 32u; slot < sizes.w; slot += 8u) {
        sum += partials[first + slot * sizes.z];
    }
    parts[lane] = sum;
    workgroupBarrier();
    if lane < 32u && column < sizes.z {
        let low = (parts[lane] + parts[lane + 32u]) + (parts[lane + 64u] + parts[lane + 96u]);
        let high = (parts[lane + 128u] + parts[lane + 160u]) + (parts[lane + 192u] + parts[lane + 224u]);
        totals[seed * sizes.z + column] = low + high;
    }
}
