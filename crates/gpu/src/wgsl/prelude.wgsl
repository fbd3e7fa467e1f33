// Functions that generated kernels call; a module includes only those that it uses. Every function starts with
// `fn farad_` in the first column and ends with `}` there. Conditions are combined with `&` and `|`, which
// evaluate both sides: `&&` and `||` are branches.

fn farad_is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// Whether neither is NaN. A compiler may negate a comparison, which gives the same result except for NaN.
fn farad_are_numbers(a: f32, b: f32) -> bool {
    return max(bitcast<u32>(a) & 0x7fffffffu, bitcast<u32>(b) & 0x7fffffffu) <= 0x7f800000u;
}

// a / b, with scaled operands where the reciprocal of b would underflow.
fn farad_div(a: f32, b: f32) -> f32 {
    let scale = select(1f, 0.25f, abs(b) > 4e37f);
    return (a * scale) / (b * scale);
}

// The larger; NaN on either side gives NaN.
fn farad_max(a: f32, b: f32) -> f32 {
    return select(b, a, (a > b) | farad_is_nan(a));
}

// The smaller; NaN on either side gives NaN.
fn farad_min(a: f32, b: f32) -> f32 {
    return select(b, a, (a < b) | farad_is_nan(a));
}

// Floats as integers with the same order, and back. NaN is above all others, or below.
fn farad_order_above(x: f32) -> i32 {
    let bits = bitcast<i32>(x);
    return select(bits ^ ((bits >> 31u) & 0x7fffffff), 0x7fffffff, farad_is_nan(x));
}

fn farad_order_below(x: f32) -> i32 {
    let bits = bitcast<i32>(x);
    return select(bits ^ ((bits >> 31u) & 0x7fffffff), bitcast<i32>(0x80000000u), farad_is_nan(x));
}

fn farad_from_order(order: i32) -> f32 {
    return bitcast<f32>(order ^ ((order >> 31u) & 0x7fffffff));
}

// x - x: zero, unless x is infinite or NaN.
fn farad_less_itself(x: f32) -> f32 {
    return bitcast<f32>(select(0u, 0x7fc00000u, (bitcast<u32>(x) & 0x7f800000u) == 0x7f800000u));
}

// x / x: one, unless x is zero, infinite or NaN.
fn farad_by_itself(x: f32) -> f32 {
    let size = bitcast<u32>(x) & 0x7fffffffu;
    return bitcast<f32>(select(0x3f800000u, 0x7fc00000u, (size == 0u) | (size >= 0x7f800000u)));
}

// Word n of 2/pi divided by four, in binary, after one word of zeros.
fn farad_two_over_pi(n: u32) -> u32 {
    switch n {
        case 0u: { return 0u; }
        case 1u: { return 0x28be60dbu; }
        case 2u: { return 0x9391054au; }
        case 3u: { return 0x7f09d5f4u; }
        case 4u: { return 0x7d4d3770u; }
        case 5u: { return 0x36d8a566u; }
        case 6u: { return 0x4f10e410u; }
        default: { return 0x7f9458eau; }
    }
}

