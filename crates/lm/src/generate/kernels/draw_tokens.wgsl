// Draws the next token of every text from its logits: a workgroup has one text. Logits become keys in their order, and the
// smallest key that may be drawn is found bit by bit, eight at a time. Then every token that may be drawn gets a
// random number of its own, and the largest logit with it wins (Gumbel).
// parameters: tokens.

const THREADS = 256u;
// Whether the likeliest token is always taken, and whether only some tokens may be drawn.
const GREEDY = false;
const TOP_K = true;
const TOP_P = true;
const STREAM = 0x746f6b65u;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
// Temperature and the share of probability.
@group(0) @binding(2) var<storage, read> settings: array<f32>;
// Seed (low, high), how many of the likeliest tokens.
@group(0) @binding(3) var<storage, read> whole: array<u32>;
// How many tokens every text has drawn.
@group(0) @binding(4) var<storage, read> drawn: array<u32>;
@group(0) @binding(5) var<storage, read_write> tokens: array<i32>;

var<workgroup> tops: array<f32, THREADS>;
var<workgroup> places: array<u32, THREADS>;
var<workgroup> counts: array<atomic<u32>, 256>;
// The upper halves of counts that need 64 bits.
var<workgroup> carries: array<atomic<u32>, 256>;
var<workgroup> group_sums: array<f32, 16>;
var<workgroup> bad: atomic<u32>;
var<workgroup> chosen: u32;
var<workgroup> left: f32;

// Keys in the order of the numbers.
fn key(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

fn is_number(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) <= 0x7f800000u;
}

// The upper half of a product.
fn high(a: u32, b: u32) -> u32 {
    let a_low = a & 0xffffu;
    let b_low = b & 0xffffu;
    let middle = (a >> 16u) * b_low + ((a_low * b_low) >> 16u);
    let other = a_low * (b >> 16u) + (middle & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u);
}

