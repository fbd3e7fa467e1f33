// The outputs of all gates for all samples: rows are gates, columns samples.
// parameters: gates, columns, columns that neighboring invocations take as a power of two.

// The samples that one invocation computes at once.
alias Value = f32;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> coefficients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> wires: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<Value>;
@group(0) @binding(4) var<storage, read_write> y: array<Value>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let gates = parameters[0].x;
    let columns = parameters[0].y;
    let shift = parameters[0].z;
    let gate = (group.x + group.z * groups.x) * (256u >> shift) + (local >> shift);
    if gate >= gates {
        return;
    }
    let a = wires[gate] * columns;
    let b = wires[gates + gate] * columns;
    let c = coefficients[gate];
    let lane = local & ((1u << shift) - 1u);
    for (var column = (group.y << shift) + lane; column < columns; column += groups.y << shift) {
        let first = x[a + column];
        let second = x[b + column];
        y[gate * columns + column] = c.x + c.z * second + first * (c.y + c.w * second);
    }
}