// farad_quadrant for x of any size (Payne and Hanek). It multiplies the relevant bits of 2/pi, divided by four, with the
// 24 bits of x. The top two bits of the product's fraction are the quadrant, and the next 62 the remainder. NaN for NaN
// and infinities.
fn farad_far_quadrant(x: f32) -> vec2<f32> {
    let bits = bitcast<u32>(x);
    let fraction = (bits << 8u) | 0x80000000u;
    let exponent = ((bits >> 23u) & 255u) - 126u;
    let first = exponent >> 5u;
    let shift = exponent & 31u;
    let w0 = farad_two_over_pi(first);
    let w1 = farad_two_over_pi(first + 1u);
    let w2 = farad_two_over_pi(first + 2u);
    let w3 = farad_two_over_pi(first + 3u);
    let high = (w0 << shift) | ((w1 >> 1u) >> (31u - shift));
    let middle = (w1 << shift) | ((w2 >> 1u) >> (31u - shift));
    let low = (w2 << shift) | ((w3 >> 1u) >> (31u - shift));
    let carried = farad_high(fraction, low);
    let lower = fraction * middle + carried;
    let upper = fraction * high + farad_high(fraction, middle) + select(0u, 1u, lower < carried);
    // The remainder as a signed number, relative to the nearest quadrant.
    let rest = vec2<u32>((upper << 2u) | (lower >> 30u), lower << 2u);
    let below = rest.x >> 31u;
    let quadrant = bitcast<i32>((upper >> 30u) + below);
    let size_low = select(rest.y, ~rest.y + 1u, below == 1u);
    let size_high = select(rest.x, ~rest.x + select(0u, 1u, rest.y == 0u), below == 1u);
    let zeros = min(countLeadingZeros(size_high), 31u);
    let top = (size_high << zeros) | ((size_low >> 1u) >> (31u - zeros));
    // pi/2, times 2^-32, times what was shifted.
    let r = f32(top) * 3.6572952e-10f * bitcast<f32>((127u - zeros) << 23u);
    let negative = (bits >> 31u) == 1u;
    let turned = bitcast<u32>(select(r, -r, (below == 1u) != negative));
    let number = (bits & 0x7f800000u) != 0x7f800000u;
    return vec2<f32>(bitcast<f32>(select(0x7fc00000u, turned, number)), f32(select(quadrant, -quadrant, negative)));
}

// Reduces x to r in [-pi/4, pi/4] with x = r + quadrant * pi/2: pi/2 is split in three parts, so that the
// products with quadrants up to 2^13 are exact, fused or not. Returns (r, quadrant).
fn farad_quadrant(x: f32) -> vec2<f32> {
    if ((bitcast<u32>(x) & 0x7fffffffu) > 0x46480000u) {
        return farad_far_quadrant(x);
    }
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

// x clamped to the given bound, keeping its sign; NaN passes through.
fn farad_within(x: f32, bound: f32) -> f32 {
    let end = bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | bitcast<u32>(bound));
    return select(x, end, abs(x) > bound);
}

// ln(1 + x). Near zero it is twice artanh(x / (2 + x)), whose series converges fast; elsewhere 1 + x is not
// close to one.
fn farad_log1p(x: f32) -> f32 {
    let s = x / (2f + x);
    let z = s * s;
    var p = fma(1.33333333e-1f, z, 1.53846154e-1f);
    p = fma(p, z, 1.81818182e-1f);
    p = fma(p, z, 2.22222222e-1f);
    p = fma(p, z, 2.85714286e-1f);
    p = fma(p, z, 4e-1f);
    p = fma(p, z, 6.66666667e-1f);
    // A tiny x is its own logarithm; half of it would underflow.
    let near = select(fma(p, z * s, 2f * s), x, abs(x) < 1e-7f);
    return select(farad_log(1f + x), near, (x > -0.5f) & (x < 1f));
}

// e^x - 1: near zero by its series; elsewhere e^x is not close to one.
fn farad_expm1(x: f32) -> f32 {
    var p = fma(2.75573192e-6f, x, 2.48015873e-5f);
    p = fma(p, x, 1.98412698e-4f);
    p = fma(p, x, 1.38888889e-3f);
    p = fma(p, x, 8.33333333e-3f);
    p = fma(p, x, 4.16666667e-2f);
    p = fma(p, x, 1.66666667e-1f);
    p = fma(p, x, 5e-1f);
    let near = select(fma(p, x * x, x), x, x == 0f);
    return select(exp(x) - 1f, near, abs(x) < 0.5f);
}

// (f, e) with x = (1 + f) * 2^e and 1 + f between sqrt(1/2) and sqrt(2), for positive numbers. A subnormal
// number is its bits as an integer, times 2^-149.
fn farad_split(x: f32) -> vec2<f32> {
    let own = bitcast<u32>(x);
    let small = own < 0x00800000u;
    let bits = bitcast<i32>(select(own, bitcast<u32>(f32(own)), small));
    let exponent = (bits - 0x3f3504f3) >> 23u;
    let f = bitcast<f32>(bits - (exponent << 23u)) - 1f;
    return vec2<f32>(f, f32(exponent) - select(0f, 149f, small));
}

