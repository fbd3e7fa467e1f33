// One step of an automaton, 32 cells of a row in a word: the leftmost in the lowest bit, and bits beyond the
// width are zero. parameters: channels, height, words per row, width; words of a channel of all grids, the
// offset of this step's masks, whether the edge wraps, instructions; invocations.

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 3>;
// [grids, channels, height, words per row]
@group(0) @binding(1) var<storage, read> states: array<u32>;
@group(0) @binding(2) var<storage, read> fired: array<u32>;
@group(0) @binding(3) var<storage, read_write> next: array<u32>;

var<private> grid: u32;
var<private> row: u32;
var<private> word: u32;

// A word of a row from -1 to the height; beyond the edge it is zero or wraps around.
fn cells(channel: u32, y: i32, at: u32) -> u32 {
    let height = i32(parameters[0].y);
    var inside = y;
    if y < 0 || y >= height {
        if parameters[1].z == 0u {
            return 0u;
        }
        inside = select(y - height, y + height, y < 0);
    }
    let place = (grid * parameters[0].x + channel) * parameters[0].y + u32(inside);
    return states[place * parameters[0].z + at];
}

// The word of neighbors of one channel at one of the nine positions, row by row.
fn source(number: u32) -> u32 {
    let position = number / parameters[0].x;
    let channel = number % parameters[0].x;
    let y = i32(row) + i32(position / 3u) - 1;
    let last = parameters[0].z - 1u;
    let wraps = parameters[1].z != 0u;
    let here = cells(channel, y, word);
    let bit = (parameters[0].w - 1u) & 31u;
    switch position % 3u {
        case 0u: {
            var before = 0u;
            if word > 0u {
                before = cells(channel, y, word - 1u) >> 31u;
            } else if wraps {
                before = (cells(channel, y, last) >> bit) & 1u;
            }
            return (here << 1u) | before;
        }
        case 2u: {
            var after = 0u;
            if word < last {
                after = cells(channel, y, word + 1u) << 31u;
            } else if wraps {
                after = (cells(channel, y, 0u) & 1u) << bit;
            }
            return (here >> 1u) | after;
        }
        default: {
            return here;
        }
    }
}

// Stores a channel's next value, where cells fire.
fn sink(channel: u32, value: u32) {
    let fires = fired[parameters[1].y + row * parameters[0].z + word];
    let place = (grid * parameters[0].x + channel) * parameters[0].y + row;
    let at = place * parameters[0].z + word;
    let last = word + 1u == parameters[0].z;
    let inside = select(0xffffffffu, 0xffffffffu >> (31u - ((parameters[0].w - 1u) & 31u)), last);
    next[at] = ((value & fires) | (states[at] & ~fires)) & inside;
}

//{ data
@group(0) @binding(4) var<storage, read> tape: array<vec4<u32>>;
// [slots, invocations]
@group(0) @binding(5) var<storage, read_write> slots: array<u32>;
//}

fn one_word(invocation: u32) {
    //{ circuit
    run_tape(invocation, parameters[1].w, parameters[2].x);
    //}
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let invocation = id.x + id.y * groups.x * 64u;
    if invocation >= parameters[2].x {
        return;
    }
    for (var n = invocation; n < parameters[1].x; n += parameters[2].x) {
        word = n % parameters[0].z;
        row = n / parameters[0].z % parameters[0].y;
        grid = n / parameters[0].z / parameters[0].y;
        one_word(invocation);
    }
}

//{ interpreter
fn run_tape(invocation: u32, instructions: u32, count: u32) {}
//}
