// Gradients at the inputs: each gathers from the leaves that read its channel, where theirs was the largest square.
// parameters: inputs, columns, columns that neighboring invocations take as a power of two.
// Before this text stand the sizes of the stage.

// The samples that one invocation computes at once, and the squares that were the largest.
alias Value = f32;
alias Whole = u32;
fn unpacked(word: u32) -> Whole {
    return word;
}

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
// Where the list of every channel starts and the last ends, then all lists: leaf, down, right.
@group(0) @binding(1) var<storage, read> readers: array<u32>;
@group(0) @binding(2) var<storage, read> largest: array<u32>;
@group(0) @binding(3) var<storage, read> at_leaves: array<Value>;
@group(0) @binding(4) var<storage, read_write> result: array<Value>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let inputs = parameters[0].x;
    let columns = parameters[0].y;
    let shift = parameters[0].z;
    let input = (group.x + group.z * groups.x) * (256u >> shift) + (local >> shift);
    if input >= inputs {
        return;
    }
    let pixel = input / BESIDE;
    let channel = pixel / (HEIGHT * WIDTH) * BESIDE + input % BESIDE;
    let down = pixel % (HEIGHT * WIDTH) / WIDTH + OFFSET;
    let right = pixel % WIDTH + OFFSET;
    let first = readers[channel];
    let last = readers[channel + 1u];
    let lane = local & ((1u << shift) - 1u);
    for (var column = (group.y << shift) + lane; column < columns; column += groups.y << shift) {
        var sum = Value();
        for (var n = first; n < last; n++) {
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
        result[input * columns + column] = sum;
    }
}