// ln(1 + f) - f for 1 + f in that range.
fn farad_log_rest(f: f32) -> f32 {
    var p = fma(-0.07634493f, f, 0.12761576f);
    p = fma(p, f, -0.13160183f);
    p = fma(p, f, 0.14201758f);
    p = fma(p, f, -0.16623357f);
    p = fma(p, f, 0.20001227f);
    p = fma(p, f, -0.2500082f);
    p = fma(p, f, 0.33333332f);
    let square = f * f;
    return fma(square * f, p, -0.5f * square);
}

// The logarithm of zero, of negative numbers, of infinity and of NaN; otherwise y.
fn farad_log_edges(x: f32, y: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let above = select(bitcast<u32>(y), bits, (bits & 0x7fffffffu) >= 0x7f800000u);
    let negative = select(above, 0x7fc00000u, bits > 0x80000000u);
    return bitcast<f32>(select(negative, 0xff800000u, (bits & 0x7fffffffu) == 0u));
}

fn farad_log(x: f32) -> f32 {
    let parts = farad_split(x);
    let low = fma(parts.y, 3.1946183e-5f, farad_log_rest(parts.x));
    return farad_log_edges(x, fma(parts.y, 0.69311523f, low + parts.x));
}

fn farad_log2(x: f32) -> f32 {
    let parts = farad_split(x);
    let low = fma(parts.x, 3.122283e-4f, farad_log_rest(parts.x) * 1.442695f);
    return farad_log_edges(x, fma(parts.x, 1.4423828f, low) + parts.y);
}

// A polynomial near zero; elsewhere one minus a term that vanishes. So the result is never more than one, and
// exactly one where it rounds to that. Two inverse square roots are cheaper than a division.
fn farad_tanh(x: f32) -> f32 {
    let a = abs(x);
    let z = a * a;
    var p = fma(-5.7049887e-3f, z, 2.0639089e-2f);
    p = fma(p, z, -5.3739716e-2f);
    p = fma(p, z, 1.3331442e-1f);
    p = fma(p, z, -3.3333282e-1f);
    let near = fma(p * z, a, a);
    let e = exp2(-2.88539f * a);
    let r = inverseSqrt(1f + e);
    let far = fma(-2f * e, r * r, 1f);
    let y = select(near, far, a >= 0.625f);
    return bitcast<f32>(bitcast<u32>(y) | (bitcast<u32>(x) & 0x80000000u));
}

// 1 / (1 + e^-x), with a bounded argument so that nothing overflows.
fn farad_sigmoid(x: f32) -> f32 {
    let r = inverseSqrt(1f + exp2(-1.442695f * farad_within(x, 88f)));
    return select(r * r, 0f, x < -88f);
}

// A rational minimax fit of erf(x)/x in x*x, with inverse square roots as above; beyond 3.92 the result rounds
// to one.
fn farad_erf(x: f32) -> f32 {
    let b = farad_within(x, 3.92f);
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
    let y = farad_within((b * p) * (r * r), 1f);
    return select(y, farad_within(x, 1f), abs(x) >= 3.92f);
}

// The power of the absolute value, with the sign of an odd power of a negative base; special cases as in IEEE
// 754.
fn farad_pow(a: f32, b: f32) -> f32 {
    let base = bitcast<u32>(a) & 0x7fffffffu;
    let exponent = bitcast<u32>(b) & 0x7fffffffu;
    let size = bitcast<u32>(exp2(b * farad_log2(abs(a))));
    let half = b * 0.5f;
    let whole = floor(b) == b;
    let odd = whole & (floor(half) != half);
    let negative = bitcast<u32>(a) != base;
    var bits = select(size, size | 0x80000000u, negative & odd);
    bits = select(bits, 0x7fc00000u, negative & !whole & (base != 0u) & (base != 0x7f800000u));
    bits = select(bits, 0x7fc00000u, (base > 0x7f800000u) | (exponent > 0x7f800000u));
    // These are one: any power of one, -1 to an infinite power, anything to the power of zero.
    let one = (bitcast<u32>(a) == 0x3f800000u) | ((base == 0x3f800000u) & (exponent == 0x7f800000u));
    return bitcast<f32>(select(bits, 0x3f800000u, one | (exponent == 0u)));
}

