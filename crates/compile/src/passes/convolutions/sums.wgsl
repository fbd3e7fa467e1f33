// Gradients at the windows of a convolution with few channels: a workgroup sums over a part of the tiles, for one
// pair of channels. Each thread adds up some tiles in registers, then the threads' sums are added in order.
//
// Indices and words are those of direct.wgsl, but for the first words: tiles, outputs, phases of the windows, images;
// inputs, parts, tiles down and across. The result has the parts as its first axis.

const THREADS = 64u;
// Results of a tile, elements of a window and of the part of the image, along an axis.
const OUT = 4u;
const TAPS = 3u;
const IN = 6u;
// OUT · OUT, TAPS · TAPS, IN · IN and TAPS · TAPS · THREADS
const RESULTS = 16u;
const WINDOW = 9u;
const PART = 36u;
const SUMS = 576u;

@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 27>;
@group(0) @binding(1) var<storage, read> image: array<f32>;
@group(0) @binding(2) var<storage, read> upstream: array<f32>;
@group(0) @binding(3) var<storage, read_write> result: array<f32>;

var<workgroup> sums: array<f32, SUMS>;

// The sum of indices, each times a coefficient.
fn sum(number: u32, outer: vec4<i32>, inner: vec4<i32>) -> i32 {
    return dot(bitcast<vec4<i32>>(words[number]), outer) + dot(bitcast<vec4<i32>>(words[number + 1u]), inner);
}

// First position, step, size and stride.
fn walk(number: u32, outer: vec4<i32>, inner: vec4<i32>) -> vec4<i32> {
    let fixed = bitcast<vec4<i32>>(words[number + 2u]);
    return vec4<i32>(sum(number, outer, inner) + fixed.x, fixed.yzw);
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let item = group.x + group.y * groups.x;
    let part = item % words[1].y;
    let second = item / words[1].y;
    let first = second / words[0].z;
    let pair = first / words[0].z;
    let channel = pair / words[1].x;
    let outer = vec4<i32>(
        i32(channel / words[0].y),
        i32(channel % words[0].y),
        i32(first % words[0].z),
        i32(second % words[0].z),
    );
    var inner = vec4<i32>(i32(pair % words[1].x), 0, 0, 0);
    // The grid may be a little larger than the work.
    let alive = item < words[26].x;
    var w: array<f32, WINDOW>;
    for (var tile = part * THREADS + local; alive && tile < words[0].x; tile += words[1].y * THREADS) {
        let line = tile / words[1].w;
        inner.y = i32(line / words[1].z);
        inner.z = i32(line % words[1].z);
        inner.w = i32(tile % words[1].w);
        let at = sum(18u, outer, inner);
        let down = walk(20u, outer, inner);
        let right = walk(23u, outer, inner);
        var g: array<f32, RESULTS>;
        for (var i = 0u; i < OUT; i++) { // unroll
            let row = down.x + down.y * i32(i);
            for (var j = 0u; j < OUT; j++) { // unroll
                let column = right.x + right.y * i32(j);
                let ok = u32(row) < u32(down.z) && u32(column) < u32(right.z);
                g[i * OUT + j] = select(0f, upstream[select(0, at + down.w * row + right.w * column, ok)], ok);
            }
        }
        let base = sum(2u, outer, inner);
        let rows = walk(4u, outer, inner);
        let columns = walk(7u, outer, inner);
        var x: array<f32, PART>;
        for (var a = 0u; a < IN; a++) { // unroll
            let row = rows.x + rows.y * i32(a);
            let start = base + rows.w * row;
            let here = u32(row) < u32(rows.z);
            for (var b = 0u; b < IN; b++) { // unroll
                let column = columns.x + columns.y * i32(b);
                let ok = here && u32(column) < u32(columns.z);
                x[a * IN + b] = select(0f, image[select(0, start + columns.w * column, ok)], ok);
            }
        }
        for (var k = 0u; k < TAPS; k++) { // unroll
            for (var l = 0u; l < TAPS; l++) { // unroll
                for (var i = 0u; i < OUT; i++) { // unroll
                    for (var j = 0u; j < OUT; j++) { // unroll
                        w[k * TAPS + l] = fma(g[i * OUT + j], x[(i + k) * IN + j + l], w[k * TAPS + l]);
                    }
                }
            }
        }
    }
    for (var n = 0u; n < WINDOW; n++) { // unroll
        sums[n * THREADS + local] = w[n];
    }
    workgroupBarrier();
    if !alive {
        return;
    }
    inner = vec4<i32>(inner.x, 0, 0, 0);
    let to = sum(10u, outer, inner) + i32(part * words[26].y);
    let lines = walk(12u, outer, inner);
    let places = walk(15u, outer, inner);
    for (var n = local; n < WINDOW; n += THREADS) {
        var whole = 0f;
        for (var other = 0u; other < THREADS; other++) {
            whole += sums[n * THREADS + other];
        }
        let row = lines.x + lines.y * i32(n / TAPS);
        let place = places.x + places.y * i32(n % TAPS);
        if u32(row) < u32(lines.z) && u32(place) < u32(places.z) {
            result[to + lines.w * row + places.w * place] = whole;
        }
    }
}
