// The outputs of neurons for all samples: rows are neurons by positions, columns samples. Additional parameter:
// positions per neuron.

//{ frame
alias Value = f32;
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
//}

const INPUTS = 8u;

@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> wires: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<Value>;
@group(0) @binding(4) var<storage, read_write> result: array<Value>;

fn value_at(place: u32, columns: u32, column: u32) -> Value {
    let wire = wires[place];
    if wire >= INPUTS {
        return Value();
    }
    return x[wire * columns + column];
}

fn at(row: u32, column: u32) -> Value {
    let columns = parameters[0].y;
    let first = 32u * row;
    let weight = 16u * (row / parameters[0].w);
    var sum = Value();
    //{ slots
    let a3 = value_at(first + 6u, columns, column);
    sum += weights[weight + 3u] * (f32(1) * a3);
    //}
    return sum;
}
