// A convolution with few channels: each thread computes a tile of results from its window and its part of the image,
// both in registers. Sums are written out, because the compilers of large GPUs keep arrays in registers only then.
//
// Eight indices say what is read: group, output, two phases, input, image, and the tile's place there. Words: threads,
// outputs, phases of the results, images; inputs, phases of the image, tiles down and across. Then for image, windows
// and results: strides of the indices; and for rows and for columns, which position of the array the first is
// (coefficients of the indices and an offset), how far the next one is, how many there are, and the stride between
// them. Positions outside of an array read as zero and are not written.

const THREADS = 64u;
// Results of a tile, elements of a window and of the part of the image, along an axis.
const OUT = 4u;
const TAPS = 3u;
const IN = 6u;
// OUT · OUT, TAPS · TAPS and IN · IN
const RESULTS = 16u;
const WINDOW = 9u;
const PART = 36u;

@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 26>;
@group(0) @binding(1) var<storage, read> image: array<f32>;
@group(0) @binding(2) var<storage, read> windows: array<f32>;
//{ result
@group(0) @binding(3) var<storage, read_write> result: array<f32>;
//}

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
    let thread = (group.x + group.y * groups.x) * THREADS + local;
    if thread >= words[0].x {
        return;
    }
    let line = thread / words[1].w;
    let number = line / words[1].z;
    let second = number / words[0].w;
    let first = second / words[0].z;
    let channel = first / words[0].z;
    var outer = vec4<i32>(
        i32(channel / words[0].y),
        i32(channel % words[0].y),
        i32(first % words[0].z),
        i32(second % words[0].z),
    );
    var inner = vec4<i32>(0, i32(number % words[0].w), i32(line % words[1].z), i32(thread % words[1].w));
    var y: array<f32, RESULTS>;
    for (var step = 0u; step < words[1].x * words[1].y * words[1].y; step++) {
        inner.x = i32(step / (words[1].y * words[1].y));
        if words[1].y > 1u {
            outer.z = i32(step / words[1].y % words[1].y);
            outer.w = i32(step % words[1].y);
        }
        let at = sum(10u, outer, inner);
        let down = walk(12u, outer, inner);
        let right = walk(15u, outer, inner);
        var w: array<f32, WINDOW>;
        for (var k = 0u; k < TAPS; k++) { // unroll
            let row = down.x + down.y * i32(k);
            for (var l = 0u; l < TAPS; l++) { // unroll
                let column = right.x + right.y * i32(l);
                let ok = u32(row) < u32(down.z) && u32(column) < u32(right.z);
                w[k * TAPS + l] = select(0f, windows[select(0, at + down.w * row + right.w * column, ok)], ok);
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
        for (var i = 0u; i < OUT; i++) { // unroll
            for (var k = 0u; k < TAPS; k++) { // unroll
                for (var j = 0u; j < OUT; j++) { // unroll
                    for (var l = 0u; l < TAPS; l++) { // unroll
                        y[i * OUT + j] = fma(w[k * TAPS + l], x[(i + k) * IN + j + l], y[i * OUT + j]);
                    }
                }
            }
        }
    }
    if words[1].y > 1u {
        outer.z = 0;
        outer.w = 0;
    }
    inner.x = 0;
    let to = sum(18u, outer, inner);
    let lines = walk(20u, outer, inner);
    let places = walk(23u, outer, inner);
    for (var i = 0u; i < OUT; i++) { // unroll
        let row = lines.x + lines.y * i32(i);
        let start = to + lines.w * row;
        //{ write
        for (var j = 0u; j < OUT; j++) { // unroll
            let place = places.x + places.y * i32(j);
            if u32(row) < u32(lines.z) && u32(place) < u32(places.z) {
                result[start + places.w * place] = y[i * OUT + j];
            }
        }
        //}
    }
}
