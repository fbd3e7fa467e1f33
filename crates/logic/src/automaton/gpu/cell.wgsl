// What a cell computes in one step. Part of forward.wgsl and backward.wgsl.
//
// A workgroup processes groups of LANES cells, one vector component per cell; an invocation evaluates one gate
// for all of them. In `work`, EVEN is the offset of the values of the update circuit's inputs and of every
// other layer, ODD that of the layers in between. Before that, PATCH is the offset of the neighborhood, and
// VALUES that of the values of the perception circuits' layers. Every product and sum is rounded by an explicit
// fma, so that recomputed values are identical.
//
// Perception processes BLOCK channels at a time, with all kernels: SPAN pairs of kernel and channel. Unit t of
// a layer is gate t / SPAN of pair t % SPAN.

//{ grid
const NOWHERE = 0xffffffffu;
fn neighbor(cell: u32, n: u32, height: u32, width: u32) -> u32 { return cell; }
//}

const INVOCATIONS = 64u;
const CHANNELS = 2u;
const KERNELS = 3u;
const BITS = 2u;
const PERCEPTION = 5u;
const UPDATE = 20u;
const INPUTS = 14u;
const LAYERS = 3u;
const ACTIVATIONS = 32u;
const BLOCK = 2u;
const ASYNCHRONOUS = true;
const EVEN = 0u;
const PATCH = 14u;
const ODD = 32u;
const VALUES = 32u;
const SPAN = KERNELS * BLOCK;
const PAIRS = KERNELS * CHANNELS;
const GATES = KERNELS * PERCEPTION + UPDATE;
const WIRES = PERCEPTION + UPDATE;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 4>;
@group(0) @binding(1) var<storage, read> coefficients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> wires: array<u32>;
@group(0) @binding(3) var<storage, read> source: array<f32>;
//{ fired
@group(0) @binding(4) var<storage, read> fired: array<f32>;

fn fires(at: u32) -> f32 { return fired[at]; }
//}

//{ memory
var<workgroup> work: array<Lanes, 50>;

fn fetch(at: u32) -> Lanes { return work[at]; }
fn put(at: u32, x: Lanes) { work[at] = x; }
fn meet() { workgroupBarrier(); }
fn start(number: u32) {}
//}

// Neighbors of the group's cells, [9, LANES], and whether the cells fire.
var<workgroup> places: array<u32, 9u * LANES>;
var<workgroup> firing: array<f32, LANES>;

//{ lanes
const LANES = 4u;
alias Lanes = vec4<f32>;

fn total(x: Lanes) -> f32 { return (x.x + x.y) + (x.z + x.w); }
fn along(x: Lanes, y: Lanes) -> f32 { return fma(x.x, y.x, fma(x.y, y.y, fma(x.z, y.z, x.w * y.w))); }
fn patch_value(n: u32, channel: u32) -> Lanes {
    return Lanes(
        state(n * LANES + 0u, channel),
        state(n * LANES + 1u, channel),
        state(n * LANES + 2u, channel),
        state(n * LANES + 3u, channel),
    );
}
//}

// Cells of a seed as kept activations count them.
fn padded(cells: u32) -> u32 {
    return (cells + 3u) / 4u * 4u;
}

fn evaluate(c: vec4<f32>, a: Lanes, b: Lanes) -> Lanes {
    return fma(a, fma(b, Lanes(c.w), Lanes(c.y)), fma(b, Lanes(c.z), Lanes(c.x)));
}

// The operands that a wire names, of values from `inputs` on.
fn operand(inputs: u32, wire: u32) -> Lanes { return fetch(inputs + (wire & 0xffffu)); }
fn other(inputs: u32, wire: u32) -> Lanes { return fetch(inputs + (wire >> 16u)); }

