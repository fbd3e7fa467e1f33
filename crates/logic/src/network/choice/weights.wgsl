// Gradients at the weights of all candidates, summed over some of the samples: part `group.y` takes every column whose
// block is that part's, counting in turn.
// parameters: places (rows times candidates), columns, columns that neighboring invocations take as a power of two,
// candidates of a row.

// The samples that one invocation computes at once, and their sum.
alias Value = f32;
fn total(value: Value) -> f32 {
    return value;
}

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> wires: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read> g: array<Value>;
@group(0) @binding(4) var<storage, read_write> parts: array<f32>;

var<workgroup> sums: array<f32, 256>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let places = parameters[0].x;
    let columns = parameters[0].y;
    let shift = parameters[0].z;
    let place = (group.x + group.z * groups.x) * (256u >> shift) + (local >> shift);
    let lane = local & ((1u << shift) - 1u);
    var sum = Value();
    if place < places {
        let input = wires[place] * columns;
        let row = place / parameters[0].w * columns;
        for (var column = (group.y << shift) + lane; column < columns; column += groups.y << shift) {
            sum += g[row + column] * x[input + column];
        }
    }
    sums[local] = total(sum);
    for (var half = (1u << shift) >> 1u; half > 0u; half >>= 1u) {
        workgroupBarrier();
        if lane < half {
            sums[local] += sums[local + half];
        }
    }
    if place < places && lane == 0u {
        parts[group.y * places + place] = sums[local];
    }
}
