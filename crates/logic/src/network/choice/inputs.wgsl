// Gradients at the inputs: each gathers from the rows that may choose it, in order.
// parameters: inputs, columns, columns that neighboring invocations take as a power of two, candidates of a row.

// The samples that one invocation computes at once.
alias Value = f32;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
// Where the list of every input starts and the last ends, then all lists of places.
@group(0) @binding(2) var<storage, read> readers: array<u32>;
@group(0) @binding(3) var<storage, read> g: array<Value>;
@group(0) @binding(4) var<storage, read_write> result: array<Value>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let inputs = parameters[0].x;
    let columns = parameters[0].y;
    let shift = parameters[0].z;
    let count = parameters[0].w;
    let input = (group.x + group.z * groups.x) * (256u >> shift) + (local >> shift);
    if input >= inputs {
        return;
    }
    let first = readers[input];
    let last = readers[input + 1u];
    let lane = local & ((1u << shift) - 1u);
    for (var column = (group.y << shift) + lane; column < columns; column += groups.y << shift) {
        var sum = Value();
        for (var n = first; n < last; n++) {
            let place = readers[inputs + 1u + n];
            sum += weights[place] * g[place / count * columns + column];
        }
        result[input * columns + column] = sum;
    }
}
