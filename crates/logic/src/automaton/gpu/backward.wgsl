// The backward pass of one step of all cells.
//
// Parameters: workgroups, slots, groups, cells; height, width, steps, step; the offsets of `source`, of the
// incoming and the outgoing gradients of neighborhoods, and of the activations; whether this is the first
// launch; the offset of a spilled `work`.
//
// `gradients` holds first one number per state: the gradient at the end, later what passes through cells that
// did not fire; then gradients of neighborhoods, [cells, 9, channels], twice. Every workgroup adds its cells'
// share of the coefficients' gradients to its own row of `partials`.

//{ cell
const NOWHERE = 0xffffffffu;
const INVOCATIONS = 64u;
const CHANNELS = 2u;
const KERNELS = 3u;
const PERCEPTION = 5u;
const UPDATE = 20u;
const ACTIVATIONS = 32u;
const BLOCK = 2u;
const ASYNCHRONOUS = true;
const EVEN = 0u;
const ODD = 32u;
const VALUES = 32u;
const SPAN = 6u;
const PAIRS = 6u;
const GATES = 35u;
const WIRES = 25u;
const LANES = 4u;
alias Lanes = vec4<f32>;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 4>;
@group(0) @binding(1) var<storage, read> coefficients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> wires: array<u32>;
@group(0) @binding(3) var<storage, read> source: array<f32>;
var<workgroup> places: array<u32, 36>;
var<workgroup> firing: array<f32, LANES>;

struct Units {
    w0_0: u32, c0_0: vec4<f32>,
    w1_0: u32, c1_0: vec4<f32>,
}
struct Ahead {
    w0_0: u32,
    c0_0: vec4<f32>,
    w1_0: u32,
    c1_0: vec4<f32>,
}

fn fetch(at: u32) -> Lanes { return Lanes(); }
fn put(at: u32, x: Lanes) {}
fn meet() { workgroupBarrier(); }
fn start(number: u32) {}
fn total(x: Lanes) -> f32 { return x.x; }
fn along(x: Lanes, y: Lanes) -> f32 { return x.x; }
fn evaluate(c: vec4<f32>, a: Lanes, b: Lanes) -> Lanes { return a; }
fn operand(inputs: u32, wire: u32) -> Lanes { return Lanes(); }
fn other(inputs: u32, wire: u32) -> Lanes { return Lanes(); }
fn locate(seed: u32, group: u32, lane: u32) {}
fn load_patch(lane: u32, first: u32) {}
fn seen_at(t: u32, number: u32) -> u32 { return number; }
fn value_at(values: u32, t: u32, number: u32) -> u32 { return number; }
fn input_at(t: u32, first: u32) -> u32 { return first; }
fn units(seed: u32, lane: u32) -> Units { return Units(); }
fn look_ahead(seed: u32, lane: u32) -> Ahead { return Ahead(); }
fn perceive_hidden(u: Units, lane: u32) {}
fn perceive(u: Units, lane: u32) {}
//}

const RECOMPUTE = true;
const DELTAS = 44u;
const DELTA = 25u;
const SUMMED = 74u;
const SIDES = 6u;
// Sums of a workgroup: perception gates one by one for every pair, then update gates.
const SUMS = PAIRS * PERCEPTION + UPDATE;

//{ arrays
@group(0) @binding(5) var<storage, read> readers: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> gradients: array<f32>;
@group(0) @binding(7) var<storage, read_write> partials: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> activations: array<Lanes>;
//}

// The gradient at the group's next states, [CHANNELS, LANES].
var<workgroup> incoming: array<f32, CHANNELS * LANES>;

//{ keep
fn keep(base: u32, row: u32, x: Lanes) { activations[base + row] = x; }
fn activation(base: u32, row: u32) -> Lanes { return activations[base + row]; }

fn activations_of(seed: u32, number: u32, group: u32) -> u32 { return number * ACTIVATIONS; }

fn incoming_of(channel: u32) -> Lanes {
    return Lanes(
        incoming[channel * LANES + 0u],
        incoming[channel * LANES + 1u],
        incoming[channel * LANES + 2u],
        incoming[channel * LANES + 3u],
    );
}

