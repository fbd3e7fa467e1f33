// Gradients of the inputs: each gathers from the rows that have it as a candidate, in order. Additional
// parameter: candidates per row.

//{ frame
alias Value = f32;
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
//}

@group(0) @binding(1) var<storage, read> weights: array<f32>;
// The offsets of the lists of all inputs and the end of the last, then all lists of candidate indices.
@group(0) @binding(2) var<storage, read> readers: array<u32>;
@group(0) @binding(3) var<storage, read> g: array<Value>;
@group(0) @binding(4) var<storage, read_write> result: array<Value>;

fn at(input: u32, column: u32) -> Value {
    let inputs = parameters[0].x;
    let columns = parameters[0].y;
    let last = readers[input + 1u];
    var sum = Value();
    for (var n = readers[input]; n < last; n++) {
        let place = readers[inputs + 1u + n];
        sum += weights[place] * g[place / parameters[0].w * columns + column];
    }
    return sum;
}
