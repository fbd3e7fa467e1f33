// Copies one slice of a sequence to or from memory that a custom op can bind. parameters: words to copy, offset
// in the source, offset in the target (both in elements), bytes per element.

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> copied: array<u32>;

fn words(elements: u32) -> u32 {
    let bytes = parameters[0].w;
    return elements / 4u * bytes + elements % 4u * bytes / 4u;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.x + id.y * groups.x * 64u;
    if i < parameters[0].x {
        copied[words(parameters[0].z) + i] = source[words(parameters[0].y) + i];
    }
}