fn send(seed: u32, group: u32, item: u32, x: Lanes) {
    send_one(seed, group, 0u, item, x.x);
    send_one(seed, group, 1u, item, x.y);
    send_one(seed, group, 2u, item, x.z);
    send_one(seed, group, 3u, item, x.w);
}
//}

fn send_one(seed: u32, group: u32, k: u32, item: u32, x: f32) {
    let cell = group * LANES + k;
    if cell < parameters[0].w {
        gradients[parameters[2].z + (seed * parameters[0].w + cell) * 9u * CHANNELS + item] = x;
    }
}

// The gradient that the cell whose neighbor n is this one contributes to it.
fn received(k: u32, n: u32, channel: u32) -> f32 {
    let place = places[(8u - n) * LANES + k];
    let exists = place != NOWHERE;
    let g = gradients[parameters[2].y + (select(0u, place, exists) * 9u + n) * CHANNELS + channel];
    return select(0.0, g, exists);
}

// The gradient at the group's next states; what cells that did not fire pass on is put aside.
fn receive(seed: u32, group: u32, lane: u32) {
    let latest = parameters[3].x == 1u;
    for (var item = lane; item < CHANNELS * LANES; item += INVOCATIONS) {
        let k = item / CHANNELS;
        let channel = item % CHANNELS;
        let cell = group * LANES + k;
        var g = 0.0;
        if cell < parameters[0].w {
            let at = (seed * parameters[0].w + cell) * CHANNELS + channel;
            if latest || ASYNCHRONOUS { g = gradients[at]; }
            if !latest {
                let above = (received(k, 0u, channel) + received(k, 1u, channel)) + received(k, 2u, channel);
                let beside = (received(k, 3u, channel) + received(k, 4u, channel)) + received(k, 5u, channel);
                let below = (received(k, 6u, channel) + received(k, 7u, channel)) + received(k, 8u, channel);
                g += (above + beside) + below;
            }
            if ASYNCHRONOUS {
                gradients[at] = (1.0 - firing[k]) * g;
                g *= firing[k];
            }
        }
        incoming[channel * LANES + k] = g;
    }
}

// Four sums over the group's cells: what they say about a gate's coefficients.
fn gate_sums(g: Lanes, a: Lanes, b: Lanes) -> vec4<f32> {
    return vec4<f32>(total(g), along(g, a), along(g, b), along(g * a, b));
}

// Adds a gate's sums to its workgroup's own.
fn note(at: u32, old: vec4<f32>, fresh: bool, g: Lanes, a: Lanes, b: Lanes) {
    let sums = gate_sums(g, a, b);
    partials[at] = select(old + sums, sums, fresh);
}

// The gradient at an input of a layer, from all gates that read it; `begin` says what the words mean.
// Where no gate left anything, there is a zero.
fn gather(deltas: u32, by: vec2<u32>) -> Lanes {
    var g = fetch(deltas + (by.x & 0xffffu)) + fetch(deltas + (by.x >> 16u));
    if by.y >= 0x80000000u {
        var more = true;
        for (var at = by.y & 0x7fffffffu; more; at++) {
            let word = readers[at / 2u][at % 2u];
            g += fetch(deltas + (word & 0x7fffffffu));
            more = word < 0x80000000u;
        }
    } else if by.y != 0u {
        g += fetch(deltas + (by.y & 0xffffu)) + fetch(deltas + (by.y >> 16u));
    }
    return g;
}

//{ update_back
// An invocation's sums, if they stay with it from group to group.
struct Totals {
    none: u32,
}

fn totals_so_far(lane: u32, sums: u32, fresh: bool) -> Totals {
    if fresh { return Totals(); }
    return Totals(0u);
}

fn write_totals(lane: u32, sums: u32, totals: ptr<function, Totals>) {
}

