// Gradients of the weights of all candidates, summed over a part of the samples: part `group.y` takes every
// `parts`-th block of columns. Four candidates of a row are computed together, so that gradients are read once.
// Rows are groups of four candidates. Additional parameter: candidates per row.

//{ frame
alias Value = f32;
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
fn total(value: Value) -> f32 { return value; }
fn together(local: u32, own: vec4<f32>) -> vec4<f32> { return own; }
//}

@group(0) @binding(1) var<storage, read> wires: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read> g: array<Value>;
@group(0) @binding(4) var<storage, read_write> parts: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let fours = parameters[0].x;
    let columns = parameters[0].y;
    let shift = parameters[0].z;
    let count = parameters[0].w;
    let of_row = (count + 3u) / 4u;
    let four = (group.x + group.z * groups.x) * (256u >> shift) + (local >> shift);
    let lane = local & ((1u << shift) - 1u);
    let row = four / of_row;
    let place = row * count + four % of_row * 4u;
    // A row's last group may have fewer than four: then the last candidate is computed again.
    let last = min(count - four % of_row * 4u, 4u) - 1u;
    var a = Value();
    var b = Value();
    var c = Value();
    var d = Value();
    if four < fours {
        let from_a = wires[place] * columns;
        let from_b = wires[place + min(1u, last)] * columns;
        let from_c = wires[place + min(2u, last)] * columns;
        let from_d = wires[place + last] * columns;
        for (var column = (group.y << shift) + lane; column < columns; column += groups.y << shift) {
            let upstream = g[row * columns + column];
            a += upstream * x[from_a + column];
            b += upstream * x[from_b + column];
            c += upstream * x[from_c + column];
            d += upstream * x[from_d + column];
        }
    }
    let sum = together(local, vec4(total(a), total(b), total(c), total(d)));
    if four < fours && lane == 0u {
        let first = group.y * (fours / of_row * count) + place;
        for (var n = 0u; n <= last; n++) {
            parts[first + n] = sum[n];
        }
    }
}