// The remainder with the divisor's sign. If the divisor is infinite and has the same sign, the result is a.
fn farad_rem_f32(a: f32, b: f32) -> f32 {
    // The quotient may be rounded across an integer, to either side.
    let quotient = floor(a / b);
    let next = fma(-b, quotient + 1f, a);
    let early = (next == 0f) | ((next < 0f) == (b < 0f));
    let rest = select(fma(-b, quotient, a), next, early);
    let late = (rest != 0f) & ((rest < 0f) != (b < 0f));
    let plain = select(rest, rest + b, late);
    let size = bitcast<u32>(a) & 0x7fffffffu;
    let turned = (size != 0u) & (((bitcast<u32>(a) ^ bitcast<u32>(b)) >> 31u) == 1u);
    let far = ((bitcast<u32>(b) & 0x7fffffffu) == 0x7f800000u) & (size < 0x7f800000u);
    return select(plain, select(a, b, turned), far);
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

// x rounded to the eleven bits of f16, to nearest even; infinite beyond its range. The adapter's own conversion
// is exact after that, however it rounds.
//{ half
fn farad_half(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    let size = bits & 0x7fffffffu;
    let rounded = (bits + 0xfffu + ((bits >> 13u) & 1u)) & 0xffffe000u;
    let inside = select(rounded, (bits & 0x80000000u) | 0x7f800000u, size >= 0x477ff000u);
    return bitcast<f32>(select(inside, bits, size > 0x7f800000u));
}
//}

// Packs two numbers into a word of two f16.
fn farad_halves(low: f32, high: f32) -> u32 {
    return pack2x16float(vec2<f32>(farad_half(low), farad_half(high)));
}

fn farad_round_half(x: f32) -> f32 {
    return unpack2x16float(farad_halves(x, 0f)).x;
}

// The bits of x rounded to its upper sixteen, to nearest even: bf16. NaN stays NaN.
fn farad_brain(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let rounded = bits + 0x7fffu + ((bits >> 16u) & 1u);
    return select(rounded, bits | 0x400000u, (bits & 0x7fffffffu) > 0x7f800000u) & 0xffff0000u;
}

// Packs two numbers into a word of two bf16.
fn farad_brains(low: f32, high: f32) -> u32 {
    return (farad_brain(low) >> 16u) | farad_brain(high);
}

fn farad_round_brain(x: f32) -> f32 {
    return bitcast<f32>(farad_brain(x));
}

// Unpacks one of the two bf16 of a word.
fn farad_unpack_brain(word: u32, odd: u32) -> f32 {
    return bitcast<f32>((word >> (odd << 4u)) << 16u);
}

// The high word of a 32 by 32 bit product, computed from 16-bit halves.
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

// Philox4x32-10: the four words of a block of a stream, at a counter (low, high) under a seed (low, high).
fn farad_philox_within(block: u32, stream: u32, counter: vec2<u32>, seed: vec2<u32>) -> vec4<u32> {
    let step = vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    var k = seed;
    var c = farad_philox_round(vec4<u32>(block, stream, counter), k);
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

fn farad_philox(block: u32, counter: vec2<u32>, seed: vec2<u32>) -> vec4<u32> {
    return farad_philox_within(block, 0u, counter, seed);
}

fn farad_random_within(element: u32, stream: u32, counter: vec2<u32>, seed: vec2<u32>) -> u32 {
    return farad_philox_within(element >> 2u, stream, counter, seed)[element & 3u];
}

fn farad_random(element: u32, counter: vec2<u32>, seed: vec2<u32>) -> u32 {
    return farad_philox(element >> 2u, counter, seed)[element & 3u];
}