// The update circuit back from the gradient at its outputs to the one at its inputs, which comes
// to lie at EVEN. One barrier a layer: an invocation gathers what a gate's readers left, and
// leaves what the gate's operands gather.
fn update_back(
    seed: u32,
    lane: u32,
    base: u32,
    sums: u32,
    fresh: bool,
    ahead: Ahead,
    totals: ptr<function, Totals>,
) {
    let wired = seed * WIRES + PERCEPTION + lane;
    let gates = seed * GATES + KERNELS * PERCEPTION + lane;
    var x0_0: Lanes;
    if lane < 14u {
        x0_0 = fetch(EVEN + lane + 0u);
    }
    let w0_0 = ahead.w0_0;
    let c0_0 = ahead.c0_0;
    let w1_0 = ahead.w1_0;
    let c1_0 = ahead.c1_0;
    var x1_0: Lanes;
    if lane < 12u {
        x1_0 = evaluate(c0_0, operand(EVEN, w0_0), other(EVEN, w0_0));
        put(ODD + lane + 0u, x1_0);
    }
    meet();
    var x2_0: Lanes;
    if lane < 6u {
        x2_0 = evaluate(c1_0, operand(ODD, w1_0), other(ODD, w1_0));
        put(EVEN + lane + 0u, x2_0);
    }
    meet();
    if lane < 2u { put(DELTAS + lane * DELTA, Lanes(0.0)); }
    var v2_0: u32;
    var d2_0: vec4<f32>;
    if lane < 2u {
        v2_0 = wires[wired + 18u];
        d2_0 = coefficients[gates + 18u];
    }
    var o2_0: vec4<f32>;
    if lane < 2u {
        o2_0 = partials[sums + lane + 18u];
    }
    var o1_0: vec4<f32>;
    if lane < 6u {
        o1_0 = partials[sums + lane + 12u];
    }
    var b2_0: vec2<u32>;
    if lane < 6u {
        b2_0 = readers[seed * ACTIVATIONS + lane + 26u];
    }
    var v1_0: u32;
    var d1_0: vec4<f32>;
    if lane < 6u {
        v1_0 = wires[wired + 12u];
        d1_0 = coefficients[gates + 12u];
    }
    var o0_0: vec4<f32>;
    if lane < 12u {
        o0_0 = partials[sums + lane + 0u];
    }
    var b1_0: vec2<u32>;
    if lane < 12u {
        b1_0 = readers[seed * ACTIVATIONS + lane + 14u];
    }
    if lane < 2u {
        let g = incoming_of(lane + 0u);
        let a = operand(EVEN, v2_0);
        let b = other(EVEN, v2_0);
        put(DELTAS + 1u + lane + 0u, g * fma(b, Lanes(d2_0.w), Lanes(d2_0.y)));
        put(DELTAS + 1u + lane + 2u, g * fma(a, Lanes(d2_0.w), Lanes(d2_0.z)));
        note(sums + lane + 18u, o2_0, fresh, g, a, b);
    }
    meet();
    var v0_0: u32;
    var d0_0: vec4<f32>;
    if lane < 12u {
        v0_0 = wires[wired + 0u];
        d0_0 = coefficients[gates + 0u];
    }
    var b0_0: vec2<u32>;
    if lane < 14u {
        b0_0 = readers[seed * ACTIVATIONS + lane + 0u];
    }
    if lane < 6u {
        let g = gather(DELTAS, b2_0);
        let a = operand(ODD, v1_0);
        let b = other(ODD, v1_0);
        put(DELTAS + DELTA + 1u + lane + 0u, g * fma(b, Lanes(d1_0.w), Lanes(d1_0.y)));
        put(DELTAS + DELTA + 1u + lane + 6u, g * fma(a, Lanes(d1_0.w), Lanes(d1_0.z)));
        note(sums + lane + 12u, o1_0, fresh, g, a, b);
    }
    if lane < 14u {
        put(EVEN + lane + 0u, x0_0);
    }
    meet();
    if lane < 12u {
        let g = gather(DELTAS + DELTA, b1_0);
        let a = operand(EVEN, v0_0);
        let b = other(EVEN, v0_0);
        put(DELTAS + 1u + lane + 0u, g * fma(b, Lanes(d0_0.w), Lanes(d0_0.y)));
        put(DELTAS + 1u + lane + 12u, g * fma(a, Lanes(d0_0.w), Lanes(d0_0.z)));
        note(sums + lane + 0u, o0_0, fresh, g, a, b);
    }
    meet();
    if lane < 14u {
        put(EVEN + lane + 0u, gather(DELTAS, b0_0));
    }
    meet();
}
//}

