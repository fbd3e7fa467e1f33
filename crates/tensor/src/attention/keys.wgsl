// Attention, gradients at keys and values: a workgroup has OWN keys of a key head and walks over the queries of
// the heads that share it, STREAM at once. Probabilities are computed again from the logarithms of
// their sums. An invocation has ROWS keys.

//{ shared
const OWN = 32u;
const STREAM = 16u;
const ROWS = 4u;
const LANES = 4u;
const WIDTH = 4u;
const COLUMNS = 1u;
const KEYS = 4u;
const QUARTERS = 4u;
const OWN_LOADS = 4u;
const STREAM_LOADS = 2u;
const STEPS = 1u;
const PARTS = 1u;
const TEAMS = 8u;
const THREADS = 32u;
const PADDED = 4u;
const STRIDE = 5u;
const SCORES = 5u;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;

fn is_number(x: f32) -> bool { return true; }
fn limit(query: u32) -> u32 { return query + 1u; }
fn seen(head: u32, key: u32) -> bool { return mask[key] != 0u; }
//}


const LOG2_E = 1.4426950408889634;

@group(0) @binding(4) var<storage, read> g: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> sums: array<f32>;
// Of every query, the sum of its result times the gradient there.
@group(0) @binding(6) var<storage, read> shares: array<f32>;
// At the keys, then at the values.
@group(0) @binding(7) var<storage, read_write> result: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read> mask: array<u32>;

