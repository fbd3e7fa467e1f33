// Gradients of the inputs: each gathers from the candidates that read it, in order. Additional parameter:
// positions per neuron.

//{ frame
alias Value = f32;
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
//}

const INPUTS = 8u;

@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> table: array<vec4<f32>>;
// The offsets of the lists of all inputs and the end of the last, then all lists, two words per reader: twice
// the candidate, plus one if the input is its second operand; then the other operand.
@group(0) @binding(3) var<storage, read> readers: array<u32>;
@group(0) @binding(4) var<storage, read> x: array<Value>;
@group(0) @binding(5) var<storage, read> g: array<Value>;
@group(0) @binding(6) var<storage, read_write> result: array<Value>;

fn at(input: u32, column: u32) -> Value {
    let columns = parameters[0].y;
    let last = readers[input + 1u];
    var sum = Value();
    for (var n = readers[input]; n < last; n++) {
        let reader = readers[INPUTS + 1u + 2u * n];
        let other = readers[INPUTS + 2u + 2u * n];
        let slot = (reader >> 1u) & 15u;
        let row = reader >> 5u;
        let c = table[slot] * weights[row / parameters[0].w * 16u + slot];
        var slope = Value() + select(c.y, c.z, (reader & 1u) == 1u);
        if other < INPUTS {
            slope += c.w * x[other * columns + column];
        }
        sum += g[row * columns + column] * slope;
    }
    return sum;
}