// Where a unit's sums lie.
fn unit_sums(sums: u32, t: u32, first: u32, gate: u32, gates: u32) -> u32 {
    let pair = t % SPAN;
    let channel = min(first + pair % BLOCK, CHANNELS - 1u);
    return sums + (gate + min(t / SPAN, gates - 1u)) * PAIRS + pair / BLOCK * CHANNELS + channel;
}

//{ perceive_back
// Sums of an invocation's units so far.
struct Noted {
    n0_0: vec4<f32>,
    n1_0: vec4<f32>,
}

fn noted_so_far(lane: u32, sums: u32, first: u32, fresh: bool) -> Noted {
    var noted: Noted;
    if fresh { return noted; }
    noted.n0_0 = partials[unit_sums(sums, lane + 0u, first, 0u, 3u)];
    noted.n1_0 = partials[unit_sums(sums, lane + 0u, first, 3u, 2u)];
    return noted;
}

fn write_down(lane: u32, sums: u32, first: u32, noted: ptr<function, Noted>) {
    if lane < 18u {
        let t = lane + 0u;
        partials[unit_sums(sums, t, first, 0u, 3u)] = (*noted).n0_0;
    }
    if lane < 12u {
        let t = lane + 0u;
        partials[unit_sums(sums, t, first, 3u, 2u)] = (*noted).n1_0;
    }
}

// The gradient at a value that layer 1 reads.
fn gradient_1(seed: u32, t: u32) -> Lanes {
    let j = t / SPAN;
    let deltas = VALUES + 18u + t % SPAN;
    var g = Lanes(0.0);
    let w0 = wires[seed * WIRES + 3u];
    let w1 = wires[seed * WIRES + 4u];
    if (w0 & 0xffffu) == j { g += fetch(deltas + 0u); }
    if (w0 >> 16u) == j { g += fetch(deltas + 12u); }
    if (w1 & 0xffffu) == j { g += fetch(deltas + 6u); }
    if (w1 >> 16u) == j { g += fetch(deltas + 18u); }
    return g;
}

// Gradients at the operands of all layers of the perception circuits, the last layer first, and
// their gates' sums.
fn block_back(seed: u32, u: Units, lane: u32, first: u32, noted: ptr<function, Noted>) {
    var g1_0: Lanes;
    if lane < 12u {
        let t = lane + 0u;
        g1_0 = fetch(input_at(t, first));
    }
    if lane < 12u {
        let t = lane + 0u;
        let a = fetch(value_at(VALUES + 0u, t, u.w1_0 & 0xffffu));
        let b = fetch(value_at(VALUES + 0u, t, u.w1_0 >> 16u));
        let c = u.c1_0;
        put(VALUES + 18u + t, g1_0 * fma(b, Lanes(c.w), Lanes(c.y)));
        put(VALUES + 30u + t, g1_0 * fma(a, Lanes(c.w), Lanes(c.z)));
        (*noted).n1_0 += gate_sums(g1_0, a, b);
    }
    meet();
    var g0_0: Lanes;
    if lane < 18u {
        let t = lane + 0u;
        g0_0 = gradient_1(seed, t);
    }
    meet();
    if lane < 18u {
        let t = lane + 0u;
        let a = fetch(seen_at(t, u.w0_0 & 0xffffu));
        let b = fetch(seen_at(t, u.w0_0 >> 16u));
        let c = u.c0_0;
        put(VALUES + 0u + t, g0_0 * fma(b, Lanes(c.w), Lanes(c.y)));
        put(VALUES + 18u + t, g0_0 * fma(a, Lanes(c.w), Lanes(c.z)));
        (*noted).n0_0 += gate_sums(g0_0, a, b);
    }
    meet();
}

