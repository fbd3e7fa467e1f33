// Prepares the backward pass: copies the gradient at the end to where the steps read it, and lists the readers
// of every value that enters a layer of the update circuit.
//
// A reader's word is one more than the index of its gradient: for operand a of gate i it is i, for operand b it
// is i plus the layer's outputs. A row of `readers` is two words. The first holds the first two readers in 16
// bits each, 0 where there is none. The second is 0, or holds two more readers, or, with the highest bit set,
// the index where the words of all further readers follow, the last one with its highest bit set. In layers
// whose indices need more than 15 bits, all readers are there.
//
// Parameters: numbers in all states, rows of all seeds, rows of a seed, words of consumers of a seed; layers;
// then inputs, outputs, first gate and first row of each.

//{ parameters
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 5>;
//}
@group(0) @binding(1) var<storage, read> upstream: array<f32>;
@group(0) @binding(2) var<storage, read> consumers: array<u32>;
@group(0) @binding(3) var<storage, read_write> gradients: array<f32>;
@group(0) @binding(4) var<storage, read_write> readers: array<u32>;

fn place(entry: u32, outputs: u32) -> u32 {
    return (entry >> 1u) + (entry & 1u) * outputs + 1u;
}

fn list(i: u32) {
    let sizes = parameters[0];
    let row = i % sizes.z;
    var n = parameters[1].x - 1u;
    while parameters[2u + n].w > row { n -= 1u; }
    let here = parameters[2u + n];
    let lists = i / sizes.z * sizes.w + here.w + n + 2u * here.z;
    let entries = lists + here.x + 1u;
    let start = consumers[lists + row - here.w];
    let count = consumers[lists + row - here.w + 1u] - start;
    let small = here.y < 0x4000u;
    var words = array<u32, 4>(0u, 0u, 0u, 0u);
    for (var k = 0u; k < min(count, 4u); k++) { words[k] = place(consumers[entries + start + k], here.y); }
    var row_words = vec2<u32>(words[0] | words[1] << 16u, words[2] | words[3] << 16u);
    if count > 4u || !small {
        // Words beyond the rows lie as the consumers do.
        let tail = 2u * sizes.y + entries + start;
        let inside = select(0u, 2u, small);
        row_words.x = select(0u, row_words.x, small);
        row_words.y = select(0u, 0x80000000u | (tail + inside), count > inside);
        for (var k = inside; k < count; k++) {
            let last = select(0u, 0x80000000u, k + 1u == count);
            readers[tail + k] = place(consumers[entries + start + k], here.y) | last;
        }
    }
    readers[2u * i] = row_words.x;
    readers[2u * i + 1u] = row_words.y;
}

@compute @workgroup_size(256)
fn begin(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (id.x + id.y * count.x) * 256u + lane;
    if i < parameters[0].x { gradients[i] = upstream[i]; }
    if i < parameters[0].y { list(i); }
}
