// Gradients of a layer's inputs: each gathers from the gates that read it, in order.

//{ frame
alias Value = f32;
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
//}

@group(0) @binding(1) var<storage, read> coefficients: array<vec4<f32>>;
// The offsets of the lists of all inputs and the end of the last, then all lists: twice the gate, plus one if
// the input is its second operand; then the other operand.
@group(0) @binding(2) var<storage, read> readers: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<Value>;
@group(0) @binding(4) var<storage, read> g: array<Value>;
@group(0) @binding(5) var<storage, read_write> result: array<Value>;

fn at(input: u32, column: u32) -> Value {
    let inputs = parameters[0].x;
    let columns = parameters[0].y;
    let last = readers[input + 1u];
    var sum = Value();
    for (var n = readers[input]; n < last; n++) {
        let reader = readers[inputs + 1u + 2u * n];
        let other = readers[inputs + 2u + 2u * n];
        let c = coefficients[reader >> 1u];
        let own = select(c.y, c.z, (reader & 1u) == 1u);
        sum += g[(reader >> 1u) * columns + column] * (own + c.w * x[other * columns + column]);
    }
    return sum;
}
