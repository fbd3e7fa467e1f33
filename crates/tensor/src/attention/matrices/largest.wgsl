// The largest size of queries, keys, values and gradients, as bits without a sign: infinity and NaN are above all numbers.
// `parts` gives PARTIAL numbers for each of them, `all` makes one of these, behind them.
// parameters: how many vec4s each has.

const PARTIAL = 256u;
const THREADS = 256u;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> q: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> v: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> g: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> largest: array<u32>;

var<workgroup> found: array<u32, THREADS>;

fn reduce(t: u32, own: vec4<u32>) -> u32 {
    found[t] = max(max(own.x, own.y), max(own.z, own.w));
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if t < half {
            found[t] = max(found[t], found[t + half]);
        }
    }
    workgroupBarrier();
    return found[0];
}

@compute @workgroup_size(THREADS)
fn parts(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let count = parameters[0][group.y];
    var own = vec4<u32>();
    for (var i = group.x * THREADS + t; i < count; i += PARTIAL * THREADS) {
        var bits: vec4<u32>;
        switch group.y {
            case 0u: { bits = q[i]; }
            case 1u: { bits = k[i]; }
            case 2u: { bits = v[i]; }
            default: { bits = g[i]; }
        }
        own = max(own, bits & vec4<u32>(0x7fffffffu));
    }
    let most = reduce(t, own);
    if t == 0u {
        largest[group.y * PARTIAL + group.x] = most;
    }
}

@compute @workgroup_size(THREADS)
fn all(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let most = reduce(t, vec4<u32>(largest[group.x * PARTIAL + t]));
    if t == 0u {
        largest[4u * PARTIAL + group.x] = most;
    }
}
