// What neurons give for all samples: rows are neurons by places, columns samples.
// parameters: rows, columns, columns that neighboring invocations take as a power of two, places of a neuron.
// Before this text stands how many inputs there are.

// The samples that one invocation computes at once.
alias Value = f32;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> wires: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<Value>;
@group(0) @binding(4) var<storage, read_write> y: array<Value>;

fn value_at(place: u32, columns: u32, column: u32) -> Value {
    let wire = wires[place];
    if wire >= INPUTS {
        return Value();
    }
    return x[wire * columns + column];
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = parameters[0].x;
    let columns = parameters[0].y;
    let shift = parameters[0].z;
    let row = (group.x + group.z * groups.x) * (256u >> shift) + (local >> shift);
    if row >= rows {
        return;
    }
    let first = 32u * row;
    let weight = 16u * (row / parameters[0].w);
    let lane = local & ((1u << shift) - 1u);
    for (var column = (group.y << shift) + lane; column < columns; column += groups.y << shift) {
        var sum = Value();
        SLOTS
        y[row * columns + column] = sum;
    }
}
