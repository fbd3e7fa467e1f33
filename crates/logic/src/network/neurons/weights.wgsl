// Gradients of the weights of all neurons, summed over a part of their positions and samples: part `group.y`
// takes every `parts`-th position and block of columns. Rows are neurons. Additional parameter: positions per
// neuron.

//{ frame
alias Value = f32;
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
fn total(value: Value) -> f32 { return value; }
fn together(local: u32, own: vec4<f32>) -> vec4<f32> { return own; }
//}

const INPUTS = 8u;

@group(0) @binding(1) var<storage, read> wires: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read> g: array<Value>;
@group(0) @binding(4) var<storage, read_write> parts: array<vec4<f32>>;

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
    let neurons = parameters[0].x;
    let columns = parameters[0].y;
    let shift = parameters[0].z;
    let places = parameters[0].w;
    let neuron = (group.x + group.z * groups.x) * (256u >> shift) + (local >> shift);
    let lane = local & ((1u << shift) - 1u);
    let blocks = (columns + (1u << shift) - 1u) >> shift;
    //{ sums
    var s3 = Value();
    //}
    if neuron < neurons {
        for (var item = group.y; item < places * blocks; item += groups.y) {
            let row = neuron * places + item / blocks;
            let column = ((item % blocks) << shift) + lane;
            if column < columns {
                let first = 32u * row;
                let upstream = g[row * columns + column];
                //{ slots
                let a3 = value_at(first + 6u, columns, column);
                s3 += upstream * (f32(1) * a3);
                //}
            }
        }
    }
    //{ totals
    let t0 = together(local, vec4(0.0, 0.0, 0.0, total(s3)));
    if neuron < neurons && lane == 0u { parts[(group.y * neurons + neuron) * 4u + 0u] = t0; }
    workgroupBarrier();
    //}
}
