// Which cells fire at a step: bit x % 32 of word y * row_words + x / 32 is set if a uniform number, drawn by
// Philox4x32-10 for element y * width + x, is below the threshold (in units of 2^-24).

struct Draw {
    width: u32,
    height: u32,
    threshold: u32,
    seed: u32,
    seed_high: u32,
    step: u32,
    step_high: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> draw: Draw;
@group(0) @binding(1) var<storage, read_write> fire: array<u32>;

// The upper half of a product of two words.
fn high(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u);
}

fn block(number: u32) -> vec4<u32> {
    var x = vec4<u32>(number, 0u, draw.step, draw.step_high);
    var key = vec2<u32>(draw.seed, draw.seed_high);
    for (var round = 0u; round < 10u; round++) {
        let p = vec2<u32>(high(0xd2511f53u, x.x), 0xd2511f53u * x.x);
        let q = vec2<u32>(high(0xcd9e8d57u, x.z), 0xcd9e8d57u * x.z);
        x = vec4<u32>(q.x ^ x.y ^ key.x, q.y, p.x ^ x.w ^ key.y, p.y);
        key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    }
    return x;
}

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let row_words = (draw.width + 31u) / 32u;
    if id.x >= row_words || id.y >= draw.height {
        return;
    }
    let first = id.y * draw.width + id.x * 32u;
    let count = min(32u, draw.width - id.x * 32u);
    var words = block(first / 4u);
    var made = 0u;
    for (var bit = 0u; bit < count; bit++) {
        let element = first + bit;
        if bit > 0u && element % 4u == 0u {
            words = block(element / 4u);
        }
        if (words[element % 4u] >> 8u) < draw.threshold {
            made |= 1u << bit;
        }
    }
    fire[id.y * row_words + id.x] = made;
}
