// The backward pass of one step of all cells. Joined after cell.wgsl.
//
// Parameters: workgroups, slots, groups, cells; height, width, steps, step; where `source`, the
// neighbourhoods' gradients that come in, those that go out, and the activations start; whether this is
// the first launch.
//
// `gradients` holds, first, one number a state: the gradient at the end, later what passes by cells
// that did not fire; then gradients at neighbourhoods, [cells, 9, channels], twice. Every workgroup adds
// its cells' share of the coefficients' gradients to a row of `partials` that is its own.

//{ phases
const RECOMPUTE = true;
const DELTAS = 14u;
const DELTA = 24u;
const EXCHANGE = 14u;
const SPAN = 6u;
//}
// Sums of a workgroup: perception gates one by one for every pair, then update gates.
const SUMS = PAIRS * PERCEPTION + UPDATE;

//{ arrays
@group(0) @binding(5) var<storage, read> consumers: array<u32>;
@group(0) @binding(6) var<storage, read_write> gradients: array<f32>;
@group(0) @binding(7) var<storage, read_write> partials: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> activations: array<f32>;
//}

// The gradient at the group's next states, [CHANNELS, LANES].
var<workgroup> incoming: array<f32, CHANNELS * LANES>;

//{ slopes
// Gradients at what `seen` holds.
var<private> slopes: array<Lanes, 12>;
//}

//{ keep
// Activations of one cell follow each other.
fn keep(base: u32, row: u32, x: Lanes) {
    activations[base + 0u * ACTIVATIONS + row] = x.x;
    activations[base + 1u * ACTIVATIONS + row] = x.y;
    activations[base + 2u * ACTIVATIONS + row] = x.z;
    activations[base + 3u * ACTIVATIONS + row] = x.w;
}

fn activation(base: u32, row: u32) -> Lanes {
    return Lanes(activations[base + 0u * ACTIVATIONS + row], activations[base + 1u * ACTIVATIONS + row], activations[base + 2u * ACTIVATIONS + row], activations[base + 3u * ACTIVATIONS + row]);
}

fn incoming_of(channel: u32) -> Lanes {
    return Lanes(incoming[channel * LANES + 0u], incoming[channel * LANES + 1u], incoming[channel * LANES + 2u], incoming[channel * LANES + 3u]);
}

fn send(seed: u32, group: u32, item: u32, x: Lanes) {
    send_one(seed, group, 0u, item, x.x);
    send_one(seed, group, 1u, item, x.y);
    send_one(seed, group, 2u, item, x.z);
    send_one(seed, group, 3u, item, x.w);
}

fn sent(seed: u32, group: u32, item: u32) -> Lanes {
    return Lanes(sent_one(seed, group, 0u, item), sent_one(seed, group, 1u, item), sent_one(seed, group, 2u, item), sent_one(seed, group, 3u, item));
}
//}

// Where the gradient at a cell's neighbourhood goes; cells that do not exist stand in for the last one.
fn sent_at(seed: u32, group: u32, k: u32, item: u32) -> u32 {
    let cell = min(group * LANES + k, parameters[0].w - 1u);
    return parameters[2].z + (seed * parameters[0].w + cell) * 9u * CHANNELS + item;
}

fn send_one(seed: u32, group: u32, k: u32, item: u32, x: f32) {
    if group * LANES + k < parameters[0].w { gradients[sent_at(seed, group, k, item)] = x; }
}

