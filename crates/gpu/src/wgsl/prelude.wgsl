// Functions that generated kernels call; a module includes only those that it uses.
// Every function starts with `fn farad_` in the first column and ends with `}` there.

fn farad_is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// Reduces x to r in [-pi/4, pi/4] with x = r + quadrant * pi/2: pi/2 in three parts, so that the
// products with quadrants up to 2^13 are exact. Gives (r, quadrant).
fn farad_quadrant(x: f32) -> vec2<f32> {
    let quadrant = round(x * 0.636619772f);
    var r = fma(quadrant, -1.5703125f, x);
    r = fma(quadrant, -4.83751297e-4f, r);
    r = fma(quadrant, -7.54978942e-8f, r);
    return vec2<f32>(r, quadrant);
}

// Sine of the angle in quadrant q (0 to 3) with remainder r.
fn farad_sine_of(r: f32, q: u32) -> f32 {
    let z = r * r;
    let sine = fma(fma(fma(-1.9515296e-4f, z, 8.3321609e-3f), z, -1.6666655e-1f), z * r, r);
    let cosine = fma(fma(fma(2.4433157e-5f, z, -1.3887316e-3f), z, 4.1666646e-2f), z * z, fma(z, -0.5f, 1f));
    let y = select(sine, cosine, (q & 1u) == 1u);
    return select(y, -y, (q & 2u) == 2u);
}

fn farad_sin(x: f32) -> f32 {
    let reduced = farad_quadrant(x);
    return farad_sine_of(reduced.x, u32(i32(reduced.y)));
}

fn farad_cos(x: f32) -> f32 {
    let reduced = farad_quadrant(x);
    return farad_sine_of(reduced.x, u32(i32(reduced.y)) + 1u);
}

// x within the given bound, which keeps its sign; a number that is none passes.
fn farad_within(x: f32, bound: f32) -> f32 {
    let end = bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | bitcast<u32>(bound));
    return select(x, end, abs(x) > bound);
}

// ln(1 + x). Near zero by twice the area tangent of x / (2 + x), whose series ends soon; elsewhere 1 + x is not near one.
fn farad_log1p(x: f32) -> f32 {
    let s = x / (2f + x);
    let z = s * s;
    var p = fma(1.33333333e-1f, z, 1.53846154e-1f);
    p = fma(p, z, 1.81818182e-1f);
    p = fma(p, z, 2.22222222e-1f);
    p = fma(p, z, 2.85714286e-1f);
    p = fma(p, z, 4e-1f);
    p = fma(p, z, 6.66666667e-1f);
    return select(log(1f + x), fma(p, z * s, 2f * s), x > -0.5f && x < 1f);
}

// e^x - 1: near zero by its series, elsewhere e^x is not near one.
fn farad_expm1(x: f32) -> f32 {
    var p = fma(2.75573192e-6f, x, 2.48015873e-5f);
    p = fma(p, x, 1.98412698e-4f);
    p = fma(p, x, 1.38888889e-3f);
    p = fma(p, x, 8.33333333e-3f);
    p = fma(p, x, 4.16666667e-2f);
    p = fma(p, x, 1.66666667e-1f);
    p = fma(p, x, 5e-1f);
    return select(exp(x) - 1f, fma(p, x * x, x), abs(x) < 0.5f);
}

// A rational minimax fit of tanh(x)/x in x*x; beyond 8.5 the result rounds to one. The denominator is
// at least one, and two inverse roots are cheaper than a division.
fn farad_tanh(x: f32) -> f32 {
    let b = farad_within(x, 8.5f);
    let z = b * b;
    var p = fma(-1.3356448e-11f, z, 3.2094344e-8f);
    p = fma(p, z, 2.8622896e-5f);
    p = fma(p, z, 3.8985306e-3f);
    p = fma(p, z, 1.3703949e-1f);
    p = fma(p, z, 1f);
    var q = fma(1.3307346e-6f, z, 3.9920858e-4f);
    q = fma(q, z, 2.7356147e-2f);
    q = fma(q, z, 4.7037282e-1f);
    q = fma(q, z, 1f);
    let r = inverseSqrt(q);
    // Exactly one where tanh rounds to it: slopes are made of what is left to one.
    return select((b * p) * (r * r), farad_within(x, 1f), abs(x) > 9.1f);
}

// One over one plus the exponential; bounded, so that nothing overflows.
fn farad_sigmoid(x: f32) -> f32 {
    let r = inverseSqrt(1f + exp2(-1.442695f * farad_within(x, 80f)));
    return r * r;
}

// A rational minimax fit of erf(x)/x in x*x, in the same form; beyond 3.9 the result rounds to one.
fn farad_erf(x: f32) -> f32 {
    let b = farad_within(x, 3.9f);
    let z = b * b;
    var p = fma(2.2854829e-8f, z, -1.6395306e-6f);
    p = fma(p, z, 4.7489571e-5f);
    p = fma(p, z, -2.5302673e-4f);
    p = fma(p, z, 3.8024690e-2f);
    p = fma(p, z, 1.0740687e-1f);
    p = fma(p, z, 1.1283797f);
    var q = fma(6.3101334e-3f, z, 7.6493400e-2f);
    q = fma(q, z, 4.2853206e-1f);
    q = fma(q, z, 1f);
    let r = inverseSqrt(q);
    return (b * p) * (r * r);
}

