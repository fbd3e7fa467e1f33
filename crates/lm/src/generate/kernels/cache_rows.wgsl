// New keys or values of every text into the cache, at the places from the text's length on.
// parameters: heads, rows per text, places, columns; texts.

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read> rows: array<f32>;
// First places, then how many rows count.
@group(0) @binding(2) var<storage, read> spans: array<i32>;
@group(0) @binding(3) var<storage, read_write> cache: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let heads = parameters[0].x;
    let count = parameters[0].y;
    let places = parameters[0].z;
    let columns = parameters[0].w;
    let texts = parameters[1].x;
    let at = id.y * groups.x * 256u + id.x;
    let column = at % columns;
    let row = at / columns % count;
    let head = at / (columns * count) % heads;
    let text = at / (columns * count * heads);
    if text >= texts {
        return;
    }
    let place = u32(max(spans[text], 0)) + row;
    if i32(row) < spans[texts + text] && place < places {
        cache[((text * heads + head) * places + place) * columns + column] = rows[at];
    }
}
