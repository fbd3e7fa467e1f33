// Attention, gradients at the queries: a workgroup has OWN queries of a head and walks over the keys, STREAM at
// once. Probabilities are computed again from the logarithms of their sums. Who has what is as in
// forward.wgsl.

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
@group(0) @binding(7) var<storage, read_write> result: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read> mask: array<u32>;

var<workgroup> own_q: array<vec4<f32>, OWN * STRIDE>;
var<workgroup> own_g: array<vec4<f32>, OWN * STRIDE>;
var<workgroup> stream_k: array<vec4<f32>, STREAM * STRIDE>;
var<workgroup> stream_v: array<vec4<f32>, STREAM * STRIDE>;
var<workgroup> slopes: array<vec4<f32>, OWN * SCORES>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let queries = parameters[0].y;
    let keys = parameters[0].z;
    let head = group.x + group.z * groups.x;
    if head >= parameters[0].x {
        return;
    }
    let factor = bitcast<f32>(parameters[1].y);
    let scale = bitcast<f32>(parameters[1].z);
    let key_head = head / parameters[0].w;
    // The last queries see most: they start first.
    let first = (groups.y - 1u - group.y) * OWN;
    let lane = local % LANES;
    let team = local / LANES;
    var query_rows: array<vec4<f32>, OWN_LOADS>;
    var upstream: array<vec4<f32>, OWN_LOADS>;
    for (var i = 0u; i < OWN_LOADS; i++) { // unroll
        let row = first + (local + THREADS * i) / PADDED;
        let column = (local + THREADS * i) % PADDED;
        let at = (head * queries + min(row, queries - 1u)) * WIDTH + min(column, WIDTH - 1u);
        let there = row < queries && column < WIDTH;
        query_rows[i] = select(vec4<f32>(), q[at], there);
        upstream[i] = select(vec4<f32>(), g[at], there);
    }
    for (var i = 0u; i < OWN_LOADS; i++) { // unroll
        let e = local + THREADS * i;
        if e < OWN * PADDED {
            own_q[e / PADDED * STRIDE + e % PADDED] = query_rows[i];
            own_g[e / PADDED * STRIDE + e % PADDED] = upstream[i];
        }
    }
    var total: array<vec4<f32>, ROWS * COLUMNS>;
    var sum: array<f32, ROWS>;
    var share: array<f32, ROWS>;
    var sees: array<u32, ROWS>;
    for (var r = 0u; r < ROWS; r++) { // unroll
        let query = first + team + TEAMS * r;
        let at = head * queries + min(query, queries - 1u);
        sum[r] = sums[at] * LOG2_E;
        share[r] = shares[at];
        sees[r] = select(0u, limit(query), query < queries);
    }
    let end = limit(min(first + OWN, queries) - 1u);
    for (var start = 0u; start < end; start += STREAM) {
        var key_rows: array<vec4<f32>, STREAM_LOADS>;
        var value_rows: array<vec4<f32>, STREAM_LOADS>;
        for (var i = 0u; i < STREAM_LOADS; i++) { // unroll
            let row = start + (local + THREADS * i) / PADDED;
            let column = (local + THREADS * i) % PADDED;
            let at = (key_head * keys + min(row, keys - 1u)) * WIDTH + min(column, WIDTH - 1u);
            let there = row < keys && column < WIDTH;
            key_rows[i] = select(vec4<f32>(), k[at], there);
            value_rows[i] = select(vec4<f32>(), v[at], there);
        }
        workgroupBarrier();
        for (var i = 0u; i < STREAM_LOADS; i++) { // unroll
            let e = local + THREADS * i;
            if e < STREAM * PADDED {
                stream_k[e / PADDED * STRIDE + e % PADDED] = key_rows[i];
                stream_v[e / PADDED * STRIDE + e % PADDED] = value_rows[i];
            }
        }
        workgroupBarrier();
        var score: array<f32, ROWS * KEYS>;
        for (var base = 0u; base < PADDED; base += STEPS) {
            for (var u = 0u; u < STEPS; u++) { // unroll
                let column = base + u;
                var a: array<vec4<f32>, ROWS>;
                for (var r = 0u; r < ROWS; r++) { // unroll
                    a[r] = own_q[(team + TEAMS * r) * STRIDE + column];
                }
                for (var j = 0u; j < KEYS; j++) { // unroll
                    let b = stream_k[(lane + LANES * j) * STRIDE + column];
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
                    a[r] = own_g[(team + TEAMS * r) * STRIDE + column];
                }
                for (var j = 0u; j < KEYS; j++) { // unroll
                    let b = stream_v[(lane + LANES * j) * STRIDE + column];
                    for (var r = 0u; r < ROWS; r++) { // unroll
                        slope[r * KEYS + j] = fma(a[r].x, b.x, fma(a[r].y, b.y,
                            fma(a[r].z, b.z, fma(a[r].w, b.w, slope[r * KEYS + j]))));
                    }
                }
            }
        }
        for (var j = 0u; j < KEYS; j++) { // unroll
            let place = lane + LANES * j;
            let key = start + place;
            for (var r = 0u; r < ROWS; r++) { // unroll
                let size = score[r * KEYS + j] * factor - sum[r];
                let power = exp2(select(size, min(size, 1.0), is_number(size)));
                let change = power * (slope[r * KEYS + j] - share[r]) * scale;
                let there = key < sees[r] && seen(head, key);
                slopes[(team + TEAMS * r) * SCORES + place / 4u][place % 4u] = select(0.0, change, there);
            }
        }
        workgroupBarrier();
        for (var base = 0u; base < QUARTERS; base += PARTS) {
            for (var u = 0u; u < PARTS; u++) { // unroll
                let n = base + u;
                var a: array<vec4<f32>, ROWS>;
                for (var r = 0u; r < ROWS; r++) { // unroll
                    a[r] = slopes[(team + TEAMS * r) * SCORES + n];
                }
                for (var j = 0u; j < 4u; j++) { // unroll
                    for (var c = 0u; c < COLUMNS; c++) { // unroll
                        let b = stream_k[(4u * n + j) * STRIDE + lane + LANES * c];
                        for (var r = 0u; r < ROWS; r++) { // unroll
                            total[r * COLUMNS + c] = fma(vec4<f32>(a[r][j]), b, total[r * COLUMNS + c]);
                        }
                    }
                }
            }
        }
    }
    for (var r = 0u; r < ROWS; r++) { // unroll
        let row = team + TEAMS * r;
        for (var c = 0u; c < COLUMNS; c++) { // unroll
            let column = lane + LANES * c;
            if first + row < queries && column < WIDTH {
                result[(head * queries + first + row) * WIDTH + column] = total[r * COLUMNS + c];
            }
        }
    }
}
