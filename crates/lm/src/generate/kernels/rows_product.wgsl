// A few rows times a large matrix of weights, which is read once: an invocation has some columns (a lane) and
// every so many terms (a slice). What the slices have is added in workgroup memory, in an order that depends on the sizes alone.
// parameters: rows.

// Rows that pass together.
const ROWS = 2u;
// Terms of a sum, and columns of a part of the result.
const TERMS = 64u;
const COLUMNS = 64u;
// 2 if gates and values lie side by side, else 1.
const PARTS = 1u;
// vec4s of columns of an invocation.
const QUARTERS = 2u;
const LANES = 4u;
const SLICES = 16u;
// Whether neighboring invocations have neighboring terms, instead of neighboring columns.
const BY_TERMS = false;
// Sums of an invocation, how many are added up at once, and in how many turns.
const SUMS = 4u;
const BATCH = 4u;
const TURNS = 1u;
// Slices that one invocation adds at first.
const SHARE = 8u;
const THREADS = LANES * SLICES;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
//{ operands
@group(0) @binding(3) var<storage, read> weight: array<vec4<u32>>;
//}

var<workgroup> sums: array<vec4<f32>, BATCH * THREADS>;

//{ eight
// Eight neighboring weights from the eighth `at` on.
fn eight(at: u32) -> array<vec4<f32>, 2> {
    let w = weight[at];
    let a = vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y));
    return array<vec4<f32>, 2>(a, vec4<f32>(unpack2x16float(w.z), unpack2x16float(w.w)));
}
//}

//{ finish
// What becomes of a sum in a column.
fn finish(value: f32, gate: f32, column: u32, at: u32) -> f32 {
    return value;
}
//}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let rows = parameters[0].x;
    let first = group.z * ROWS;
    let tile = group.y * groups.x + group.x;
    let lane = select(thread % LANES, thread / SLICES, BY_TERMS);
    let slice = select(thread / LANES, thread % SLICES, BY_TERMS);
    let quarter = (tile * LANES + lane) * QUARTERS;
    var sum: array<vec4<f32>, SUMS>;
    for (var s = 0u; s < SUMS; s++) { // unroll
        sum[s] = vec4<f32>(0.0);
    }
    // A tile beyond the last column reads the last columns and writes nothing.
    let own = min(quarter, (COLUMNS + 3u) / 4u - QUARTERS);
    //{ terms
    for (var block = slice; block < TERMS / 4u; block += SLICES) {
        for (var r = 0u; r < ROWS; r++) { // unroll
            let x_r = x[min(first + r, rows - 1u) * (TERMS / 4u) + block];
            for (var j = 0u; j < 4u; j++) { // unroll
                for (var p = 0u; p < PARTS; p++) { // unroll
                    let w = eight(((block * 4u + j) * (PARTS * COLUMNS) + p * COLUMNS + own * 4u) / 8u);
                    sum[(r * 2u + 0u) * PARTS + p] += x_r[j] * w[0];
                    sum[(r * 2u + 1u) * PARTS + p] += x_r[j] * w[1];
                }
            }
        }
    }
    //}
    let place = slice * LANES + lane;
    for (var turn = 0u; turn < TURNS; turn++) { // unroll
        for (var b = 0u; b < BATCH; b++) { // unroll
            sums[b * THREADS + place] = sum[turn * BATCH + b];
        }
        workgroupBarrier();
        if thread < BATCH * THREADS / SHARE {
            let b = thread / (THREADS / SHARE);
            let rest = thread % (THREADS / SHARE);
            let start_at = b * THREADS + rest / LANES * (SHARE * LANES) + rest % LANES;
            var total = sums[start_at];
            for (var i = 1u; i < SHARE; i++) {
                total += sums[start_at + i * LANES];
            }
            sums[start_at] = total;
        }
        workgroupBarrier();
        if thread < BATCH / PARTS * LANES {
            let b = thread / LANES * PARTS;
            var totals: array<vec4<f32>, PARTS>;
            for (var p = 0u; p < PARTS; p++) { // unroll
                totals[p] = vec4<f32>(0.0);
                for (var i = 0u; i < SLICES; i += SHARE) {
                    totals[p] += sums[(b + p) * THREADS + i * LANES + thread % LANES];
                }
            }
            let number = (turn * BATCH + b) / PARTS;
            let row = first + number / QUARTERS;
            let start = ((tile * LANES + thread % LANES) * QUARTERS + number % QUARTERS) * 4u;
            for (var c = 0u; c < 4u; c++) { // unroll
                if row < rows && start + c < COLUMNS {
                    let at = row * COLUMNS + start + c;
                    y[at] = finish(totals[PARTS - 1u][c], totals[0u][c], start + c, at);
                }
            }
        }
        workgroupBarrier();
    }
}