fn sent_one(seed: u32, group: u32, k: u32, item: u32) -> f32 {
    return gradients[sent_at(seed, group, k, item)];
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

// Four sums over the group's cells, added to a workgroup's own.
fn note(at: u32, old: vec4<f32>, fresh: bool, g: Lanes, a: Lanes, b: Lanes) {
    let sums = vec4<f32>(total(g), along(g, a), along(g, b), along(g * a, b));
    partials[at] = select(old + sums, sums, fresh);
}

// Gradients at both operands of gate i, for those who gather them, and the gate's sums.
fn gate_back(n: u32, i: u32, g: Lanes, wire: u32, c: vec4<f32>, sums: u32, old: vec4<f32>, fresh: bool) {
    let here = layer(n);
    let inputs = select(EVEN, ODD, (n & 1u) == 1u);
    let deltas = DELTAS + (n & 1u) * DELTA;
    let a = fetch(inputs + (wire & 0xffffu));
    let b = fetch(inputs + (wire >> 16u));
    put(deltas + i, g * fma(b, Lanes(c.w), Lanes(c.y)));
    put(deltas + here.y + i, g * fma(a, Lanes(c.w), Lanes(c.z)));
    note(sums + PAIRS * PERCEPTION + here.z + i, old, fresh, g, a, b);
}

// Where the lists of a layer's consumers start, counted over all seeds.
fn lists_of(seed: u32, n: u32) -> u32 {
    let here = layer(n);
    return seed * (ACTIVATIONS + LAYERS + 2u * UPDATE) + here.w + n + 2u * here.z;
}

fn span_of(seed: u32, n: u32, i: u32) -> vec2<u32> {
    let lists = lists_of(seed, n);
    return vec2<u32>(consumers[lists + i], consumers[lists + i + 1u]);
}

// The first two entries of a list; those that are not there are not used.
fn entries_of(seed: u32, n: u32, span: vec2<u32>) -> vec2<u32> {
    let here = layer(n);
    let entries = lists_of(seed, n) + here.x + 1u;
    let last = 2u * here.y - 1u;
    return vec2<u32>(consumers[entries + min(span.x, last)], consumers[entries + min(span.x + 1u, last)]);
}

fn delta(n: u32, outputs: u32, entry: u32) -> Lanes {
    return fetch(DELTAS + (n & 1u) * DELTA + (entry >> 1u) + (entry & 1u) * outputs);
}

// The gradient at an input of layer n, from all gates that read it.
fn gather(seed: u32, n: u32, span: vec2<u32>, entries: vec2<u32>) -> Lanes {
    let here = layer(n);
    var g = Lanes(0.0);
    if span.x < span.y { g = delta(n, here.y, entries.x); }
    if span.x + 1u < span.y { g += delta(n, here.y, entries.y); }
    if span.x + 2u < span.y {
        let lists = lists_of(seed, n) + here.x + 1u;
        for (var e = span.x + 2u; e < span.y; e++) { g += delta(n, here.y, consumers[lists + e]); }
    }
    return g;
}

fn gather_at(seed: u32, n: u32, i: u32) -> Lanes {
    let span = span_of(seed, n, i);
    return gather(seed, n, span, entries_of(seed, n, span));
}

// All layers of the update circuit from the last to the first; the gradient at its inputs comes to
// lie at EVEN. One barrier a layer: an invocation gathers what a gate's readers left, and leaves what
// the gate's operands gather. What the next layer needs from memory is asked for a layer ahead, and
// starts of lists two.
fn update_back(seed: u32, lane: u32, base: u32, sums: u32, fresh: bool) {
    let top = layer(LAYERS - 1u);
    var wire = wire_at(seed, top.z + min(lane, top.y - 1u));
    var gate = gate_at(seed, top.z + min(lane, top.y - 1u));
    var old = partials[sums + PAIRS * PERCEPTION + top.z + min(lane, top.y - 1u)];
    var span = vec2<u32>(0u);
    var entries = vec2<u32>(0u);
    var next_span = span_of(seed, LAYERS - 1u, min(lane, top.x - 1u));
    let second = layer(max(LAYERS, 2u) - 2u);
    var values = activation(base, second.w + min(lane, second.x - 1u));
    for (var left = LAYERS; left > 0u; left--) {
        let n = left - 1u;
        let here = layer(n);
        let below = layer(max(n, 1u) - 1u);
        let lower = layer(max(n, 2u) - 2u);
        let i = min(lane, below.y - 1u);
        let next_wire = wire_at(seed, below.z + i);
        let next_gate = gate_at(seed, below.z + i);
        let next_old = partials[sums + PAIRS * PERCEPTION + below.z + i];
        let next_entries = entries_of(seed, n, next_span);
        let later_span = span_of(seed, max(n, 1u) - 1u, min(lane, below.x - 1u));
        let next_values = activation(base, lower.w + min(lane, lower.x - 1u));
        if lane < here.y {
            var g = Lanes(0.0);
            if left == LAYERS { g = incoming_of(lane); } else { g = gather(seed, n + 1u, span, entries); }
            gate_back(n, lane, g, wire, gate, sums, old, fresh);
        }
        for (var j = lane + INVOCATIONS; j < here.y; j += INVOCATIONS) {
            var g = Lanes(0.0);
            if left == LAYERS { g = incoming_of(j); } else { g = gather_at(seed, n + 1u, j); }
            let at = sums + PAIRS * PERCEPTION + here.z + j;
            gate_back(n, j, g, wire_at(seed, here.z + j), gate_at(seed, here.z + j), sums, partials[at], fresh);
        }
        if n > 0u {
            let inputs = select(ODD, EVEN, (n & 1u) == 1u);
            if lane < below.x { put(inputs + lane, values); }
            for (var j = lane + INVOCATIONS; j < below.x; j += INVOCATIONS) {
                put(inputs + j, activation(base, below.w + j));
            }
        }
        meet();
        wire = next_wire;
        gate = next_gate;
        old = next_old;
        span = next_span;
        entries = next_entries;
        next_span = later_span;
        values = next_values;
    }
    if lane < INPUTS { put(EVEN + lane, gather(seed, 0u, span, entries)); }
    for (var i = lane + INVOCATIONS; i < INPUTS; i += INVOCATIONS) { put(EVEN + i, gather_at(seed, 0u, i)); }
    meet();
}

fn slope(at: u32, g: Lanes, by: Lanes) {
    slopes[at] = fma(g, by, slopes[at]);
}

//{ perceive_back
// Gradients at one kernel's inputs on one channel, and the sums of its gates.
fn perceive_back(seed: u32, pair: u32, sums: u32, fresh: bool) {
    let first = seed * GATES + pair / CHANNELS * PERCEPTION;
    for (var n = 0u; n < 12u; n++) { slopes[n] = Lanes(0.0); }
    perception_gate(first, sums + pair, 3u, 9u, perceived(seed, 3u), fetch(EVEN + input_of(pair, 0u)), fresh);
    perception_gate(first, sums + pair, 4u, 9u, perceived(seed, 4u), fetch(EVEN + input_of(pair, 1u)), fresh);
    perception_gate(first, sums + pair, 0u, 0u, perceived(seed, 0u), slopes[9], fresh);
    perception_gate(first, sums + pair, 1u, 0u, perceived(seed, 1u), slopes[10], fresh);
    perception_gate(first, sums + pair, 2u, 0u, perceived(seed, 2u), slopes[11], fresh);
}
//}

fn perception_gate(first: u32, sums: u32, number: u32, inputs: u32, wire: vec2<u32>, g: Lanes, fresh: bool) {
    let c = coefficients[first + number];
    let at = sums + number * PAIRS;
    let old = partials[at];
    let a = seen[inputs + wire.x];
    let b = seen[inputs + wire.y];
    slope(inputs + wire.x, g, fma(b, Lanes(c.w), Lanes(c.y)));
    slope(inputs + wire.y, g, fma(a, Lanes(c.w), Lanes(c.z)));
    note(at, old, fresh, g, a, b);
}

// Adds, for rows of the neighbourhood from `row` on, what the kernels of this round found, and sends it.
fn combine(seed: u32, group: u32, lane: u32, round: u32, row: u32, rows: u32) {
    for (var j = lane; j < rows * CHANNELS; j += INVOCATIONS) {
        let channel = j % CHANNELS;
        let item = row * CHANNELS + j;
        var g = Lanes(0.0);
        if item / CHANNELS == 4u { g = fetch(EVEN + channel); }
        if round > 0u { g = sent(seed, group, item); }
        for (var kernel = 0u; kernel < KERNELS; kernel++) {
            let pair = kernel * CHANNELS + channel;
            if pair >= round && pair < round + SPAN {
                g += fetch(EXCHANGE + (j / CHANNELS) * SPAN + pair - round);
            }
        }
        send(seed, group, item, g);
    }
    meet();
}

//{ exchange
// The gradient at the neighbourhood: what all kernels found is added up by way of `work`.
fn perception_back(seed: u32, group: u32, lane: u32, sums: u32, fresh: bool) {
    for (var round = 0u; round < PAIRS; round += SPAN) {
        let pair = round + lane;
        if SPAN < PAIRS {
            load_patch(lane);
            meet();
            if lane < SPAN && pair < PAIRS { perceive(seed, pair, false); }
            meet();
        }
        let mine = lane < SPAN && pair < PAIRS;
        if mine {
            perceive_back(seed, pair, sums, fresh);
            for (var n = 0u; n < 8u; n++) { put(EXCHANGE + n * SPAN + lane, slopes[0u + n]); }
        }
        meet();
        combine(seed, group, lane, round, 0u, 8u);
        if mine {
            for (var n = 0u; n < 1u; n++) { put(EXCHANGE + n * SPAN + lane, slopes[8u + n]); }
        }
        meet();
        combine(seed, group, lane, round, 8u, 1u);
    }
}
//}

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
    for (var group = number % sizes.y; group < sizes.z; group += sizes.y) {
        let fresh = parameters[3].x == 1u && group == number % sizes.y;
        locate(seed, group, lane);
        meet();
        load_patch(lane);
        receive(seed, group, lane);
        meet();
        perceive_all(seed, lane, RECOMPUTE);
        meet();
        var base = parameters[2].w + number * LANES * ACTIVATIONS;
        if RECOMPUTE {
            update(seed, lane, LAYERS - 1u, base);
        } else {
            base = parameters[2].w + (seed * padded(sizes.w) + group * LANES) * ACTIVATIONS;
            let top = layer(LAYERS - 1u);
            let inputs = select(ODD, EVEN, (LAYERS & 1u) == 1u);
            for (var row = lane; row < top.x; row += INVOCATIONS) {
                put(inputs + row, activation(base, top.w + row));
            }
            meet();
        }
        update_back(seed, lane, base, sums, fresh);
        perception_back(seed, group, lane, sums, fresh);
    }
}