// Notes the neighbors of a group's cells. Cells that do not exist stand in for the last one.
fn locate(seed: u32, group: u32, lane: u32) {
    let cells = parameters[0].w;
    let size = parameters[1].xy;
    for (var item = lane; item < 9u * LANES; item += INVOCATIONS) {
        let cell = min(group * LANES + item % LANES, cells - 1u);
        let other = neighbor(cell, item / LANES, size.x, size.y);
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

// The neighborhood's channels from `first` on, [9, BLOCK].
fn load_patch(lane: u32, first: u32) {
    for (var item = lane; item < 9u * BLOCK; item += INVOCATIONS) {
        put(PATCH + item, patch_value(item / BLOCK, min(first + item % BLOCK, CHANNELS - 1u)));
    }
}

// The number of a unit's gate among all gates; units beyond the layer stand in for the last gate.
fn unit_gate(seed: u32, t: u32, first: u32, gates: u32) -> u32 {
    return seed * GATES + t % SPAN / BLOCK * PERCEPTION + first + min(t / SPAN, gates - 1u);
}

fn unit_wire(seed: u32, t: u32, first: u32, gates: u32) -> u32 {
    return wires[seed * WIRES + first + min(t / SPAN, gates - 1u)];
}

// Where a value of an earlier layer lies for a unit: the neighborhood has no kernels.
fn seen_at(t: u32, number: u32) -> u32 {
    return PATCH + number * BLOCK + t % SPAN % BLOCK;
}

fn value_at(values: u32, t: u32, number: u32) -> u32 {
    return values + number * SPAN + t % SPAN;
}

// Where a unit of the last layer goes among the inputs of the update circuit.
fn input_at(t: u32, first: u32) -> u32 {
    let pair = t % SPAN;
    return EVEN + CHANNELS + ((first + pair % BLOCK) * BITS + t / SPAN) * KERNELS + pair / BLOCK;
}

// Whether a unit's channel exists.
fn in_block(t: u32, first: u32) -> bool {
    return CHANNELS % BLOCK == 0u || first + t % SPAN % BLOCK < CHANNELS;
}

//{ perceive
// What an invocation's units need from memory.
struct Units {
    w0_0: u32, c0_0: vec4<f32>,
    w1_0: u32, c1_0: vec4<f32>,
}

fn units(seed: u32, lane: u32) -> Units {
    var u: Units;
    u.w0_0 = unit_wire(seed, lane + 0u, 0u, 3u);
    u.c0_0 = coefficients[unit_gate(seed, lane + 0u, 0u, 3u)];
    u.w1_0 = unit_wire(seed, lane + 0u, 3u, 2u);
    u.c1_0 = coefficients[unit_gate(seed, lane + 0u, 3u, 2u)];
    return u;
}

// All layers of the perception circuits but the last, on channels whose neighborhood is loaded.
fn perceive_hidden(u: Units, lane: u32) {
    if lane < 18u {
        let t = lane + 0u;
        let a = fetch(seen_at(t, u.w0_0 & 0xffffu));
        let b = fetch(seen_at(t, u.w0_0 >> 16u));
        put(VALUES + 0u + t, evaluate(u.c0_0, a, b));
    }
    meet();
}

// The last layer, into the update circuit's inputs.
fn perceive_last(u: Units, lane: u32, first: u32) {
    if lane < 12u {
        let t = lane + 0u;
        let a = fetch(value_at(VALUES + 0u, t, u.w1_0 & 0xffffu));
        let b = fetch(value_at(VALUES + 0u, t, u.w1_0 >> 16u));
        put(input_at(t, first), evaluate(u.c1_0, a, b));
    }
}
//}

// The update circuit's inputs, block by block; the first block's neighborhood is loaded.
fn perceive(u: Units, lane: u32) {
    for (var first = 0u; first < CHANNELS; first += BLOCK) {
        if first > 0u {
            meet();
            load_patch(lane, first);
            meet();
        }
        perceive_hidden(u, lane);
        perceive_last(u, lane, first);
        for (var i = lane; i < min(BLOCK, CHANNELS - first); i += INVOCATIONS) {
            put(EVEN + first + i, fetch(PATCH + 4u * BLOCK + i));
        }
    }
    meet();
}

//{ ahead
// An invocation's wires and gates of the first two layers of the update circuit.
struct Ahead {
    w0_0: u32,
    c0_0: vec4<f32>,
    w1_0: u32,
    c1_0: vec4<f32>,
}

fn look_ahead(seed: u32, lane: u32) -> Ahead {
    let wired = seed * WIRES + PERCEPTION + lane;
    let gates = seed * GATES + KERNELS * PERCEPTION + lane;
    var w0_0: u32;
    var c0_0: vec4<f32>;
    if lane < 12u {
        w0_0 = wires[wired + 0u];
        c0_0 = coefficients[gates + 0u];
    }
    var w1_0: u32;
    var c1_0: vec4<f32>;
    if lane < 6u {
        w1_0 = wires[wired + 12u];
        c1_0 = coefficients[gates + 12u];
    }
    return Ahead(w0_0, c0_0, w1_0, c1_0);
}
//}
