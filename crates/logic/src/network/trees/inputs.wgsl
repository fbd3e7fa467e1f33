// Gradients of the inputs: each gathers from the leaves that read its channel, where their square was the
// largest.

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

// The squares that were the largest, for the samples of an invocation.
//{ whole
alias Whole = u32;
fn unpacked(word: u32) -> Whole {
    return word;
}
//}

// The offsets of the lists of all channels and the end of the last, then all lists: leaf, down, right.
@group(0) @binding(1) var<storage, read> readers: array<u32>;
@group(0) @binding(2) var<storage, read> largest: array<u32>;
@group(0) @binding(3) var<storage, read> at_leaves: array<Value>;
@group(0) @binding(4) var<storage, read_write> result: array<Value>;

fn at(input: u32, column: u32) -> Value {
    let columns = parameters[0].y;
    let pixel = input / BESIDE;
    let channel = pixel / (HEIGHT * WIDTH) * BESIDE + input % BESIDE;
    let down = pixel % (HEIGHT * WIDTH) / WIDTH + OFFSET;
    let right = pixel % WIDTH + OFFSET;
    let last = readers[channel + 1u];
    var sum = Value();
    for (var n = readers[channel]; n < last; n++) {
        let entry = CHANNELS + 1u + 3u * n;
        let leaf = readers[entry];
        let row = down - readers[entry + 1u];
        let place = right - readers[entry + 2u];
        if row < ROWS * POOL && place < COLUMNS * POOL {
            let cell = row / POOL * COLUMNS + place / POOL;
            let square = Whole(row % POOL * POOL + place % POOL);
            let which = unpacked(largest[(leaf / LEAVES * CELLS + cell) * columns + column]);
            sum += select(Value(), at_leaves[(leaf * CELLS + cell) * columns + column], which == square);
        }
    }
    return sum;
}
