// Simulates a circuit for 32 samples per word, step by step.
// parameters: words, steps, inputs, registers; outputs, instructions, invocations.

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
// [steps, inputs, words]
@group(0) @binding(1) var<storage, read> x: array<u32>;
// The initial registers, the same for all samples.
@group(0) @binding(2) var<storage, read> initial: array<u32>;
// [steps, outputs, words]
@group(0) @binding(3) var<storage, read_write> y: array<u32>;
// [2, registers, words]: before and after a step, alternating.
@group(0) @binding(4) var<storage, read_write> states: array<u32>;

var<private> word: u32;
var<private> step: u32;

// An input or the present value of a register.
fn source(number: u32) -> u32 {
    let words = parameters[0].x;
    let inputs = parameters[0].z;
    if number < inputs {
        return x[(step * inputs + number) * words + word];
    }
    let place = number - inputs;
    if step == 0u {
        return initial[place];
    }
    return states[((step & 1u) * parameters[0].w + place) * words + word];
}

// Stores an output or a register's next value.
fn sink(number: u32, value: u32) {
    let words = parameters[0].x;
    let outputs = parameters[1].x;
    if number < outputs {
        y[(step * outputs + number) * words + word] = value;
        return;
    }
    let half = (step + 1u) & 1u;
    states[(half * parameters[0].w + number - outputs) * words + word] = value;
}

//{ data
@group(0) @binding(5) var<storage, read> tape: array<vec4<u32>>;
// [slots, invocations]
@group(0) @binding(6) var<storage, read_write> slots: array<u32>;
//}

fn one_step(invocation: u32) {
    //{ circuit
    run_tape(invocation, parameters[1].y, parameters[1].z);
    //}
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let invocation = id.x + id.y * groups.x * 64u;
    if invocation >= parameters[1].z {
        return;
    }
    for (word = invocation; word < parameters[0].x; word += parameters[1].z) {
        for (step = 0u; step < parameters[0].y; step++) {
            one_step(invocation);
        }
    }
}

//{ interpreter
fn run_tape(invocation: u32, instructions: u32, count: u32) {}
//}
