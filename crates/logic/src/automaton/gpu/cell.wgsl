// What a cell computes in one step. Joined after grid.wgsl and before forward.wgsl or backward.wgsl,
// which declare `keep`.
//
// A workgroup works on groups of LANES cells, one vector component a cell; an invocation evaluates one
// gate for all of them. `work` holds the values of the layer at hand and of the one after, alternately
// at EVEN and ODD. Everything is rounded by explicit fma, so that values computed again are the same.

//{ sizes
const INVOCATIONS = 64u;
const CHANNELS = 2u;
const KERNELS = 3u;
const BITS = 2u;
const PERCEPTION = 5u;
const UPDATE = 20u;
const INPUTS = 14u;
const LAYERS = 3u;
const ACTIVATIONS = 32u;
const ASYNCHRONOUS = true;
const EVEN = 0u;
const ODD = 14u;
//}
const PAIRS = CHANNELS * KERNELS;
const GATES = KERNELS * PERCEPTION + UPDATE;
const WIRES = PERCEPTION + UPDATE;
// The neighbourhood lies where values of odd layers come later.
const PATCH = ODD;
// Parameters before the layers.
const HEAD = 4u;

//{ parameters
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 7>;
//}
@group(0) @binding(1) var<storage, read> coefficients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> wires: array<u32>;
@group(0) @binding(3) var<storage, read> source: array<f32>;
//{ fired
@group(0) @binding(4) var<storage, read> fired: array<f32>;

fn fires(at: u32) -> f32 { return fired[at]; }
//}

//{ memory
var<workgroup> work: array<Lanes, 62>;

fn fetch(at: u32) -> Lanes { return work[at]; }
fn put(at: u32, x: Lanes) { work[at] = x; }
fn meet() { workgroupBarrier(); }
fn start(number: u32) {}
//}

// Neighbours of the group's cells, [9, LANES], and whether the cells fire.
var<workgroup> places: array<u32, 9u * LANES>;
var<workgroup> firing: array<f32, LANES>;

// Values of one perception circuit: its inputs, then all layers but the last.
//{ seen
var<private> seen: array<Lanes, 12>;
//}

//{ lanes
const LANES = 4u;
alias Lanes = vec4<f32>;

fn total(x: Lanes) -> f32 { return (x.x + x.y) + (x.z + x.w); }
fn along(x: Lanes, y: Lanes) -> f32 { return fma(x.x, y.x, fma(x.y, y.y, fma(x.z, y.z, x.w * y.w))); }
fn patch_value(n: u32, channel: u32) -> Lanes {
    return Lanes(state(n * LANES + 0u, channel), state(n * LANES + 1u, channel), state(n * LANES + 2u, channel), state(n * LANES + 3u, channel));
}
//}

// Cells of a seed as kept activations count them.
fn padded(cells: u32) -> u32 {
    return (cells + 3u) / 4u * 4u;
}

// Inputs, outputs, first gate and first row of activations of a layer of the update circuit.
fn layer(n: u32) -> vec4<u32> {
    return parameters[HEAD + n];
}

fn evaluate(c: vec4<f32>, a: Lanes, b: Lanes) -> Lanes {
    return fma(a, fma(b, Lanes(c.w), Lanes(c.y)), fma(b, Lanes(c.z), Lanes(c.x)));
}

// Notes the neighbours of a group's cells. Cells that do not exist stand in for the last one.
fn locate(seed: u32, group: u32, lane: u32) {
    let cells = parameters[0].w;
    let size = parameters[1].xy;
    for (var item = lane; item < 9u * LANES; item += INVOCATIONS) {
        let cell = min(group * LANES + item % LANES, cells - 1u);
        let other = neighbour(cell, item / LANES, size.x, size.y);
        places[item] = select(seed * cells + other, NOWHERE, other == NOWHERE);
        if ASYNCHRONOUS && item < LANES {
            let area = size.x * size.y;
            firing[item] = fires((seed * parameters[1].z + parameters[1].w) * area + cell % area);
        }
    }
}

fn state(item: u32, channel: u32) -> f32 {
    let place = places[item];
    let exists = place != NOWHERE;
    let x = source[parameters[2].x + select(0u, place, exists) * CHANNELS + channel];
    return select(0.0, x, exists);
}

