// Gradients of the coefficients of all gates, summed over a part of the samples: part `group.y` takes every
// `parts`-th block of columns. Rows are gates.

//{ frame
alias Value = f32;
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
fn total(value: Value) -> f32 { return value; }
fn together(local: u32, own: vec4<f32>) -> vec4<f32> { return own; }
//}

@group(0) @binding(1) var<storage, read> wires: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read> g: array<Value>;
@group(0) @binding(4) var<storage, read_write> parts: array<vec4<f32>>;

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
    let lane = local & ((1u << shift) - 1u);
    var constant = Value();
    var by_a = Value();
    var by_b = Value();
    var by_both = Value();
    if gate < gates {
        let a = wires[gate] * columns;
        let b = wires[gates + gate] * columns;
        for (var column = (group.y << shift) + lane; column < columns; column += groups.y << shift) {
            let upstream = g[gate * columns + column];
            let first = upstream * x[a + column];
            let second = x[b + column];
            constant += upstream;
            by_a += first;
            by_b += upstream * second;
            by_both += first * second;
        }
    }
    let sum = together(local, vec4(total(constant), total(by_a), total(by_b), total(by_both)));
    if gate < gates && lane == 0u {
        parts[group.y * gates + gate] = sum;
    }
}
