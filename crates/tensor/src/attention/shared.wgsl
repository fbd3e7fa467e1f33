// What the kernels of attention share: sizes, parameters, operands, and what a query sees. Part of each of them.
// parameters: heads, queries, keys, heads that share a key head; how much further than its own
// place a query sees, scale · log2(e) as f32, scale, heads that share a row of the mask.

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
const TEAMS = OWN / ROWS;
const THREADS = TEAMS * LANES;
const PADDED = COLUMNS * LANES;
// Odd, so that neighboring rows start in different banks.
const STRIDE = PADDED | 1u;
const SCORES = QUARTERS | 1u;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;

// Whether scores are numbers, by their bits: a compiler may take a comparison to be true or false for what is none.
fn numbers(x: vec4<f32>) -> vec4<bool> {
    return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) <= vec4<u32>(0x7f800000u);
}

fn is_number(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) <= 0x7f800000u;
}

// How many keys a query sees.
fn limit(query: u32) -> u32 {
    return u32(clamp(i32(query) + 1 + bitcast<i32>(parameters[1].x), 0, i32(parameters[0].z)));
}

//{ mask
fn seen(head: u32, key: u32) -> bool {
    return mask[head / parameters[1].w * parameters[0].z + key] != 0u;
}
//}

//{ kernel
@group(0) @binding(4) var<storage, read> mask: array<u32>;
//}
