// The largest output of a tree over the squares of every cell: rows are kernels by cells, columns samples.

//{ frame
alias Value = f32;
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
//}

// The sizes of the stage.
const CHANNELS = 1u;
const BESIDE = 1u;
const HEIGHT = 8u;
const WIDTH = 8u;
const OFFSET = 0u;
const POOL = 1u;
const ROWS = 8u;
const COLUMNS = 8u;
const CELLS = 64u;
const LEAVES = 2u;
const GATES = 1u;

// Which square was the largest, for the samples of an invocation, and how that is packed in one word.
//{ whole
alias Whole = u32;
fn packed(which: Whole) -> u32 {
    return which;
}
//}

@group(0) @binding(1) var<storage, read> coefficients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> leaves: array<u32>;
@group(0) @binding(3) var<storage, read> x: array<Value>;
@group(0) @binding(4) var<storage, read_write> result: array<Value>;
@group(0) @binding(5) var<storage, read_write> largest: array<u32>;

fn gate(c: vec4<f32>, a: Value, b: Value) -> Value {
    return c.x + c.z * b + a * (c.y + c.w * b);
}

fn value_at(leaf: u32, down: u32, right: u32, columns: u32, column: u32) -> Value {
    let row = down + leaves[3u * leaf + 1u] - OFFSET;
    let place = right + leaves[3u * leaf + 2u] - OFFSET;
    if row >= HEIGHT || place >= WIDTH {
        return Value();
    }
    return x[(leaves[3u * leaf] + (row * WIDTH + place) * BESIDE) * columns + column];
}

fn at(row: u32, column: u32) -> Value {
    let columns = parameters[0].y;
    let first = row / CELLS * LEAVES;
    let c = row / CELLS * GATES;
    let corner = vec2(row % CELLS / COLUMNS, row % COLUMNS) * POOL;
    var best = Value();
    var which = Whole();
    for (var square = 0u; square < POOL * POOL; square++) {
        let down = corner.x + square / POOL;
        let right = corner.y + square % POOL;
        //{ nodes
        let n0 = value_at(first + 0u, down, right, columns, column);
        let n1 = value_at(first + 1u, down, right, columns, column);
        let n2 = gate(coefficients[c + 0u], n0, n1);
        let root = n2;
        //}
        let better = root > best;
        best = select(select(best, root, better), root, square == 0u);
        which = select(which, Whole(square), better);
    }
    largest[row * columns + column] = packed(which);
    return best;
}
