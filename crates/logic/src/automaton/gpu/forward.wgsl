// One step of all cells.
//
// Parameters: workgroups, slots, groups, cells; height, width, steps, step; the offsets of `source`, `target`,
// the kept state and the kept activations (NOWHERE: not kept).

//{ cell
const NOWHERE = 0xffffffffu;
const INVOCATIONS = 64u;
const CHANNELS = 2u;
const KERNELS = 3u;
const PERCEPTION = 5u;
const LAYERS = 3u;
const ACTIVATIONS = 32u;
const ASYNCHRONOUS = true;
const EVEN = 0u;
const ODD = 32u;
const GATES = 35u;
const WIRES = 25u;
const LANES = 4u;
alias Lanes = vec4<f32>;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 4>;
@group(0) @binding(1) var<storage, read> coefficients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> wires: array<u32>;
@group(0) @binding(3) var<storage, read> source: array<f32>;
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
fn padded(cells: u32) -> u32 { return cells; }
fn evaluate(c: vec4<f32>, a: Lanes, b: Lanes) -> Lanes { return a; }
fn operand(inputs: u32, wire: u32) -> Lanes { return Lanes(); }
fn other(inputs: u32, wire: u32) -> Lanes { return Lanes(); }
fn locate(seed: u32, group: u32, lane: u32) {}
fn load_patch(lane: u32, first: u32) {}
fn units(seed: u32, lane: u32) -> Units { return Units(); }
fn look_ahead(seed: u32, lane: u32) -> Ahead { return Ahead(); }
fn perceive(u: Units, lane: u32) {}
//}

//{ outputs
@group(0) @binding(5) var<storage, read_write> target_states: array<f32>;
@group(0) @binding(6) var<storage, read_write> kept: array<f32>;
//}

//{ keep
fn keep(base: u32, row: u32, x: Lanes) {
    kept[base + 0u * ACTIVATIONS + row] = x.x;
    kept[base + 1u * ACTIVATIONS + row] = x.y;
    kept[base + 2u * ACTIVATIONS + row] = x.z;
    kept[base + 3u * ACTIVATIONS + row] = x.w;
}

fn settle_all(seed: u32, group: u32, channel: u32, x: Lanes) {
    settle(seed, group, 0u, channel, x.x);
    settle(seed, group, 1u, channel, x.y);
    settle(seed, group, 2u, channel, x.z);
    settle(seed, group, 3u, channel, x.w);
}
//}

//{ update
// The update circuit, from its inputs at EVEN.
fn update(seed: u32, lane: u32, base: u32, ahead: Ahead) {
    let wired = seed * WIRES + PERCEPTION + lane;
    let gates = seed * GATES + KERNELS * PERCEPTION + lane;
    if lane < 14u {
        let x0_0 = fetch(EVEN + lane + 0u);
        keep(base, lane + 0u, x0_0);
    }
    let w0_0 = ahead.w0_0;
    let c0_0 = ahead.c0_0;
    let w1_0 = ahead.w1_0;
    let c1_0 = ahead.c1_0;
    var w2_0: u32;
    var c2_0: vec4<f32>;
    if lane < 2u {
        w2_0 = wires[wired + 18u];
        c2_0 = coefficients[gates + 18u];
    }
    if lane < 12u {
        let x1_0 = evaluate(c0_0, operand(EVEN, w0_0), other(EVEN, w0_0));
        put(ODD + lane + 0u, x1_0);
        keep(base, lane + 14u, x1_0);
    }
    meet();
    if lane < 6u {
        let x2_0 = evaluate(c1_0, operand(ODD, w1_0), other(ODD, w1_0));
        put(EVEN + lane + 0u, x2_0);
        keep(base, lane + 26u, x2_0);
    }
    meet();
    if lane < 2u {
        let x3_0 = evaluate(c2_0, operand(EVEN, w2_0), other(EVEN, w2_0));
        put(ODD + lane + 0u, x3_0);
    }
    meet();
}
//}

fn settle(seed: u32, group: u32, k: u32, channel: u32, x: f32) {
    let cell = group * LANES + k;
    if cell >= parameters[0].w { return; }
    let at = (seed * parameters[0].w + cell) * CHANNELS + channel;
    var next = x;
    if ASYNCHRONOUS {
        next = fma(firing[k], x, (1.0 - firing[k]) * source[parameters[2].x + at]);
    }
    target_states[parameters[2].y + at] = next;
    if parameters[2].z != NOWHERE { kept[parameters[2].z + at] = next; }
}

@compute @workgroup_size(INVOCATIONS)
fn forward(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) count: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = id.x + id.y * count.x;
    let sizes = parameters[0];
    if number >= sizes.x { return; }
    let seed = number / sizes.y;
    start(number);
    for (var group = number % sizes.y; group < sizes.z; group += sizes.y) {
        let u = units(seed, lane);
        let ahead = look_ahead(seed, lane);
        locate(seed, group, lane);
        meet();
        load_patch(lane, 0u);
        meet();
        perceive(u, lane);
        let base = parameters[2].w + (seed * padded(sizes.w) + group * LANES) * ACTIVATIONS;
        update(seed, lane, base, ahead);
        let outputs = select(EVEN, ODD, (LAYERS & 1u) == 1u);
        for (var channel = lane; channel < CHANNELS; channel += INVOCATIONS) {
            settle_all(seed, group, channel, fetch(outputs + channel));
        }
        meet();
    }
}
