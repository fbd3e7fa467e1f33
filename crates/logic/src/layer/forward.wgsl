// The outputs of all gates for all samples: rows are gates, columns samples.

//{ frame
alias Value = f32;
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
//}

@group(0) @binding(1) var<storage, read> coefficients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> wires: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<Value>;
@group(0) @binding(4) var<storage, read_write> result: array<Value>;

fn at(gate: u32, column: u32) -> Value {
    let columns = parameters[0].y;
    let c = coefficients[gate];
    let first = x[wires[gate] * columns + column];
    let second = x[wires[parameters[0].x + gate] * columns + column];
    return c.x + c.z * second + first * (c.y + c.w * second);
}
