// Gradients at the inputs: each gathers from the candidates that read it, in order.
// parameters: inputs, columns, columns that neighboring invocations take as a power of two, places of a neuron.
// Before this text stands how many inputs there are.

// The samples that one invocation computes at once.
alias Value = f32;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> table: array<vec4<f32>>;
// Where the list of every input starts and the last ends, then all lists, two words a reader: twice the candidate, and one
// more if the input is its second operand; then the other operand.
@group(0) @binding(3) var<storage, read> readers: array<u32>;
@group(0) @binding(4) var<storage, read> x: array<Value>;
@group(0) @binding(5) var<storage, read> g: array<Value>;
@group(0) @binding(6) var<storage, read_write> result: array<Value>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let inputs = parameters[0].x;
    let columns = parameters[0].y;
    let shift = parameters[0].z;
    let places = parameters[0].w;
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
            let reader = readers[inputs + 1u + 2u * n];
            let other = readers[inputs + 2u + 2u * n];
            let slot = (reader >> 1u) & 15u;
            let row = reader >> 5u;
            let c = table[slot] * weights[row / places * 16u + slot];
            let own = select(c.y, c.z, (reader & 1u) == 1u);
            var slope = Value() + own;
            if other < INPUTS {
                slope += c.w * x[other * columns + column];
            }
            sum += g[row * columns + column] * slope;
        }
        result[input * columns + column] = sum;
    }
}
