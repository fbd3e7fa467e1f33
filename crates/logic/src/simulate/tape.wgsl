// Interprets a tape that is data: part of a kernel that has `tape`, `slots`, `source` and `sink`.
// `InstructionTape::words` documents the encoding.

//{ kernel
@group(0) @binding(5) var<storage, read> tape: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> slots: array<u32>;
fn source(number: u32) -> u32 { return number; }
fn sink(number: u32, value: u32) {}
//}

fn mask(bits: u32, bit: u32) -> u32 {
    return 0u - ((bits >> bit) & 1u);
}

fn run_tape(invocation: u32, instructions: u32, count: u32) {
    for (var n = 0u; n < instructions; n++) {
        let code = tape[n];
        if code.x == 16u {
            slots[code.w * count + invocation] = source(code.y);
        } else if code.x == 17u {
            sink(code.w, slots[code.y * count + invocation]);
        } else {
            let a = slots[code.y * count + invocation];
            let b = slots[code.z * count + invocation];
            let single = mask(code.x, 0u) ^ (mask(code.x, 1u) & a) ^ (mask(code.x, 2u) & b);
            slots[code.w * count + invocation] = single ^ (mask(code.x, 3u) & a & b);
        }
    }
}