var<workgroup> own_k: array<vec4<f32>, OWN * STRIDE>;
var<workgroup> own_v: array<vec4<f32>, OWN * STRIDE>;
var<workgroup> stream_q: array<vec4<f32>, STREAM * STRIDE>;
var<workgroup> stream_g: array<vec4<f32>, STREAM * STRIDE>;
var<workgroup> powers: array<vec4<f32>, OWN * SCORES>;
var<workgroup> slopes: array<vec4<f32>, OWN * SCORES>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let queries = parameters[0].y;
    let keys = parameters[0].z;
    let sharing = parameters[0].w;
    let key_head = group.x + group.z * groups.x;
    if key_head * sharing >= parameters[0].x {
        return;
    }
    let factor = bitcast<f32>(parameters[1].y);
    let scale = bitcast<f32>(parameters[1].z);
    // The first keys are seen most: they start first.
    let first = group.y * OWN;
    let lane = local % LANES;
    let team = local / LANES;
    var key_rows: array<vec4<f32>, OWN_LOADS>;
    var value_rows: array<vec4<f32>, OWN_LOADS>;
    for (var i = 0u; i < OWN_LOADS; i++) { // unroll
        let row = first + (local + THREADS * i) / PADDED;
        let column = (local + THREADS * i) % PADDED;
        let at = (key_head * keys + min(row, keys - 1u)) * WIDTH + min(column, WIDTH - 1u);
        let there = row < keys && column < WIDTH;
        key_rows[i] = select(vec4<f32>(), k[at], there);
        value_rows[i] = select(vec4<f32>(), v[at], there);
    }
    for (var i = 0u; i < OWN_LOADS; i++) { // unroll
        let e = local + THREADS * i;
        if e < OWN * PADDED {
            own_k[e / PADDED * STRIDE + e % PADDED] = key_rows[i];
            own_v[e / PADDED * STRIDE + e % PADDED] = value_rows[i];
        }
    }
    var total_k: array<vec4<f32>, ROWS * COLUMNS>;
    var total_v: array<vec4<f32>, ROWS * COLUMNS>;
    var there: array<bool, ROWS>;
    for (var r = 0u; r < ROWS; r++) { // unroll
        let key = first + team + TEAMS * r;
        there[r] = key < keys && seen(key_head * sharing, key);
    }
    // The first query that sees any of these keys, and so all after it.
    let before = u32(max(i32(first) - bitcast<i32>(parameters[1].x), 0)) / STREAM * STREAM;
    for (var head = key_head * sharing; head < (key_head + 1u) * sharing; head++) {
        for (var start = before; start < queries; start += STREAM) {
            var query_rows: array<vec4<f32>, STREAM_LOADS>;
            var upstream: array<vec4<f32>, STREAM_LOADS>;
            for (var i = 0u; i < STREAM_LOADS; i++) { // unroll
                let row = start + (local + THREADS * i) / PADDED;
                let column = (local + THREADS * i) % PADDED;
                let at = (head * queries + min(row, queries - 1u)) * WIDTH + min(column, WIDTH - 1u);
                let there = row < queries && column < WIDTH;
                query_rows[i] = select(vec4<f32>(), q[at], there);
                upstream[i] = select(vec4<f32>(), g[at], there);
            }
            var sum: array<f32, KEYS>;
            var share: array<f32, KEYS>;
            for (var j = 0u; j < KEYS; j++) { // unroll
                let at = head * queries + min(start + lane + LANES * j, queries - 1u);
                sum[j] = sums[at] * LOG2_E;
                share[j] = shares[at];
            }
            workgroupBarrier();
            for (var i = 0u; i < STREAM_LOADS; i++) { // unroll
                let e = local + THREADS * i;
                if e < STREAM * PADDED {
                    stream_q[e / PADDED * STRIDE + e % PADDED] = query_rows[i];
                    stream_g[e / PADDED * STRIDE + e % PADDED] = upstream[i];
                }
            }
            workgroupBarrier();
            var score: array<f32, ROWS * KEYS>;
            for (var base = 0u; base < PADDED; base += STEPS) {
                for (var u = 0u; u < STEPS; u++) { // unroll
                    let column = base + u;
                    var a: array<vec4<f32>, ROWS>;
                    for (var r = 0u; r < ROWS; r++) { // unroll
                        a[r] = own_k[(team + TEAMS * r) * STRIDE + column];
                    }
                    for (var j = 0u; j < KEYS; j++) { // unroll
                        let b = stream_q[(lane + LANES * j) * STRIDE + column];
                        for (var r = 0u; r < ROWS; r++) { // unroll
                            score[r * KEYS + j] = fma(a[r].x, b.x, fma(a[r].y, b.y,
                                fma(a[r].z, b.z, fma(a[r].w, b.w, score[r * KEYS + j]))));
                        }
                    }
                }
            }
            var slope: array<f32, ROWS * KEYS>;
            for (var base = 0u; base < PADDED; base += STEPS) {
                for (var u = 0u; u < STEPS; u++) { // unroll
                    let column = base + u;
                    var a: array<vec4<f32>, ROWS>;
                    for (var r = 0u; r < ROWS; r++) { // unroll
                        a[r] = own_v[(team + TEAMS * r) * STRIDE + column];
                    }
                    for (var j = 0u; j < KEYS; j++) { // unroll
                        let b = stream_g[(lane + LANES * j) * STRIDE + column];
                        for (var r = 0u; r < ROWS; r++) { // unroll
                            slope[r * KEYS + j] = fma(a[r].x, b.x, fma(a[r].y, b.y,
                                fma(a[r].z, b.z, fma(a[r].w, b.w, slope[r * KEYS + j]))));
                        }
                    }
                }
            }
            for (var j = 0u; j < KEYS; j++) { // unroll
                let place = lane + LANES * j;
                let query = start + place;
                let sees = select(0u, limit(query), query < queries);
                for (var r = 0u; r < ROWS; r++) { // unroll
                    let row = team + TEAMS * r;
                    let size = score[r * KEYS + j] * factor - sum[j];
                    let power = exp2(select(size, min(size, 1.0), is_number(size)));
                    let change = power * (slope[r * KEYS + j] - share[j]) * scale;
                    let sight = there[r] && first + row < sees;
                    powers[row * SCORES + place / 4u][place % 4u] = select(0.0, power, sight);
                    slopes[row * SCORES + place / 4u][place % 4u] = select(0.0, change, sight);
                }
            }
            workgroupBarrier();
            for (var base = 0u; base < QUARTERS; base += PARTS) {
                for (var u = 0u; u < PARTS; u++) { // unroll
                    let n = base + u;
                    var a: array<vec4<f32>, ROWS>;
                    for (var r = 0u; r < ROWS; r++) { // unroll
                        a[r] = powers[(team + TEAMS * r) * SCORES + n];
                    }
                    for (var j = 0u; j < 4u; j++) { // unroll
                        for (var c = 0u; c < COLUMNS; c++) { // unroll
                            let b = stream_g[(4u * n + j) * STRIDE + lane + LANES * c];
                            for (var r = 0u; r < ROWS; r++) { // unroll
                                total_v[r * COLUMNS + c] = fma(vec4<f32>(a[r][j]), b, total_v[r * COLUMNS + c]);
                            }
                        }
                    }
                }
            }
            for (var base = 0u; base < QUARTERS; base += PARTS) {
                for (var u = 0u; u < PARTS; u++) { // unroll
                    let n = base + u;
                    var a: array<vec4<f32>, ROWS>;
                    for (var r = 0u; r < ROWS; r++) { // unroll
                        a[r] = slopes[(team + TEAMS * r) * SCORES + n];
                    }
                    for (var j = 0u; j < 4u; j++) { // unroll
                        for (var c = 0u; c < COLUMNS; c++) { // unroll
                            let b = stream_q[(4u * n + j) * STRIDE + lane + LANES * c];
                            for (var r = 0u; r < ROWS; r++) { // unroll
                                total_k[r * COLUMNS + c] = fma(vec4<f32>(a[r][j]), b, total_k[r * COLUMNS + c]);
                            }
                        }
                    }
                }
            }
        }
    }
    let values = parameters[0].x / sharing * keys;
    for (var r = 0u; r < ROWS; r++) { // unroll
        let row = team + TEAMS * r;
        for (var c = 0u; c < COLUMNS; c++) { // unroll
            let column = lane + LANES * c;
            if first + row < keys && column < WIDTH {
                let at = key_head * keys + first + row;
                result[at * WIDTH + column] = total_k[r * COLUMNS + c];
                result[(values + at) * WIDTH + column] = total_v[r * COLUMNS + c];
            }
        }
    }
}
