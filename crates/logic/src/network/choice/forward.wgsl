// Weighted sums of candidates for all samples: rows choose, columns are samples. Additional parameter:
// candidates per row.

//{ frame
alias Value = f32;
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
//}

@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> wires: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<Value>;
@group(0) @binding(4) var<storage, read_write> result: array<Value>;

fn at(row: u32, column: u32) -> Value {
    let columns = parameters[0].y;
    let count = parameters[0].w;
    var sum = Value();
    for (var place = row * count; place < (row + 1u) * count; place++) {
        sum += weights[place] * x[wires[place] * columns + column];
    }
    return sum;
}