fn load_patch(lane: u32) {
    for (var item = lane; item < 9u * CHANNELS; item += INVOCATIONS) {
        put(PATCH + item, patch_value(item / CHANNELS, item % CHANNELS));
    }
}

// Where a perceived bit goes among the inputs of the update circuit.
fn input_of(pair: u32, bit: u32) -> u32 {
    return CHANNELS + ((pair % CHANNELS) * BITS + bit) * KERNELS + pair / CHANNELS;
}

fn perceived(seed: u32, number: u32) -> vec2<u32> {
    let wire = wires[seed * WIRES + number];
    return vec2<u32>(wire & 0xffffu, wire >> 16u);
}

//{ perceive
// One kernel on one channel: its values, and if asked its bits among the update circuit's inputs.
fn perceive(seed: u32, pair: u32, store: bool) {
    let first = seed * GATES + pair / CHANNELS * PERCEPTION;
    for (var n = 0u; n < 9u; n++) {
        seen[n] = fetch(PATCH + n * CHANNELS + pair % CHANNELS);
    }
    let w0 = perceived(seed, 0u);
    seen[9] = evaluate(coefficients[first + 0u], seen[0u + w0.x], seen[0u + w0.y]);
    let w1 = perceived(seed, 1u);
    seen[10] = evaluate(coefficients[first + 1u], seen[0u + w1.x], seen[0u + w1.y]);
    let w2 = perceived(seed, 2u);
    seen[11] = evaluate(coefficients[first + 2u], seen[0u + w2.x], seen[0u + w2.y]);
    if store {
        let w3 = perceived(seed, 3u);
        put(EVEN + input_of(pair, 0u), evaluate(coefficients[first + 3u], seen[9u + w3.x], seen[9u + w3.y]));
        let w4 = perceived(seed, 4u);
        put(EVEN + input_of(pair, 1u), evaluate(coefficients[first + 4u], seen[9u + w4.x], seen[9u + w4.y]));
    }
}
//}

// The update circuit's inputs from the neighbourhood.
fn perceive_all(seed: u32, lane: u32, store: bool) {
    for (var pair = lane; pair < PAIRS; pair += INVOCATIONS) {
        perceive(seed, pair, store);
    }
    if store {
        for (var channel = lane; channel < CHANNELS; channel += INVOCATIONS) {
            put(EVEN + channel, fetch(PATCH + 4u * CHANNELS + channel));
        }
    }
}

fn gate_at(seed: u32, gate: u32) -> vec4<f32> {
    return coefficients[seed * GATES + KERNELS * PERCEPTION + gate];
}

fn wire_at(seed: u32, gate: u32) -> u32 {
    return wires[seed * WIRES + PERCEPTION + gate];
}

// So many layers of the update circuit, from the inputs at EVEN. The next layer's wire and gate are
// asked for before the layer at hand is done, so that nobody waits for them.
fn update(seed: u32, lane: u32, layers: u32, base: u32) {
    for (var row = lane; row < INPUTS; row += INVOCATIONS) {
        keep(base, row, fetch(EVEN + row));
    }
    var next = layer(0u);
    var wire = wire_at(seed, next.z + min(lane, next.y - 1u));
    var gate = gate_at(seed, next.z + min(lane, next.y - 1u));
    for (var n = 0u; n < layers; n++) {
        let here = next;
        next = layer(min(n + 1u, LAYERS - 1u));
        let next_wire = wire_at(seed, next.z + min(lane, next.y - 1u));
        let next_gate = gate_at(seed, next.z + min(lane, next.y - 1u));
        let inputs = select(EVEN, ODD, (n & 1u) == 1u);
        let outputs = select(ODD, EVEN, (n & 1u) == 1u);
        if lane < here.y {
            let x = evaluate(gate, fetch(inputs + (wire & 0xffffu)), fetch(inputs + (wire >> 16u)));
            put(outputs + lane, x);
            if n + 1u < LAYERS { keep(base, next.w + lane, x); }
        }
        for (var i = lane + INVOCATIONS; i < here.y; i += INVOCATIONS) {
            let w = wire_at(seed, here.z + i);
            let x = evaluate(gate_at(seed, here.z + i), fetch(inputs + (w & 0xffffu)), fetch(inputs + (w >> 16u)));
            put(outputs + i, x);
            if n + 1u < LAYERS { keep(base, next.w + i, x); }
        }
        meet();
        wire = next_wire;
        gate = next_gate;
    }
}