fn farad_pow(a: f32, b: f32) -> f32 {
    if (b == 0f) {
        return 1f;
    }
    var bits = 0x7fc00000u;
    if (a == 0f) {
        bits = select(0u, 0x7f800000u, b < 0f);
        return bitcast<f32>(bits);
    }
    let size = exp2(b * log2(abs(a)));
    if (a > 0f) {
        return size;
    }
    let half = b * 0.5f;
    let whole = floor(b) == b;
    let odd = whole && floor(half) != half;
    return select(bitcast<f32>(bits), select(size, -size, odd), whole);
}

fn farad_rem_i32(a: i32, b: i32) -> i32 {
    let divisor = select(b, 1, b == 0);
    let r = a % divisor;
    return select(r, r + divisor, r != 0 && ((r < 0) != (divisor < 0)));
}

fn farad_rem_u32(a: u32, b: u32) -> u32 {
    return select(a % max(b, 1u), 0u, b == 0u);
}

fn farad_to_i32(x: f32) -> i32 {
    let inside = i32(clamp(x, -2147483648f, 2147483520f));
    return select(select(inside, 2147483647, x >= 2147483648f), 0, farad_is_nan(x));
}

fn farad_to_u32(x: f32) -> u32 {
    let inside = u32(clamp(x, 0f, 4294967040f));
    return select(select(inside, 4294967295u, x >= 4294967296f), 0u, farad_is_nan(x));
}

// x rounded to the eleven bits of half precision, to nearest even; infinite beyond its range. The
// adapter's own conversion is exact from there, however it rounds.
fn farad_half(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let size = bits & 0x7fffffffu;
    let rounded = (bits + 0xfffu + ((bits >> 13u) & 1u)) & 0xffffe000u;
    let inside = select(rounded, (bits & 0x80000000u) | 0x7f800000u, size >= 0x477ff000u);
    return bitcast<f32>(select(inside, bits, size > 0x7f800000u));
}

// Two numbers as a word of two halves.
fn farad_halves(low: f32, high: f32) -> u32 {
    return pack2x16float(vec2<f32>(farad_half(low), farad_half(high)));
}

fn farad_round_half(x: f32) -> f32 {
    return unpack2x16float(farad_halves(x, 0f)).x;
}

// The bits of x rounded to its upper sixteen, to nearest even: what bf16 keeps. NaN stays one.
fn farad_brain(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let rounded = bits + 0x7fffu + ((bits >> 16u) & 1u);
    return select(rounded, bits | 0x400000u, (bits & 0x7fffffffu) > 0x7f800000u) & 0xffff0000u;
}

// Two numbers as a word of two bf16.
fn farad_brains(low: f32, high: f32) -> u32 {
    return (farad_brain(low) >> 16u) | farad_brain(high);
}

fn farad_round_brain(x: f32) -> f32 {
    return bitcast<f32>(farad_brain(x));
}

// One of the two bf16 of a word.
fn farad_unpack_brain(word: u32, odd: u32) -> f32 {
    return bitcast<f32>((word >> (odd << 4u)) << 16u);
}

// The high word of a 32 by 32 bit product, by 16-bit halves.
fn farad_high(a: u32, b: u32) -> u32 {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let low = al * bl;
    let middle = ah * bl + (low >> 16u);
    let other = al * bh + (middle & 0xffffu);
    return ah * bh + (middle >> 16u) + (other >> 16u);
}

fn farad_philox_round(c: vec4<u32>, k: vec2<u32>) -> vec4<u32> {
    let p0 = farad_high(0xd2511f53u, c.x);
    let p1 = farad_high(0xcd9e8d57u, c.z);
    return vec4<u32>(p1 ^ c.y ^ k.x, 0xcd9e8d57u * c.z, p0 ^ c.w ^ k.y, 0xd2511f53u * c.x);
}

// Philox4x32-10: the four words of the block at a counter (low, high) under a seed (low, high).
fn farad_philox(block: u32, counter: vec2<u32>, seed: vec2<u32>) -> vec4<u32> {
    let step = vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    var k = seed;
    var c = farad_philox_round(vec4<u32>(block, 0u, counter), k);
    k += step;
    c = farad_philox_round(c, k);
    k += step;
    c = farad_philox_round(c, k);
    k += step;
    c = farad_philox_round(c, k);
    k += step;
    c = farad_philox_round(c, k);
    k += step;
    c = farad_philox_round(c, k);
    k += step;
    c = farad_philox_round(c, k);
    k += step;
    c = farad_philox_round(c, k);
    k += step;
    c = farad_philox_round(c, k);
    k += step;
    return farad_philox_round(c, k);
}

fn farad_random(element: u32, counter: vec2<u32>, seed: vec2<u32>) -> u32 {
    return farad_philox(element >> 2u, counter, seed)[element & 3u];
}