// What the first layer's gates say about neighbor n, in sums over kernels from `sums` on.
fn patch_gradient(seed: u32, n: u32, sums: u32) -> Lanes {
    var g = Lanes(0.0);
    let w0 = wires[seed * WIRES + 0u];
    let w1 = wires[seed * WIRES + 1u];
    let w2 = wires[seed * WIRES + 2u];
    if (w0 & 0xffffu) == n { g += fetch(sums + 0u * BLOCK); }
    if (w0 >> 16u) == n { g += fetch(sums + 3u * BLOCK); }
    if (w1 & 0xffffu) == n { g += fetch(sums + 1u * BLOCK); }
    if (w1 >> 16u) == n { g += fetch(sums + 4u * BLOCK); }
    if (w2 & 0xffffu) == n { g += fetch(sums + 2u * BLOCK); }
    if (w2 >> 16u) == n { g += fetch(sums + 5u * BLOCK); }
    return g;
}
//}

// Adds up gradients at the first layer's operands over kernels: [SIDES, BLOCK].
fn sum_kernels(lane: u32) {
    for (var item = lane; item < SIDES * BLOCK; item += INVOCATIONS) {
        let deltas = VALUES + item / BLOCK * SPAN + item % BLOCK;
        var g = fetch(deltas);
        for (var kernel = 1u; kernel < KERNELS; kernel++) { g += fetch(deltas + kernel * BLOCK); }
        put(SUMMED + item, g);
    }
    meet();
}

// The gradient at the neighborhood: that of all kernels together, and at the center the update
// circuit's own. Sums stay with the invocation as long as there is one block.
fn perception_back(seed: u32, group: u32, lane: u32, sums: u32, fresh: bool, noted: ptr<function, Noted>) {
    let u = units(seed, lane);
    for (var first = 0u; first < CHANNELS; first += BLOCK) {
        if BLOCK < CHANNELS {
            *noted = noted_so_far(lane, sums, first, fresh);
            load_patch(lane, first);
            meet();
        }
        perceive_hidden(u, lane);
        block_back(seed, u, lane, first, noted);
        sum_kernels(lane);
        for (var item = lane; item < 9u * BLOCK; item += INVOCATIONS) {
            let channel = first + item % BLOCK;
            if channel < CHANNELS {
                var g = patch_gradient(seed, item / BLOCK, SUMMED + item % BLOCK);
                if item / BLOCK == 4u { g += fetch(EVEN + channel); }
                send(seed, group, item / BLOCK * CHANNELS + channel, g);
            }
        }
        if BLOCK < CHANNELS { write_down(lane, sums, first, noted); }
        meet();
    }
}

@compute @workgroup_size(INVOCATIONS)
fn backward(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = id.x + id.y * count.x;
    let sizes = parameters[0];
    if number >= sizes.x { return; }
    let seed = number / sizes.y;
    let sums = number * SUMS;
    start(number);
    let latest = parameters[3].x == 1u;
    var noted: Noted;
    if BLOCK == CHANNELS { noted = noted_so_far(lane, sums, 0u, latest); }
    var totals = totals_so_far(lane, sums + PAIRS * PERCEPTION, latest);
    for (var group = number % sizes.y; group < sizes.z; group += sizes.y) {
        let fresh = latest && group == number % sizes.y;
        let base = activations_of(seed, number, group);
        let u = units(seed, lane);
        let ahead = look_ahead(seed, lane);
        locate(seed, group, lane);
        meet();
        load_patch(lane, 0u);
        receive(seed, group, lane);
        meet();
        if RECOMPUTE { perceive(u, lane); }
        update_back(seed, lane, base, sums + PAIRS * PERCEPTION, fresh, ahead, &totals);
        perception_back(seed, group, lane, sums, fresh, &noted);
    }
    if BLOCK == CHANNELS { write_down(lane, sums, 0u, &noted); }
    write_totals(lane, sums + PAIRS * PERCEPTION, &totals);
}