fn philox(given: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
    var c = given;
    var k = seed;
    for (var turn = 0u; turn < 10u; turn++) {
        c = vec4<u32>(high(0xCD9E8D57u, c.z) ^ c.y ^ k.x, 0xCD9E8D57u * c.z, high(0xD2511F53u, c.x) ^ c.w ^ k.y, 0xD2511F53u * c.x);
        k += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}

// The first of the largest: `places` in `places[0]`.
fn first_of_largest(thread: u32) {
    workgroupBarrier();
    for (var stride = THREADS / 2u; stride > 0u; stride /= 2u) {
        if thread < stride {
            let a = tops[thread];
            let b = tops[thread + stride];
            if b > a || (b == a && places[thread + stride] < places[thread]) {
                tops[thread] = b;
                places[thread] = places[thread + stride];
            }
        }
        workgroupBarrier();
    }
}

// What a logit counts for: one, or its probability in 28 bits, in two halves that many may be added to.
fn weigh(x: f32, top: f32, temperature: f32, by_mass: bool) -> vec2<u32> {
    if !by_mass {
        return vec2<u32>(1u, 0u);
    }
    let power = select(exp((x - top) / temperature), 1.0, x == top);
    let fixed = u32(power * 268435456.0);
    return vec2<u32>(fixed & 0x3fffu, fixed >> 14u);
}

fn held(bin: u32) -> f32 {
    return f32(atomicLoad(&carries[bin])) * 16384.0 + f32(atomicLoad(&counts[bin]));
}

// The largest key such that those from it on, none below `least`, count for `wanted`: so many, or such a share of all.
fn smallest_key(thread: u32, start_at: u32, top: f32, temperature: f32, least: u32, wanted: f32, by_mass: bool) -> u32 {
    var prefix = 0u;
    for (var level = 0u; level < 4u; level++) {
        let shift = 24u - 8u * level;
        for (var bin = thread; bin < 256u; bin += THREADS) {
            atomicStore(&counts[bin], 0u);
            atomicStore(&carries[bin], 0u);
        }
        workgroupBarrier();
        for (var i = thread; i < parameters[0].x; i += THREADS) {
            let x = logits[start_at + i];
            let k = key(x);
            if k >= least && (level == 0u || (k >> (shift + 8u)) == prefix) {
                let w = weigh(x, top, temperature, by_mass);
                atomicAdd(&counts[(k >> shift) & 255u], w.x);
                atomicAdd(&carries[(k >> shift) & 255u], w.y);
            }
        }
        workgroupBarrier();
        if thread < 16u {
            var sum = 0.0;
            for (var bin = 0u; bin < 16u; bin++) {
                sum += held(thread * 16u + bin);
            }
            group_sums[thread] = sum;
        }
        workgroupBarrier();
        if thread == 0u {
            if level == 0u {
                var all = 0.0;
                for (var g = 0u; g < 16u; g++) {
                    all += group_sums[15u - g];
                }
                left = select(wanted, wanted * all, by_mass);
            }
            // If rounding leaves something over, the last that is there.
            var rest = left;
            var found = 0u;
            var above = left;
            var is_found = false;
            for (var g = 0u; g < 16u; g++) {
                let group = 15u - g;
                if is_found || group_sums[group] == 0.0 {
                    continue;
                }
                if group_sums[group] < rest {
                    for (var b = 0u; b < 16u; b++) {
                        if held(group * 16u + 15u - b) > 0.0 {
                            found = group * 16u + 15u - b;
                            above = rest;
                        }
                    }
                    rest -= group_sums[group];
                    continue;
                }
                for (var b = 0u; b < 16u; b++) {
                    let bin = group * 16u + 15u - b;
                    let own = held(bin);
                    if is_found || own == 0.0 {
                        continue;
                    }
                    found = bin;
                    above = rest;
                    is_found = own >= rest;
                    rest -= own;
                }
                is_found = true;
            }
            left = above;
            chosen = (prefix << 8u) | found;
        }
        workgroupBarrier();
        prefix = chosen;
        workgroupBarrier();
    }
    return prefix;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let count = parameters[0].x;
    let start_at = group.x * count;
    let temperature = settings[0];
    if thread == 0u {
        atomicStore(&bad, 0xffffffffu);
    }
    workgroupBarrier();
    tops[thread] = bitcast<f32>(0xff800000u + parameters[0].y);
    places[thread] = count;
    for (var i = thread; i < count; i += THREADS) {
        let x = logits[start_at + i];
        if !is_number(x) {
            atomicMin(&bad, i);
        } else if x > tops[thread] || places[thread] == count {
            tops[thread] = x;
            places[thread] = i;
        }
    }
    first_of_largest(thread);
    let top = tops[0];
    var token = places[0];
    workgroupBarrier();
    if !GREEDY {
        var least = 0u;
        if TOP_K {
            least = smallest_key(thread, start_at, top, temperature, 0u, f32(whole[2]), false);
        }
        if TOP_P {
            least = smallest_key(thread, start_at, top, temperature, least, settings[1], true);
        }
        tops[thread] = bitcast<f32>(0xff800000u + parameters[0].y);
        places[thread] = count;
        for (var block = thread; block * 4u < count; block += THREADS) {
            let words = philox(vec4<u32>(block, drawn[group.x], STREAM, 0u), vec2<u32>(whole[0], whole[1]));
            for (var n = 0u; n < 4u; n++) {
                let i = block * 4u + n;
                if i >= count {
                    continue;
                }
                let x = logits[start_at + i];
                if key(x) < least {
                    continue;
                }
                let share = (f32(words[n] >> 9u) + 0.5) * 1.1920929e-7;
                let score = select((x - top) / temperature, 0.0, x == top) - log(-log(share));
                if score > tops[thread] || places[thread] == count {
                    tops[thread] = score;
                    places[thread] = i;
                }
            }
        }
        first_of_largest(thread);
        token = places[0];
    }
    if thread == 0u {
        let wrong = atomicLoad(&bad);
        tokens[group.x] = select(-1 - i32(wrong), i32(min(token, count - 1u)), wrong == 0xffffffffu);
    }
}
