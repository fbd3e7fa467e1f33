// Weighted sums of candidates for all samples: rows choose, columns are samples.
// parameters: rows, columns, columns that neighboring invocations take as a power of two, candidates of a row.

// The samples that one invocation computes at once.
alias Value = f32;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> wires: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<Value>;
@group(0) @binding(4) var<storage, read_write> y: array<Value>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let rows = parameters[0].x;
    let columns = parameters[0].y;
    let shift = parameters[0].z;
    let count = parameters[0].w;
    let row = (group.x + group.z * groups.x) * (256u >> shift) + (local >> shift);
    if row >= rows {
        return;
    }
    let lane = local & ((1u << shift) - 1u);
    for (var column = (group.y << shift) + lane; column < columns; column += groups.y << shift) {
        var sum = Value();
        for (var place = row * count; place < (row + 1u) * count; place++) {
            sum += weights[place] * x[wires[place] * columns + column];
        }
        y[row * columns + column] = sum;
    }
}
