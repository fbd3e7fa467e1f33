// The gradient of the first states, from the output of the backward pass's last launch.
//
// Parameters: numbers in all states, cells of a seed, channels, whether some cells may not fire; height, width,
// the offset of the neighborhoods' gradients.

//{ grid
const NOWHERE = 0xffffffffu;
fn neighbor(cell: u32, n: u32, height: u32, width: u32) -> u32 { return cell; }
//}

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read> gradients: array<f32>;
@group(0) @binding(2) var<storage, read_write> states: array<f32>;

@compute @workgroup_size(256)
fn finish(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (id.x + id.y * count.x) * 256u + lane;
    let sizes = parameters[0];
    if i >= sizes.x { return; }
    let seed = i / (sizes.y * sizes.z);
    let cell = i / sizes.z % sizes.y;
    var g = 0.0;
    for (var n = 0u; n < 9u; n++) {
        let other = neighbor(cell, 8u - n, parameters[1].x, parameters[1].y);
        if other != NOWHERE {
            g += gradients[parameters[1].z + ((seed * sizes.y + other) * 9u + n) * sizes.z + i % sizes.z];
        }
    }
    if sizes.w == 1u { g += gradients[i]; }
    states[i] = g;
}
