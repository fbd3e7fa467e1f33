// Tiles of one array become tiles of another: a matrix multiplies them from the left and, transposed, from the
// right. A thread has a tile. Sums are written out, because the compilers of large GPUs keep arrays in registers
// only then.
//
// Eight indices say which tile it is: four outer ones, the number of the tile, and three inner ones, which follow
// from the number. Words: threads, tiles, and the sizes of the outer axes but the first and of the inner ones.
// Then for each array: strides of the indices; and for rows and for columns, which position of the array the
// tile's first is (coefficients of the indices and an offset), how far the next one is, how many there are, and
// the stride between them. Positions outside of the array read as zero and are not written.

const THREADS = 64u;
// The tile that is read, and the one that is written.
const IN = 6u;
const OUT = 4u;
// IN · OUT
const BOTH = 24u;
// Whether tiles beyond the last are written, as zeros.
const FILLS = false;

//{ matrix
const MATRIX = array<f32, 24>(
    1f, 1f, 1f, 1f, 1f, 0f, 0f, 1f, -1f, 2f, -2f, 0f, 0f, 1f, 1f, 4f, 4f, 0f, 0f, 1f, -1f, 8f, -8f, 1f,
);
//}

//{ arrays
@group(0) @binding(1) var<storage, read> source: array<f32>;
@group(0) @binding(2) var<storage, read_write> result: array<f32>;
//}

@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 18>;

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
    let number = thread % words[0].y;
    let others = thread / words[0].y;
    let second = others / words[1].x;
    let first = second / words[0].w;
    let outer = vec4<i32>(
        i32(first / words[0].z),
        i32(first % words[0].z),
        i32(second % words[0].w),
        i32(others % words[1].x),
    );
    let line = number / words[1].w;
    let inner = vec4<i32>(
        i32(number),
        i32(line / words[1].z),
        i32(line % words[1].z),
        i32(number % words[1].w),
    );
    let alive = u32(inner.y) < words[1].y;

    var half: array<f32, BOTH>;
    let base = sum(2u, outer, inner);
    let rows = walk(4u, outer, inner);
    let columns = walk(7u, outer, inner);
    for (var a = 0u; a < IN; a++) { // unroll
        let row = rows.x + rows.y * i32(a);
        let start = base + rows.w * row;
        let here = alive && u32(row) < u32(rows.z);
        var x: array<f32, IN>;
        //{ read
        for (var b = 0u; b < IN; b++) { // unroll
            let column = columns.x + columns.y * i32(b);
            let ok = here && u32(column) < u32(columns.z);
            x[b] = select(0f, source[select(0, start + columns.w * column, ok)], ok);
        }
        //}
        for (var i = 0u; i < OUT; i++) { // unroll
            for (var b = 0u; b < IN; b++) { // unroll
                half[i * IN + b] = fma(MATRIX[i * IN + a], x[b], half[i * IN + b]);
            }
        }
    }

    let to = sum(10u, outer, inner);
    let lines = walk(12u, outer, inner);
    let places = walk(15u, outer, inner);
    for (var i = 0u; i < OUT; i++) { // unroll
        let row = lines.x + lines.y * i32(i);
        let start = to + lines.w * row;
        let here = (alive || FILLS) && u32(row) < u32(lines.z);
        var y: array<f32, OUT>;
        for (var j = 0u; j < OUT; j++) { // unroll
            for (var b = 0u; b < IN; b++) { // unroll
                y[j] = fma(MATRIX[j * IN + b], half[i * IN + b], y[j]);
            }
        }
        //{ write
        for (var j = 0u; j < OUT; j++) { // unroll
            let place = places.x + places.y * i32(j);
            if here && u32(place) < u32(places.z) {
                result[start + places.w * place] = y[j];
            }
        }
        //}
    }
}
