// Gradients at the weights of all neurons, summed over some of their places and samples: part `group.y` takes every place
// and block of columns that is that part's, counting in turn.
// parameters: neurons, columns, columns that neighboring invocations take as a power of two, places of a neuron.
// Before this text stands how many inputs there are.

// The samples that one invocation computes at once, and their sum.
alias Value = f32;
fn total(value: Value) -> f32 {
    return value;
}

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> wires: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<Value>;
@group(0) @binding(3) var<storage, read> g: array<Value>;
@group(0) @binding(4) var<storage, read_write> parts: array<vec4<f32>>;

var<workgroup> sums: array<vec4<f32>, 256>;

fn value_at(place: u32, columns: u32, column: u32) -> Value {
    let wire = wires[place];
    if wire >= INPUTS {
        return Value();
    }
    return x[wire * columns + column];
}

// The sum over the invocations of a neuron, for the first of them.
fn together(local: u32, lane: u32, shift: u32, own: vec4<f32>) -> vec4<f32> {
    sums[local] = own;
    for (var half = (1u << shift) >> 1u; half > 0u; half >>= 1u) {
        workgroupBarrier();
        if lane < half {
            sums[local] += sums[local + half];
        }
    }
    workgroupBarrier();
    return sums[local - lane];
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
    SUMS
    if neuron < neurons {
        for (var item = group.y; item < places * blocks; item += groups.y) {
            let row = neuron * places + item / blocks;
            let column = ((item % blocks) << shift) + lane;
            if column < columns {
                let first = 32u * row;
                let upstream = g[row * columns + column];
                SLOTS
            }
        }
    }
    TOTALS
}
