// Attention, forward: a workgroup has OWN queries of a head and walks over the keys, STREAM at once. An
// invocation has ROWS queries, and of these KEYS scores and COLUMNS vectors of the result; LANES
// neighbors share the queries. In between, each of the first OWN invocations has one query's row of scores.

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

fn numbers(x: vec4<f32>) -> vec4<bool> { return vec4<bool>(true); }
fn is_number(x: f32) -> bool { return true; }
fn limit(query: u32) -> u32 { return query + 1u; }
fn seen(head: u32, key: u32) -> bool { return mask[key] != 0u; }
//}


// A score that is not there.
const HIDDEN = -1e30;

@group(0) @binding(4) var<storage, read_write> y: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> sums: array<f32>;
@group(0) @binding(6) var<storage, read> mask: array<u32>;

var<workgroup> own: array<vec4<f32>, OWN * STRIDE>;
var<workgroup> stream: array<vec4<f32>, STREAM * STRIDE>;
var<workgroup> scores: array<vec4<f32>, OWN * SCORES>;
var<workgroup> factors: array<f32, OWN>;

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
    let key_head = head / parameters[0].w;
    // The last queries see most: they start first.
    let first = (groups.y - 1u - group.y) * OWN;
    let lane = local % LANES;
    let team = local / LANES;
    var fetched: array<vec4<f32>, OWN_LOADS>;
    for (var i = 0u; i < OWN_LOADS; i++) { // unroll
        let row = first + (local + THREADS * i) / PADDED;
        let column = (local + THREADS * i) % PADDED;
        let at = (head * queries + min(row, queries - 1u)) * WIDTH + min(column, WIDTH - 1u);
        let there = row < queries && column < WIDTH;
        fetched[i] = select(vec4<f32>(), q[at], there);
    }
    for (var i = 0u; i < OWN_LOADS; i++) { // unroll
        let e = local + THREADS * i;
        if e < OWN * PADDED {
            own[e / PADDED * STRIDE + e % PADDED] = fetched[i];
        }
    }
    var total: array<vec4<f32>, ROWS * COLUMNS>;
    // Of the row that this invocation has in between.
    let query = first + local;
    let sees = select(0u, limit(query), local < OWN && query < queries);
    var top = HIDDEN;
    var sum = 0.0;
    let end = limit(min(first + OWN, queries) - 1u);
    for (var start = 0u; start < end; start += STREAM) {
        var arrived: array<vec4<f32>, STREAM_LOADS>;
        for (var i = 0u; i < STREAM_LOADS; i++) { // unroll
            let row = start + (local + THREADS * i) / PADDED;
            let column = (local + THREADS * i) % PADDED;
            let at = (key_head * keys + min(row, keys - 1u)) * WIDTH + min(column, WIDTH - 1u);
            let there = row < keys && column < WIDTH;
            arrived[i] = select(vec4<f32>(), k[at], there);
        }
        workgroupBarrier();
        for (var i = 0u; i < STREAM_LOADS; i++) { // unroll
            let e = local + THREADS * i;
            if e < STREAM * PADDED {
                stream[e / PADDED * STRIDE + e % PADDED] = arrived[i];
            }
        }
        workgroupBarrier();
        var score: array<f32, ROWS * KEYS>;
        for (var base = 0u; base < PADDED; base += STEPS) {
            for (var u = 0u; u < STEPS; u++) { // unroll
                let column = base + u;
                var a: array<vec4<f32>, ROWS>;
                for (var r = 0u; r < ROWS; r++) { // unroll
                    a[r] = own[(team + TEAMS * r) * STRIDE + column];
                }
                for (var j = 0u; j < KEYS; j++) { // unroll
                    let b = stream[(lane + LANES * j) * STRIDE + column];
                    for (var r = 0u; r < ROWS; r++) { // unroll
                        score[r * KEYS + j] = fma(a[r].x, b.x, fma(a[r].y, b.y,
                            fma(a[r].z, b.z, fma(a[r].w, b.w, score[r * KEYS + j]))));
                    }
                }
            }
        }
        for (var r = 0u; r < ROWS; r++) { // unroll
            for (var j = 0u; j < KEYS; j++) { // unroll
                let place = lane + LANES * j;
                scores[(team + TEAMS * r) * SCORES + place / 4u][place % 4u] = score[r * KEYS + j];
            }
        }
        workgroupBarrier();
        var value: array<vec4<f32>, STREAM_LOADS>;
        for (var i = 0u; i < STREAM_LOADS; i++) { // unroll
            let row = start + (local + THREADS * i) / PADDED;
            let column = (local + THREADS * i) % PADDED;
            let at = (key_head * keys + min(row, keys - 1u)) * WIDTH + min(column, WIDTH - 1u);
            let there = row < keys && column < WIDTH;
            value[i] = select(vec4<f32>(), v[at], there);
        }
        if local < OWN {
            var x: array<vec4<f32>, QUARTERS>;
            var best = vec4<f32>(top);
            for (var n = 0u; n < QUARTERS; n++) { // unroll
                let key = start + 4u * n;
                x[n] = scores[local * SCORES + n] * factor;
                x[n].x = select(HIDDEN, x[n].x, key < sees && seen(head, key));
                x[n].y = select(HIDDEN, x[n].y, key + 1u < sees && seen(head, key + 1u));
                x[n].z = select(HIDDEN, x[n].z, key + 2u < sees && seen(head, key + 2u));
                x[n].w = select(HIDDEN, x[n].w, key + 3u < sees && seen(head, key + 3u));
                best = max(best, x[n]);
            }
            let next = max(max(best.x, best.y), max(best.z, best.w));
            let keep = exp2(max(top - next, -200.0));
            var part = vec4<f32>();
            for (var n = 0u; n < QUARTERS; n++) { // unroll
                // What is no number comes through.
                let size = x[n] - next;
                let number = numbers(size);
                let hidden = (x[n] <= vec4<f32>(HIDDEN)) & number;
                let bounded = select(size, max(size, vec4<f32>(-200.0)), number);
                x[n] = select(exp2(bounded), vec4<f32>(), hidden);
                part += x[n];
                scores[local * SCORES + n] = x[n];
            }
            sum = sum * keep + ((part.x + part.y) + (part.z + part.w));
            top = next;
            factors[local] = keep;
        }
        for (var i = 0u; i < STREAM_LOADS; i++) { // unroll
            let e = local + THREADS * i;
            if e < STREAM * PADDED {
                stream[e / PADDED * STRIDE + e % PADDED] = value[i];
            }
        }
        workgroupBarrier();
        for (var r = 0u; r < ROWS; r++) { // unroll
            let keep = factors[team + TEAMS * r];
            for (var c = 0u; c < COLUMNS; c++) { // unroll
                total[r * COLUMNS + c] *= keep;
            }
        }
        for (var base = 0u; base < QUARTERS; base += PARTS) {
            for (var u = 0u; u < PARTS; u++) { // unroll
                let n = base + u;
                var a: array<vec4<f32>, ROWS>;
                for (var r = 0u; r < ROWS; r++) { // unroll
                    a[r] = scores[(team + TEAMS * r) * SCORES + n];
                }
                for (var j = 0u; j < 4u; j++) { // unroll
                    for (var c = 0u; c < COLUMNS; c++) { // unroll
                        let b = stream[(4u * n + j) * STRIDE + lane + LANES * c];
                        for (var r = 0u; r < ROWS; r++) { // unroll
                            total[r * COLUMNS + c] = fma(vec4<f32>(a[r][j]), b, total[r * COLUMNS + c]);
                        }
                    }
                }
            }
        }
    }
    workgroupBarrier();
    if local < OWN {
        // A query that sees nothing has zeros.
        let number = is_number(sum);
        factors[local] = select(sum, select(1.0 / max(sum, 0.5), 0.0, sum <= 0.0), number);
        if query < queries {
            let logarithm = (top + log2(max(sum, 0.5))) * 0.6931471805599453;
            sums[head * queries + query] = select(sum, select(logarithm, HIDDEN, sum <= 0.0), number);
        }
    }
    workgroupBarrier();
    for (var r = 0u; r < ROWS; r++) { // unroll
        let row = team + TEAMS * r;
        for (var c = 0u; c < COLUMNS; c++) { // unroll
            let column = lane + LANES * c;
            if first + row < queries && column < WIDTH {
                y[(head * queries + first + row) * WIDTH + column] = total[r * COLUMNS + c] * factors[row];
            }
        }
    }
}
