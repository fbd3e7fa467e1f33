// Runs candidates of a search, one workgroup for each of them and each word of starts, and counts wrong bits. A
// place is a word of a channel: a cell from 32 starts, or up to 32 cells of a row from one. Each invocation has
// one place. parameters: runs, places, steps, early; late, height, width, words per row (0: places are cells
// from 32 starts); whether the edge wraps, whether cells fire at random.

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 3>;
// For each run: the first row of its tape, channels, ops, 0; the offset of its start, the offset of its masks,
// 0, 0.
@group(0) @binding(1) var<storage, read> runs: array<vec4<u32>>;
// For each channel: its index in the start, its index in the wanted result plus one (or 0), its next value, and
// whether that is negated (1) or constant (2). Then for each op: its polynomial, two operands and the slot of
// its value.
@group(0) @binding(2) var<storage, read> tape: array<vec4<u32>>;
// [batches, words, channels, places]
@group(0) @binding(3) var<storage, read> starts: array<u32>;
// [batches, words, steps, places]
@group(0) @binding(4) var<storage, read> fires: array<u32>;
// [visible, places]
@group(0) @binding(5) var<storage, read> wanted: array<u32>;
// [runs, 4]: wrong bits at the last step, late, early; starts from which some are wrong.
@group(0) @binding(6) var<storage, read_write> scores: array<u32>;

const WORKGROUP = 256u;
const STATE = 4096u;
const SLOTS = 64u;
const NOWHERE = 0xffffffffu;

var<workgroup> state: array<u32, STATE>;
var<workgroup> counts: array<atomic<u32>, 4>;
// The next values of all channels, then those of ops.
var<private> slots: array<u32, SLOTS>;
// The places of the neighbors; for words of a row, those that provide a bit at the left and at the right.
var<private> around: array<u32, 9>;
// The bit positions that these bits come from and go to.
var<private> lent: vec2<u32>;
// The bits of the place that are cells.
var<private> inside: u32;

fn wrapped(at: i32, size: u32) -> u32 {
    if at >= 0 && at < i32(size) {
        return u32(at);
    }
    if parameters[2].x == 0u {
        return NOWHERE;
    }
    return select(0u, size - 1u, at < 0);
}

fn look_around(place: u32) {
    let height = parameters[1].y;
    let width = parameters[1].z;
    let words = parameters[1].w;
    let columns = select(words, width, words == 0u);
    let y = i32(place / columns);
    let x = i32(place % columns);
    for (var position = 0u; position < 9u; position++) {
        let row = wrapped(y + i32(position / 3u) - 1, height);
        let column = wrapped(x + i32(position % 3u) - 1, columns);
        around[position] = select(row * columns + column, NOWHERE, row == NOWHERE || column == NOWHERE);
    }
    let rim = (width - 1u) & 31u;
    let last = words > 0u && u32(x) + 1u == words;
    lent = vec2<u32>(select(31u, rim, x == 0), select(31u, rim, last));
    inside = select(0xffffffffu, 0xffffffffu >> (31u - rim), last);
}

fn at(channel: u32, place: u32) -> u32 {
    if place == NOWHERE {
        return 0u;
    }
    return state[channel * parameters[0].y + place];
}

fn neighbor(channel: u32, position: u32) -> u32 {
    let there = at(channel, around[position]);
    if parameters[1].w == 0u || position % 3u == 1u {
        return there;
    }
    let here = at(channel, around[position / 3u * 3u + 1u]);
    if position % 3u == 0u {
        return (here << 1u) | ((there >> lent.x) & 1u);
    }
    return (here >> 1u) | ((there & 1u) << lent.y);
}

// A slot, or an input: the highest bit, the position, the channel.
fn operand(code: u32) -> u32 {
    if (code >> 31u) == 0u {
        return slots[code];
    }
    return neighbor(code & 0xffffu, (code >> 16u) & 15u);
}

fn mask(bits: u32, bit: u32) -> u32 {
    return 0u - ((bits >> bit) & 1u);
}

// The next values of all channels of a place.
fn compute(place: u32, job: vec4<u32>, masks: u32) {
    for (var n = 0u; n < job.z; n++) {
        let op = tape[job.x + job.y + n];
        let a = operand(op.y);
        let b = operand(op.z);
        slots[op.w] = mask(op.x, 0u) ^ (mask(op.x, 1u) & a) ^ (mask(op.x, 2u) & b) ^ (mask(op.x, 3u) & a & b);
    }
    var fired = 0xffffffffu;
    if parameters[2].y != 0u {
        fired = fires[masks + place];
    }
    for (var channel = 0u; channel < job.y; channel++) {
        let row = tape[job.x + channel];
        var value = mask(row.w, 0u);
        if (row.w & 2u) == 0u {
            value ^= operand(row.z);
        }
        let old = state[channel * parameters[0].y + place];
        slots[channel] = ((value & fired) | (old & ~fired)) & inside;
    }
}

fn count(place: u32, job: vec4<u32>, kind: u32) {
    for (var channel = 0u; channel < job.y; channel++) {
        let shown = tape[job.x + channel].y;
        if shown > 0u {
            let wrong = (slots[channel] ^ wanted[(shown - 1u) * parameters[0].y + place]) & inside;
            atomicAdd(&counts[kind], countOneBits(wrong));
            if kind < 2u && parameters[1].w == 0u {
                atomicOr(&counts[3], wrong);
            }
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) place: u32,
) {
    let run = min(group.x + group.y * groups.x, parameters[0].x - 1u);
    let job = runs[2u * run];
    let data = runs[2u * run + 1u];
    let places = parameters[0].y;
    let works = place < places;
    look_around(place);
    if works {
        for (var channel = 0u; channel < job.y; channel++) {
            let start = data.x + tape[job.x + channel].x * places;
            state[channel * places + place] = starts[start + place];
        }
    }
    if place < 4u {
        atomicStore(&counts[place], 0u);
    }
    workgroupBarrier();
    for (var step = 0u; step < parameters[0].z; step++) {
        if works {
            compute(place, job, data.y + step * places);
        }
        workgroupBarrier();
        if works {
            for (var channel = 0u; channel < job.y; channel++) {
                state[channel * places + place] = slots[channel];
            }
            if step + 1u == parameters[0].z {
                count(place, job, 0u);
            }
            if step + 1u == parameters[1].x {
                count(place, job, 1u);
            }
            if step + 1u == parameters[0].w {
                count(place, job, 2u);
            }
        }
        workgroupBarrier();
    }
    if place < 4u {
        scores[4u * run + place] = atomicLoad(&counts[place]);
    }
}
