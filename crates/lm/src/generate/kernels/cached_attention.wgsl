// Attention of one new token of every text to those before it, whose keys and values are kept. A workgroup has one head
// of one text, and a span of its places; the span with the new token also writes that token's key and value.
// parameters: heads, heads that share a head of keys, places, places that a token sees; spans, scale as f32.

// Columns of a head, and vec4s of them.
const WIDTH = 8u;
const QUARTERS = 2u;
// Places of a span.
const SPAN = 1024u;
const THREADS = 256u;
// Places whose values are added side by side.
const SLICES = THREADS / QUARTERS;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read> projected: array<f32>;
@group(0) @binding(2) var<storage, read> lengths: array<i32>;
@group(0) @binding(3) var<storage, read_write> keys: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> values: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;
@group(0) @binding(6) var<storage, read_write> parts: array<f32>;
//{ angles
@group(0) @binding(7) var<storage, read> angles: array<f32>;

// A column of a query or key, turned by its place.
fn turned(start_at: u32, column: u32, place: u32) -> f32 {
    let half = WIDTH / 2u;
    let pair = column % half;
    let cosine = angles[place * WIDTH + pair];
    let sine = angles[place * WIDTH + half + pair];
    let a = projected[start_at + pair];
    let b = projected[start_at + half + pair];
    return select(b * cosine + a * sine, a * cosine - b * sine, column < half);
}
//}

var<workgroup> query: array<vec4<f32>, QUARTERS>;
var<workgroup> fresh_key: array<vec4<f32>, QUARTERS>;
var<workgroup> scores: array<f32, SPAN>;
var<workgroup> row: array<f32, THREADS>;
var<workgroup> sums: array<vec4<f32>, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let heads = parameters[0].x;
    let sharing = parameters[0].y;
    let places = parameters[0].z;
    let spans = parameters[1].x;
    let scale = bitcast<f32>(parameters[1].y);
    let head = group.x;
    let text = group.y;
    let key_heads = heads / sharing;
    let key_head = head / sharing;
    let place = min(u32(max(lengths[text], 0)), places - 1u);
    let first = group.z * SPAN;
    let start = max(first, place + 1u - min(place + 1u, parameters[0].w));
    let end = min(first + SPAN, place + 1u);
    // A text whose length is below zero keeps its cache.
    let last = first <= place && place < first + SPAN && lengths[text] >= 0;
    let projection = text * (heads + 2u * key_heads) * WIDTH;
    let keys_from = projection + (heads + key_head) * WIDTH;
    let values_from = keys_from + key_heads * WIDTH;
    let cache = (text * key_heads + key_head) * places * QUARTERS;

    if thread < QUARTERS {
        let c = thread * 4u;
        let start_at = projection + head * WIDTH;
        query[thread] = scale * vec4<f32>(turned(start_at, c, place), turned(start_at, c + 1u, place), turned(start_at, c + 2u, place), turned(start_at, c + 3u, place));
        let key = vec4<f32>(turned(keys_from, c, place), turned(keys_from, c + 1u, place), turned(keys_from, c + 2u, place), turned(keys_from, c + 3u, place));
        fresh_key[thread] = key;
        if last && head % sharing == 0u {
            keys[cache + place * QUARTERS + thread] = key;
            let v = values_from + c;
            values[cache + place * QUARTERS + thread] = vec4<f32>(projected[v], projected[v + 1u], projected[v + 2u], projected[v + 3u]);
        }
    }
    workgroupBarrier();

    var most = -1e30;
    for (var p = start + thread; p < end; p += THREADS) {
        var score = 0.0;
        if p == place {
            for (var q = 0u; q < QUARTERS; q++) {
                score += dot(query[q], fresh_key[q]);
            }
        } else {
            for (var q = 0u; q < QUARTERS; q++) {
                score += dot(query[q], keys[cache + p * QUARTERS + q]);
            }
        }
        scores[p - first] = score;
        most = max(most, score);
    }
    row[thread] = most;
    workgroupBarrier();
    for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
        if thread < stride {
            row[thread] = max(row[thread], row[thread + stride]);
        }
        workgroupBarrier();
    }
    let top = row[0];
    workgroupBarrier();
    var total = 0.0;
    for (var p = start + thread; p < end; p += THREADS) {
        let power = exp(scores[p - first] - top);
        scores[p - first] = power;
        total += power;
    }
    row[thread] = total;
    workgroupBarrier();
    for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
        if thread < stride {
            row[thread] += row[thread + stride];
        }
        workgroupBarrier();
    }

    let quarter = thread % QUARTERS;
    let slice = thread / QUARTERS;
    var sum = vec4<f32>(0.0);
    if slice < SLICES {
        for (var p = start + slice; p < end; p += SLICES) {
            if p == place {
                let v = values_from + quarter * 4u;
                sum += scores[p - first] * vec4<f32>(projected[v], projected[v + 1u], projected[v + 2u], projected[v + 3u]);
            } else {
                sum += scores[p - first] * values[cache + p * QUARTERS + quarter];
            }
        }
    }
    sums[thread] = sum;
    workgroupBarrier();
    if thread < QUARTERS {
        var all = vec4<f32>(0.0);
        for (var s = 0u; s < SLICES; s++) {
            all += sums[s * QUARTERS + thread];
        }
        if spans == 1u {
            let at = (text * heads + head) * WIDTH + thread * 4u;
            let result = all / row[0];
            for (var c = 0u; c < 4u; c++) {
                y[at + c] = result[c];
            }
        } else {
            let at = ((text * heads + head) * spans + group.z) * (WIDTH + 2u);
            for (var c = 0u; c < 4u; c++) {
                parts[at + thread * 4u + c] = all[c];
            }
            if thread == 0u {
                parts[at + WIDTH] = top;
                parts[at + WIDTH + 1u] = row[0];
            }
        }
    }
}

// Several spans of a head together: a workgroup has one head of one text.
@compute @workgroup_size(THREADS)
fn join(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let spans = parameters[1].x;
    let head = group.y * parameters[0].x + group.x;
    let start_at = head * spans * (WIDTH + 2u);
    if thread >= WIDTH {
        return;
    }
    var top = -1e30;
    for (var s = 0u; s < spans; s++) {
        top = max(top, parts[start_at + s * (WIDTH + 2u) + WIDTH]);
    }
    var total = 0.0;
    var sum = 0.0;
    for (var s = 0u; s < spans; s++) {
        let at = start_at + s * (WIDTH + 2u);
        let share = exp(parts[at + WIDTH] - top);
        total += share * parts[at + WIDTH + 1u];
        sum += share * parts[at + thread];
    }
    y[head * WIDTH + thread] = sum / total;
}
