// The backward pass of one step of all cells. Joined after cell.wgsl.
//
// Parameters: workgroups, slots, groups, cells; height, width, steps, step; where `source`, the
// neighbourhoods' gradients that come in, those that go out, and the activations start; whether this is
// the first launch; where a spilled `work` starts.
//
// `gradients` holds, first, one number a state: the gradient at the end, later what passes by cells
// that did not fire; then gradients at neighbourhoods, [cells, 9, channels], twice. Every workgroup adds
// its cells' share of the coefficients' gradients to a row of `partials` that is its own.

//{ phases
const RECOMPUTE = true;
const DELTAS = 44u;
const DELTA = 24u;
const SPLIT = 18u;
const GAP = 18u;
//}
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
    return Lanes(incoming[channel * LANES + 0u], incoming[channel * LANES + 1u], incoming[channel * LANES + 2u], incoming[channel * LANES + 3u]);
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

// What neighbourhood n of the cell that has this one as neighbour n says about this one.
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
//}

// Where a unit's sums lie.
fn unit_sums(sums: u32, t: u32, first: u32, gate: u32, gates: u32) -> u32 {
    let pair = t % SPAN;
    let channel = min(first + pair % BLOCK, CHANNELS - 1u);
    return sums + (gate + min(t / SPAN, gates - 1u)) * PAIRS + pair / BLOCK * CHANNELS + channel;
}

// Adds what a gate says about value `number` of the layer before it, if it reads it. `upstream`: where
// the gradient at the gate lies; `a` and `b`: where its operands do.
fn read_by(g: Lanes, number: u32, wire: u32, gate: u32, upstream: u32, a: u32, b: u32) -> Lanes {
    let left = (wire & 0xffffu) == number;
    let right = (wire >> 16u) == number;
    var sum = g;
    if left || right {
        let c = coefficients[gate];
        let up = fetch(upstream);
        if left { sum = fma(up, fma(fetch(b), Lanes(c.w), Lanes(c.y)), sum); }
        if right { sum = fma(up, fma(fetch(a), Lanes(c.w), Lanes(c.z)), sum); }
    }
    return sum;
}

// Where the gradient at value t / SPAN of the neighbourhood lies, around that of the first layer.
fn slope_at(t: u32) -> u32 {
    return VALUES + t + select(0u, GAP, t >= SPLIT);
}

//{ perceive_back
//}

// The gradient at the neighbourhood: that of all kernels together, and at the centre the update
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
        for (var item = lane; item < 9u * BLOCK; item += INVOCATIONS) {
            let channel = first + item % BLOCK;
            if channel < CHANNELS {
                var g = Lanes(0.0);
                if item / BLOCK == 4u { g = fetch(EVEN + channel); }
                let slopes = slope_at(item / BLOCK * SPAN) + item % BLOCK;
                for (var kernel = 0u; kernel < KERNELS; kernel++) { g += fetch(slopes + kernel * BLOCK); }
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
        update_back(seed, lane, base, sums + PAIRS * PERCEPTION, fresh, ahead);
        perception_back(seed, group, lane, sums, fresh, &noted);
    }
    if BLOCK == CHANNELS { write_down(lane, sums, 0u, &noted); }
}
